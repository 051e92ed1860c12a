"""A folder appears whole or not at all."""

from __future__ import annotations

import os
import stat

import pytest

from sfumato.errors import ReleaseError
from sfumato.release.folder import NewFolder


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
