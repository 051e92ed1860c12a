"""How a delimited text file is written: encoding, delimiter, header, seen from its first lines only."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from sfumato.counts.refusal import refused
from sfumato.errors import ReadError, SfumatoError

__all__ = ["CsvForm", "blank_tail", "decoded", "is_utf8", "sniff"]

_SAMPLE = 1 << 18
_LINES = 200
_FEW_LINES, _WIDEST = 3, 1 << 26
_TAIL = 1 << 16
_DELIMITERS = (",", ";", "\t", "|")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|", re.ASCII)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_UTF8 = {"utf-8", "ascii"}


@dataclass(frozen=True, slots=True)
class CsvForm:
    """Names of the columns and how to read the lines below them."""

    names: tuple[str, ...]
    _: KW_ONLY
    delimiter: str
    encoding: str
    header: bool
    guessed: bool
    padded: bool

    @property
    def utf8(self) -> bool:
        """True when polars can read the file itself."""
        return codecs.lookup(self.encoding).name in _UTF8


def sniff(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | Sequence[str] | None = None,
    expected: Sequence[str] = (),
) -> CsvForm:
    """Look at the first lines; `expected` are column names a header would carry."""
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise refused("delimiter", "must be one ASCII character", "such as ; or ,")
    raw, whole = _head(path)
    if not raw.strip():
        raise refused(path.name, "is empty", "give a file with a header line and rows")
    encoding, text = _text(path, raw, encoding, whole=whole)
    lines = [line for line in itertools.islice(io.StringIO(text, newline="\n"), _LINES + 1) if line.strip()]
    if not whole and len(lines) > 1 and len(lines) <= _LINES:
        lines.pop()  # the sample ends within a line
    mark = _delimiter(lines) if delimiter is None else delimiter
    records = _records(path, lines, mark)
    if not records:
        raise refused(path.name, "holds no line that can be read", "check the delimiter and the quotes")
    named = isinstance(header, Sequence)
    first = tuple(cell.strip() for cell in records[0])
    has_header = (_has_header(records, expected) if header is None else header is True) and not named
    if named:
        names = tuple(str(name) for name in header)  # type: ignore[union-attr]
        if len(names) != len(first):
            rule = f"has {len(first)} columns, but {len(names)} names were given"
            raise refused(path.name, rule, "name every column in `header`")
    else:
        names = first if has_header else tuple(f"column_{at}" for at in range(1, len(first) + 1))
    _check_names(path, names)
    _check_lengths(path, records, len(names))
    padded = any(cell.startswith(" ") for record in records[1:20] for cell in record)
    return CsvForm(
        names,
        delimiter=mark,
        encoding=encoding,
        header=has_header,
        guessed=header is None,
        padded=padded,
    )


def decoded(path: Path, encoding: str) -> bytes:
    """Return a whole file as UTF-8 bytes (for encodings polars does not read)."""
    if path.suffix == ".zst":
        raise refused(path.name, "is compressed and not UTF-8", "decompress the file first")
    try:
        with _opened(path) as file:
            return file.read().decode(encoding).encode()
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    except (UnicodeError, LookupError):
        hint = 'name the encoding: encoding="latin-1" reads any text'
        raise refused(path.name, f"is not {encoding} text throughout", hint) from None


def is_utf8(path: Path) -> bool:
    """True when the whole file is UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with _opened(path) as file:
            while part := file.read(1 << 20):
                decoder.decode(part)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    except (OSError, EOFError, zlib.error):
        return True  # another reason: let the caller name it
    return True


def blank_tail(path: Path, form: CsvForm) -> int:
    """Return how many lines at the end of a file hold nothing at all, not even a delimiter."""
    tail = b""
    try:
        if path.suffix == ".zst" or not (form.utf8 or form.encoding in ("utf-8-sig", "latin-1")):
            tail = decoded(path, form.encoding)[-_TAIL:]
        else:
            with _opened(path) as file:
                if path.suffix != ".gz":
                    file.seek(max(0, path.stat().st_size - _TAIL))
                while part := file.read(1 << 20):
                    tail = (tail + part)[-_TAIL:]
    except (OSError, EOFError, zlib.error, SfumatoError):
        return 0
    lines = tail.replace(b"\r\n", b"\n").split(b"\n")[:-1] if tail.endswith(b"\n") else []
    return next((at for at, line in enumerate(reversed(lines)) if line.strip()), len(lines))


