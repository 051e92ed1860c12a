"""Item 14: codes under a mask are cut at its nodes, so that a cell reads 50***; other attributes are cut as before."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.release.dictionary import dictionary
from sfumato.schema import Schema

CODES = [f"{a}0{b}{c}1" for a in (3, 5, 6) for b in range(4) for c in range(3)]
TOWNS = ["Aachen", "Bonn", "Celle", "Dresden", "Essen", "Fulda"]


def table(**zip_keys) -> sf.Table:
    drawn = random.Random(7)
    frame = pl.DataFrame(
        {
            "zip": [drawn.choice(CODES) for _ in range(400)],
            "town": [drawn.choice(TOWNS) for _ in range(400)],
            "ill": [drawn.choice("abc") for _ in range(400)],
        }
    )
    schema = Schema.parse(
        {
            "name": "t",
            "attribute": {
                "zip": {"role": "quasi", **zip_keys},
                "town": {"role": "quasi", "values": TOWNS},
                "ill": {"role": "sensitive", "values": ["a", "b", "c"]},
            },
        }
    )
    return sf.read(frame, schema)


MASKS = {
    "rule": {"mask": {"length": 5}},
    "values": {"mask": {"length": 5}, "values": sorted(CODES)},
    "missing": {"mask": {"length": 5}, "missing": ["?"]},
    "left": {"mask": {"length": 5, "from": "left"}, "values": sorted(CODES)},
}


@pytest.mark.cells(3)
@pytest.mark.parametrize("name", list(MASKS))
@pytest.mark.parametrize("cut", ["best", "widest"])
def test_a_cell_of_a_mask_is_one_node(name: str, cut: str) -> None:
    release = sf.publish(table(**MASKS[name]), sf.Mondrian(sf.KAnonymity(5), cut=cut), seed=1)
    cells = set(release.frame()["zip"].to_list())
    assert all(len(cell) <= 7 and "|" not in cell for cell in cells), cells
    assert len(cells) > 2


def test_what_is_no_mask_is_cut_as_before() -> None:
    """Leaves in their order still: a box may hold two neighbours of a list."""
    release = sf.publish(table(mask={"length": 5}), sf.Mondrian(sf.KAnonymity(60)), seed=1)
    towns = set(release.frame()["town"].to_list())
    assert any("|" in cell for cell in towns)


def test_values_grouped_by_a_list_are_warned_about() -> None:
    found = table(mask={"length": 5})
    assert [p.path for p in found.schema.remarks() if "alphabet" in p.rule] == ["attribute.town"]
    release = sf.publish(found, sf.Mondrian(sf.KAnonymity(60)), seed=1)
    assert any("no groups are declared for town" in note for note in release.notes)
    nodes = sf.publish(found, sf.Mondrian(sf.KAnonymity(60), nominal="nodes"), seed=1)
    assert not any("no groups" in note for note in nodes.notes)


def test_known_is_explained_in_the_dictionary(tmp_path) -> None:
    frame = pl.DataFrame({"age": [*range(20, 60), *[None] * 40] * 3, "sex": ["f", "m"] * 120})
    keys = {"role": "quasi", "kind": "numeric", "range": [0, 100], "missing": [""]}
    schema = Schema.parse({"name": "t", "attribute": {"age": keys, "sex": {"role": "sensitive", "values": ["f", "m"]}}})
    release = sf.publish(sf.read(frame, schema), sf.Mondrian(sf.KAnonymity(70)), seed=1)
    assert "(known)" in release.frame()["age"].to_list()
    text = dictionary(release, {})
    assert "`(known)` says that there is one, but not which" in text
    assert "`(known)` a value was recorded" in text
