"""Where rows come from: files, globs and frames, opened without reading them; errors never quote a cell."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from sfumato.counts.csv_form import CsvForm, blank_tail, decoded, is_utf8, sniff
from sfumato.counts.frames import ROWS, Grouped, InMemory, open_frame
from sfumato.counts.refusal import refused
from sfumato.counts.stats_files import STATS, stats_frame
from sfumato.errors import SfumatoError
from sfumato.schema import Grid

__all__ = ["ROWS", "Source", "guarded", "open_source"]

_PARQUET = {".parquet", ".pq"}
_EXCEL = {".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"}
_MAGIC = ((b"PAR1", "parquet"), (b"PK\x03\x04", "excel"))
_FRAME = "the frame"
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Source:
    """An opened table: names and types of its columns and a lazy frame that reads only what is selected."""

    name: str
    _: KW_ONLY
    columns: tuple[str, ...]
    frame: pl.LazyFrame | InMemory | Grouped
    streaming: bool = True
    forms: tuple[tuple[Path, CsvForm], ...] = ()
    encoding_given: bool = False

    @property
    def padded(self) -> bool:
        """True when cells start with blanks, as in `a, b`."""
        return any(form.padded for _, form in self.forms)

    @property
    def guessed(self) -> bool:
        """True when it was guessed whether the file has a header line."""
        return any(form.guessed for _, form in self.forms)

    @property
    def grouped(self) -> bool:
        """True when lines are combinations with a number of rows, in no order of their own."""
        return isinstance(self.frame, Grouped)

    def types(self, frame: pl.LazyFrame) -> dict[str, pl.DataType]:
        """Return the types of a frame's columns."""
        return guarded(self.name, lambda: dict(frame.collect_schema()))

    def scan(self, columns: Sequence[str], cells: Mapping[str, Grid] | None = None) -> pl.LazyFrame:
        """Return a lazy frame of the named columns; of an engine that groups, with the number of rows in `ROWS`.

        Such an engine may give the middle of a cell for any number of the cell in the columns `cells`.
        """
        frame = self.frame
        if isinstance(frame, pl.LazyFrame):
            return frame.select(columns)
        return guarded(self.name, lambda: frame.rows(columns, cells or {})).lazy()

    def objects(self, column: str) -> list[Any] | None:
        """Return the cells of a column of mixed objects, which `scan` gives as canonical texts; else None."""
        frame = self.frame
        return guarded(self.name, lambda: frame.objects(column)) if isinstance(frame, InMemory) else None

    def collect(self, query: pl.LazyFrame) -> pl.DataFrame:
        """Run a query on what `scan` returned."""
        return guarded(self.name, lambda: query.collect(engine="streaming" if self.streaming else "in-memory"))

    def height(self) -> int:
        """Return how many rows there are, without reading a column."""
        frame = self.frame
        if not isinstance(frame, pl.LazyFrame):
            return guarded(self.name, frame.height)
        blank = blank_tail(*self.forms[-1]) if self.forms else 0
        return max(0, int(self.collect(frame.select(pl.len())).item()) - blank)

    def in_latin1(self) -> Source | None:
        """Return the same files read as Latin-1, where one is not UTF-8 throughout and nobody said what it is."""
        forms = tuple(
            (path, replace(form, encoding="latin-1") if form.utf8 and not is_utf8(path) else form)
            for path, form in self.forms
        )
        if self.encoding_given or forms == self.forms:
            return None
        return replace(self, forms=forms, frame=_scan_all(forms))


def guarded(where: str, action: Callable[[], Result]) -> Result:
    """Run what an engine does; its messages quote cells, so none of them is passed on."""
    try:
        return action()
    except SfumatoError:
        raise
    except pl.exceptions.PanicException:
        raise refused(where, "can not be read: the engine gave up", "check that the file is whole") from None
    except OSError as error:
        rule = f"can not be read ({error.strerror or 'the file is damaged'})"
        raise refused(where, rule, "check the path and the file") from None
    except MemoryError:
        raise refused(where, "does not fit in memory", "use Parquet, or publish fewer columns") from None
    except Exception as error:  # noqa: BLE001  (five engines, each with its own tree of errors)
        kind = type(error).__name__
        hint = "check the delimiter, the quotes and the encoding, and that the file is whole"
        if where == _FRAME:
            hint = "check that its own library can still read it and that its columns hold plain values"
        raise refused(where, f"can not be read as a table ({kind})", hint) from None


def open_source(
    data: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | Sequence[str] | None = None,
    expected: Sequence[str] = (),
) -> Source:
    """Open a path, a glob or a frame; `expected` are the columns a header is likely to name."""
    if isinstance(data, str | PathLike):
        return _open_paths(_paths(fspath(data)), delimiter, encoding, header, expected)
    if delimiter is not None or encoding is not None or header is not None:
        raise refused("delimiter, encoding, header", "are for files", "leave them away for a frame")
    columns, frame = guarded(_FRAME, lambda: open_frame(data))
    return Source(_FRAME, columns=columns, frame=frame, streaming=isinstance(data, pl.LazyFrame))


