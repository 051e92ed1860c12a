"""A folder that appears whole or not at all, prepared before anything is drawn.

Source    POSIX rename(2): replacing a name is atomic; a folder may replace only an empty one.
Claim     A kill at any moment leaves the target absent (or as empty as it was) or complete; nothing is overwritten.
          Where a `NewFolder` was made, the place can be written: what could not be saved is refused before it costs.
Because   files are written and flushed to disk in a hidden sibling, which then takes the name in one rename. The
          sibling, room for a small release and the right to take the name are tried when it is made.
Checked   tests/surfaces/test_atomic_save.py::test_kill_leaves_nothing_or_everything
          tests/unit/release/test_folder.py::test_refuses_what_exists
          tests/unit/release/test_folder.py::test_what_cannot_be_written_is_refused_when_the_place_is_prepared
          tests/unit/release/test_folder.py::test_a_folder_prepared_for_its_owner_stays_so
Silent on file systems whose rename is not atomic, and on a disk that fills up while a large release is written: then
          `save` fails, and the release is still in memory (`save_or_keep` then keeps it elsewhere).
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from sfumato.errors import ReleaseError, SfumatoError
from sfumato.limits import utf8_path
from sfumato.release.partial import (
    Held,
    flush,
    holding_release,
    is_accounted,
    is_stale,
    partial_of,
    remove_stale,
    target_of,
)
from sfumato.visible import operand, shell_command

__all__ = ["NewFolder", "refuse_existing", "take_name"]

_ROOM = 1 << 20  # bytes that must be free before anything is drawn; held until the release is written
_BALLAST = ".room"
_HINT = "name a folder that does not exist yet, where you may write and the disk has room"


class NewFolder:
    """A place for a release, prepared before it is made: `with NewFolder("out") as place: ...; release.save(place)`.

    A hidden partial folder beside the target is filled, and takes the name in one step. Leaving the block without
    saving removes it.
    """

    __slots__ = ("_held", "partial", "target")

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.target = Path(os.path.realpath(folder))
        self._held: Held | None = None
        refuse_existing(self.target)
        with _explained(self.target):
            utf8_path(self.target)  # engines and ledgers take no other names
            self.target.parent.mkdir(parents=True, exist_ok=True)
            remove_stale(self.target.parent)
            _refuse_unfinished(self.target)
            self.partial = partial_of(self.target)
            try:
                self._prepare()
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def filled(
        self, *, keep: bool = False, before_naming: Callable[[], None] | None = None, ledger: Path | None = None
    ) -> Iterator[Path]:
        """Give the partial folder to fill; when the block ends well it becomes the target in one step.

        `before_naming` runs when everything is on the disk. With `keep` what is whole is kept if naming it fails, and
        the error says how it is finished and noted in the `ledger`.
        """
        whole = False
        try:
            with _explained(self.target):
                (self.partial / _BALLAST).unlink(missing_ok=True)
                yield self.partial
                for file in self.partial.iterdir():
                    flush(file)
                flush(self.partial)
                whole = True
                if before_naming is not None:
                    before_naming()
                take_name(self.partial, self.target)
        except BaseException as error:
            if not (whole and keep and self.partial.is_dir()):
                raise
            self._let_go()
            if not isinstance(error, Exception):
                raise
            noted = [] if ledger is None else ["--ledger", str(ledger)]
            finish = f"{shell_command(['sfumato', 'finish', operand(self.partial), *noted])} -o NEW_FOLDER"
            told = isinstance(error, SfumatoError)  # what others say may quote a cell
            problem = (str(error) if told else f"{self.target.name} cannot be written ({type(error).__name__})").rstrip(
                "."
            )
            raise ReleaseError(f"{problem}. The release was made and is whole, but hidden", hint=finish) from error
        finally:
            self.close()

    def close(self) -> None:
        """Remove the partial folder, unless it took its name or is kept; may be called twice."""
        if self._held is not None:
            self._let_go()
            shutil.rmtree(self.partial, ignore_errors=True)

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None

    def _prepare(self) -> None:
        """Make the partial folder with the rights of the target, take up some room, try to take the name."""
        there = self.target.stat() if self.target.exists() else None
        if there is None:
            self.partial.mkdir()
        else:
            self.partial.mkdir(mode=stat.S_IMODE(there.st_mode) & 0o777)
        self._held = Held(self.partial)
        if there is not None:
            _give_to(self.partial, there)
            shutil.copystat(self.target, self.partial)
            _replace_empty(self.target, there)
        _take_room(self.partial / _BALLAST)
        flush(self.partial)


def refuse_existing(target: Path) -> None:
    """Refuse a file or a folder with anything in it."""
    if not target.name:
        raise ReleaseError("the root cannot be a release folder", hint="name a new folder")
    try:
        if target.is_dir() and not any(target.iterdir()):
            return
    except OSError as error:
        raise ReleaseError(f"{target.name} cannot be written ({error.strerror})", hint=_HINT) from None
    if os.path.lexists(target):
        raise ReleaseError(f"{target.name} exists already", hint="name a new folder; a release is never overwritten")


def take_name(partial: Path, target: Path) -> None:
    """Give a whole partial folder its name, in one step; nothing is overwritten."""
    refuse_existing(target)
    partial.rename(target)
    flush(target.parent)


def _refuse_unfinished(target: Path) -> None:
    """Refuse to begin anew while a whole release for the same place waits to be finished: it would be paid twice."""
    for found in target.parent.iterdir():
        if target_of(found) == target and found.is_dir() and holding_release(found) and is_stale(found):
            command = shell_command(["sfumato", "finish", operand(found)])
            noted = " --ledger LEDGER" if is_accounted(found) else ""
            hint = f"finish it: {command}{noted}; or delete it, or name another folder"
            raise ReleaseError(f"an earlier release for {target.name} is whole but was not finished", hint=hint)


def _replace_empty(target: Path, there: os.stat_result) -> None:
    """Put an equal empty folder in the place of an empty one: it fails where naming the release would fail.

    That is a mount point, or where another owns the name. One rename: a kill leaves the one folder or the other.
    """
    equal = partial_of(target)
    equal.mkdir(mode=stat.S_IMODE(there.st_mode) & 0o777)
    try:
        _give_to(equal, there)
        shutil.copystat(target, equal)
        equal.rename(target)
    except BaseException:
        equal.rmdir()
        raise


def _give_to(partial: Path, owner: os.stat_result) -> None:
    if os.name == "nt":
        return
    made = partial.stat()
    if (made.st_uid, made.st_gid) != (owner.st_uid, owner.st_gid):
        try:
            os.chown(partial, owner.st_uid, owner.st_gid)
        except OSError:  # only root may give away; the mode is kept all the same
            return


def _take_room(file: Path) -> None:
    """Take up disk space, so that a full disk is known now."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(handle, 0, _ROOM)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                    raise
            else:
                return
        left = _ROOM
        while left > 0:
            left -= os.write(handle, bytes(min(left, 1 << 16)))
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReleaseError(f"{target.name} cannot be written ({error.strerror})", hint=_HINT) from None
