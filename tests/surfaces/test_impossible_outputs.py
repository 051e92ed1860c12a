"""What cannot be written is refused before the work: item 12, `-o r.pdf` was refused after the sweep."""

from __future__ import annotations

import json

import pytest

import sfumato as sf
from sfumato.cli.main import main


def command(capsys, *words):
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    return stopped.value.code, capsys.readouterr().out


WORK = {
    "frontier": ["frontier", "DATA", "SCHEMA", "-o", "FILE"],
    "frontier, public": ["frontier", "DATA", "SCHEMA", "--public", "FILE"],
    "draft": ["draft", "DATA", "-o", "FILE"],
    "apply": ["apply", "RELEASE", "DATA", "-o", "FILE"],
    "attack": ["attack", "composition", "RELEASE", "--victims", "DATA", "--records", "FILE"],
    "demo": ["demo", "--quick", "-o", "FILE"],
}
FILES = {
    "a pdf": "r.pdf",
    "below a file": "file/r.html",
    "a long name": "x" * 300 + ".html",
    "a folder": "folder.html",
    "a folder that must not exist": "folder.html",
}
ANY_ENDING = {"draft", "apply", "attack", "demo"}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("file", FILES)
def test_impossible_outputs_are_refused_before_the_work(work, file, clinic_files, tmp_path, capsys, monkeypatch):
    if file == "a pdf" and work in ANY_ENDING:
        return
    if file.startswith("a folder") and work == "demo":  # it takes the next free name
        return
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder.html").mkdir()
    words = WORK[work]
    names = {"DATA": clinic_files[0], "SCHEMA": clinic_files[1], "FILE": FILES[file], "RELEASE": "no-release"}

    def never(*_, **__):
        pytest.fail("the work was begun")

    for name in ("read", "frontier", "draft", "apply", "sweep"):
        monkeypatch.setattr(sf, name, never)
    monkeypatch.setattr(sf.Release, "load", never)
    monkeypatch.setattr(sf.attacks, "open_releases", never)
    monkeypatch.setattr("papers.reproduce", never)
    code, out = command(capsys, *(names.get(word, word) for word in words), "--json")
    answer = json.loads(out)
    assert code == 2
    assert answer["error"] == "ParameterError", answer
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file", "folder.html"]
