"""A release folder holds what its manifest lists, and a manifest the keys we write; anything else fails."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import zipfile

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import sfumato as sf
from sfumato.claims import unknown_keys
from sfumato.errors import ParameterError, ReleaseError

MECHANISMS = {
    "mondrian": sf.Mondrian(sf.KAnonymity(10) & sf.LDiversity(2)),
    "buckets": sf.Bucketize(sf.LDiversity(2)),
    "topdown": sf.TopDown(10),
    "diffgen": sf.DiffGen(1, specializations=2),
}


@pytest.fixture(scope="module", params=MECHANISMS)
def made(request, clinic, tmp_path_factory):
    folder = tmp_path_factory.mktemp("free") / "out"
    predicted = request.param in ("topdown", "diffgen")
    table = clinic.with_roles(quasi=["age", "town"], **{"target" if predicted else "sensitive": "ill"})
    sf.publish(table, MECHANISMS[request.param]).save(folder, format="csv", allow_unaccounted=True)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def resealed(folder, change=None):
    """Write the manifest again with true hashes, after a change."""
    answer = json.loads((folder / "manifest.json").read_text())
    for name, entry in answer["files"].items():
        entry["sha256"] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    if change is not None:
        change(answer)
    (folder / "manifest.json").write_text(json.dumps(answer))
    return folder


def objects(answer, path=()):
    """Yield the path of every object of a manifest whose keys are ours; those of a mechanism are its own."""
    if isinstance(answer, dict):
        yield path
        items = [(key, value) for key, value in answer.items() if path or key != "mechanism"]
    else:
        items = list(enumerate(answer)) if isinstance(answer, list) else []
    for key, value in items:
        yield from objects(value, (*path, key))


def refused(folder):
    """Whether loading and verifying both refuse a folder."""
    try:
        verdict = sf.verify(folder)
    except ReleaseError:
        with pytest.raises(ReleaseError):
            sf.Release.load(folder)
        return True
    return not verdict.holds


def test_it_holds_before_anything_is_added(folder):
    assert sf.verify(resealed(folder)).holds


def test_a_key_nobody_knows_is_refused_wherever_it_stands(folder):
    """A text under a key that no reader looks at would be published with the claim."""
    original = json.loads((folder / "manifest.json").read_text())
    paths = list(objects(original))
    assert {(), ("schema",), ("claim",), ("claim", "promise"), ("files", "data.csv")} <= set(paths)
    for path in paths:

        def change(answer, path=path):
            for key in path:
                answer = answer[key]
            answer["people"] = "Ada Lovelace, flu"

        resealed(folder, change)
        assert refused(folder), path
        (folder / "manifest.json").write_text(json.dumps(original))
    assert sf.verify(folder).holds


@pytest.mark.parametrize("key", ["created", "polars", "python", "sfumato"])
def test_short_facts_are_no_place_for_a_text(folder, key):
    with pytest.raises(ReleaseError, match=key):
        sf.verify(resealed(folder, lambda answer: answer.update({key: "Ada Lovelace, flu"})))


@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db", "desktop.ini", "data.csv.gz", ".hidden", "notes.txt"])
def test_every_file_beside_the_listed_ones_is_named_and_fails(folder, name):
    (folder / name).write_bytes(gzip.compress((folder / "data.csv").read_bytes()))
    verdict = sf.verify(folder)
    assert not verdict.holds
    assert [problem.path for problem in verdict.problems] == [name]


def test_a_compressed_table_in_the_place_of_a_table_fails(folder):
    """A gzip header has room for a comment that no reader of the rows sees."""
    data = folder / "data.csv"
    data.write_bytes(gzip.compress(data.read_bytes()))
    assert refused(resealed(folder))


def test_notes_in_a_parquet_file_fail(clinic, tmp_path):
    sf.publish(clinic, sf.Mondrian(sf.KAnonymity(5))).save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds
    data = tmp_path / "out" / "data.parquet"
    pl.read_parquet(data).write_parquet(data, metadata={"people": "Ada Lovelace, flu"})
    assert refused(resealed(tmp_path / "out"))


def test_a_cut_that_is_no_label_fails(folder):
    recoded = "recoding" in json.loads((folder / "manifest.json").read_text())

    def change(answer):
        if recoded:
            answer["recoding"]["labels"]["town"].append("Ada Lovelace, flu")

    assert sf.verify(resealed(folder, change)).holds is not recoded


def test_a_claim_read_by_itself_refuses_unknown_keys(clinic):
    answer = sf.publish(clinic, sf.Mondrian(sf.KAnonymity(5))).claim
    assert type(answer).from_json(answer.to_json()) == answer
    with pytest.raises(ParameterError, match="note"):
        type(answer).from_json({**answer.to_json(), "note": "x"})


plain = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@settings(max_examples=100)
@given(data=plain)
def test_nothing_is_unknown_in_what_was_written(data):
    assert list(unknown_keys(data, data)) == []
    assert list(unknown_keys({"a": data, "more": 1}, {"a": data})) == ["more"]


@pytest.mark.parametrize("change", [" Audited by the ministry.", "\n## Also promised\n\nNobody can be found.\n", ""])
def test_a_dictionary_with_other_words_fails(folder, change):
    """The hash is true and the manifest lists it; the words are another's."""
    text = (folder / "dictionary.md").read_text("utf-8")
    (folder / "dictionary.md").write_text(text + change if change else text.replace("## Notes", "## Promises", 1) + " ")
    verdict = sf.verify(resealed(folder))
    assert not verdict.holds
    assert [problem.path for problem in verdict.problems] == ["dictionary.md"]


def test_words_follow_the_manifest(folder):
    """A note that is written into the manifest alone is missed in the dictionary."""
    assert sf.verify(folder).holds
    assert not sf.verify(resealed(folder, lambda answer: answer["notes"].append("Nobody can be found."))).holds


def test_a_dictionary_of_another_version_is_not_compared_and_that_is_said(folder):
    (folder / "dictionary.md").write_text("Other words.")
    verdict = sf.verify(resealed(folder, lambda answer: answer.update(sfumato="0.0.1")))
    assert verdict.holds
    assert any("another version" in note for note in verdict.notes)


def test_an_excel_file_with_anything_beside_its_cells_fails(clinic, tmp_path):
    table = clinic.with_roles(quasi=["age", "town"], sensitive="ill")
    folder = tmp_path / "out"
    sf.publish(table, MECHANISMS["mondrian"]).save(folder, format="xlsx")
    assert sf.verify(folder).holds
    with zipfile.ZipFile(folder / "data.xlsx") as archive:
        parts = [(one, archive.read(one)) for one in archive.infolist()]
    for extra in ("docProps/core.xml", "xl/comments1.xml"):
        with zipfile.ZipFile(folder / "data.xlsx", "w") as archive:
            for one, content in parts:
                archive.writestr(one, content)
            archive.writestr(zipfile.ZipInfo(extra), "<creator>Ann Smith</creator>")
        found = sf.verify(resealed(folder))
        assert not found.holds
        assert "more than its cells" in str(found)
        assert "Smith" not in str(found)
