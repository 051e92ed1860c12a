"""A noisy or synthetic table written with a count column says what the long form says, to every reader."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import sfumato as sf
from sfumato.counts import Table
from sfumato.release.files import digest
from sfumato.schema import Schema

SCHEMA = {
    "name": "counted",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 8], "step": 1, "source": "public"},
        "count": {"role": "quasi", "kind": "nominal", "values": ["x", "y"], "missing": ["?"], "source": "public"},
        "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "cold"], "source": "public"},
    },
}


def table(seed: int, rows: int = 200) -> Table:
    rng = np.random.default_rng(seed)
    schema = Schema.parse(SCHEMA)
    return Table.from_codes(schema, np.column_stack([rng.integers(0, a.size, rows) for a in schema.published]))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 200]), st.sampled_from(["parquet", "csv"]))
def test_round_trip(tmp_path_factory, seed, rows, form):
    folder = tmp_path_factory.mktemp("counted")
    release = sf.publish(table(seed, rows), sf.NoisyTable(2), seed=seed)
    for counts in (False, True):
        release.save(folder / str(counts), format=form, allow_rehearsal=True, counts=counts)
    long, short = (sf.Release.load(folder / str(counts)) for counts in (False, True))
    assert short.frame().equals(long.frame())
    assert short.frame().equals(release.frame())
    assert np.array_equal(short.groups.weight, release.groups.weight)
    written = release.frames(counts=True)["data"]
    assert written.columns[-1] == "count_"  # an attribute is called count
    assert written["count_"].sum() == release.rows


@pytest.fixture
def folder(tmp_path):
    sf.publish(table(3), sf.NoisyTable(2), seed=4).save(
        tmp_path / "out", format="csv", allow_rehearsal=True, counts=True
    )
    return tmp_path / "out"


def test_verify_measure_attack_and_apply_read_it(folder, tmp_path):
    people = table(3)
    verdict = sf.verify(folder)
    assert [problem.path for problem in verdict.problems] == ["claim.rehearsal"]
    release = sf.publish(people, sf.NoisyTable(2), seed=4)
    loaded = sf.Release.load(folder)
    assert verdict.rows == release.rows
    assert sf.privacy_loss(people, loaded).value == sf.privacy_loss(people, release).value
    found, expected = (sf.attacks.composition([made, made], people, d=2).to_json() for made in (loaded, release))
    assert found == expected
    assert sf.apply(loaded, people).equals(sf.apply(release, people))
    answer = (folder / "dictionary.md").read_text("utf-8")
    assert "### count\\_" in answer
    assert "how many rows this line stands for" in answer
    assert json.loads((folder / "manifest.json").read_text("utf-8"))["counted"] is True


def test_a_bare_table_with_counts(folder):
    schema = Schema.parse(SCHEMA)
    read = sf.Release.read(folder / "data.csv", schema, counts="count_")
    assert read.frame().equals(sf.Release.load(folder).frame())
    assert sf.Release.read(folder / "data.csv", schema).rows < read.rows  # a line for a row: not what is meant
    with pytest.raises(sf.ParameterError, match="is not a column of counts"):
        sf.Release.read(folder / "data.csv", schema, counts="count")
    broken = pl.read_csv(folder / "data.csv").with_columns(count_=pl.lit("many"))
    with pytest.raises(sf.ReleaseError, match="whole numbers of at least 1"):
        sf.Release.read(broken, schema, counts="count_")


@pytest.mark.parametrize("bad", ["0", "-3", "2.5", "007", "", "1e3", "9" * 19, "9" * 5000])
def test_counts_that_are_none_are_found(folder, bad):
    lines = (folder / "data.csv").read_text("utf-8").splitlines()
    lines[1] = ",".join([*lines[1].split(",")[:-1], bad])
    (folder / "data.csv").write_text("\n".join(lines) + "\n", "utf-8")
    verdict = sf.verify(folder)
    assert not verdict.holds
    assert any(problem.path == "count_" for problem in verdict.problems)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("digits", "lines_changed"), [(5000, 1), (18, 5)])
def test_counts_too_large_are_refused(folder, digits, lines_changed):
    """Five counts of 18 digits are more than 2^62 in all, though each is small enough."""
    lines = (folder / "data.csv").read_text("utf-8").splitlines()
    for at in range(1, 1 + lines_changed):
        lines[at] = ",".join([*lines[at].split(",")[:-1], "9" * digits])
    (folder / "data.csv").write_text("\n".join(lines) + "\n", "utf-8")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"]["data.csv"]["sha256"] = digest(folder / "data.csv")
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    verdict = sf.verify(folder)
    assert not verdict.holds
    assert "count_" in [problem.path for problem in verdict.problems]
    with pytest.raises(sf.ReleaseError, match="count_: must hold whole numbers"):
        sf.Release.load(folder)
    with pytest.raises(sf.ReleaseError, match="whole numbers of at least 1"):
        sf.Release.read(folder / "data.csv", Schema.parse(SCHEMA), counts="count_")


def test_a_combination_on_two_lines_is_found(folder):
    lines = (folder / "data.csv").read_text("utf-8").splitlines()
    again = ",".join([*lines[1].split(",")[:-1], "1"])
    (folder / "data.csv").write_text("\n".join([lines[0], again, *lines[1:]]) + "\n", "utf-8")
    assert any("on several lines" in problem.rule for problem in sf.verify(folder).problems)


def test_only_noisy_and_synthetic_tables_have_the_form(tmp_path):
    people = table(3)
    for mechanism in (sf.Mondrian(sf.KAnonymity(5)), sf.Suppress()):
        with pytest.raises(sf.ParameterError, match="is for noisy and synthetic tables only"):
            sf.publish(people, mechanism).save(tmp_path / "out", counts=True)
    assert not (tmp_path / "out").exists()


def test_too_many_rows_to_write_one_by_one_are_written_with_counts(tmp_path):
    """Noise of epsilon 10^-9 counts thousands of millions: the long form is refused by the release alone."""
    release = sf.publish(table(1), sf.NoisyTable("1e-9"), seed=1, allow_noise=True)
    assert release.rows > 10**9
    with pytest.raises(sf.ReleaseError, match="counts=True"):
        release.save(tmp_path / "out", allow_rehearsal=True)
    release.save(tmp_path / "out", allow_rehearsal=True, counts=True)
    assert sf.Release.load(tmp_path / "out").rows == release.rows
