"""A mask without values is written as a rule and read back as the same domain and tree."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.schema import Attribute, Schema


def schema(**given) -> Schema:
    columns = {"zip": {"role": "quasi", **given}, "s": {"role": "sensitive", "values": ["u", "v"]}}
    return Schema.parse({"name": "t", "attribute": columns})


@pytest.mark.parametrize("missing", [{}, {"missing": ["-9"]}, {"missing": "suppress"}])
@pytest.mark.parametrize(
    "mask", [{"length": 3}, {"length": 2, "from": "left"}, {"length": 1}, {"length": 3, "alphabet": "baab"}]
)
def test_a_rule_reads_back_as_what_it_stands_for(mask, missing):
    column = schema(mask=mask, **missing)["zip"]
    answer = json.loads(json.dumps(column.to_json()))
    assert "domain" not in answer
    again = Attribute.from_json(answer)
    assert (again.domain, again.tree, again.size) == (column.domain, column.tree, column.size)
    assert again.declared_tree == column.declared_tree
    assert again.to_json() == answer


@pytest.mark.parametrize(
    "given",
    [
        {"mask": {"length": 2}, "values": ["01", "02"]},
        {"mask": {"length": 2}, "other": "Other"},
        {"mask": {"length": 2}, "source": "data"},
    ],
)
def test_what_is_more_than_a_rule_is_listed(given):
    column = schema(**given)["zip"]
    answer = column.to_json()
    assert "mask" not in answer
    assert Attribute.from_json(answer).domain == column.domain


@pytest.mark.parametrize(
    "mask",
    [
        {"length": 64, "from": "right", "alphabet": "01"},
        {"length": 0, "from": "right", "alphabet": "01"},
        {"length": 2, "from": "right", "alphabet": "0*"},
        {"length": 2, "from": "middle", "alphabet": "01"},
        {"length": 2, "from": "right", "alphabet": ""},
    ],
)
def test_a_rule_of_a_stranger_is_refused(mask):
    answer = {**schema(mask={"length": 2})["zip"].to_json(), "mask": mask}
    with pytest.raises(ValueError, match=r"rule|mask|alphabet"):
        Attribute.from_json(answer)


@pytest.mark.cells(1)
@pytest.mark.parametrize("nominal", ["leaves", "nodes"])
def test_a_manifest_of_postcodes_is_small_and_is_verified(nominal, tmp_path):
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(20_000, 20_400, 300), rng.integers(0, 2, 300)])
    table = Table.from_codes(schema(mask={"length": 5}, missing=["-9"]), rows)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5), nominal=nominal))
    release.save(tmp_path / "out")
    assert (tmp_path / "out" / "manifest.json").stat().st_size < 10_000  # was 10 MB
    assert sf.verify(tmp_path / "out").holds
    assert sf.Release.load(tmp_path / "out").frame().equals(release.frame())
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"length": 5', '"length": 4'))
    assert not _holds(tmp_path / "out")


def _holds(folder) -> bool:
    try:
        return sf.verify(folder).holds
    except sf.ReleaseError:
        return False


def test_a_code_for_no_answer_is_taken_out_of_a_mask():
    """A mask holds every code, 99999 too; a draft that called it missing was refused."""
    columns = {"zip": {"role": "quasi", "mask": {"length": 5}, "missing": ["99999"]}}
    schema = sf.Schema.parse({"name": "t", "attribute": columns})
    zips = ["10115", "99999", "10117", "99999"]
    for frame in (pl.DataFrame({"zip": zips}), pl.DataFrame({"zip": zips}).to_pandas()):
        codes = sf.read(frame, schema).codes(["zip"])[:, 0].tolist()
        assert codes == [10115, schema["zip"].missing_code, 10117, schema["zip"].missing_code]
    assert sf.check(frame, schema) == []
    listed = {"zip": {**columns["zip"], "values": ["10115", "10117", "99999"]}}
    with pytest.raises(sf.SchemaError, match="also declared missing"):
        sf.Schema.parse({"name": "t", "attribute": listed})


def test_codes_with_a_blank_are_masked_where_they_are_listed():
    column = {"role": "quasi", "mask": {"length": 7, "alphabet": "0123456789 ABC"}}
    with pytest.raises(sf.SchemaError, match=r"\(\"3511 AA\"\) are listed in `values` beside the mask"):
        Schema.parse({"name": "t", "attribute": {"postcode": column}})
    listed = {"role": "quasi", "mask": {"length": 7}, "values": ["3511 AA", "3511 AB", "3512 AA"]}
    postcode = Schema.parse({"name": "t", "attribute": {"postcode": listed}})["postcode"]
    assert "3511 A*" in postcode.tree.names
