"""A folder that appears whole or not at all, prepared before anything is drawn.

Source    POSIX rename(2): replacing a name is atomic; a folder may replace only an empty one.
Claim     A kill at any moment leaves the target absent (or as empty as it was) or complete; nothing is overwritten.
          Where a `NewFolder` was made, the place can be written: what could not be saved is refused before it costs.
Because   files are written and flushed to disk in a hidden sibling, which then takes the name in one rename. The
          sibling, disk space for a small release and the right to take the name are tried when it is made.
Checked   tests/surfaces/test_atomic_save.py::test_kill_leaves_nothing_or_everything
          tests/unit/release/test_new_folder.py::test_refuses_what_exists
          tests/unit/release/test_new_folder.py::test_what_cannot_be_written_is_refused_when_the_place_is_prepared
          tests/unit/release/test_new_folder.py::test_a_folder_prepared_for_its_owner_stays_so
Silent on file systems whose rename is not atomic, and on a disk that fills up while a large release is written: then
          `save` fails, and the release is still in memory (`save_or_keep` then keeps it elsewhere).
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from sfumato.errors import ParameterError, ReleaseError, SfumatoError
from sfumato.raw_files import utf8_path
from sfumato.release.manifest import MANIFEST
from sfumato.visible import operand, shell_command

# Hidden partial files and folders: how they are named, held by a living process, and cleared away after a dead one.
#
# Source    Ours: `.NAME.partial-PROCESS-RANDOM` beside the place of NAME; flock(2), which the kernel lets go with the
#           process, also across containers.
# Claim     What a process that died left behind is removed by the next one that writes in the same folder; never what
#           a living process is filling, and never a folder that holds a whole release which was paid for.
# Because   a partial is removed only if its lock can be taken, or, where locks do not work, no process of its number
#           runs; one of a living number without a manifest is first left 10 seconds to be locked. A release folder
#           has its manifest written last, and one with a manifest is removed only where its claim costs nothing.
# Checked   tests/unit/release/test_new_folder.py::test_stale_partials_of_the_dead_are_removed
#           tests/unit/release/test_new_folder.py::test_a_partial_that_holds_a_paid_release_is_never_removed
#           tests/unit/release/test_new_file.py::test_leftovers_of_a_killed_process_are_removed_by_the_next
# Silent on file systems without locks, seen from two machines at once.

_PATTERN = re.compile(r"\.(?P<name>.+)\.partial-(?P<process>\d+)-[0-9a-f]{12}(?:-aside)?", re.DOTALL)
_LARGEST_MANIFEST = 64 << 20
_SECONDS_TO_LOCK = 10
_ours: set[str] = set()  # partials this process is filling, so that a reused process number is not mistaken


class Held:
    """A lock on a partial file or folder of this process; until it is let go the partial is not stale."""

    __slots__ = ("_handle", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        _ours.add(path.name)
        self._handle = _locked_if_readable(path)

    def release(self) -> None:
        """Let go; may be called twice."""
        handle, self._handle = self._handle, None
        _ours.discard(self.path.name)
        if handle is not None:
            os.close(handle)


def partial_of(target: Path) -> Path:
    """Return a new hidden name beside a target."""
    return target.parent / f".{target.name}.partial-{os.getpid()}-{secrets.token_hex(6)}"


def target_of(partial: Path) -> Path | None:
    """Return the place a partial was made for, None if the name is not that of a partial."""
    found = _PATTERN.fullmatch(partial.name)
    return None if found is None else partial.parent / found["name"]


def remove_stale(folder: Path) -> None:
    """Remove what killed processes left in a folder."""
    for found in list(folder.iterdir()):
        if not is_stale(found):
            continue
        if found.is_dir() and not found.is_symlink():
            if not holding_release(found):
                shutil.rmtree(found, ignore_errors=True)
            continue
        try:
            found.unlink()
        except OSError:  # of another user, or gone meanwhile
            continue


def is_stale(partial: Path) -> bool:
    """Whether this is a partial that nobody fills any more."""
    found = _PATTERN.fullmatch(partial.name)
    if found is None or partial.name in _ours:
        return False
    process = int(found["process"])
    try:
        handle = _locked(partial)
    except FileNotFoundError:
        return True
    except OSError:  # held, or of another user: nobody can say that it is free
        return False
    if handle is None:
        return not _alive(process)
    os.close(handle)
    return not (_alive(process) and _just_made(partial))


def holding_release(partial: Path) -> bool:
    """Whether a partial folder holds a release that was paid for; one whose manifest cannot be read counts as such."""
    if not os.path.lexists(partial / MANIFEST):
        return False
    accounted, proved = _stamps(partial)
    return accounted or proved


def is_accounted(folder: Path) -> bool:
    """Whether a ledger knows the release in a folder; one whose manifest cannot be read counts as such."""
    return _stamps(folder)[0]


def _stamps(folder: Path) -> tuple[bool, bool]:
    """Whether the manifest says accounted, and whether it says proved; both where it cannot be read."""
    manifest = folder / MANIFEST
    try:
        if not manifest.is_file() or manifest.stat().st_size > _LARGEST_MANIFEST:
            return True, True
        claim = json.loads(manifest.read_text("utf-8"))["claim"]
        return bool(claim["accounted"]), claim["kind"] == "proved"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return True, True


def refuse_release_folder(option: str, target: Path, *, planned: Path | None = None, every: bool = True) -> None:
    """Refuse to put a file into a release folder: the one about to be written, and `every` one that exists."""
    parent = Path(os.path.realpath(target.parent))
    for folder in (parent, *parent.parents):
        if (planned is not None and folder == planned) or (every and os.path.lexists(folder / MANIFEST)):
            rule = f"would lie in the release folder {folder.name}, which is made to be published"
            raise ParameterError(option, target.name, rule, hint="name a file outside of every release")


def flush(path: Path) -> None:
    """Wait until the disk holds a file or folder."""
    folder = path.is_dir()
    if folder and os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not folder:  # some file systems cannot flush folders
            raise
    finally:
        os.close(handle)


def _locked(path: Path) -> int | None:
    """Return a handle that holds the lock of a file or folder, None if locks do not work.

    Raises BlockingIOError where another process holds it, another OSError where it cannot be opened.
    """
    if os.name == "nt":
        return None
    import fcntl

    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return handle


def _locked_if_readable(path: Path) -> int | None:
    """Return a handle as `_locked` does, None also where the path cannot be opened."""
    try:
        return _locked(path)
    except BlockingIOError:
        raise
    except OSError:
        return None


def _just_made(partial: Path) -> bool:
    """Whether a partial may stand between being made and being locked: it is new and holds no release yet."""
    try:
        age = abs(time.time() - partial.lstat().st_mtime)
        return age < _SECONDS_TO_LOCK and not os.path.lexists(partial / MANIFEST)
    except OSError:
        return False


def _alive(process: int) -> bool:
    """True when another process of that number runs (our own partials are known by name)."""
    if process == os.getpid():
        return False
    if os.name == "nt":  # signal 0 would end it there
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it runs, but is not ours
        return True
    return True


# Files that are written whole or not at all: a process that dies while writing leaves no half of them.
#
# Every one is flushed to disk, with its folder, before it counts as written. A confidential file is made for its
# owner
# alone (0600), is always new, never goes through a link, and never into a release folder.

_OPEN = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def write_whole(target: Path, text: str, *, mode: int) -> None:
    """Write the text beside its place, then put it there, in place of what was; the folder is made where it is missing.

    Nobody else can read it before it has its `mode`. With mode 0600 it is confidential: not in a release folder.
    """
    if mode == 0o600:
        refuse_release_folder("path", target)
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_stale(target.parent)
    with _partial(target) as (partial, handle):
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        partial.chmod(mode)
        partial.replace(target)
        flush(target.parent)


class NewFile:
    """A new file, prepared before anything is drawn: 0600 where it is confidential, never through a link.

    `option` names it in messages; `planned` is the release folder about to be written, which may not hold it. A
    confidential file may not lie in any release folder.
    """

    __slots__ = ("_file", "_held", "_mode", "_option", "_partial", "target")

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        option: str,
        planned: Path | None = None,
        confidential: bool = True,
    ) -> None:
        self.target, self._option = Path(target), option
        self._mode = 0o600 if confidential else 0o644
        self._held: Held | None = None
        if os.path.lexists(self.target):
            raise ParameterError(option, self.target.name, "exists already", hint="name a new file")
        if planned is not None and Path(os.path.realpath(self.target)) == planned:
            raise ParameterError(option, self.target.name, "is the release folder", hint="name a new file")
        if confidential or planned is not None:
            refuse_release_folder(option, self.target, planned=planned, every=confidential)
        with self._explained():
            remove_stale(self.target.parent)
            self._partial = partial_of(self.target)
            self._file: BinaryIO = os.fdopen(os.open(self._partial, _OPEN, 0o600), "wb")
            self._held = Held(self._partial)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def filled(self) -> Iterator[BinaryIO]:
        """Yield the open file to write; if the block succeeds, the file gets its name and overwrites nothing."""
        try:
            with self._explained():
                yield self._file
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self._partial.chmod(self._mode)
                name_new_file(self._partial, self.target)
                flush(self.target.parent)
        finally:
            self.close()

    def close(self) -> None:
        """Remove what did not take its name; may be called twice."""
        if self._held is None:
            return
        with suppress(OSError):  # what was buffered does not fit on the disk, and is removed below
            self._file.close()
        self._held.release()
        self._held = None
        self._partial.unlink(missing_ok=True)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from polars.exceptions import PolarsError

        try:
            yield
        except FileExistsError:
            raise ParameterError(self._option, self.target.name, "exists already", hint="name a new file") from None
        except OSError as error:
            rule = f"cannot be written ({error.strerror})"
            hint = "name a new file in an existing folder, where you may write and the disk has free space"
            raise ParameterError(self._option, self.target.name, rule, hint=hint) from None
        except PolarsError:
            hint = "free some disk space"
            raise ParameterError(self._option, self.target.name, "cannot be written", hint=hint) from None


@contextmanager
def _partial(target: Path) -> Iterator[tuple[Path, int]]:
    partial = partial_of(target)
    handle = os.open(partial, _OPEN, 0o600)
    held = Held(partial)
    try:
        yield partial, handle
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    finally:
        held.release()


def name_new_file(partial: Path, target: Path) -> None:
    """Name a file without overwriting: a second link fails where the name is taken, a rename would not."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError from None
        partial.rename(target)
    else:
        partial.unlink()


_ROOM = 1 << 20  # bytes that must be free before anything is drawn; held until the release is written
_BALLAST = ".room"
_HINT = "name a folder that does not exist yet, where you may write and the disk has free space"


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
        """Yield the partial folder to fill; if the block succeeds, it becomes the target in one step.

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
            ours = isinstance(error, SfumatoError)  # what others say may quote a cell
            problem = (str(error) if ours else f"{self.target.name} cannot be written ({type(error).__name__})").rstrip(
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
        """Make the partial folder with the rights of the target, reserve some disk space, try to take the name."""
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
    """Replace an empty folder by an equal one: this fails if naming the release would fail.

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
        except OSError:  # only root may change the owner; the mode is kept anyway
            return


def _take_room(file: Path) -> None:
    """Reserve disk space, so that a full disk is noticed now."""
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
