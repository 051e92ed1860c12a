"""Anyone's table becomes a release; what cannot be read is listed at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.claims import Nothing
from sfumato.cli.main import app
from sfumato.errors import ParameterError, ReleaseError
from sfumato.release import Release
from sfumato.schema import Schema

ROWS = {
    "age": ["[20, 40[", "20-39", ">=40", "*", "[40-100)", "[20-40)"],
    "job": ["Clerical", "{Typist, Teller}", "Manual", "*", "{Mason, Miner, Smith}", "Typist | Teller"],
    "seen": ["2020", "2020", "*", "*", "*", "[2020-01-01..2021-01-01)"],
    "grade": ["low", "mid", "low", "high", "low", "low"],
    "illness": ["flu", "flu", "asthma", "ulcer", "colitis, acute", "flu"],
}


def offending(problem):
    return problem.values  # noqa: PD011


@pytest.mark.parametrize("how", ["comma", "semicolon", "parquet", "pandas", "polars", "lazy", "arrow"])
def test_forms_of_labels_and_of_tables(tmp_path, schema, how):
    frame = pl.DataFrame(ROWS)
    source = {"pandas": frame.to_pandas, "lazy": frame.lazy, "arrow": frame.to_arrow}.get(how, lambda: frame)()
    if how in ("comma", "semicolon", "parquet"):
        source = tmp_path / "t.file"
        if how == "parquet":
            frame.write_parquet(source)
        else:
            frame.write_csv(source, separator="," if how == "comma" else ";")
    release = Release.read(source, schema)
    assert release.groups.weight.tolist() == [1] * 6  # no two rows are written alike, though some mean the same
    assert len(np.unique(np.column_stack([release.boxes.low, release.boxes.high]), axis=0)) == 3
    assert release.suppressed_group is not None
    assert release.groups.weight[release.suppressed_group] == 1
    assert isinstance(release.claim.promise, Nothing)
    assert release.savable is False
    assert release.frame()["age"].to_list() == ["*", "[20-40)", "[20-40)", "[20-40)", "[40-100)", "[40-100)"]
    assert release.groups.overall["grade"].tolist() == [4, 1, 1]


def test_rows_that_are_written_differently_are_not_of_one_class(tmp_path):
    """They were merged, so that measures saw no class of one person where `verify` found two."""
    schema = sf.Schema.parse(
        {
            "name": "t",
            "rows_per_person": 1,
            "attribute": {
                "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
                "sex": {"role": "quasi", "values": ["f", "m"]},
                "ill": {"role": "sensitive", "values": ["x", "y"]},
            },
        }
    )
    original = pl.DataFrame({"age": [20, 60] * 40, "sex": ["f", "m"] * 40, "ill": ["x", "x", "y", "y"] * 20})
    labels = pl.Series(["[0, 50[", "[50, 100["] * 40)
    labels[1] = "50-99"
    sexes = original["sex"].clone()
    sexes[2] = "f "
    path = tmp_path / "t.csv"
    original.with_columns(age=labels, sex=sexes).write_csv(path)
    release = Release.read(path, schema)
    verdict = sf.verify(path, schema=schema, requirement=sf.KAnonymity(2))
    assert (release.summary().classes, release.summary().smallest) == (verdict.classes, 1)
    assert "in 2 of 4 classes there is one person only" in release.warnings()[0]
    table = sf.read(original, schema)
    assert sf.privacy_loss(table, release).value > 0.1
    alike = Release.read(original.with_columns(age=pl.Series(["[0, 50[", "[50, 100["] * 40)), schema)
    assert sf.privacy_loss(table, alike).value < 0.01
    assert sorted(note.split(";")[0] for note in release.notes) == [
        "age: 1 label is written in several ways",
        "sex: 1 label is written in several ways",
    ]
    assert alike.notes == ()
    # What the labels mean is unchanged.
    assert release.frame().equals(alike.frame())


def test_ends_that_two_labels_share_are_noted(schema):
    """20-40 beside 40-60 was read as two labels that overlap, without a word; it often means 20 to 39."""
    frame = pl.DataFrame({**ROWS, "age": ["20-40", "40-60", "60-80", "*", "40-60", "20-20"]})
    assert [note for note in Release.read(frame, schema).notes if "ends" in note or "each end" in note] == [
        "age: 2 numbers each end one label and begin another, and are read as part of both; [20-40) leaves 40 out"
    ]
    apart = frame.with_columns(age=pl.Series(["20-39", "40-59", "60-79", "*", "[20-40)", "[40-60)"]))
    assert not any("part of both" in note for note in Release.read(apart, schema).notes)


def test_our_own_tables(tmp_path, schema, make):
    release = make(9, seed=2, sets=True)
    release.frame().write_csv(tmp_path / "t.csv")
    assert Release.read(tmp_path / "t.csv", schema).frame().equals(release.frame())


def test_every_unread_label_is_listed_at_once(schema):
    frame = pl.DataFrame({**ROWS, "age": ["twenty", *ROWS["age"][1:]], "job": ["Pope", "King", *ROWS["job"][2:]]})
    frame = frame.with_columns(grade=pl.Series(["low..mid", *ROWS["grade"][1:]]))
    with pytest.raises(ReleaseError) as caught:
        Release.read(frame, schema)
    found = {problem.path: problem for problem in caught.value.problems}
    assert {path: set(offending(problem)) for path, problem in found.items()} == {
        "attribute.age": {"twenty"},
        "attribute.job": {"King", "Pope"},
        "attribute.grade": {"low..mid"},
    }
    assert found["attribute.job"].count == 2
    for value in ("twenty", "Pope", "King", "low..mid"):
        assert value not in str(caught.value)
        assert value not in repr(caught.value)


def test_blank_cells_are_missing_or_named(schema):
    frame = pl.DataFrame({**ROWS, "job": [None, "?", "", "*", "Manual", "(missing)"]})
    release = Release.read(frame, schema)
    assert release.frame()["job"].to_list().count("(missing)") == 4
    with pytest.raises(ReleaseError, match="blank cells"):
        Release.read(frame.with_columns(age=pl.Series([None, *ROWS["age"][1:]])), schema)


def test_what_the_table_lacks(schema):
    release = Release.read(pl.DataFrame(ROWS).drop("seen", "illness").with_row_index(), schema)
    assert release.frame().columns == ["age", "job", "seen", "grade"]
    assert set(release.frame()["seen"]) == {"*"}
    assert [note for note in release.notes if "seen" in note]
    assert [note for note in release.notes if "illness" in note]
    assert [note for note in release.notes if "index" in note]
    with pytest.raises(ReleaseError, match="quasi-identifier"):
        Release.read(pl.DataFrame({"grade": ["low"]}), schema)


def test_columns_by_the_schema_column():
    schema = Schema.parse(
        {
            "name": "t",
            "attribute": {"age": {"role": "quasi", "kind": "numeric", "range": [0, 10], "column": "Age (years)"}},
        }
    )
    release = Release.read(pd.DataFrame({"Age (years)": [1.0, 1.0, 7.0]}), schema)
    assert release.groups.weight.tolist() == [2, 1]
    assert release.boxes.low[:, 0].tolist() == [1, 7]


def test_groups_link_rows(schema):
    exact = {"age": ["21", "35", "50"], "job": ["Typist", "Mason", "Miner"], "seen": ["2020-03-01"] * 3}
    carried = {"grade": ["low", "mid", "high"], "illness": ["flu", "flu", "ulcer"]}
    release = Release.read(pl.DataFrame({**exact, **carried, "bucket": [7, 7, 9]}), schema, groups="bucket")
    assert release.form == "buckets"
    assert sorted(release.groups.weight.tolist()) == [1, 2]
    assert len(release.boxes) == 3
    pair = int(np.argmax(release.groups.weight))
    assert release.groups.histogram("grade").toarray()[pair].tolist() == [1, 1, 0]
    with pytest.raises(ParameterError, match="groups"):
        Release.read(pl.DataFrame({**exact, **carried}), schema, groups="bucket")


AMBIGUOUS = {
    "name": "t",
    "attribute": {
        "x": {
            "role": "quasi",
            "kind": "nominal",
            "hierarchy": {"A": {"B": ["a", "b"], "C": ["c"]}, "D": {"A": ["d", "e"], "E": ["f"]}},
        }
    },
}


def test_a_name_on_two_levels_is_read_by_the_level_of_its_column():
    schema = Schema.parse(AMBIGUOUS)
    upper = Release.read(pl.DataFrame({"x": ["A", "D", "*"]}), schema)
    assert sorted(upper.boxes.high[:, 0].tolist()) == [3, 6, 6]
    lower = Release.read(pl.DataFrame({"x": ["A", "B", "E"]}), schema)
    assert sorted(zip(lower.boxes.low[:, 0].tolist(), lower.boxes.high[:, 0].tolist(), strict=True)) == [
        (0, 2),
        (3, 5),
        (5, 6),
    ]
    with pytest.raises(ReleaseError, match="different levels") as caught:
        Release.read(pl.DataFrame({"x": ["A", "B", "D"]}), schema)
    assert [offending(problem) for problem in caught.value.problems] == [("A",)]


def test_what_is_no_table(tmp_path, schema):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "latin.csv").write_bytes("age,job\n20,M\xfcller\n".encode("latin-1"))
    for source in (tmp_path / "none.csv", tmp_path / "empty.csv", tmp_path, tmp_path / "latin.csv"):
        with pytest.raises(ReleaseError) as caught:
            Release.read(source, schema)
        assert str(tmp_path) not in str(caught.value)
    with pytest.raises(ParameterError, match="source"):
        Release.read(42, schema)
    with pytest.raises(ReleaseError, match="no plain values"):
        Release.read(pl.DataFrame({"age": [[1]]}), schema)


def test_nothing_but_suppressed_rows_is_one_class(schema):
    release = Release.read(pl.DataFrame({"age": ["*", "*"], "grade": ["low", "mid"]}), schema)
    assert release.suppressed_group is None
    assert release.summary().classes == 1


# -- a bare file with a column of counts ----------------------------------------------------

COUNTED = sf.Schema.parse(
    {
        "name": "t",
        "attribute": {
            "sex": {"role": "quasi", "values": ["f", "m"]},
            "ill": {"role": "sensitive", "values": ["a", "b"]},
        },
    }
)


@pytest.mark.parametrize(("least", "holds"), [(7, True), (8, False)])
def test_verify_counts_the_rows_that_lines_stand_for(tmp_path, least, holds):
    path = tmp_path / "t.csv"
    path.write_text("sex,ill,n\nf,a,4\nf,b,3\nm,a,9\n")
    verdict = sf.verify(path, schema=COUNTED, requirement=sf.KAnonymity(least), counts="n")
    assert (verdict.holds, verdict.rows, verdict.classes) == (holds, 16, 2)
    assert not sf.verify(path, schema=COUNTED, requirement=sf.KAnonymity(2)).holds  # a column that no claim covers


@pytest.mark.parametrize("bad", ["0", "-3", "2.5", "", "many", "1e3", "9" * 30])
def test_a_column_of_counts_holds_whole_numbers_from_1_on(tmp_path, bad):
    path = tmp_path / "t.csv"
    path.write_text(f"sex,ill,n\nf,a,40\nf,b,30\nm,a,{bad}\n")
    verdict = sf.verify(path, schema=COUNTED, requirement=sf.KAnonymity(2), counts="n")
    assert not verdict.holds
    assert "whole numbers" in verdict.problems[0].rule


def test_verify_names_what_is_wrong_with_the_name_of_a_column_of_counts(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sex,ill,n\nf,a,40\n")
    for name in ("sex", "ill", "k"):
        with pytest.raises(sf.ParameterError, match="is not a column of counts"):
            sf.verify(path, schema=COUNTED, requirement=sf.KAnonymity(2), counts=name)
    with pytest.raises(sf.ParameterError, match="is for a bare file"):
        sf.verify(tmp_path, schema=COUNTED, requirement=sf.KAnonymity(2), counts="n")


def test_the_command_names_the_column_of_counts(tmp_path):
    (tmp_path / "t.csv").write_text("sex,ill,n\nf,a,4\nf,b,3\nm,a,9\n")
    text = 'name = "t"\n[attribute.sex]\nrole = "quasi"\nvalues = ["f", "m"]\n[attribute.ill]\nrole = "sensitive"\n'
    (tmp_path / "s.toml").write_text(text + 'values = ["a", "b"]\n')
    words = ["verify", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.toml"), "--counts", "n", "--k"]
    assert [CliRunner().invoke(app, [*words, k], standalone_mode=False).return_value for k in ("7", "8")] == [0, 3]
