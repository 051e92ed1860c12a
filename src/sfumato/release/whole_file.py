"""Files that are written whole or not at all: a process that dies while writing leaves no half of them.

Every one is flushed to disk, with its folder, before it counts as written. A confidential file is made for its owner
alone (0600), is always new, never goes through a link, and never into a release folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self

from sfumato.errors import ParameterError
from sfumato.release.partial import Held, flush, partial_of, refuse_release_folder, remove_stale

__all__ = ["NewFile", "write_whole"]

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
        """Give the open file to write; when the block ends well it takes its name, and overwrites nothing."""
        try:
            with self._explained():
                yield self._file
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self._partial.chmod(self._mode)
                _take_new_name(self._partial, self.target)
                flush(self.target.parent)
        finally:
            self.close()

    def close(self) -> None:
        """Remove what did not take its name; may be called twice."""
        if self._held is None:
            return
        with suppress(OSError):  # what was buffered has no room, and is removed below
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
            hint = "name a new file in an existing folder, where you may write and the disk has room"
            raise ParameterError(self._option, self.target.name, rule, hint=hint) from None
        except PolarsError:
            hint = "see that the disk has room"
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


def _take_new_name(partial: Path, target: Path) -> None:
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
