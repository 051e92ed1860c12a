"""Sheets as they come: what a cell means, which sheet is read, what is refused before it is opened."""

from __future__ import annotations

import datetime as dt
import io
import random
import time
import zipfile

import openpyxl
import pytest
from tests.claims.light_xls import write_xls
from tests.claims.light_xlsx import write_xlsx

from sfumato.counts import check, read
from sfumato.drafting import draft
from sfumato.errors import ReadError, SfumatoError
from sfumato.io.excel import (
    CELLS_LIMIT,
    _binary_corner,
    _binary_errors,
    _corner,
    _open_corners,
    _open_merged,
    open_sheet,
)
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "t",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "missing": "category"},
            "job": {"role": "sensitive", "values": ["baker", "007"], "missing": "category"},
        },
    }
)
ROWS = [["age", "job"], [30, "baker"], ["40", "007"], [None, "baker"]]


def test_cells_mean_what_they_say(tmp_path) -> None:
    book = openpyxl.Workbook()
    cells = [
        5,
        5.0,
        "5",
        "007",
        True,
        dt.date(2024, 5, 31),
        dt.datetime(2024, 5, 31, 10),  # noqa: DTZ001
        "",
        None,
        0.1,
    ]
    book.active.append(["a", "b"])
    for cell in cells:
        book.active.append([cell, "x"])
    book.save(tmp_path / "t.xlsx")
    sheet = open_sheet(tmp_path / "t.xlsx", None)
    assert sheet.rows(["a"], {})["a"].to_list() == [
        "5", "5", "5", "007", "true", "2024-05-31", "2024-05-31T10:00:00", None, None, "0.1",
    ]  # fmt: skip
    assert sheet.height() == len(cells)


def test_merged_cells_of_a_column_that_is_read_are_refused_by_their_address(tmp_path) -> None:
    """All but the first of merged cells are empty, and were read as people without a value."""
    book = openpyxl.Workbook()
    for row in (["age", "job", "note"], *([30 + at, "baker", "x"] for at in range(9))):
        book.active.append(row)
    book.active.merge_cells("C3:C5")
    book.save(tmp_path / "note.xlsx")
    assert check(tmp_path / "note.xlsx", SCHEMA) == []
    book.active.merge_cells("A7:A8")
    book.active.merge_cells("B2:C2")
    book.save(tmp_path / "t.xlsx")
    found = {problem.path: problem.rule for problem in check(tmp_path / "t.xlsx", SCHEMA)}
    assert {path: rule.partition(": ")[2] for path, rule in found.items()} == {
        "attribute.age": "A7:A8",
        "attribute.job": "B2:C2",
    }
    with pytest.raises(ReadError, match="A7:A8"):
        read(tmp_path / "t.xlsx", SCHEMA)


def test_merged_cells_of_an_open_document_are_found(tmp_path) -> None:
    spans = ONE.replace("<t:table-cell ", '<t:table-cell t:number-rows-spanned="2" t:number-columns-spanned="1" ')
    lines = [[ONE, ONE], [ONE, spans], [ONE, "<t:covered-table-cell/>"]]
    rows = "".join(f"<t:table-row>{''.join(line)}</t:table-row>" for line in lines)
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
        archive.writestr("content.xml", OPEN.replace("<t:table>", '<t:table t:name="s">').format(rows))
    assert [str(one) for one in _open_merged(tmp_path / "t.ods", "s")] == ["B2:B3"]


