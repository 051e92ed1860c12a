"""A folder appears whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.errors import ReleaseError
from sfumato.release.atomic import NewFolder, is_stale


def test_appears_at_the_end(tmp_path):
    target = tmp_path / "deep" / "out"
    with NewFolder(target).filled() as partial:
        (partial / "a").write_text("1")
        assert not target.exists()
        assert partial.parent == target.parent
        assert partial.name.startswith(".out.partial-")
    assert [file.name for file in target.iterdir()] == ["a"]
    assert [found.name for found in target.parent.iterdir()] == ["out"]


def test_permissions_are_the_ordinary_ones(tmp_path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a").write_text("1")
    with NewFolder(tmp_path / "out").filled() as partial:
        (partial / "a").write_text("1")
    for name in ("", "a"):
        assert stat.S_IMODE((tmp_path / "out" / name).stat().st_mode) == stat.S_IMODE(
            (tmp_path / "plain" / name).stat().st_mode
        )


def test_refuses_what_exists(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("kept")
    (tmp_path / "file").write_text("kept")
    for name in ("full", "file"):
        with pytest.raises(ReleaseError, match=f"{name} exists already") as caught, NewFolder(tmp_path / name).filled():
            pytest.fail("entered")
        assert str(tmp_path) not in str(caught.value)
    assert (tmp_path / "full" / "x").read_text() == "kept"
    assert (tmp_path / "file").read_text() == "kept"


def test_takes_an_empty_folder(tmp_path):
    (tmp_path / "out").mkdir()
    with NewFolder(tmp_path / "out").filled() as partial:
        (partial / "a").write_text("1")
    assert (tmp_path / "out" / "a").read_text() == "1"


def test_what_appears_meanwhile_is_not_overwritten(tmp_path):
    target = tmp_path / "out"
    with pytest.raises(ReleaseError, match="exists already"), NewFolder(target).filled() as partial:  # noqa: PT012
        (partial / "a").write_text("mine")
        target.mkdir()
        (target / "a").write_text("theirs")
    assert (target / "a").read_text() == "theirs"
    assert [found.name for found in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_nothing(tmp_path, error):
    with pytest.raises(error), NewFolder(tmp_path / "out").filled() as partial:  # noqa: PT012
        (partial / "a").write_text("1")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named(tmp_path):
    with pytest.raises(ReleaseError, match="No space left") as caught, NewFolder(tmp_path / "out").filled():
        raise OSError(28, "No space left on device", str(tmp_path))
    assert str(tmp_path) not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_stale_partials_of_the_dead_are_removed(tmp_path):
    dead = 2**22 + 1  # above the largest process id Linux gives
    stale = tmp_path / f".out.partial-{dead}-0123456789ab"
    reused = tmp_path / f".out.partial-{os.getpid()}-0123456789ab"
    alive = tmp_path / f".out.partial-{os.getppid()}-0123456789ab"
    other = tmp_path / f".out2.partial-{dead}-0123456789ab"
    for folder in (stale, reused, alive, other):
        folder.mkdir()
        (folder / "x").write_text("1")
    with NewFolder(tmp_path / "out").filled(), NewFolder(tmp_path / "out3").filled():
        pass
    assert {found.name for found in tmp_path.iterdir()} == {"out", "out3", alive.name}


# -- prepared before anything is drawn ---------------------------------------------------------------


def test_what_cannot_be_written_is_refused_when_the_place_is_prepared(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    for target in ("/proc/out", tmp_path / "file" / "out", tmp_path / ("x" * 250), "/"):
        with pytest.raises(ReleaseError):
            NewFolder(target)
    (tmp_path / "empty").mkdir()

    def busy(self, target):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    with monkeypatch.context() as broken:  # what a mount point, or a name that another owns, answers
        broken.setattr(Path, "rename", busy)
        with pytest.raises(ReleaseError, match="busy"):
            NewFolder(tmp_path / "empty")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["empty", "file"]


def test_a_prepared_place_that_is_not_used_leaves_nothing(tmp_path):
    with NewFolder(tmp_path / "out") as place:
        assert place.partial.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_room_is_taken_before_and_given_back_for_the_release(tmp_path):
    with NewFolder(tmp_path / "out") as place:
        assert sum(file.stat().st_size for file in place.partial.iterdir()) == 1 << 20
        with place.filled() as partial:
            assert list(partial.iterdir()) == []


def test_a_disk_without_room_is_refused(tmp_path):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        with pytest.raises(ReleaseError, match="File too large"):
            NewFolder(tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o2770])
def test_a_folder_prepared_for_its_owner_stays_so(tmp_path, mode):
    (tmp_path / "out").mkdir()
    (tmp_path / "out").chmod(mode)
    with NewFolder(tmp_path / "out") as place:
        assert stat.S_IMODE(place.partial.stat().st_mode) == mode
        with place.filled() as partial:
            (partial / "a").write_text("1")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == mode
    assert (tmp_path / "out" / "a").read_text() == "1"


def test_everything_is_flushed_before_and_after_it_is_named(tmp_path, monkeypatch):
    order = []
    real_sync, real_rename = os.fsync, Path.rename

    def sync(handle):
        order.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        real_sync(handle)

    def rename(self, target):
        order.append("rename")
        return real_rename(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", rename)
    with NewFolder(tmp_path / "out").filled() as partial:
        (partial / "a").write_text("1")
        order.clear()
    assert order == ["a", partial.name, "rename", tmp_path.name]


CLAIM = {"accounted": False, "kind": "checked"}


@pytest.mark.parametrize(
    ("manifest", "stays"),
    [
        ({"claim": {**CLAIM, "kind": "proved"}}, True),
        ({"claim": {**CLAIM, "accounted": True}}, True),
        ({"claim": CLAIM}, False),  # costs nothing, and can be made again
        ("damaged {", True),
        (None, False),  # the manifest is written last: without one there is no release
    ],
)
def test_a_partial_that_holds_a_paid_release_is_never_removed(tmp_path, manifest, stays):
    partial = tmp_path / ".other.partial-4194305-0123456789ab"
    partial.mkdir()
    (partial / "data.csv").write_text("1")
    if manifest is not None:
        (partial / "manifest.json").write_text(manifest if isinstance(manifest, str) else json.dumps(manifest))
    with NewFolder(tmp_path / "out").filled():
        pass
    assert partial.exists() == stays


def test_a_partial_that_a_living_process_holds_is_not_removed(tmp_path):
    """Its number says nothing where the process is in another container; its lock does."""
    foreign = tmp_path / ".out.partial-4194305-0123456789ab"
    foreign.mkdir()
    lock = "fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)"
    text = f"import fcntl, os, sys; {lock}; print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", text, str(foreign)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        with NewFolder(tmp_path / "out").filled():
            pass
        assert foreign.exists()
        other.communicate(b"\n")
    with NewFolder(tmp_path / "out2").filled():
        pass
    assert not foreign.exists()


def test_what_cannot_be_opened_is_not_stale(tmp_path, monkeypatch):
    """Another user's partial may be locked: nobody else can tell."""
    foreign = tmp_path / ".out.partial-4194305-0123456789ab"
    foreign.mkdir()
    for number in (errno.EACCES, errno.EPERM, errno.EMFILE):
        with monkeypatch.context() as broken:

            def refused(*_, number=number):
                raise OSError(number, os.strerror(number))

            broken.setattr(os, "open", refused)
            assert not is_stale(foreign)
    assert is_stale(foreign)


