"""`--mapping`, `--records`, `apply -o`: for the owner alone, never through a link, never in a release."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.surfaces.small_files import WITHOUT_JOB, write_table

import sfumato as sf
from sfumato.cli.main import main


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table("d.csv", "s.toml", WITHOUT_JOB)
    table = sf.read("d.csv", sf.Schema.load("s.toml"))
    sf.publish(table, sf.NoisyTable(1)).save("noisy", allow_unaccounted=True)
    sf.publish(table, sf.Mondrian(sf.KAnonymity(5))).save("classes")
    return tmp_path


COMMANDS = {
    "mapping": ("publish", "mondrian", "d.csv", "s.toml", "--k", "5", "-o", "out", "--mapping"),
    "records": ("attack", "composition", "classes", "--victims", "d.csv", "--schema", "s.toml", "--records"),
    "apply": ("apply", "noisy", "d.csv", "--schema", "s.toml", "-o"),
}


@pytest.fixture(params=COMMANDS)
def write(request, desk, capsys):
    """Return each command that writes a confidential file, as a function of where to; gives the code and the words."""

    def run(target):
        with pytest.raises(SystemExit) as stopped:
            main([*COMMANDS[request.param], str(target)])
        said = capsys.readouterr()
        return stopped.value.code, said.out + said.err

    return run


def test_the_file_is_for_its_owner_alone(write):
    before = os.umask(0)
    try:
        assert write("secret.csv")[0] == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("secret.csv").stat().st_mode) == 0o600
    assert Path("secret.csv").stat().st_size > 20
    assert [found.name for found in Path().iterdir() if found.name.startswith(".")] == []


@pytest.mark.parametrize("target", ["taken.csv", "link.csv", "classes/secret.csv", "no/such/folder.csv", "noisy"])
def test_links_files_and_releases_are_refused_and_nothing_is_made(write, target):
    Path("taken.csv").write_text("kept")
    Path("link.csv").symlink_to("elsewhere.csv")
    code, said = write(target)
    assert code == 2
    assert "Traceback" not in said
    assert Path("taken.csv").read_text() == "kept"
    assert not Path("elsewhere.csv").exists()
    assert not Path("out").exists()  # the release is not made either
    assert sf.verify("classes").holds
    assert sorted(found.name for found in Path("classes").iterdir()) == [
        "data.parquet",
        "dictionary.md",
        "manifest.json",
    ]
    assert [found.name for found in Path().iterdir() if found.name.startswith(".")] == []


def test_a_mapping_inside_its_own_release_is_refused(desk, capsys):
    Path("out").mkdir()
    for target in ("out/m.csv", "out"):
        with pytest.raises(SystemExit) as stopped:
            main([*COMMANDS["mapping"], target])
        assert stopped.value.code == 2
    assert list(Path("out").iterdir()) == []


def test_a_sweep_is_not_kept_in_a_release(desk):
    with pytest.raises(sf.ParameterError, match="release folder classes"):
        sf.frontier(
            sf.read("d.csv", sf.Schema.load("s.toml")), [sf.Suppress()], keep="classes/kept", workers=0, progress=False
        )