def hidden_workbooks(folder):
    """Yield a workbook in each format, in which the rows 3 and 4 of the sheet are hidden."""
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.active.column_dimensions["B"].hidden = True
    for row in (3, 4):
        book.active.row_dimensions[row].hidden = True
    book.save(folder / "t.xlsx")
    yield folder / "t.xlsx"
    yield write_xls(folder / "t.xls", {"one": [["x"], *ROWS], "s": ROWS}, hidden=(3, 4))
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    lines = ["".join(cell.format("" if one is None else one) for one in row) for row in ROWS]
    rows = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines[:2])
    rows += "".join(f'<table:table-row table:visibility="filter">{line}</table:table-row>' for line in lines[2:])
    rows += '<table:table-row table:visibility="collapse" table:number-rows-repeated="9"><table:table-cell/>'
    body = f'<table:table table:name="s">{rows}</table:table-row></table:table>'
    body = f"<office:body><office:spreadsheet>{body}</office:spreadsheet></office:body>"
    spaces = "urn:oasis:names:tc:opendocument:xmlns"
    names = " ".join(f'xmlns:{name}="{spaces}:{name}:1.0"' for name in ("office", "table", "text"))
    with zipfile.ZipFile(folder / "t.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{spaces}:manifest:1.0"/>')
        archive.writestr("content.xml", f"<office:document-content {names}>{body}</office:document-content>")
    yield folder / "t.ods"


def test_hidden_rows_are_read_and_named(tmp_path) -> None:
    """Whoever filters a list sees only some people; the others were published too, and nothing said so."""
    for path in hidden_workbooks(tmp_path):
        sheet = "s" if path.suffix == ".xls" else None
        table = read(path, SCHEMA, sheet=sheet)
        assert table.rows == 3, path
        [named] = [problem for problem in table.doubts.remarks() if "hidden" in problem.rule]
        assert named.rows == 2, path
        assert named.rule.endswith("hidden, and read as all others: 3, 4")
        assert "hidden: 2 rows of the sheet are hidden" in draft(path, sheet=sheet), path


def test_rows_that_are_shown_are_not_called_hidden(tmp_path) -> None:
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.active.column_dimensions["B"].hidden = True
    book.active.row_dimensions[9].hidden = True  # below the table: no row of it
    book.save(tmp_path / "t.xlsx")
    assert not [problem for problem in read(tmp_path / "t.xlsx", SCHEMA).doubts.remarks() if "hidden" in problem.rule]
    assert "hidden:" not in draft(tmp_path / "t.xlsx")


def test_a_hidden_sheet_is_read_only_by_its_name(tmp_path) -> None:
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.create_sheet("shown")
    book["Sheet"].sheet_state = "veryHidden"
    book.active = 1
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(ReadError, match="hidden"):
        read(tmp_path / "t.xlsx", SCHEMA)
    assert read(tmp_path / "t.xlsx", SCHEMA, sheet="Sheet").rows == 3


def test_rows_without_a_value_are_no_rows(tmp_path) -> None:
    blank = [None, None]
    path = write_xlsx(tmp_path / "t.xlsx", {"s": [blank, ROWS[0], ROWS[1], blank, *ROWS[2:], blank]})
    table = read(path, SCHEMA)
    assert table.codes().tolist() == [[30, 0], [40, 1], [100, 0]]
    assert table.rows_in == 3
    assert table.blank_lines in (1, 2)  # rows below the last cell are not part of a sheet


def test_several_sheets_with_values_are_refused_by_name(tmp_path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"2023": ROWS, "2024": ROWS[:2], "notes": []})
    for action in (lambda: read(path, SCHEMA), lambda: draft(path)):
        with pytest.raises(ReadError, match=r"has 2 sheets with values: 2023, 2024\. Hint: .*sheet='2023'"):
            action()
    assert len(check(path, SCHEMA)) == 1
    assert read(path, SCHEMA, sheet="2024").rows == 1
    assert check(path, SCHEMA, sheet="2023") == []
    assert "[attribute.age]" in draft(path, sheet="2023")
    with pytest.raises(ReadError, match=r"has no sheet named 2025\. Hint: its sheets are 2023, 2024, notes"):
        read(path, SCHEMA, sheet="2025")
    with pytest.raises(ReadError, match="holds no values"):
        read(path, SCHEMA, sheet="notes")
    csv = tmp_path / "t.csv"
    csv.write_text("age,job\n30,baker\n")
    with pytest.raises(ReadError, match="sheet: is for Excel files"):
        read(csv, SCHEMA, sheet="2023")


def test_an_empty_sheet_beside_the_table_is_nothing_to_name(tmp_path) -> None:
    assert read(write_xlsx(tmp_path / "t.xlsx", {"empty": [], "people": ROWS}), SCHEMA).rows == 3


def test_sheets_of_several_files_are_chained(tmp_path) -> None:
    write_xlsx(tmp_path / "a.xlsx", {"s": ROWS})
    write_xlsx(tmp_path / "b.xlsx", {"s": ROWS[:2]})
    assert read(tmp_path / "*.xlsx", SCHEMA).rows == 4