def test_a_free_lock_decides_and_not_the_number_of_a_process(tmp_path, monkeypatch):
    """In a container every run has the same number: a whole release of the last one is found all the same."""
    dead = tmp_path / f".out.partial-{os.getppid()}-0123456789ab"
    dead.mkdir()
    assert not is_stale(dead), "it may be about to be locked"
    (dead / "manifest.json").write_text(json.dumps({"claim": {**CLAIM, "kind": "proved"}}))
    assert is_stale(dead)
    with pytest.raises(ReleaseError, match="whole but was not finished"):
        NewFolder(tmp_path / "out")
    (dead / "manifest.json").unlink()
    os.utime(dead, (0, 0))
    assert is_stale(dead)

    def no_locks(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert not is_stale(dead)


def test_an_empty_folder_never_loses_its_name(tmp_path, monkeypatch):
    """A kill between two renames left `.out.partial-...-aside` in the place of the folder."""
    target = tmp_path / "out"
    target.mkdir(mode=0o700)
    renamed = Path.rename

    def watched(self, to):
        assert target.is_dir()
        found = renamed(self, to)
        assert target.is_dir()
        return found

    monkeypatch.setattr(Path, "rename", watched)
    with NewFolder(target):
        assert stat.S_IMODE(target.stat().st_mode) == 0o700
    assert [found.name for found in tmp_path.iterdir()] == ["out"]


def test_what_an_older_version_put_aside_is_removed(tmp_path):
    (tmp_path / ".out.partial-999999999-0123456789ab-aside").mkdir()
    with NewFolder(tmp_path / "out"):
        pass
    assert list(tmp_path.iterdir()) == []
