"""The two ends of every frontier: all removed, nothing removed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.claims import Nothing
from sfumato.mechanisms import Gathered
from sfumato.randomness import Entropy

SCHEMA = {
    "name": "clinic",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
        "city": {"role": "quasi", "values": ["Bern", "Genf"], "missing": ["?"]},
        "illness": {"role": "sensitive", "values": ["flu", "gout", "none"]},
        "paid": {"role": "target", "values": ["yes", "no"]},
    },
}
ROWS = pl.DataFrame(
    {
        "age": [30, 31, 31, 60, 60, 99],
        "city": ["Bern", "Genf", "Genf", "?", "Bern", "Bern"],
        "illness": ["flu", "flu", "gout", "none", "flu", "none"],
        "paid": ["yes", "no", "no", "yes", "yes", "no"],
    }
)


@pytest.fixture
def table() -> sf.Table:
    return sf.read(ROWS, sf.Schema.parse(SCHEMA))


def test_suppress_is_zero_close(table: sf.Table, tmp_path: Path) -> None:
    release = sf.publish(table, sf.Suppress())
    assert release.frame()["age"].unique().to_list() == ["*"]
    assert release.frame().height == 6
    release.save(tmp_path / "out", allow_fingerprints=True)
    verdict = sf.verify(tmp_path / "out")
    assert verdict.holds
    assert verdict.kind == "checked"


def test_a_mutant_that_keeps_a_column_is_caught(table: sf.Table, tmp_path: Path) -> None:
    """A release that claims what Suppress claims and still publishes a quasi-identifier."""
    raw = sf.publish(table, sf.Raw())
    mutant = replace(raw, claim=sf.Suppress().claim(table.schema), savable=True)
    mutant.save(tmp_path / "out", allow_fingerprints=True)
    assert not sf.verify(tmp_path / "out").holds


@pytest.mark.parametrize("mechanism", [sf.Suppress(), sf.TopDown(2), sf.Mondrian(sf.KAnonymity(2))])
def test_a_target_that_is_known_tells_and_the_claim_says_so(table: sf.Table, mechanism: Any) -> None:
    """Who knows that somebody has paid reads other illnesses than the overall ones: no promise covers that."""
    frame = sf.publish(table, sf.Suppress()).frame()
    assert sorted(frame.filter(pl.col("paid") == "no")["illness"]) != sorted(frame["illness"])
    assert any(silence.startswith("paid: ") for silence in mechanism.claim(table.schema).silent_on)
    without = table.schema.with_roles(target=[])
    assert not any("paid" in silence for silence in sf.Suppress().claim(without).silent_on)


def test_raw_is_never_saved(table: sf.Table, tmp_path: Path) -> None:
    raw = sf.publish(table, sf.Raw())
    assert isinstance(raw.claim.promise, Nothing)
    with pytest.raises(sf.ReleaseError, match="never"):
        raw.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_raw_keeps_every_row(table: sf.Table) -> None:
    published = sf.publish(table, sf.Raw()).frame()
    original = ROWS.with_columns(pl.col("age").cast(pl.String), pl.col("city").replace("?", "(missing)"))
    assert published.rows() == original.sort(original.columns).rows()


def test_nothing_is_drawn_so_a_seed_makes_no_rehearsal(table: sf.Table) -> None:
    assert not sf.publish(table, sf.Suppress(), seed=7).claim.rehearsal


def test_an_empty_table(tmp_path: Path) -> None:
    empty = sf.read(ROWS.clear(), sf.Schema.parse(SCHEMA))
    for mechanism in (sf.Suppress(), sf.Raw()):
        release = sf.publish(empty, mechanism)
        assert release.frame().height == 0
        assert release.summary().classes == 0


def test_suppress_asks_only_for_what_it_carries(table: sf.Table) -> None:
    names = sf.Suppress().needs(table.schema)
    assert names == [("illness", "paid")]
    counts = Gathered(table.schema, by_names={names[0]: table.counts(names[0])})
    release = sf.Suppress().apply(counts, Entropy.seeded(1))
    assert release.groups.overall["illness"].tolist() == [3, 1, 2]


def test_the_dictionary_says_what_suppress_does(table: sf.Table, tmp_path: Path) -> None:
    """No cell of a quasi-identifier tells anything; what is carried is published as it is and stays in its row."""
    release = sf.publish(table, sf.Suppress())
    release.save(tmp_path / "out", allow_fingerprints=True)
    answer = (tmp_path / "out" / "dictionary.md").read_text(encoding="utf-8")
    assert "made coarser" not in answer.replace("without being made coarser", "")
    assert "look alike" not in answer
    assert "gathered in groups" not in answer
    assert answer.count("not published: every cell is `*`") == len(release.quasi) == 2
    assert release.frame().select([one.name for one in release.quasi]).unique().rows() == [("*", "*")]
    assert answer.count("published as it is") == len(release.carried) == 2
    together = "who knows some of them of a person may find the row, and read the others"
    assert together in answer
    one = table.with_roles(target=[])
    sf.publish(one, sf.Suppress()).save(tmp_path / "one", allow_fingerprints=True)
    assert together not in (tmp_path / "one" / "dictionary.md").read_text(encoding="utf-8")
    assert sf.verify(tmp_path / "out").holds


def test_a_dictionary_of_classes_does_not_say_that_columns_are_hidden(tmp_path: Path) -> None:
    rows = pl.DataFrame({"age": [str(age) for age in range(20, 60)], "city": ["a", "b"] * 20, "ill": ["x", "y"] * 20})
    kinds = {"age": {"kind": "numeric", "range": [0, 100]}, "city": {"values": ["a", "b"]}}
    attributes = {name: {"role": "quasi", **kind} for name, kind in kinds.items()}
    attributes["ill"] = {"role": "sensitive", "values": ["x", "y"]}
    schema = sf.Schema.parse({"name": "t", "source": "public", "rows_per_person": 1, "attribute": attributes})
    sf.publish(sf.read(rows, schema), sf.Mondrian(k=5)).save(tmp_path / "out", allow_derived=True)
    answer = (tmp_path / "out" / "dictionary.md").read_text(encoding="utf-8")
    assert "made coarser" in answer
    assert "every cell" not in answer.partition("### city")[0]