def far_cell(reference: str, attribute: str = ' r="{}"') -> str:
    near = '<row r="1"><c r="A1" t="inlineStr"><is><t>age</t></is></c></row>'
    return (
        f"<worksheet><sheetData>{near}<row><c{attribute.format(reference)}><v>1</v></c></row></sheetData></worksheet>"
    )


@pytest.mark.parametrize("attribute", [' r="{}"', " r='{}'", '\n r = "{}"', ' s="1" r="{}"', ' r ="{}"', '\tr=\n"{}"'])
def test_a_cell_in_the_last_corner_is_refused(tmp_path, attribute: str) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"s": far_cell("XFD1048576", attribute)})
    start = time.process_time()
    with pytest.raises(
        ReadError, match=r"as far as row 1,048,576 and column 16,384: 17,179,869,184 cells, and at most"
    ):
        read(path, SCHEMA)
    assert time.process_time() - start < 10
    assert CELLS_LIMIT == 20_000_000


@pytest.mark.parametrize("size", [1, 10, 15, 16, 17, 31, 200, 1 << 20])
def test_references_are_found_in_any_cut(size: int) -> None:
    text = far_cell("ABC4567").encode()
    parts = (text[at : at + size] for at in range(0, len(text), size))
    assert _corner(parts) == (4567, 731)


def test_a_corner_of_the_binary_format() -> None:
    row, cell = (7).to_bytes(4, "little"), (16_383).to_bytes(4, "little")
    long = b"\x9c\x01" + b"\x80\x01" + bytes(128)  # a record of another kind with 128 bytes
    assert _binary_corner(b"\x00\x04" + row + long + b"\x02\x08" + cell + bytes(4)) == (8, 16_384)


OPEN = (
    '<a xmlns:t="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0">'
    "<t:table>{}</t:table></a>"
)
EMPTY, ONE = "<t:table-cell/>", '<t:table-cell o:value-type="float" o:value="1"/>'


def test_a_corner_of_an_open_document_is_that_of_its_last_value() -> None:
    tail = (
        '<t:table-row t:number-rows-repeated="1048570"><t:table-cell t:number-columns-repeated="16384"/></t:table-row>'
    )
    usual = f"<t:table-row>{ONE}{EMPTY}{ONE}</t:table-row>" + tail
    assert list(_open_corners(io.BytesIO(OPEN.format(usual).encode()))) == [(1, 3)]
    skip = '<t:table-cell t:number-columns-repeated="16383"/>'
    far = f"<t:table-row>{ONE}</t:table-row>{tail}<t:table-row>{skip}{ONE}</t:table-row>"
    assert list(_open_corners(io.BytesIO(OPEN.format(far).encode()))) == [(1_048_572, 16_384)]


def test_a_far_cell_of_an_open_document_is_refused(tmp_path) -> None:
    rows = f'<t:table-row>{ONE}</t:table-row><t:table-row t:number-rows-repeated="1000000"/><t:table-row>'
    rows += f'<t:table-cell t:number-columns-repeated="999"/>{ONE}</t:table-row>'
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
        archive.writestr("content.xml", OPEN.format(rows))
    with pytest.raises(ReadError, match="as far as row 1,000,002 and column 1,000"):
        read(tmp_path / "t.ods", SCHEMA)


def test_damaged_workbooks_are_read_or_refused(tmp_path) -> None:
    sound = write_xlsx(tmp_path / "t.xlsx", {"s": ROWS * 20}).read_bytes()
    path, rng = tmp_path / "u.xlsx", random.Random(5)
    for _ in range(120):
        raw = bytearray(sound)
        for _ in range(rng.choice([1, 3, 20])):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        path.write_bytes(raw if rng.random() < 0.8 else raw[: rng.randrange(len(raw))])
        try:
            read(path, SCHEMA)
        except SfumatoError:
            continue


def test_names_that_occur_twice_and_names_that_are_absent(tmp_path) -> None:
    with pytest.raises(ReadError, match="1 column name that occurs twice"):
        read(write_xlsx(tmp_path / "t.xlsx", {"s": [["age", "age"], [1, 2]]}), SCHEMA)
    sheet = open_sheet(write_xlsx(tmp_path / "u.xlsx", {"s": [["age", None, 7], [1, 2, 3]]}), None)
    assert sheet.names == ("age", "column_2", "7")


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(tmp_path, monkeypatch) -> None:
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 2_000_000)
    monkeypatch.setattr("sfumato.limits.UNPACKED_SMALL", 1_000_000)
    with pytest.raises(ReadError, match="is more than 1,000,000 bytes when unpacked"):
        read(path, SCHEMA)


