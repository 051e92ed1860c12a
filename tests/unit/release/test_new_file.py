from __future__ import annotations

import os
import resource
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest

from sfumato.errors import ParameterError
from sfumato.release.atomic import NewFile, write_whole


def test_it_replaces_what_was_and_has_its_mode(tmp_path):
    target = tmp_path / "made" / "page.html"
    for text, mode in (("first\n", 0o600), ("second\n", 0o644)):
        write_whole(target, text, mode=mode)
        assert target.read_bytes() == text.encode()
        assert stat.S_IMODE(target.stat().st_mode) == mode
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("broken", ["write", "replace"])
def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, broken):
    target = tmp_path / "page.html"
    write_whole(target, "old", mode=0o644)
    text = "new"
    if broken == "write":
        text = "\ud800"  # has no UTF-8
    else:
        monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises((UnicodeEncodeError, OSError)):
        write_whole(target, text, mode=0o644)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_it_is_flushed_before_and_after_it_takes_its_place(tmp_path, monkeypatch):
    order = flushed(monkeypatch)
    write_whole(tmp_path / "page.html", "text", mode=0o644)
    assert [kind for kind, _ in order] == ["file", "folder"]
    with NewFile(tmp_path / "m.csv", option="mapping") as file, file.filled() as out:
        order.clear()
        out.write(b"x")
    assert [kind for kind, _ in order] == ["file", "folder"]


def flushed(monkeypatch):
    order, real = [], os.fsync

    def sync(handle):
        order.append(("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file", handle))
        real(handle)

    monkeypatch.setattr(os, "fsync", sync)
    return order


@contextmanager
def small_disk(most):
    """No file may grow beyond so many bytes: what a full disk does, where none can be mounted."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_no_half_file(tmp_path):
    write_whole(tmp_path / "page.html", "old", mode=0o644)
    with small_disk(1000):
        with pytest.raises(OSError, match="File too large"):
            write_whole(tmp_path / "page.html", "x" * 5000, mode=0o644)
        with pytest.raises(ParameterError, match=r"m\.csv: cannot be written \(File too large\)"):  # noqa: SIM117
            with NewFile(tmp_path / "m.csv", option="mapping") as file, file.filled() as out:
                out.write(b"x" * 100_000)
    assert [found.name for found in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "old"


def test_a_confidential_file_is_for_its_owner_alone_from_the_first_moment(tmp_path):
    before = os.umask(0)
    try:
        with NewFile(tmp_path / "m.csv", option="mapping") as file:
            (partial,) = tmp_path.iterdir()
            assert stat.S_IMODE(partial.stat().st_mode) == 0o600
            with file.filled() as out:
                out.write(b"secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m.csv").stat().st_mode) == 0o600
    assert [found.name for found in tmp_path.iterdir()] == ["m.csv"]


def test_never_through_a_link_and_never_over_a_file(tmp_path):
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    (tmp_path / "dangling").symlink_to(tmp_path / "made-elsewhere")
    for name in ("victim", "link", "dangling"):
        with pytest.raises(ParameterError, match="exists already"):
            NewFile(tmp_path / name, option="records")
    for late in (lambda path: path.write_text("theirs"), lambda path: path.symlink_to(tmp_path / "victim")):
        target = tmp_path / "m.csv"
        with pytest.raises(ParameterError, match="exists already"), NewFile(target, option="m").filled() as out:  # noqa: PT012
            out.write(b"mine")
            late(target)
        assert target.read_text() in ("theirs", "kept")
        target.unlink()
    assert (tmp_path / "victim").read_text() == "kept"
    assert not (tmp_path / "made-elsewhere").exists()
    assert sorted(found.name for found in tmp_path.iterdir()) == ["dangling", "link", "victim"]


def test_never_inside_a_release_folder(tmp_path):
    release = tmp_path / "out"
    (release / "deep").mkdir(parents=True)
    (release / "manifest.json").write_text("{}")
    (tmp_path / "way-in").symlink_to(release)
    for target in (release / "m.csv", release / "deep" / "m.csv", tmp_path / "way-in" / "m.csv"):
        with pytest.raises(ParameterError, match="release folder out"):
            NewFile(target, option="mapping")
        with pytest.raises(ParameterError, match="release folder out"):
            write_whole(target, "steward's", mode=0o600)
    write_whole(release / "page.html", "for everyone", mode=0o644)
    for target in ("planned", "planned/m.csv"):
        with pytest.raises(ParameterError, match="release folder"):
            NewFile(tmp_path / target, option="mapping", planned=tmp_path / "planned")


def test_leftovers_of_a_killed_process_are_removed_by_the_next(tmp_path):
    for write in (
        lambda: write_whole(tmp_path / "page.html", "x", mode=0o600),
        lambda: NewFile(tmp_path / "m.csv", option="mapping").close(),
    ):
        stale = tmp_path / ".someone.csv.partial-4194305-0123456789ab"
        stale.write_text("secret")
        alive = tmp_path / f".other.csv.partial-{os.getppid()}-0123456789ab"
        alive.write_text("in use")
        write()
        assert not stale.exists()
        assert alive.exists()
