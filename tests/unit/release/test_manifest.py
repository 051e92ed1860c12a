"""The manifest tells what it may and nothing else; a mangled one gives a ReleaseError and nothing else."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction

import pytest

from sfumato.claims import Claim, KAnonymity, Neighbours, PureDP
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.release import Release, verify


def saved(tmp_path, release, name="out"):
    release.save(tmp_path / name, allow_fingerprints=True, allow_unaccounted=True, format="csv")
    return json.loads((tmp_path / name / "manifest.json").read_text())


def test_says_what_the_folder_holds(tmp_path, make):
    release = make(notes=("a note",))
    manifest = saved(tmp_path, release)
    assert manifest["format"] == 1
    assert manifest["claim"] == release.claim.to_json()
    assert set(manifest["files"]) == {"data.csv", "dictionary.md"}
    entry = manifest["files"]["data.csv"]
    assert entry["rows"] == release.rows
    assert entry["columns"] == ["age", "job", "seen", "grade", "illness"]
    assert manifest["notes"] == ["a note"]
    assert [a["levels"] for a in manifest["schema"]["attributes"]] == [
        "halves",
        "declared",
        "declared",
        "halves",
        "declared",
    ]
    assert {found.name for found in (tmp_path / "out").iterdir()} == {*manifest["files"], "manifest.json"}


def test_tells_no_unpublished_value_of_a_data_domain(tmp_path, make, schema_of_data):
    release = make(2, rows=2, of=schema_of_data, seed=3)
    saved(tmp_path, release)
    text = (tmp_path / "out" / "manifest.json").read_text() + (tmp_path / "out" / "dictionary.md").read_text()
    published = " ".join(" ".join(map(str, row)) for row in release.frame().rows())
    names = ["Typist", "Teller", "Mason", "Miner", "Smith", "Clerical", "Manual", "flu", "asthma", "ulcer", "colitis"]
    hidden = [name for name in names if name not in published]
    assert hidden
    assert [name for name in hidden if name in text] == []
    assert "2022-01-01" not in text
    assert '"cells": 100' not in text


def test_holds_no_seed_no_path_no_uncovered_count(tmp_path, make):
    given = {"name": "m", "seed": 4711, "epsilon": Fraction(1, 3), "base": {"seed": 4711, "path": "/a/b"}}
    private = Claim(PureDP(Fraction(1, 3)), neighbours=Neighbours.ADD_OR_REMOVE_ONE, trace=[("all", Fraction(1, 3))])
    manifest = saved(tmp_path, make(claim=private, mechanism=given, left_out=17))
    assert manifest["mechanism"] == {"name": "m", "epsilon": "1/3", "base": {}}
    assert "left_out" not in manifest
    for name in ("manifest.json", "dictionary.md"):
        text = (tmp_path / "out" / name).read_text()
        assert "4711" not in text
        assert str(tmp_path) not in text
        assert " 17" not in text
    checked = saved(tmp_path, make(claim=Claim(KAnonymity(1)), left_out=17), "checked")
    assert checked["left_out"] == 17


def test_dictionary_in_plain_words(tmp_path, make, make_buckets):
    given = {"name": "m", "tight": True, "requirement": KAnonymity(7).to_json(), "rest": {"d": [1]}}
    release = make(notes=("labels are exact hulls",), mechanism=given)
    saved(tmp_path, release)
    text = (tmp_path / "out" / "dictionary.md").read_text()
    for part in (
        "# clinic",
        "at least 1 row:",
        "### age",
        "0 up to but not including 100",
        "exact hulls",
        "`*`",
        "k-anonymity(7)",
        "tight: yes",
    ):
        assert part in text
    make_buckets().save(tmp_path / "buckets", allow_fingerprints=True)
    assert "number of the group" in (tmp_path / "buckets" / "dictionary.md").read_text()


BROKEN = {
    "not json": lambda _: "{",
    "a list": lambda _: [],
    "newer": lambda m: {**m, "format": 2},
    "no schema": lambda m: {k: v for k, v in m.items() if k != "schema"},
    "no files": lambda m: {**m, "files": {}},
    "way out": lambda m: {**m, "files": {**m["files"], "../x": {"sha256": ""}}},
    "form": lambda m: {**m, "form": "cloud"},
    "claim": lambda m: {**m, "claim": {"promise": {"kind": "k-anonymity"}, "kind": "checked"}},
    "claim kind": lambda m: {**m, "claim": {**m["claim"], "kind": "proved"}},
    "claim text": lambda m: {**m, "claim": "k"},
    "left out": lambda m: {**m, "left_out": -1},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_manifest_is_named(tmp_path, make, name):
    manifest = saved(tmp_path, make())
    broken = BROKEN[name](manifest)
    text = broken if isinstance(broken, str) else json.dumps(broken)
    (tmp_path / "out" / "manifest.json").write_text(text)
    with pytest.raises(ReleaseError):
        Release.load(tmp_path / "out")


def test_several_problems_are_listed_at_once(tmp_path, make):
    manifest = saved(tmp_path, make())
    manifest["form"] = 3
    manifest["notes"] = "x"
    manifest["schema"]["attributes"][0]["domain"] = {"low": "0", "step": "0", "cells": 5}
    manifest["schema"]["attributes"][1]["tree"]["high"][0] = 10**9
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReleaseError) as caught:
        Release.load(tmp_path / "out")
    paths = {problem.path for problem in caught.value.problems}
    assert {"form", "notes", "schema.attributes[0]", "schema.attributes[1]"} <= paths


def _mangle(data, rng):
    """Change, drop or retype one random place."""
    places = []

    def walk(node, way):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((*way, key))
            if isinstance(node[key], dict | list):
                walk(node[key], (*way, key))

    walk(data, ())
    *way, last = rng.choice(places)
    node = data
    for key in way:
        node = node[key]
    choice = rng.randrange(8)
    if choice == 0:
        del node[last]
    else:
        node[last] = [None, "x", -1, 10**12, {}, [], 1.5, True][choice]


def test_fuzzed_manifests_raise_nothing_else(tmp_path, make):
    rng = random.Random(5)
    manifest = saved(tmp_path, make(4, rows=3))
    file = tmp_path / "out" / "manifest.json"
    refused = 0
    for _ in range(400):
        broken = copy.deepcopy(manifest)
        for _ in range(rng.randint(1, 3)):
            _mangle(broken, rng)
        file.write_text(json.dumps(broken))
        for verb in (Release.load, verify):
            try:
                verb(tmp_path / "out")
            except SfumatoError:
                refused += 1
    assert refused > 200
