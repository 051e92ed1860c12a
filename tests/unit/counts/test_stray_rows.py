"""The header again, totals and titles are not people: each is refused or named, with its line."""

from __future__ import annotations

import json
import math
import random
import re

import duckdb
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st
from tests.claims.light_xlsx import write_xlsx

import sfumato as sf
from sfumato.cli.main import app
from sfumato.counts.stray_rows import header_problems, stray_rows
from sfumato.errors import PublicationWarning
from sfumato.io.source import open_source

SCHEMA = sf.Schema.parse(
    {
        "name": "t",
        "attribute": {
            "sex": {"role": "quasi", "values": ["f", "m", "sex"]},
            "ward": {"role": "sensitive", "values": ["north", "south", "ward"]},
        },
    }
)
ROWS = [["f", "north", "3"], ["m", "south", "4"]] * 30
NAMES = ["sex", "ward", "stay"]


def written(folder, rows, kind):
    path = folder / f"t.{kind}"
    if kind == "csv":
        path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    else:
        write_xlsx(path, {"s": [[cell or None for cell in row] for row in rows]})
    return path


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_row_that_repeats_the_header_is_refused_with_its_line(tmp_path, kind):
    path = written(tmp_path, [NAMES, *ROWS[:20], NAMES, *ROWS[20:]], kind)
    where = "line 22" if kind == "csv" else "sheet row 22"
    (problem,) = sf.check(path, SCHEMA)
    assert f"1 row repeats the header: {where}" in problem.rule
    for asked in (lambda: sf.read(path, SCHEMA), lambda: sf.draft(path)):
        with pytest.raises(sf.ReadError, match=f"repeats the header: {where}"):
            asked()


MAYBE = sf.Schema.parse(
    {
        "name": "t",
        "attribute": {
            "sex": {"role": "quasi", "values": ["f", "m"], "missing": [""]},
            "ward": {"role": "sensitive", "values": ["north", "south"], "missing": [""]},
        },
    }
)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("blank", ["", "\u00a0", " "])
def test_a_row_without_a_value_is_refused_with_its_line(tmp_path, kind, blank):
    path = written(tmp_path, [NAMES, *ROWS[:20], [blank, "", blank], *ROWS[20:], ["", "", "4"]], kind)
    if kind == "xlsx" and not blank:
        assert sf.read(path, MAYBE).rows == 61  # a row of empty cells is no row of a sheet
        return
    where = "line 22" if kind == "csv" else "sheet row 22"
    (problem,) = sf.check(path, MAYBE)
    assert (problem.rows, f"no value in any column: {where}" in problem.rule) == (1, True)
    for asked in (lambda: sf.read(path, MAYBE), lambda: sf.draft(path)):
        with pytest.raises(sf.ReadError, match=f"no value in any column: {where}"):
            asked()


def test_rows_without_a_value_in_frames_streams_and_engines_that_group(monkeypatch, tmp_path):
    rows = [*ROWS, [None, None, None], [" ", None, "\x1f"], [None, None, "3"]]
    frame = pl.DataFrame(rows, schema=NAMES, orient="row")
    assert "2 rows have no value in any column: rows 61, 62" in sf.check(frame, MAYBE)[0].rule
    assert sf.check(duckdb.sql("select * from frame"), MAYBE)[0].rows == 2
    frame.write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr("sfumato.engines.large_tables.HELD_ROWS", 10)
    assert "rows 61, 62" in sf.check(tmp_path / "t.parquet", MAYBE)[0].rule
    numbered = frame.with_row_index("number")
    assert sf.check(numbered, MAYBE) == []
    assert sf.check(pl.DataFrame({"x": [1.0, float("nan"), None], "y": [None, None, 2]}), TWO)[0].rows == 1


TWO = sf.Schema.parse(
    {
        "name": "t",
        "attribute": {
            "x": {"role": "quasi", "kind": "numeric", "range": [0, 4], "missing": [""]},
            "y": {"role": "sensitive", "values": ["2"], "missing": [""]},
        },
    }
)