# -- errors and formulas without a result ------------------------------------------------------------

RESULTS = {  # a cell as a program writes it, and whether it has a result
    '<c r="A2" t="e"><v>#N/A</v></c>': False,
    '<c r="A2" t="e"><f>1/0</f><v>#DIV/0!</v></c>': False,
    "<c t='e'><v>#N/A</v></c>": False,
    '<c r="A2"><f>1+1</f></c>': False,
    '<c r="A2"><f>1+1</f><v/></c>': False,
    '<c r="A2" s="1"><f t="shared" si="0"/></c>': False,
    '<c r="A2"><f>1+1</f><v>2</v></c>': True,
    '<c r="A2" t="str"><f>""</f><v></v></c>': True,
    '<c r="A2"/>': True,
}


@pytest.mark.parametrize("cell", RESULTS)
@pytest.mark.parametrize("more", ["", '<c r="B2" t="inlineStr"><is><t>baker</t></is></c>'], ids=["alone", "beside"])
def test_cells_without_a_result_are_refused_by_their_address(tmp_path, cell: str, more: str) -> None:
    """They were read as missing, and a row of nothing else was not counted at all."""
    head = "".join(
        f'<c r="{at}1" t="inlineStr"><is><t>{name}</t></is></c>' for at, name in (("A", "age"), ("B", "job"))
    )
    last = '<row r="3"><c r="A3"><v>30</v></c><c r="B3" t="inlineStr"><is><t>baker</t></is></c></row>'
    rows = f'<row r="1">{head}</row><row r="2">{cell}{more}</row>{last}'
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    text = f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
    path = write_xlsx(tmp_path / "t.xlsx", {"other": [], "people": text})
    if RESULTS[cell]:
        assert read(path, SCHEMA).rows == 1 + bool(more) or "<f>" in cell
        return
    for action in (lambda: read(path, SCHEMA), lambda: draft(path)):
        with pytest.raises(ReadError, match=r"has 1 cell with an error such as #N/A.*: A2\. Hint: "):
            action()
    assert len(check(path, SCHEMA)) == 1


def test_an_error_in_another_sheet_is_nothing_to_refuse(tmp_path) -> None:
    book = openpyxl.Workbook()
    for row in ROWS[:3]:
        book.active.append(row)
    book.create_sheet("sums").append(["=SUM(A1:A9)", "#N/A", 5])
    book.save(tmp_path / "t.xlsx")
    assert read(tmp_path / "t.xlsx", SCHEMA, sheet="Sheet").rows == 2
    with pytest.raises(ReadError, match=r"has 2 cells with an error.*: A1, B1"):
        read(tmp_path / "t.xlsx", SCHEMA, sheet="sums")


def test_errors_of_other_formats() -> None:
    from sfumato.io.excel import _open_errors

    error = '<t:table-cell t:formula="of:=1/0" o:value-type="string" c:value-type="error"/>'
    empty = '<t:table-cell t:number-columns-repeated="3"/><t:table-cell t:formula="of:=A1"/>'
    fine = '<t:table-cell t:formula="of:=1" o:value-type="float" o:value="1"/>'
    rows = f'<t:table-row t:number-rows-repeated="4"/><t:table-row>{fine}{error}</t:table-row><t:table-row>{empty}'
    text = (
        OPEN.format(rows + "</t:table-row>")
        .replace("<t:table>", '<t:table t:name="s">')
        .replace("<a ", '<a xmlns:c="c" ')
    )
    assert list(_open_errors(io.BytesIO(text.encode()), "s")) == [(5, 2), (6, 4)]
    assert list(_open_errors(io.BytesIO(text.encode()), "other")) == []
    row, cell = (7).to_bytes(4, "little"), (2).to_bytes(4, "little")
    sound = b"\x00\x04" + row + b"\x02\x08" + cell + bytes(4)
    assert list(_binary_errors(sound)) == []
    assert list(_binary_errors(sound + b"\x03\x09" + cell + bytes(5) + b"\x0b\x09" + cell + bytes(5))) == [(8, 3)] * 2
