"""Nothing is paid for that cannot be saved; what was paid for is not lost. Real commands, real disks where possible."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tests.surfaces.small_files import write_table

import sfumato as sf
from sfumato.cli.main import main
from sfumato.release import atomic as folder, store


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table("d.csv", "s.toml")
    return tmp_path


@pytest.fixture
def noisy(desk, capsys):
    """Return the command that publishes under epsilon 1 in a ledger: its exit code, and what it printed."""

    def run(*options, ledger="ledger.db"):
        asked = ("publish", "noisy-table", "d.csv", "s.toml", "--epsilon", "1", "--ledger", str(ledger))
        with pytest.raises(SystemExit) as stopped:
            main([*asked, *map(str, options)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return stopped.value.code, said.out + said.err

    return run


def spent(ledger="ledger.db"):
    return sf.Ledger(ledger).totals("small").combined.epsilon if Path(ledger).exists() else 0


def hidden():
    return [found.name for found in Path().iterdir() if found.name.startswith(".")]


# -- refused before anything is drawn -----------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        ("-o", "/proc/out"),
        ("-o", "out", "--mapping", "m.csv"),  # noise has no mapping
        ("-o", "out", "--seed", "1"),
        ("-o", "out", "--against", "earlier", "--refuse"),  # a veto after a draw
        ("-o", "out", "--against", "earlier", "--d", "0"),
        ("-o", "out", "--against", "other"),  # carries nothing of this table
        ("-o", "d.csv"),
        ("-o", "d.csv/out"),
        ("-o", "x" * 300),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_spent(noisy, options):
    table = sf.read("d.csv", sf.Schema.load("s.toml"))
    sf.publish(table, sf.Mondrian(sf.KAnonymity(5))).save("earlier")
    sf.publish(table.with_roles(quasi=["age"], sensitive="job"), sf.Mondrian(sf.KAnonymity(5))).save("other")
    code, said = noisy(*options)
    assert (code, spent()) == (2, 0), said
    assert not Path("out").exists()
    assert not Path("m.csv").exists()
    assert hidden() == []


@pytest.mark.parametrize("ledger", ["out/ledger.db", "out/deep/ledger.db"])
def test_a_ledger_inside_the_release_is_refused(noisy, ledger):
    Path("out/deep").mkdir(parents=True)
    shutil.rmtree("out/deep")
    code, said = noisy("-o", "out", ledger=ledger)
    assert code == 2
    assert "would lie in the release folder" in said
    assert list(Path("out").iterdir()) == []


def test_a_full_disk_is_refused_before_anything_is_spent(noisy, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    code, said = noisy("-o", "out")
    assert (code, spent(), hidden()) == (2, 0, [])
    assert "No space left on device" in said


@pytest.fixture
def mounted(tmp_path):
    """Return a maker of small file systems; skipped where mounting is not permitted."""
    made = []

    def mount(name, size):
        place = tmp_path / name
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except OSError:
            pytest.skip("a full disk is made with mount -t tmpfs, and this system has no mount command")
        if done.returncode:
            pytest.skip("a full disk is made with mount -t tmpfs, which only root may do: run the tests as root")
        made.append(place)
        return place

    yield mount
    for place in made:
        subprocess.run(["umount", str(place)], check=False)


def test_a_mount_point_and_a_full_disk_are_refused_in_earnest(noisy, mounted):
    place = mounted("disk", "4m")
    code, said = noisy("-o", place)
    assert (code, spent()) == (2, 0), said
    (place / "ballast").write_bytes(bytes((4 << 20) - (200 << 10)))
    code, said = noisy("-o", place / "out")
    assert (code, spent()) == (2, 0)
    assert "No space left on device" in said
    assert [found.name for found in place.iterdir()] == ["ballast"]


# -- paid for, and not lost ------------------------------------------------------------------------


def test_a_disk_that_fills_up_after_the_draw_loses_nothing(noisy, monkeypatch, tmp_path):
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spare"))
    whole = store._fill

    def fill(release, partial, *given, **more):
        if partial.name.startswith(".out."):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        whole(release, partial, *given, **more)

    monkeypatch.setattr(store, "_fill", fill)
    code, said = noisy("-o", "out")
    assert (code, spent()) == (2, 1)
    (kept,) = (tmp_path / "spare").glob("sfumato-unsaved-*/release")
    assert f"it is whole in {kept}" in said
    assert "No space left on device" in said
    assert sf.verify(kept).holds
    assert kept.parent.stat().st_mode & 0o077 == 0
    assert sf.Ledger("ledger.db").saved_folders("small") == [kept]
    assert (hidden(), Path("out").exists()) == ([], False)


def test_a_name_that_cannot_be_taken_leaves_a_release_that_can_be_finished(noisy, monkeypatch, capsys):
    def busy(*_):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    with monkeypatch.context() as broken:
        broken.setattr(folder, "take_name", busy)
        code, said = noisy("-o", "out")
    assert (code, spent()) == (2, 1)
    (partial,) = Path().glob(".out.partial-*")
    assert f"sfumato finish {partial.resolve()} --ledger {Path('ledger.db').resolve()} -o NEW_FOLDER" in said
    code, said = noisy("-o", "out")  # it is not paid for twice
    assert (code, spent()) == (2, 1)
    assert "whole but was not finished" in said
    code, said = noisy("-o", "elsewhere")  # nor removed by the next
    assert (code, spent()) == (0, 2)
    with pytest.raises(SystemExit) as stopped:
        main(["finish", str(partial), "-o", "late", "--ledger", "ledger.db", "--json"])
    assert stopped.value.code == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "folder": "late", "entry": 1}
    assert sf.verify("late").holds
    assert [folder.name for folder in sf.Ledger("ledger.db").saved_folders("small")] == ["late", "elsewhere"]
    assert hidden() == []


def published(to, ledger, requirement):
    table = sf.read("d.csv", sf.Schema.load("s.toml"))
    answer = {"allow_fingerprints": True, "allow_repeated": True}
    return sf.publish(table, sf.Mondrian(requirement), ledger=ledger, save_to=to, **answer)


def test_a_folder_at_a_meant_name_is_no_release_of_another_entry(desk, monkeypatch, capsys):
    """Killed before the name, finished elsewhere, the name taken by the next: the look back may not miss the first."""

    class Killed(BaseException):
        pass

    def kill(*_):
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(folder, "take_name", kill)
        with pytest.raises(Killed):
            published("m", "ledger.db", sf.KAnonymity(5))
    (partial,) = Path().glob(".m.partial-*")
    with pytest.raises(sf.ReleaseError, match="--ledger LEDGER"):
        published("m", "ledger.db", sf.KAnonymity(9))
    with pytest.raises(SystemExit):
        main(["finish", str(partial), "-o", "elsewhere"])
    assert "sfumato ledger LEDGER --saved ENTRY elsewhere" in capsys.readouterr().err
    published("m", "ledger.db", sf.KAnonymity(9))
    book = sf.Ledger("ledger.db")
    with pytest.raises(sf.ParameterError, match="entry 1, which was to be saved as m"):
        book.saved_folders("small")
    with pytest.raises(sf.ParameterError, match="holds the release of entry 2, not of entry 1"):
        book.record_saved(1, "m")
    book.record_saved(1, "elsewhere")
    assert [found.name for found in book.saved_folders("small")] == ["elsewhere", "m"]


def test_a_saved_folder_that_was_replaced_is_missed_until_it_is_named(desk):
    published("m", "ledger.db", sf.KAnonymity(5))
    Path("m").rename("kept")
    published("m", "ledger.db", sf.KAnonymity(9))
    book = sf.Ledger("ledger.db")
    with pytest.raises(sf.ParameterError, match="entry 1 was saved as m, which holds another release"):
        book.saved_folders("small")
    book.record_saved(1, "kept")
    assert [entry.saved for entry in book.entries()] == [("kept",), ("m",)]
    assert [found.name for found in book.saved_folders("small")] == ["kept", "m"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_a_paid_release_is_written_waits_for_its_end(noisy, monkeypatch, number, code):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    whole = store._fill

    def fill(*given, **more):
        os.kill(os.getpid(), number)
        whole(*given, **more)

    monkeypatch.setattr(store, "_fill", fill)
    try:
        assert noisy("-o", "out")[0] == code
    finally:
        signal.signal(signal.SIGINT, before)
    assert sf.verify("out").holds
    assert sf.Ledger("ledger.db").entries()[0].saved == ("out",)


def test_the_library_prepares_too_and_can_try_again(desk, monkeypatch):
    table = sf.read("d.csv", sf.Schema.load("s.toml"))
    for options, error in (
        ({"save_to": "/proc/out"}, sf.ReleaseError),
        ({"save_to": "out", "seed": 1}, sf.ReleaseError),
        ({"save_to": "out", "format": "xls"}, sf.ParameterError),
        ({"save_to": "d.csv"}, sf.ReleaseError),
    ):
        with pytest.raises(error):
            sf.publish(table, sf.NoisyTable(1), ledger="ledger.db", **options)
    assert not Path("ledger.db").exists()
    release = sf.publish(table, sf.NoisyTable(1), ledger="ledger.db", save_to="out", format="csv")
    assert Path("out/data.csv").is_file()
    with pytest.raises(sf.ReleaseError):  # two steps: the release stays in memory, and another place costs nothing
        release.save("d.csv")
    release.save("again")
    assert spent() == 1
    assert sf.Ledger("ledger.db").entries()[0].saved == ("out", "again")


def test_a_spent_entry_whose_folder_is_unknown_refuses_until_a_person_says_where_it_is(noisy, desk, capsys):
    table = sf.read("d.csv", sf.Schema.load("s.toml"))
    release = sf.publish(table, sf.NoisyTable(1), ledger="ledger.db")
    sf.publish(table, sf.NoisyTable(1), ledger="ledger.db")
    code, said = noisy("-o", "next", "--against", "ledger.db")
    assert (code, spent()) == (2, 2)
    assert "entry 1, which is spent, but does not know where" in said
    shutil.rmtree("saved", ignore_errors=True)
    sf.publish(table, sf.NoisyTable(1)).save("saved", allow_unaccounted=True)  # stands for what a person found
    for options in (("--saved", "1", "saved"), ("--not-saved", "2", "--note", "looked at, then deleted")):
        with pytest.raises(SystemExit) as stopped:
            main(["ledger", "ledger.db", *options])
        assert stopped.value.code == 0
    answer = capsys.readouterr().out
    assert "never saved: looked at, then deleted" in answer
    assert release.claim.accounted
    assert noisy("-o", "next", "--against", "ledger.db")[0] == 0


def test_what_the_look_back_refuses_does_not_block_the_next_one(desk, capsys):
    made = ["publish", "mondrian", "d.csv", "s.toml", "--ledger", "ledger.db"]
    for options, code in (
        (["--k", "5", "-o", "a"], 0),
        (["--k", "5", "-o", "b", "--against", "ledger.db", "--refuse", "--d", "3"], 3),
        (["--k", "5", "-o", "c", "--against", "ledger.db"], 0),
    ):
        with pytest.raises(SystemExit) as stopped:
            main([*made, *options])
        assert stopped.value.code == code, capsys.readouterr()
    assert [bool(entry.unsaved) for entry in sf.Ledger("ledger.db").entries()] == [False, True, False]


# -- finish -----------------------------------------------------------------------------------------


def test_only_what_is_whole_can_be_finished(noisy, monkeypatch):
    assert noisy("-o", "out")[0] == 0
    dead = Path(".out.partial-4194305-0123456789ab")
    Path("out").rename(dead)
    data = next(dead.glob("data.*"))
    whole = data.read_bytes()
    data.write_bytes(whole[:-1])
    with pytest.raises(sf.ReleaseError, match="is damaged"):
        store.finish(dead)
    data.write_bytes(whole)
    (dead / "extra").write_text("x")
    with pytest.raises(sf.ReleaseError, match="is damaged"):
        store.finish(dead)
    (dead / "extra").unlink()
    with pytest.raises(sf.ReleaseError, match="exists already"):
        store.finish(dead, "s.toml")
    assert store.finish(dead).name == "out"
    (Path("out") / "manifest.json").unlink()
    Path("out").rename(dead)
    with pytest.raises(sf.ReleaseError, match="not written completely"):
        store.finish(dead)
    with pytest.raises(sf.ReleaseError, match="not a partial"):
        store.finish("s.toml")


def _full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_page_that_cannot_be_written_is_a_warning_once_the_release_is_saved(noisy, monkeypatch):
    """It was an unexpected error with the advice to run again: a second draw."""
    monkeypatch.setattr(sf, "report", _full)
    code, said = noisy("-o", "out", "--page", "p.html", "--json")
    answer = json.loads(said)
    assert (code, answer["ok"], spent()) == (0, True, 1)
    assert "page" not in answer
    assert any("page was not written" in text and "No space left" in text for text in answer["warnings"])
    assert sf.verify("out").holds


def test_an_error_after_the_saving_says_that_it_is_saved(noisy, monkeypatch):
    monkeypatch.setattr(sf.Release, "summary", _full)
    code, said = noisy("-o", "out", "--json")
    answer = json.loads(said)
    assert (code, answer["ok"], spent()) == (2, False, 1)
    assert answer["made"][0].startswith("Saved in out.")
    code, said = noisy("-o", "out2")
    assert code == 2
    assert "Before that: Saved in out2." in said
    assert "do not run the command again" in said
