"""Rows beyond `rows_per_person` are left out, and every method, file and page says how many and why."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.notes import size_rows

SCHEMA = {
    "name": "calls",
    "person": "caller",
    "source": "public",
    "attribute": {
        "caller": {"role": "identifier"},
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
        "town": {"role": "quasi", "values": ["Bonn", "Hof", "Jena"]},
        "topic": {"role": "sensitive", "values": ["a", "b", "c", "d"]},
        "csat": {"role": "target", "values": ["0", "1"]},
    },
}
METHODS = {
    "mondrian": sf.Mondrian(sf.KAnonymity(5)),
    "topdown": sf.TopDown(5),
    "suppress": sf.Suppress(),
    "bucketize": sf.Bucketize(sf.LDiversity(2)),
    "anatomy": sf.Anatomy(2),
}


def calls(seed=1):
    rng = np.random.default_rng(seed)
    rows = []
    for who in range(200):
        age, town = int(rng.integers(20, 80)), ["Bonn", "Hof", "Jena"][rng.integers(0, 3)]
        rows += [
            (f"c{who:04}", age, town, "abcd"[rng.integers(0, 4)], str(rng.integers(0, 2)))
            for _ in range(1 + 3 * (who % 4 == 0))
        ]
    return pl.DataFrame(rows, schema=["caller", "age", "town", "topic", "csat"], orient="row")


def published(method, most, frame=None):
    schema = sf.Schema.parse(SCHEMA | {"rows_per_person": most})
    return sf.publish(sf.read(calls() if frame is None else frame, schema), method)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_tells_the_rows_it_left_out(name, tmp_path):
    release = published(METHODS[name], 1)
    gone = calls().height - 200
    assert gone == 150
    release.save(tmp_path / "out", format="csv")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["capped"] == gone
    assert manifest["left_out"] == 0  # of these it is another number
    assert [
        f"{gone} rows were left out: of each person at most 1 row is kept" in note for note in manifest["notes"]
    ] == [True]
    assert f"{gone} rows were left out" in (tmp_path / "out" / "dictionary.md").read_text()
    verdict = sf.verify(tmp_path / "out")
    assert verdict.holds, str(verdict)
    loaded = sf.Release.load(tmp_path / "out")
    assert loaded.capped == gone
    assert dict(size_rows(loaded))["left out, beyond rows_per_person"] == gone
    for kind in ("html", "md"):
        sf.report(None, tmp_path / f"page.{kind}", audience="public", release=loaded, folder="out")
        assert f"{gone} left out: at most 1 row of each person kept" in (tmp_path / f"page.{kind}").read_text()


def test_several_rows_of_each_person(tmp_path):
    release = published(METHODS["mondrian"], 2)
    assert release.capped == 100
    (note,) = [one for one in release.notes if "left out" in one]
    assert note.startswith("100 rows were left out: of each person at most 2 rows are kept, by")


def test_where_nothing_is_left_out_nothing_is_said(tmp_path):
    release = published(METHODS["anatomy"], 1, calls().unique("caller"))
    release.save(tmp_path / "out", format="csv")
    assert "capped" not in json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "left out" not in (tmp_path / "out" / "dictionary.md").read_text()
    assert release.notes == ()


def test_a_proved_claim_does_not_tell_that_number(tmp_path):
    release = published(sf.NoisyTable(8), 1)
    assert release.capped is None
    assert not [note for note in release.notes if "150" in note]
    release.save(tmp_path / "out", allow_unaccounted=True)
    path = tmp_path / "out" / "manifest.json"
    assert sf.verify(tmp_path / "out").holds
    path.write_text(json.dumps(json.loads(path.read_text()) | {"capped": 150}))
    assert "states a number of rows that the claim does not cover" in str(sf.verify(tmp_path / "out"))


WORDS = {
    "one": ({"rows_per_person": 1}, "rows are counted as people, as the publisher declares"),
    "four": (
        {"rows_per_person": 4},
        "every 4 rows are counted as one person: nobody is taken to have more than 4 rows, as the publisher declares",
    ),
    "keyed": (
        {"rows_per_person": 1, "person": "caller"},
        "each row is a different person, of whose rows one was kept, as the publisher declares",
    ),
    "keyed, all": ({"person": "caller"}, "people are counted as the publisher declared them"),
    "rows": ({}, "rows are counted; how many of them are about one person is not stated"),
}


@pytest.mark.parametrize("name", WORDS)
def test_verify_says_how_rows_were_counted_as_people(name, tmp_path):
    said, words = WORDS[name]
    keyed = "person" in said
    frame = calls() if keyed else calls().drop("caller")
    columns = {one: given for one, given in SCHEMA["attribute"].items() if keyed or one != "caller"}
    head = {one: given for one, given in SCHEMA.items() if one not in ("person", "attribute")}
    schema = sf.Schema.parse(head | said | {"attribute": columns, "copies_are_people": True})
    sf.publish(sf.read(frame, schema), sf.Mondrian(sf.KAnonymity(3))).save(tmp_path / "out", allow_fingerprints=True)
    verdict = str(sf.verify(tmp_path / "out"))
    assert words in verdict
    for other in {one for _, one in WORDS.values()} - {words}:
        assert other not in verdict


def test_verify_of_a_draw_says_how_many_rows_a_person_has(tmp_path):
    head = {one: given for one, given in SCHEMA.items() if one != "person"}
    table = sf.read(calls(), sf.Schema.parse(head | {"rows_per_person": 4}))
    release = sf.publish(table, sf.NoisyTable(8))
    release.save(tmp_path / "out", allow_unaccounted=True)
    verdict = str(sf.verify(tmp_path / "out"))
    assert "nobody is taken to have more than 4 rows, as the publisher declares" in verdict
    assert "counted as people" not in verdict


def test_the_dictionary_tells_all_rows_that_are_left_out(tmp_path):
    """It gave the number of the suppressed rows alone as that of all rows that are left out."""
    schema = SCHEMA | {"rows_per_person": 1}
    town = {"role": "quasi", "values": ["Bonn", "Hof"], "missing": {"values": ["Jena"], "action": "suppress"}}
    schema["attribute"] = SCHEMA["attribute"] | {"town": town}
    release = sf.publish(sf.read(calls(), sf.Schema.parse(schema)), sf.Suppress())
    release.save(tmp_path / "out", format="csv")
    gone = calls().height - release.rows
    assert release.left_out
    assert release.capped
    assert gone == release.left_out + release.capped
    said = (tmp_path / "out" / "dictionary.md").read_text("utf-8")
    assert f"{gone} records are left out of the data, {release.capped} of them because" in said
