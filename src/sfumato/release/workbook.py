"""Excel files of a release: written by one rule, and refused where they hold anything else.

Source    Ours, after ECMA-376 (Office Open XML), part 1, sections 18.3 (worksheets) and 18.2 (workbook).
Claim     `read_workbook` returns the cells that `write_workbook` was given, and refuses a file that is not, part by
          part, what `write_workbook` writes for these cells: no author, date, note, hidden sheet or style fits in.
Because   the cells are written again as they were read, and both files are compared part by part.
Checked   tests/unit/release/test_workbook.py::test_what_is_read_is_what_was_written
          tests/unit/release/test_workbook.py::test_anything_beside_the_cells_is_refused
          tests/claims/test_free_content.py::test_an_excel_file_with_anything_beside_its_cells_fails
Silent on the bytes of the compressed parts on another machine: they follow its zlib.

The rule: texts are text cells, so that a code keeps its zeros and no text is a formula; counts and group numbers are
numbers; a cell without a value is empty. The first line of a sheet names the columns. Rows beyond the
most that a sheet holds go on in the next sheet.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr, unescape

import polars as pl

from sfumato.errors import ReleaseError
from sfumato.raw_files import most_unpacked

SHEET_ROWS = 1_048_576  # lines of a sheet, with the one that names the columns
_SHEET_COLUMNS = 16_384
_LONGEST = 32_767  # characters of a cell
_BLOCK = 1 << 22
_ROW = 1 << 27  # bytes of a row: what follows it is read from there on
_EMPTY = "<c/>"
_CELL = re.compile('<c t="inlineStr"><is><t xml:space="preserve">([^<]*)</t></is></c>|<c><v>([0-9-]+)</v></c>|(<c/>)')
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# Excel reads _x0041_ as A, and XML has no control characters: a file with either would not say what the table says.
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, ValueError, LookupError)


def write_workbook(file: Path, name: str, frames: Iterable[pl.DataFrame], *, sheet_rows: int = SHEET_ROWS) -> None:
    """Write tables of the same columns, one below the other, as the Excel file of one table."""
    with zipfile.ZipFile(file, "w") as archive:
        _write(archive, name, frames, sheet_rows)


def _write(archive: zipfile.ZipFile, name: str, frames: Iterable[pl.DataFrame], sheet_rows: int) -> None:
    sheets = 0
    for lines in _sheets(frames, sheet_rows):
        sheets += 1
        with archive.open(_part(f"xl/worksheets/sheet{sheets}.xml"), "w", force_zip64=True) as out:
            for text in lines:
                out.write(text.encode())
    for part, text in _fixed(name, sheets).items():
        archive.writestr(_part(part), text)


def _part(name: str) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    found.compress_type, found.create_system, found.external_attr = zipfile.ZIP_DEFLATED, 3, 0o600 << 16
    return found


def _fixed(name: str, sheets: int) -> dict[str, str]:
    """Return the parts that do not hold cells."""
    numbers = range(1, sheets + 1)
    kinds = "".join(
        f'<Override PartName="/xl/worksheets/sheet{at}.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'spreadsheetml.worksheet+xml"/>'
        for at in numbers
    )
    named = "".join(
        f'<sheet name={quoteattr(name if at == 1 else f"{name} {at}")} sheetId="{at}" r:id="rId{at}"/>'
        for at in numbers
    )
    links = "".join(
        f'<Relationship Id="rId{at}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{at}.xml"/>' for at in numbers
    )
    return {
        "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="'
        'application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/'
        'xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        f'spreadsheetml.sheet.main+xml"/>{kinds}</Types>',
        "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>',
    }


def _sheets(frames: Iterable[pl.DataFrame], sheet_rows: int) -> Iterator[Iterator[str]]:
    """Yield the lines of each sheet; a sheet is read to its end before the next one is asked for."""
    given = iter(frames)
    held = next(given)
    names = held.columns
    if len(names) > _SHEET_COLUMNS:
        raise _unwritable(f"more than {_SHEET_COLUMNS:,} columns")
    rest = (frame for frame in given if frame.height)
    ended = False

    def lines() -> Iterator[str]:
        nonlocal held, ended
        yield f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>'
        yield _line(1, [_text_cell(name) for name in names])
        at = 2
        while at <= sheet_rows:
            part = held.head(sheet_rows + 1 - at)
            yield "".join(_rows(part, at))
            at, held = at + part.height, held.slice(part.height)
            if not held.height:
                following = next(rest, None)
                ended = following is None
                if following is None:
                    break
                held = following
        yield "</sheetData></worksheet>"

    while not ended:
        yield lines()


def _rows(frame: pl.DataFrame, first: int) -> Iterator[str]:
    columns = []
    for name, kind in frame.schema.items():
        column = frame[name]
        if kind.is_integer():
            columns.append([_EMPTY if number is None else f"<c><v>{number}</v></c>" for number in column])
            continue
        texts = column.cast(pl.String)
        known = {text: _text_cell(text) for text in texts.unique()}
        columns.append([known[text] for text in texts])
    for at, cells in enumerate(zip(*columns, strict=True), first):
        yield _line(at, cells)


def _line(at: int, cells: Sequence[str]) -> str:
    line = f'<row r="{at}">{"".join(cells)}</row>'
    if len(line) > _ROW // 4:  # a character has at most four bytes
        raise _unwritable(f"a row of more than {_ROW // 4:,} characters")
    return line


def _text_cell(text: str | None) -> str:
    if text is None:
        return _EMPTY
    if _UNWRITABLE.search(text):
        raise _unwritable("a character that Excel files cannot hold")
    if len(text) > _LONGEST:
        raise _unwritable(f"a cell of more than {_LONGEST:,} characters")
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def _unwritable(what: str) -> ReleaseError:
    return ReleaseError(
        f"the table holds {what}, so it cannot be saved as an Excel file", hint="save it as CSV or Parquet"
    )


# -- reading -------------------------------------------------------------------------------------


def read_workbook(file: Path, *, sheet_rows: int = SHEET_ROWS) -> pl.DataFrame:
    """Return the table of an Excel file of ours, every column as text; a file with anything else in it is refused."""
    try:
        with zipfile.ZipFile(file) as archive:
            _refuse_size(file, archive)
            frame, name, numbers = _read(archive)
            as_saved = not archive.comment and _as_written(archive, frame, name, numbers, sheet_rows)
    except (*_DAMAGED, pl.exceptions.PolarsError):
        hint = "use the folder as it was saved"
        raise ReleaseError(f"{file.name} cannot be read as an Excel file of a release", hint=hint) from None
    if not as_saved:
        raise ReleaseError(f"{file.name} holds more than its cells", hint="use the folder as it was saved")
    return frame


def _refuse_size(file: Path, archive: zipfile.ZipFile) -> None:
    if sum(one.file_size for one in archive.infolist()) > most_unpacked(file.stat().st_size):
        raise ReleaseError(f"{file.name} unpacks to more than the limit", hint="use the folder as it was saved")


def _read(archive: zipfile.ZipFile) -> tuple[pl.DataFrame, str, set[str]]:
    """Return the cells as texts, the name of the table, and the columns that hold numbers."""
    book = archive.read("xl/workbook.xml").decode()
    name = unescape(re.findall('<sheet name="([^"]*)"', book)[0])
    names: list[str] = []
    parts: list[pl.DataFrame] = []
    numbers: set[str] = set()
    for at in range(1, book.count("<sheet ") + 1):
        for place, rows in enumerate(_whole_rows(archive, f"xl/worksheets/sheet{at}.xml")):
            head, _, body = rows.partition("</row>") if place == 0 else ("", "", rows)
            names = names or [unescape(text) for text, _, _ in _CELL.findall(head)]
            if not names:
                raise ValueError(head)
            cells = _CELL.findall(body)
            columns = [
                [None if empty else number or text for text, number, empty in cells[column :: len(names)]]
                for column in range(len(names))
            ]
            texts = [pl.Series(known, held, dtype=pl.String) for known, held in zip(names, columns, strict=True)]
            numbers |= {names[place % len(names)] for place, (_, number, _) in enumerate(cells) if number}
            parts.append(pl.DataFrame(texts).with_columns(_unescaped(pl.col(known)) for known in names))
    return pl.concat(parts), name, numbers


def _whole_rows(archive: zipfile.ZipFile, part: str) -> Iterator[str]:
    """Yield the text of a sheet in parts that end with a row."""
    end = b"</row>"
    with archive.open(part) as file:
        held = bytearray()
        while block := file.read(_BLOCK):
            looked_at = max(0, len(held) - len(end))
            held += block
            found = held.rfind(end, looked_at)
            if found >= 0:
                yield held[: found + len(end)].decode()
                del held[: found + len(end)]
            if len(held) > _ROW:
                raise ValueError(part)


def _unescaped(text: pl.Expr) -> pl.Expr:
    return text.str.replace_many(["&lt;", "&gt;", "&amp;"], ["<", ">", "&"])


def _as_written(archive: zipfile.ZipFile, frame: pl.DataFrame, name: str, numbers: set[str], sheet_rows: int) -> bool:
    """Whether every part is the one that is written for these cells."""
    typed = frame.with_columns(pl.col(known).cast(pl.Int64) for known in numbers)
    wanted = {}
    sheets = 0
    for lines in _sheets([typed], sheet_rows):
        sheets += 1
        found = hashlib.sha256()
        for text in lines:
            found.update(text.encode())
        wanted[f"xl/worksheets/sheet{sheets}.xml"] = found.hexdigest()
    wanted |= {part: hashlib.sha256(text.encode()).hexdigest() for part, text in _fixed(name, sheets).items()}
    present = archive.infolist()
    if [one.filename for one in present] != list(wanted):
        return False
    if any(one.comment or one.date_time != (1980, 1, 1, 0, 0, 0) for one in present):
        return False
    return all(_digest(archive, part) == sha for part, sha in wanted.items())


def _digest(archive: zipfile.ZipFile, part: str) -> str:
    with archive.open(part) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
