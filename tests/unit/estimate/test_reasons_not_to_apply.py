"""Why a release cannot be applied to new rows is true of its method, in memory and after loading."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.errors import NotComparable

ILLS = ["flu", "gout", "none"]


def table(source="public", role="target"):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": rng.integers(20, 70, 400), "town": rng.choice(list("abcd"), 400)})
    frame = frame.with_columns(ill=pl.Series(rng.permutation(np.resize(ILLS, 400))))
    columns = {
        "age": {"role": "quasi", "kind": "numeric", "range": [20, 70], "source": source},
        "town": {"role": "quasi", "values": list("abcd"), "source": "public"},
        "ill": {"role": role, "values": ILLS, "source": "public"},
    }
    if role == "both":
        columns["ill"]["role"] = "sensitive"
        columns["paid"] = {"role": "target", "values": ["no", "yes"], "source": "public"}
        frame = frame.with_columns(paid=pl.Series(rng.choice(["no", "yes"], 400)))
    described = {"name": "t", "rows_per_person": 1, "rows": 400, "attribute": columns}
    return sf.read(frame, sf.Schema.parse(described))


def both(found, method, path):
    """Return the release as it is made and as it is loaded."""
    made = sf.publish(found, method, seed=1)
    flags = {"allow_rehearsal": True, "allow_unaccounted": True, "allow_fingerprints": True}
    made.save(path / "out", **flags)
    return made, sf.Release.load(path / "out")


@pytest.mark.parametrize("method", [sf.TopDown(10), sf.DiffGen(8, specializations=2), sf.NoisyTable(8)], ids=repr)
def test_a_public_recoding_applies_in_memory_and_loaded(method, tmp_path):
    found = table()
    made, loaded = both(found, method, tmp_path)
    assert sf.apply(made, found).equals(sf.apply(loaded, found))


def test_a_recoding_of_values_read_off_the_data_is_said_not_to_be_saved(tmp_path):
    """It was said that those of topdown are saved."""
    found = table("data")
    made, loaded = both(found, sf.TopDown(10), tmp_path)
    assert sf.apply(made, found).height == 400
    with pytest.raises(sf.ParameterError, match="not saved, since it would show values of age that were read") as said:
        sf.apply(loaded, found)
    assert 'source = "public"' in said.value.hint
    assert "town" not in str(said.value)


@pytest.mark.parametrize(
    ("method", "role"),
    [
        (sf.Mondrian(sf.KAnonymity(10)), "target"),
        (sf.DLink(sf.Mondrian(sf.KAnonymity(10)), d=2), "sensitive"),
        (sf.Bucketize(sf.LDiversity(2)), "sensitive"),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_a_confidential_recoding_applies_in_memory_only(method, role, tmp_path):
    found = table(role=role)
    made, loaded = both(found, method, tmp_path)
    assert sf.apply(made, found).height == 400
    with pytest.raises(sf.ParameterError, match=f"a recoding by {method.name} is confidential and never saved"):
        sf.apply(loaded, found)


def test_groups_that_are_drawn_apply_to_nothing(tmp_path):
    found = table(role="sensitive")
    for release in both(found, sf.Anatomy(2), tmp_path):
        with pytest.raises(NotComparable, match="Anatomy draws its groups at random"):
            sf.apply(release, found)


@pytest.mark.parametrize(
    "method", [sf.Marginals(8), sf.Suppress(), sf.DLink(sf.TopDown(10), d=2)], ids=lambda one: one.name
)
def test_a_method_without_a_recoding_is_not_said_to_have_one(method, tmp_path):
    found = table(role={"suppress": "sensitive", "dlink": "both"}.get(method.name, "target"))
    for release in both(found, method, tmp_path):
        with pytest.raises(sf.ParameterError, match=f"a release by {method.name} has no recoding"):
            sf.apply(release, found)


def test_a_table_of_others_is_said_to_be_one():
    found = table()
    release = sf.Release.read(sf.publish(found, sf.TopDown(10)).frame(), found.schema)
    with pytest.raises(sf.ParameterError, match="was made by another tool"):
        sf.apply(release, found)


@pytest.mark.parametrize(
    ("rules", "cells"),
    [
        ({"missing": ["", "60"]}, ["60", "30"]),
        ({"decimal": ",", "thousands": "."}, ["6.000", "30"]),
        ({"column": "alter"}, ["30", "40"]),
    ],
    ids=["missing", "numbers", "column"],
)
def test_rows_are_not_read_by_a_saved_schema_that_lacks_rules(rules, cells, tmp_path):
    """A 60 that means missing was written as the class of 60, and 6.000 as that of 6."""
    columns = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 9000], "step": 10, "source": "public", **rules},
        "ill": {"role": "target", "values": ["no", "yes"], "source": "public"},
    }
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "rows": 400, "attribute": columns})
    named = rules.get("column", "age")
    found = sf.read(pl.DataFrame({named: cells * 200, "ill": ["no", "yes"] * 200}), schema)
    _, loaded = both(found, sf.NoisyTable(8), tmp_path)
    new = pl.DataFrame(
        {named: cells, "age": cells, "ill": ["no", "no"]} if named != "age" else {"age": cells, "ill": ["no", "no"]}
    )
    with pytest.raises(sf.ParameterError, match="saved with the release"):
        sf.apply(loaded, sf.read(new, loaded.schema))
    assert sf.apply(loaded, sf.read(new, schema)).equals(
        sf.apply(sf.Release.load(tmp_path / "out", schema=schema), sf.read(new, schema))
    )
    new.write_csv(tmp_path / "new.csv")
    asked = ["apply", str(tmp_path / "out"), str(tmp_path / "new.csv"), "-o", str(tmp_path / "more.csv")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code != 0
    assert not (tmp_path / "more.csv").exists()


def test_rules_without_which_a_cell_is_refused_need_no_schema(tmp_path):
    found = table()
    _, loaded = both(found, sf.NoisyTable(8), tmp_path)
    assert not loaded.schema.other_rules
    assert "other_rules" not in (tmp_path / "out" / "manifest.json").read_text()