def _paths(text: str | bytes) -> list[Path]:
    if isinstance(text, bytes):
        raise refused("data", "is not a path or a frame", "give a path as text")
    if "\0" in text:
        raise refused("data", "is not a path", "a path holds no null character")
    path = Path(text)
    try:
        if path.is_dir():
            folder = path.name or text
            raise refused(folder, "is a directory", f"name the files in it: {folder}/*.parquet or {folder}/*.csv")
        if path.exists():
            return [path]
    except OSError as error:
        raise refused("data", f"can not be opened ({error.strerror})", "check the path") from None
    found = sorted(Path(name) for name in glob.glob(text, recursive=True)) if glob.has_magic(text) else []  # noqa: PTH207
    files = [name for name in found if name.is_file()]
    if not files:
        raise refused(path.name or "data", "no such file", "check the path; globs like data/*.csv work too")
    return files


def _open_paths(
    paths: Sequence[Path],
    delimiter: str | None,
    encoding: str | None,
    header: bool | Sequence[str] | None,
    expected: Sequence[str],
) -> Source:
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise refused("data", "the files are of different kinds", "read files of each kind apart")
    kind, name = kinds.pop(), paths[0].name
    if kind != "csv":
        if delimiter is not None or encoding is not None or header is not None:
            raise refused(
                "delimiter, encoding, header",
                "are for CSV files",
                f"omit them for {'a file of SPSS, Stata or SAS' if kind == 'stats' else kind}",
            )
        frames = [guarded(path.name, lambda path=path: _scan_binary(path, kind)) for path in paths]  # type: ignore[misc]
        columns = [tuple(guarded(name, lambda frame=frame: frame.collect_schema().names())) for frame in frames]  # type: ignore[misc]
        _same_columns(paths, columns)
        return Source(name, columns=columns[0], frame=guarded(name, lambda: pl.concat(frames)))
    forms = [sniff(path, delimiter=delimiter, encoding=encoding, header=header, expected=expected) for path in paths]
    _same_columns(paths, [form.names for form in forms])
    files = tuple(zip(paths, forms, strict=True))
    return Source(
        name,
        columns=forms[0].names,
        frame=guarded(name, lambda: _scan_all(files)),
        forms=files,
        encoding_given=encoding is not None,
    )


def _same_columns(paths: Sequence[Path], columns: Sequence[tuple[str, ...]]) -> None:
    for path, names in zip(paths[1:], columns[1:], strict=True):
        if names != columns[0]:
            rule = f"has other columns than {paths[0].name}"
            raise refused(path.name, rule, "files of one glob must have the same columns in the same order")


def _kind(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in _PARQUET:
        return "parquet"
    if suffix in _EXCEL:
        return "excel"
    if suffix in STATS:
        return "stats"
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise refused(path.name, f"can not be read ({error.strerror})", "check the path and the file") from None
    return next((kind for magic, kind in _MAGIC if head == magic), "csv")


def _scan_binary(path: Path, kind: str) -> pl.LazyFrame:
    if path.stat().st_size == 0:
        raise refused(path.name, "is empty", "write the file again")
    if kind == "parquet":
        return pl.scan_parquet(path, glob=False)
    if kind == "stats":
        return stats_frame(path).lazy()
    try:
        frame = pl.read_excel(path)
    except ModuleNotFoundError:
        raise refused(path.name, "needs the excel extra", "pip install 'sfumato[excel]'") from None
    return frame.lazy()


def _scan_all(files: Sequence[tuple[Path, CsvForm]]) -> pl.LazyFrame:
    """Chain files; blank lines that end one of them would stand in the middle, so they go here."""
    frames = [guarded(path.name, lambda p=path, f=form: _scan_csv(p, f)) for path, form in files]  # type: ignore[misc]
    for at, (path, form) in enumerate(files[:-1]):
        if blank_tail(path, form):
            frames[at] = frames[at].filter(~pl.all_horizontal(pl.all().is_null()))
    return pl.concat(frames)


def _scan_csv(path: Path, form: CsvForm) -> pl.LazyFrame:
    """Scan with every column as text, under our own names."""
    plain = form.utf8 or form.encoding == "utf-8-sig"
    frame = pl.scan_csv(
        path if plain else decoded(path, form.encoding),
        has_header=form.header,
        separator=form.delimiter,
        infer_schema=False,
        glob=False,
    )
    given = frame.collect_schema().names()
    if len(given) != len(form.names):
        rule = f"has lines of different lengths (its first line has {len(form.names)} cells)"
        raise refused(path.name, rule, "check the delimiter and the quotes")
    return frame if tuple(given) == form.names else frame.rename(dict(zip(given, form.names, strict=True)))