def test_quoted_padded_and_later_header_lines_are_seen_and_lines_are_those_of_the_file(tmp_path):
    lines = ['"sex","ward","note"', 'f,north,"two', 'lines"', "", "m,south,x", "sex , ward,note", "f,north,y"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    (problem,) = sf.check(path, SCHEMA)
    assert "repeats the header: line 6" in problem.rule
    assert problem.rows == 1


def test_a_header_again_in_frames_and_engines_that_group():
    frame = pl.DataFrame([*ROWS, NAMES, NAMES], schema=NAMES, orient="row")
    assert "2 rows repeat the header: rows 61, 62" in sf.check(frame, SCHEMA)[0].rule
    assert "2 rows repeat the header" in sf.check(duckdb.sql("select * from frame"), SCHEMA)[0].rule


def test_a_value_that_is_the_name_of_its_column_is_a_value(tmp_path):
    path = written(tmp_path, [NAMES, *ROWS, ["sex", "ward", "3"]], "csv")
    assert sf.check(path, SCHEMA) == []
    assert sf.read(path, SCHEMA).rows == 61


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", " a"]), st.sampled_from(["a", "b", ""])), max_size=8))
def test_a_row_is_the_header_by_itself(rows):
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")
    alone = [bool(header_problems(open_source(frame[at]))) for at in range(len(rows))]
    assert alone == [one.strip() == "a" and other == "b" for one, other in rows]
    together = header_problems(open_source(frame))
    assert sum(problem.rows for problem in together) == sum(alone)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize(
    "last",
    [["Total", "", ""], ["Summe:", "", "210"], ["", "Gesamt", "210"], ["", "", "210"], ["Source: registry", "", ""]],
)
def test_totals_and_notes_are_named_by_draft_and_check(tmp_path, kind, last):
    path = written(tmp_path, [NAMES, *ROWS, last], kind)
    where = "line 62" if kind == "csv" else "sheet row 62"
    assert f"totals: {where} looks like a total, a heading or a note" in sf.draft(path)
    (tmp_path / "s.toml").write_text(sf.draft(path))
    answer = json.loads(CliRunner().invoke(app, ["check", str(path), str(tmp_path / "s.toml"), "--json"]).stdout)
    assert answer["ok"], answer
    rules = [warning["rule"] for warning in answer["warnings"]]
    assert rules[0].startswith(f"{where} looks like a total")
    assert all("no value" in rule for rule in rules[1:])  # the empty cells of that line are named too
    assert not any(cell and cell in json.dumps(answer["warnings"]) for cell in last if cell != "Total")
    shown = CliRunner().invoke(app, ["check", str(path), str(tmp_path / "s.toml")]).stdout
    assert f"{where} looks like a total" in shown


@pytest.mark.parametrize(
    "last", [["North total", "", "9"], ["Summe Nord:", "", "9"], ["f", "Total", ""], ["Nord - gesamt", "", "9"]]
)
def test_totals_of_each_part_are_named(tmp_path, last):
    other = [last[0].replace("Nor", "Sou"), *last[1:]]
    path = written(tmp_path, [NAMES, *ROWS, last, *ROWS, other], "csv")
    assert stray_rows(open_source(path)).places == "lines 62, 123"
    (tmp_path / "s.toml").write_text(re.sub(r"(?m)^decide = (\[$[^]]*^\]$|.*)", "", sf.draft(path)))
    command = ["publish", "suppress", str(path), str(tmp_path / "s.toml"), "-o", str(tmp_path / "out")]
    assert "lines 62, 123 look like totals" in CliRunner().invoke(app, command).output


def test_ordinary_rows_are_no_totals(tmp_path):
    knees = [["f", "total knee replacement", "3"], *ROWS, ["m", "total hip replacement", "4"], *ROWS]
    assert stray_rows(open_source(written(tmp_path, [NAMES, *knees], "csv"))) is None
    gaps = [["f", "total knee replacement", ""], *ROWS, ["m", "total hip replacement", "4"], *ROWS]
    assert stray_rows(open_source(written(tmp_path, [NAMES, *gaps], "csv"))) is None
    coverage = [["f", "total", "3"], ["m", "partial", "4"], ["m", "total", "4"]] * 20
    assert stray_rows(open_source(written(tmp_path, [NAMES, *coverage], "csv"))) is None
    sparse = [["f", "", ""], ["m", "x", "4"]] * 20
    assert stray_rows(open_source(written(tmp_path, [NAMES, *sparse], "csv"))) is None


@pytest.mark.parametrize("title", [["Patient list 2026", "", ""], ["", "Patients", ""], ["Patients", "2026", "", ""]])
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_title_above_the_header_is_refused(tmp_path, kind, title):
    width = len(title)
    rows = [[*row, "x"][:width] for row in [NAMES, *ROWS]]
    path = written(tmp_path, [title, *rows], kind)
    for asked in (lambda: sf.draft(path), lambda: sf.read(path, SCHEMA)):
        with pytest.raises(sf.ReadError, match="like a title above the table"):
            asked()


def test_a_first_column_without_a_name_is_no_title_and_a_row_of_data_can_be_stated(tmp_path):
    path = written(tmp_path, [["", "sex"], *(["1", "f"], ["2", "m"]) * 20], "csv")
    assert "[attribute.sex]" in sf.draft(path)
    path = written(tmp_path, [["f", "", ""], *ROWS], "csv")
    text = sf.draft(path, header=False)
    (tmp_path / "s.toml").write_text(text)
    assert sf.read(path, sf.Schema.load(tmp_path / "s.toml")).rows == 61


def test_a_title_without_delimiters_is_refused_with_a_hint(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Patient list 2026\n" + "\n".join(",".join(row) for row in [NAMES, *ROWS]) + "\n")
    for asked in (lambda: sf.draft(path), lambda: sf.read(path, SCHEMA)):
        with pytest.raises(sf.ReadError, match=r"line 2 has more cells.*delete a title above the names of the columns"):
            asked()


def test_a_file_too_large_to_hold_is_not_gone_through_once_more(tmp_path, monkeypatch):
    path = written(tmp_path, [NAMES, *ROWS, ["f", "", "Total"]], "csv")
    schema = SCHEMA.with_roles(quasi="sex", sensitive=())
    assert len(sf.read(path, schema).doubts.stray()) == 1
    monkeypatch.setattr("sfumato.engines.large_tables.HELD_ROWS", 50)
    assert sf.read(path, schema).doubts.stray() == []


PEOPLE = {"region": ["North", "South", "East"], "sex": ["f", "m"]}


def measured(rows=150, seed=5):
    draw = np.random.default_rng(seed)
    named = {name: draw.choice(values, rows).tolist() for name, values in PEOPLE.items()}
    return pl.DataFrame(
        {**named, "visits": draw.integers(1, 9, rows).tolist(), "pay": draw.integers(900, 5000, rows).tolist()}
    )


def found(frame):
    stray = stray_rows(open_source(frame))
    return "" if stray is None else stray.places


@pytest.mark.parametrize(
    "words",
    [
        *(
            "All regions",
            "All",
            "Alle",
            "alle Regionen",
            "Toutes",
            "Toutes les r\u00e9gions",
            "Todas",
            "Tutte le regioni",
        ),
        *("Gesamt", "Insgesamt", "Overall", "Sum", "Summe", "Totale"),
    ],
)
def test_a_row_about_all_regions_is_a_total_though_no_cell_is_empty(words):
    frame = measured()
    total = pl.DataFrame(
        {"region": [words], "sex": ["f"], "visits": [frame["visits"].sum()], "pay": [frame["pay"].sum()]}
    )
    assert found(pl.concat([frame[:70], total, frame[70:]])) == "row 71"


def test_two_words_for_all_make_a_total_whatever_its_numbers_are():
    frame = measured()
    margins = pl.DataFrame(
        {"region": ["All regions", "Total"], "sex": ["Both sexes", "all"], "visits": [4, 5], "pay": [2000, 3000]}
    )
    assert found(pl.concat([frame, margins])) == "rows 151, 152"


def test_answers_that_begin_with_all_are_answers():
    frame = measured().with_columns(region=pl.Series(["All day", "Both legs", "none"] * 50))
    assert found(frame) == ""
    rare = measured().with_columns(
        region=pl.Series(["All inclusive", *["half board"] * 149]), pay=pl.Series([1000] + [2000] * 149)
    )
    assert found(rare) == ""


def test_subtotals_without_a_word_are_known_by_their_sums():
    """A row for each region, full of cells, under the name of the region itself."""
    frame = measured().with_columns(days=pl.Series(np.random.default_rng(1).integers(0, 5, 150)))
    parts, places, at = [], [], 0
    for region in PEOPLE["region"]:
        block = frame.filter(pl.col("region") == region)
        at += block.height + 1
        places.append(at)
        sums = block.select(pl.col("region").first(), pl.lit("f").alias("sex"), pl.col("visits", "pay", "days").sum())
        parts += [block, sums]
    assert found(pl.concat(parts)) == f"rows {', '.join(map(str, places))}"


@pytest.mark.parametrize("seed", range(20))
def test_questionnaires_and_pay_are_not_sums_by_chance(seed):
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame({f"q{at}": draw.integers(1, 6, 3_000) for at in range(2 + seed)})
    assert found(frame) == ""


def test_columns_that_repeat_each_other_are_not_sums_by_chance():
    """One vote under four codings of no answer: 13 of 1,200 people were said to be totals, headings or notes."""
    draw = random.Random(3)
    rows: dict[str, list] = {"born": [], "sex": [], "a": [], "b": [], "c": [], "d": []}
    for _ in range(1200):
        party, none = draw.choices("123", [80, 8, 6])[0], draw.random() < 0.35
        codes = [draw.choice(some) if none else party for some in (("9", "kA"), ("9", "99"), ("99", "kA"), ("8", "9"))]
        for name, value in zip(rows, [str(draw.randrange(1940, 2005)), draw.choice("mf"), *codes], strict=True):
            rows[name].append(value)
    assert stray_rows(open_source(pl.DataFrame(rows))) is None


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_are_sums_by_chance_are_told_from_totals_by_how_often_one_column_has_sums(seed, monkeypatch):
    """Three after three ones in each of three columns: some rows of 20,000 are sums of the rows above them."""
    draw = np.random.default_rng(seed)
    answers = [0, 1, 1, 1, 1, 1, 1, 3, 3, 3]
    frame = pl.DataFrame({f"q{at}": draw.choice(answers, 20_000) for at in range(3)})
    assert found(frame) == ""
    monkeypatch.setattr("sfumato.counts.stray_rows._BY_CHANCE", math.inf)
    assert found(frame)


@pytest.mark.parametrize(
    "line",
    [["Sex (f/m)", "Ward", "Days of stay"], ["", "f/m", "days"], ["V1", "V2", "V3"], ["geslacht", "afdeling", "dagen"]],
)
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_second_header_line_is_named(tmp_path, kind, line):
    path = written(tmp_path, [NAMES, line, *ROWS], kind)
    where = "line 2" if kind == "csv" else "sheet row 2"
    assert f"totals: {where} looks like a total, a heading or a note" in sf.draft(path)
    assert stray_rows(open_source(path)).places == where
    for first in (["f", "north", "k.A."], ["f", "north", "long"], ["x", "north", "99"]):
        assert stray_rows(open_source(written(tmp_path, [NAMES, first, *ROWS], kind))) is None


@pytest.mark.parametrize(
    "words",
    ["Subtotaal Nord", "Eindtotaal", "Ensemble", "Nord Ergebnis", "\u00d8", "Sous-total", "Somma", "Sous-total Nord"],
)
def test_more_words_for_totals(tmp_path, words):
    rows = [[*row, "a", "b"] for row in ROWS]
    path = written(tmp_path, [[*NAMES, "c", "d"], *rows, [words, "", "7", "", ""]], "csv")
    assert stray_rows(open_source(path)).places == "line 62"


def test_rows_without_quasi_identifiers_are_named_without_a_word():
    frame = measured().with_columns(job=pl.Series(["a", "b", "c"] * 50))
    bare = pl.DataFrame(
        {"region": ["Nord*"], "sex": [None], "visits": [3], "pay": [950], "job": [None]}, schema=frame.schema
    )
    source = open_source(pl.concat([frame, bare]))
    assert stray_rows(source) is None
    assert stray_rows(source, ["region", "sex", "job"]).places == "row 151"
    assert stray_rows(open_source(frame), ["region", "sex", "job"]) is None


def surveyed(rows=900, *, missing=0.06, seed=5):
    """Return people of whom some did not answer, each question by itself; everybody's key and illness are there."""
    draw = np.random.default_rng(seed)
    asked = {name: draw.choice(values, rows).tolist() for name, values in PEOPLE.items()}
    asked |= {"age": draw.integers(18, 90, rows).tolist()}
    gaps = {name: draw.random(rows) < missing for name in asked}
    cells = {name: [None if gaps[name][at] else one for at, one in enumerate(column)] for name, column in asked.items()}
    key = [f"K{at * 7:05d}" for at in range(rows)]
    return pl.DataFrame({"key": key, **cells, "illness": draw.choice(["x", "y", "z"], rows).tolist()})


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [0.04, 0.06, 0.08])
def test_people_who_left_two_questions_open_are_people(missing, seed):
    frame = surveyed(missing=missing, seed=seed)
    unanswered = pl.sum_horizontal(pl.col("region", "sex", "age").is_null().cast(pl.Int32))
    assert frame.filter(unanswered >= 2).height
    assert stray_rows(open_source(frame), ["region", "sex", "age"]) is None


def test_a_note_below_a_survey_with_open_questions_is_named():
    frame = surveyed()
    note = pl.DataFrame({name: ["Source: registry" if name == "key" else None] for name in frame.columns}, frame.schema)
    assert stray_rows(open_source(pl.concat([frame, note])), ["region", "sex", "age"]).places.endswith("901")


def test_people_who_skipped_a_block_of_questions_are_people():
    """Six of 400 answer nothing but who they are; a note below them, without that, is still named."""
    rng = np.random.default_rng(5)
    about = {name: rng.integers(1, 5, 400).tolist() for name in ("age", "sex", "town")}
    asked = {f"q{at}": rng.integers(1, 6, 400).tolist() for at in range(20)}
    frame = pl.DataFrame({**about, **asked})
    skipped = pl.int_range(pl.len()) % 70 == 3
    survey = frame.with_columns(pl.when(~skipped).then(pl.col(name)).alias(name) for name in asked)
    assert stray_rows(open_source(survey), list(about)) is None
    note = survey.head(1).with_columns(pl.lit(None).alias(name) for name in frame.columns if name != "age")
    assert stray_rows(open_source(pl.concat([survey, note], how="vertical_relaxed")), list(about)).rows == 1


def test_a_column_of_merged_cells_is_named_by_draft_and_check(tmp_path):
    wards = [[ward if at == 0 else "", *row[:2]] for ward in ("A", "B", "C", "A") for at, row in enumerate(ROWS)]
    path = written(tmp_path, [["unit", "sex", "ward"], *wards], "xlsx")
    text = sf.draft(path)
    assert "merged: unit is filled only in the first row of each block" in text
    (tmp_path / "s.toml").write_text(text)
    schema = sf.Schema.load(tmp_path / "s.toml")
    rules = [
        problem.rule
        for problem in sf.read(path, schema.with_roles(quasi=["unit", "sex"], sensitive="ward")).doubts.remarks()
    ]
    assert any("as merged cells are" in rule for rule in rules)
    filled = written(tmp_path, [["unit", "sex", "ward"], *([row[0] or "A", *row[1:]] for row in wards)], "xlsx")
    assert "merged:" not in sf.draft(filled)


@pytest.mark.parametrize("word", ["Summe", "Total"])
@pytest.mark.parametrize("people", [10, 40, 200])
def test_a_subtotal_of_each_site_is_named_however_many_sites_there_are(tmp_path, word, people):
    """Above one row in fifty they were taken for people, and one person without an age stood alone among them."""
    rng = np.random.default_rng(3)
    lines = ["site,age,sex,ill"]
    for site in "ABCD":
        lines += [
            f"Klinik {site},{age},{'mf'[sex]},{'xyz'[ill]}"
            for age, sex, ill in zip(
                *(rng.integers(low, high, people) for low, high in ((20, 70), (0, 2), (0, 3))), strict=True
            )
        ]
        lines.append(f"{word} Klinik {site},,,")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    attributes = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "missing": [""]},
        "sex": {"role": "quasi", "values": ["m", "f"], "missing": [""]},
        "ill": {"role": "sensitive", "values": [*"xyz"], "missing": [""]},
    }
    table = sf.read(tmp_path / "t.csv", sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": attributes}))
    (found,) = table.doubts.stray()
    assert found.rows == 4
    with pytest.warns(PublicationWarning, match="look like totals, headings or notes"):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(3)))


def test_an_empty_table_has_none():
    attributes = {"age": {"role": "quasi", "kind": "numeric", "range": [0, 9]}}
    table = sf.read(
        pl.DataFrame({"age": [], "x": []}, schema={"age": pl.Int64, "x": pl.String}),
        sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": attributes}),
    )
    assert table.doubts.of_classes() == []