def _opened(path: Path) -> io.BufferedIOBase:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _head(path: Path) -> tuple[bytes, bool]:
    if path.suffix == ".zst":
        return _head_by_polars(path)
    try:
        with _opened(path) as file:
            raw = file.read(_SAMPLE)
            whole = len(raw) < _SAMPLE
            while not whole and raw.count(b"\n") < _FEW_LINES and len(raw) < _WIDEST:  # a header may be longer
                more = file.read(_SAMPLE)
                raw, whole = raw + more, len(more) < _SAMPLE
            return raw, whole
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None


def _head_by_polars(path: Path) -> tuple[bytes, bool]:
    import polars as pl

    try:  # one column of whole lines: no text holds the separator
        frame = pl.read_csv(
            path, has_header=False, separator="\x1f", quote_char=None, infer_schema=False, n_rows=_LINES
        )
    except Exception:  # noqa: BLE001  (polars quotes cells in its messages)
        raise refused(path.name, "can not be decompressed", "decompress the file first") from None
    return "\n".join(line or "" for line in frame.to_series().to_list()).encode(), True


def _unreadable(path: Path, error: Exception) -> ReadError:
    reason = getattr(error, "strerror", None) or "the compressed file is damaged or cut off"
    return refused(path.name, f"can not be read ({reason})", "check the path and the file")


def _text(path: Path, raw: bytes, encoding: str | None, *, whole: bool) -> tuple[str, str]:
    if encoding is None:
        encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), None)
    if encoding is None and b"\0" in raw:
        raise refused(path.name, "is not text", 'save it as CSV, or name its encoding: encoding="utf-16-le"')
    for candidate in [encoding] if encoding else ["utf-8", "latin-1"]:
        try:
            text = codecs.getincrementaldecoder(candidate)().decode(raw, final=whole)
        except LookupError:
            raise refused("encoding", "is not known", "utf-8, latin-1, cp1252 or utf-16") from None
        except UnicodeError:
            continue
        if "\0" in text:
            raise refused(path.name, "is not text", "save it as CSV in UTF-8")
        return candidate, text.removeprefix("\ufeff")
    raise refused(path.name, f"is not {encoding} text", "leave the encoding away to have it found")


def _records(path: Path, lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return list(_parsed(lines, delimiter))
    except csv.Error:
        raise refused(path.name, "is not delimited text", "check the delimiter and the quotes") from None


def _parsed(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    skip = any(f'{delimiter} "' in line for line in lines)
    return (row for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=skip) if row)


def _delimiter(lines: Sequence[str]) -> str:
    """Return the mark that cuts the most lines into the same number of cells, more cells winning ties.

    Where the first line has another width the mark is rather part of the cells, as the comma of 0,5 is.
    """

    def score(mark: str) -> tuple[float, bool, int]:
        try:
            widths = [len(row) for row in _parsed(lines, mark)]
        except csv.Error:
            return (0.0, False, 0)
        usual = max(set(widths), key=widths.count, default=0)
        if usual < 2:
            return (0.0, False, 0)
        return (round(widths.count(usual) / len(widths), 1), widths[0] == usual, usual)

    return max(_DELIMITERS, key=score)


def _has_header(records: Sequence[Sequence[str]], expected: Sequence[str]) -> bool:
    first = [cell.strip() for cell in records[0]]
    names, positions = set(first), {f"column_{at}" for at in range(1, len(first) + 1)}
    if expected and all(name in positions for name in expected):
        return all(name in names for name in expected)
    if any(name in names for name in expected):
        return True
    if any(cell == "" or _NUMBER.fullmatch(cell) for cell in first) or len(set(first)) < len(first):
        return any(first) and len(set(first)) < len(first) and _names_like(first)
    below = [[cell.strip() for cell in record] for record in records[1:] if len(record) == len(first)]
    if not below:
        return True
    columns = list(zip(*below, strict=True))
    if any(all(_NUMBER.fullmatch(cell) for cell in column) for column in columns):
        return True
    # Only texts below: a name that comes back as a value is no name.
    return not any(name in column for name, column in zip(first, columns, strict=True))


def _names_like(first: Sequence[str]) -> bool:
    """True when a first line with repetitions is still made of names (a header with duplicate names)."""
    return all(re.fullmatch(r"[A-Za-z_][\w .-]*", cell) for cell in first)


def _check_names(path: Path, names: Sequence[str]) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        rule = f"has {len(twice)} column names that occur twice"
        raise refused(path.name, rule, "give each column a name of its own", values=twice, count=len(twice))


def _check_lengths(path: Path, records: Sequence[Sequence[str]], width: int) -> None:
    long = sum(len(record) > width for record in records)
    if long:
        rule = f"has lines with more cells than its {width} columns (at least {long} among the first)"
        raise refused(path.name, rule, "check the delimiter and the quotes")
