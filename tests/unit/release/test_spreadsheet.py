"""Cells that a spreadsheet would run are marked in CSV, and the mark is taken off exactly."""

from __future__ import annotations

import csv
import json
import re
import shutil

import polars as pl
import pytest
from hypothesis import example, given, settings, strategies as st

import sfumato as sf
from sfumato.release.files import digest, marked, marked_frame, unmarked, unmarked_frame

STARTS = "=+-@\t\r\n' ＝＋－＠\u00a0\u3000\ufeff"
CELLS = st.one_of(
    st.text(max_size=8),
    st.builds(lambda start, rest: start + rest, st.text(STARTS, min_size=1, max_size=3), st.text(max_size=5)),
    st.from_regex(r"[+-]?[0-9]+(\.[0-9]+)?", fullmatch=True),
)
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


@given(CELLS)
@example("'=1")
@example("''")
@example("-5\n")
@example("-5")
@settings(max_examples=500)
def test_a_mark_is_taken_off_exactly(text):
    cell = marked(text)
    assert unmarked(cell) == text
    first = cell.strip()[:1] if cell.strip() else cell[:1]
    assert cell.startswith("'") or NUMBER.fullmatch(cell) or first not in set("=+-@\t\r\n＝＋－＠")
    frame = pl.DataFrame({"c": [text]})
    assert marked_frame(frame)["c"].to_list() == [cell], "polars and Python follow the same rule"
    assert unmarked_frame(marked_frame(frame).lazy()).collect()["c"].to_list() == [text]


def test_numbers_and_intervals_stay():
    for text in ("-5", "+5", "-0.25", "[-5-3)", "[-5, 3)", "*", "a=b", "{-1, -2}", "2020-01", "(missing)", ""):
        assert marked(text) == text
    for text in ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", " =1", "'x", "＝1", "-", "-1e5"):
        assert marked(text) == f"'{text}"


VALUES = ["=1+1", "'=1+1", "+cmd", "-x", "@a", "\ttab", "'", "plain", "-5", "''-"]
ILLS = ["'=2+2" if value == "'=1+1" else value for value in VALUES]  # marks alone would not tell sensitive values apart
NAME = "=HYPERLINK(1)"


@pytest.fixture
def table():
    schema = sf.Schema.parse(
        {
            "name": "cells",
            "source": "public",
            "attribute": {
                NAME: {"role": "quasi", "values": VALUES},
                "age": {"role": "quasi", "kind": "numeric", "range": [-8, 8]},
                "'ill": {"role": "sensitive", "values": ILLS},
            },
        }
    )
    rows = {NAME: VALUES * 30, "age": [-8 + at % 16 for at in range(300)], "'ill": (ILLS[3:] + ILLS[:3]) * 30}
    return sf.read(pl.DataFrame(rows), schema)


@pytest.mark.parametrize(
    "mechanism",
    [sf.Bucketize(sf.LDiversity(2)), sf.Mondrian(sf.KAnonymity(2)), sf.NoisyTable(1), sf.Suppress()],
    ids=["buckets", "generalized", "cells", "suppressed"],
)
def test_no_cell_of_a_csv_begins_like_a_formula(table, mechanism, tmp_path):
    """Item 12: what is published as CSV is marked, and `load` and `verify` read it as it was."""
    release = sf.publish(table, mechanism)
    for kind in ("csv", "parquet"):
        release.save(tmp_path / kind, format=kind, allow_unaccounted=True)
        verdict = sf.verify(tmp_path / kind)
        assert verdict.holds, str(verdict)
    loaded = {kind: sf.Release.load(tmp_path / kind) for kind in ("csv", "parquet")}
    for name, published in sf.release.published_frames(release).items():
        for one in loaded.values():
            assert sf.release.published_frames(one)[name].expanded().equals(published.expanded())
    for file in (tmp_path / "csv").glob("*.csv"):
        with file.open(newline="", encoding="utf-8") as lines:
            cells = [cell for line in csv.reader(lines) for cell in line]
        assert any(cell.startswith("'") for cell in cells)
        assert [cell for cell in cells if cell[:1] in tuple("=+-@\t\r\n") and not NUMBER.fullmatch(cell)] == []
    assert "apostrophe" in (tmp_path / "csv" / "dictionary.md").read_text("utf-8")
    assert "apostrophe" not in (tmp_path / "parquet" / "dictionary.md").read_text("utf-8")


def test_a_changed_mark_is_a_changed_file(table, tmp_path):
    sf.publish(table, sf.Mondrian(sf.KAnonymity(2))).save(tmp_path / "out", format="csv")
    shutil.copytree(tmp_path / "out", tmp_path / "bad")
    file = tmp_path / "bad" / "data.csv"
    file.write_text(file.read_text("utf-8").replace("'=1+1", "=1+1", 1), "utf-8")
    assert not sf.verify(tmp_path / "bad").holds


def resealed(folder, name, change):
    """Change the text of a table and make the manifest agree."""
    file = folder / name
    before = file.read_text("utf-8")
    file.write_text(change(before), "utf-8")
    assert file.read_text("utf-8") != before
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"][name]["sha256"] = digest(file)
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


CHANGES = {
    "a mark before a plain text": lambda text: text.replace("plain", "'plain", 1),
    "a mark before a number": lambda text: text.replace("-5", "'-5", 1),
    "a mark removed": lambda text: text.replace("'+cmd", "+cmd", 1),
    "a mark of the header removed": lambda text: text.replace("'=HYPERLINK", "=HYPERLINK", 1).replace("''ill", "'ill"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["data.csv", "groups.csv"])
def test_a_changed_mark_is_found_though_the_manifest_agrees(table, tmp_path, change, name):
    """Marks that may stand or not would be a channel to mark people with."""
    sf.publish(table, sf.Bucketize(sf.LDiversity(2))).save(tmp_path / "out", format="csv")
    assert sf.verify(tmp_path / "out").holds
    resealed(tmp_path / "out", name, CHANGES[change])
    verdict = sf.verify(tmp_path / "out")
    assert not verdict.holds
    assert [problem.path for problem in verdict.problems] == [name]
    assert "a cell is not written as it is saved" in str(verdict)
    assert "plain" not in str(verdict)
    with pytest.raises(sf.ReleaseError, match="a cell is not written as it is saved"):
        sf.Release.load(tmp_path / "out")


def test_a_csv_of_ours_is_read_outside_its_folder(table, tmp_path):
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(2)))
    release.save(tmp_path / "out", format="csv")
    again = sf.Release.read(tmp_path / "out" / "data.csv", table.schema)
    assert again.summary().classes == release.summary().classes
