"""The smallest Excel file that holds given sheets, written in a fraction of the time other writers take."""

from __future__ import annotations

import datetime as dt
import zipfile
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs>'
    "</styleSheet>"
)


def column_letters(at):
    letters = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def cell_xml(where, cell):
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return f'<c r="{where}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, int | float):
        return f'<c r="{where}"><v>{cell!r}</v></c>'
    if isinstance(cell, dt.date):
        days = (dt.datetime.combine(cell, dt.time()) - dt.datetime(1899, 12, 30)).days  # noqa: DTZ001
        if isinstance(cell, dt.datetime):
            seconds = (cell - dt.datetime.combine(cell.date(), dt.time())).total_seconds()
            return f'<c r="{where}" s="2"><v>{days + seconds / 86400!r}</v></c>'
        return f'<c r="{where}" s="1"><v>{days}</v></c>'
    return f'<c r="{where}" t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'


def sheet_xml(rows):
    lines = []
    for number, row in enumerate(rows, 1):
        cells = "".join(cell_xml(f"{column_letters(at)}{number}", cell) for at, cell in enumerate(row))
        lines.append(f'<row r="{number}">{cells}</row>')
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def write_xlsx(path, sheets):
    """Write {name: rows, or the XML of a sheet}."""
    numbered = list(enumerate(sheets.items(), 1))
    parts = "".join(f'<sheet name="{escape(name)}" sheetId="{at}" r:id="rId{at}"/>' for at, (name, _) in numbered)
    links = "".join(
        f'<Relationship Id="rId{at}" Type="{RELATIONS}/worksheet" Target="worksheets/sheet{at}.xml"/>'
        for at, _ in numbered
    )
    styles = f'<Relationship Id="rIdS" Type="{RELATIONS}/styles" Target="styles.xml"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
            f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{parts}</sheets></workbook>'
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships">{links}{styles}</Relationships>',
        )
        archive.writestr("xl/styles.xml", STYLES)
        for at, (_, rows) in numbered:
            archive.writestr(f"xl/worksheets/sheet{at}.xml", rows if isinstance(rows, str) else sheet_xml(rows))
    return path
