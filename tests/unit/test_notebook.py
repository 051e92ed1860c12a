"""What a notebook shows: markup is escaped, and of a table no value of any row."""

from __future__ import annotations

import polars as pl

import sfumato as sf
from sfumato.visible import notebook

SCHEMA = {
    "name": "t",
    "source": "public",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "step": 1},
        "ill": {"role": "sensitive", "values": ["<b>flu</b>", "cold"]},
    },
}


def table():
    frame = pl.DataFrame({"age": [31, 31, 77, 77], "ill": ["<b>flu</b>", "cold", "cold", "<b>flu</b>"]})
    return sf.read(frame, sf.Schema.parse(SCHEMA))


def test_nothing_given_is_markup():
    shown = notebook("<i>", lines=["<script>", ""], heads=["<h>"], rows=[["<c>"]])
    assert not any(mark in shown for mark in ("<i>", "<script>", "<h>", "<c>"))


def test_a_table_shows_its_columns_and_no_cell():
    shown = table()._repr_html_()
    assert "age" in shown
    assert not any(cell in shown for cell in ("77", "31", "flu", "cold"))


def test_a_release_its_claim_and_its_verdict_are_shown(tmp_path):
    release = sf.publish(table(), sf.Mondrian(sf.KAnonymity(2)))
    assert "does not cover" in release._repr_html_()
    assert "&lt;b&gt;flu" in release._repr_html_()
    assert "<b>flu" not in release._repr_html_()
    assert "2 rows" in release.claim._repr_html_()
    release.save(tmp_path / "out", allow_fingerprints=True)
    assert "hold" in sf.verify(tmp_path / "out")._repr_html_()
