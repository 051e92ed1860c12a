"""What an Excel or Parquet file of anyone's holds beside the table that is read from it.

Source    Ours, after ECMA-376 (Office Open XML), OpenDocument 1.3, part 3, and the Parquet format.
Claim     A problem for comments and links on cells, hidden sheets with values, copies of cells behind pivot tables and
          links to other workbooks, texts that no cell shows, filters, messages at cells, headers and footers, metadata
          of Parquet beside the types of the columns, and values that stand in a dictionary and in no row. A note names
          the properties that name people or say anything else, the other sheets with values, and every part of a
          workbook that was not looked at.
Because   a workbook is an archive whose parts have names, and those that are not known to be harmless are named.
Checked   tests/unit/release/test_hidden_content.py::test_what_a_workbook_holds_beside_its_cells_is_said
          tests/unit/release/test_hidden_content.py::test_what_a_parquet_file_holds_beside_its_rows_is_said
          tests/unit/release/test_hidden_content.py::test_plain_files_hold_nothing_beside
Silent on formats, names and validation lists in a workbook and bytes outside the columns of a Parquet file; a note of
          every verdict says so. Whether two people could be told apart by what is found is not asked.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import Problem, count_of
from sfumato.io.excel import filled_sheets
from sfumato.raw_files import engine_path
from sfumato.release.files import DAMAGED
from sfumato.schema import Attribute, Schema
from sfumato.visible import visible

_INSPECT = "in the spreadsheet program: File, Info, Check for Issues, Inspect Document; or save the sheet as CSV"
_REWRITE = "write the rows to a new file, without metadata and unused categories; or save them as CSV"
_HARMLESS = re.compile(
    r"\[Content_Types\]\.xml|(.*/)?_rels/.*|xl/(workbook|styles|sharedStrings|calcChain|metadata)\.xml|xl/theme/.*"
    r"|xl/(workbook|styles)\.bin|xl/worksheets/sheet\d+\.(xml|bin)|xl/tables/.*|xl/printerSettings/.*"
    r"|docProps/(core|app|custom)\.xml|mimetype|META-INF/(manifest\.xml)?|manifest\.rdf|(content|meta|styles|settings)\.xml"
    r"|Configurations2/.*|.*/"
)
# Parts that hold what a reader of the cells does not see, and what to call it.
_HOLDING = (
    (r"xl/(comments|threadedComments).*", "comments on cells"),
    (r"xl/persons/.*", "the names of people who wrote comments"),
    (r"xl/pivotCache/.*", "copies of the rows behind a pivot table"),
    (r"xl/externalLinks/.*", "copies of cells of another workbook"),
    (r"xl/model/.*", "a data model, which is a copy of tables"),
    (r"xl/embeddings/.*", "embedded files"),
)
_FILTER = "the values that a filter chooses"
_BESIDE_CELLS = {  # elements of a sheet, the attributes in which they say something, and what to call it
    "hyperlink": ({"id", "location", "tooltip", "display"}, "links on cells"),
    "a": ({"href"}, "links on cells"),
    "filter": ({"val"}, _FILTER),
    "customFilter": ({"val"}, _FILTER),
    "filter-condition": ({"value"}, _FILTER),
    "dataValidation": ({"prompt", "promptTitle", "error", "errorTitle"}, "messages that appear at cells"),
    "oddHeader": (set[str](), "headers or footers"),
    "oddFooter": (set[str](), "headers or footers"),
    "evenHeader": (set[str](), "headers or footers"),
    "evenFooter": (set[str](), "headers or footers"),
    "firstHeader": (set[str](), "headers or footers"),
    "firstFooter": (set[str](), "headers or footers"),
}
_PROGRAMS = {"openpyxl", "xlsxwriter", "unknown", "microsoft office user"}
_PEOPLE = {"creator": "an author", "initial-creator": "an author", "lastModifiedBy": "who changed it last"} | {
    "Manager": "a manager",
    "Company": "a company",
}
_SAID = ("title", "subject", "description", "keywords", "keyword", "category")
_TYPES = "ARROW:schema"  # the types of the columns, which every writer of Parquet keeps
_PANDAS = {"index_columns", "column_indexes", "columns", "attributes", "creator", "pandas_version", "partition_columns"}
_WRITERS = ("org.apache.spark.version", "org.apache.spark.timeZone", "org.apache.spark.legacy", "writer.model.name")
_SPARK = "org.apache.spark.sql.parquet.row.metadata"


def beside_the_table(
    path: Path, schema: Schema, columns: Mapping[str, str], *, sheet: str | None
) -> tuple[list[Problem], list[str]]:
    """Return problems and notes on what a file holds beside the columns of the schema (`columns`, by attribute)."""
    with path.open("rb") as file:
        head = file.read(4)
    if head == b"PAR1":
        return _beside_rows(path, schema, columns)
    return _beside_cells(path, sheet) if zipfile.is_zipfile(path) and head[:2] == b"PK" else ([], [])


# -- workbooks -------------------------------------------------------------------------------------


def _beside_cells(path: Path, sheet: str | None) -> tuple[list[Problem], list[str]]:
    problems, notes = _other_sheets(path, sheet)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        found = [what for pattern, what in _HOLDING if any(re.fullmatch(pattern, name) for name in names)]
        if "content.xml" in names and any(tag == "annotation" for tag, _ in _elements(archive, "content.xml")):
            found.append("comments on cells")
        shown, beside = _in_sheets(archive)
        found += beside
        if unseen := _unshown_texts(archive, shown):
            found.append(f"{count_of(unseen, 'text')} that no cell shows")
        people, said = _properties(archive)
    problems += [
        Problem(path.name, f"holds {what}, which no claim covers", f"remove them {_INSPECT}") for what in found
    ]
    if said or people:
        notes.append(
            f"Warning: its properties name {_joined([*people, *said])}; publish it only if these may be public, or "
            f"remove them {_INSPECT}"
        )
    known = [re.compile(pattern) for pattern, _ in _HOLDING] + [_HARMLESS]
    unread = [name for name in names if not any(one.fullmatch(name) for one in known)]
    if unread:
        notes.append(f"Warning: parts of the workbook that were not looked at: {_joined([visible(n) for n in unread])}")
    notes.append("not looked at: formats, names and validation lists of the workbook")
    return problems, notes


def _other_sheets(path: Path, sheet: str | None) -> tuple[list[Problem], list[str]]:
    """Say of each sheet with values that is not the one that was read what it is."""
    if sheet is None:  # there is one sheet with values
        return [], []
    others = {name: shown for name, shown in filled_sheets(path).items() if name != sheet}
    hidden = [visible(name) for name, shown in others.items() if not shown]
    beside = [visible(name) for name, shown in others.items() if shown]
    rule = f"holds values in hidden sheets, which no claim covers: {_joined(hidden)}"
    problems = [Problem(path.name, rule, "delete them, or save the sheet that is published as CSV")] if hidden else []
    note = (
        f"Warning: other sheets of the file hold values and were not checked: {_joined(beside)}. What is said is about "
        f"{visible(sheet)} alone"
    )
    return problems, [note] if beside else []


def _elements(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[str, ET.Element]]:
    """Yield the elements of a part by their name without its namespace, as long as it can be read."""
    with archive.open(part) as file:
        try:
            for _, element in ET.iterparse(file, ("end",)):  # noqa: S314  (its size was looked at when it was opened)
                name = element.tag.rpartition("}")[2]
                yield name, element
                if name in ("row", "table-row", "si"):
                    element.clear()
        except ET.ParseError:
            return


def _in_sheets(archive: zipfile.ZipFile) -> tuple[set[str], list[str]]:
    """Return the places of the shared texts that cells show, and what the sheets hold beside cells."""
    shown, beside = set[str](), dict[str, None]()
    for part in archive.namelist():
        if not re.fullmatch(r"xl/worksheets/[^/]+\.xml|content\.xml", part):
            continue
        for tag, element in _elements(archive, part):
            if tag == "c" and element.attrib.get("t") == "s":
                shown |= {child.text or "" for child in element if child.tag.rpartition("}")[2] == "v"}
            elif tag in _BESIDE_CELLS:
                said = {name.rpartition("}")[2] for name, text in element.attrib.items() if text.strip()}
                if said & _BESIDE_CELLS[tag][0] or (element.text or "").strip():
                    beside[_BESIDE_CELLS[tag][1]] = None
    return shown, list(beside)


def _unshown_texts(archive: zipfile.ZipFile, shown: set[str]) -> int:
    """Return how many of the shared texts of a workbook no cell of a sheet shows."""
    if "xl/sharedStrings.xml" not in archive.namelist():
        return 0
    written = sum(tag == "si" for tag, _ in _elements(archive, "xl/sharedStrings.xml"))
    return max(0, written - len({int(text) for text in shown if text.strip().isdecimal()}))


def _properties(archive: zipfile.ZipFile) -> tuple[list[str], list[str]]:
    """Return what the properties of a workbook name: people and companies, and what else they say."""
    people, said, own = dict[str, None](), dict[str, None](), False
    present = set(archive.namelist())
    for part in ("docProps/core.xml", "docProps/app.xml", "meta.xml"):
        for tag, element in _elements(archive, part) if part in present else ():
            text = (element.text or "").strip()
            if tag in _PEOPLE and text and text.lower() not in _PROGRAMS:
                people[_PEOPLE[tag]] = None
            elif tag in _SAID and text:
                said[f"a {tag}"] = None
            own |= tag == "user-defined" and bool(text)
    if "docProps/custom.xml" in present:
        own |= any(tag == "property" for tag, _ in _elements(archive, "docProps/custom.xml"))
    return list(people), [*said, *(["properties of somebody's own"] if own else [])]


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


# -- Parquet ---------------------------------------------------------------------------------------


def _beside_rows(path: Path, schema: Schema, columns: Mapping[str, str]) -> tuple[list[Problem], list[str]]:
    problems = []
    if strange := [name for name, text in _metadata(path).items() if not _is_plain(name, text)]:
        rule = f"holds metadata beside its columns, which no claim covers: {_joined(list(map(visible, strange)))}"
        problems.append(Problem(path.name, rule, _REWRITE))
    unseen = "dictionaries and metadata of single columns were not looked at: pyarrow "
    try:
        held, described = dictionary_texts(path, list(columns.values())), _described_columns(path)
    except ImportError:
        return problems, [f"{unseen}is not installed"]
    except (*DAMAGED, ValueError, NotImplementedError, KeyError):  # polars read the rows: a kind of file it alone knows
        return problems, [f"Warning: {unseen}cannot read the file"]
    for name, column in columns.items():
        if only := unshown_values(schema[name], *held.get(column, (set(), set()))):
            rule = f"its dictionary holds {count_of(len(only), 'value')} that no row shows"
            problems.append(Problem(column, rule, _REWRITE, count=len(only), values=tuple(sorted(only))))
    if described:
        rule = f"holds metadata of columns, which no claim covers: {_joined(list(map(visible, described)))}"
        problems.append(Problem(path.name, rule, _REWRITE))
    return problems, ["not looked at: bytes of the Parquet file outside its columns, such as statistics"]


def _metadata(path: Path) -> dict[str, str]:
    try:
        return pl.read_parquet_metadata(engine_path(path))
    except DAMAGED:  # whoever reads the rows says so
        return {}


def metadata_names(path: Path) -> list[str]:
    """Return the names of the metadata of a Parquet file, the types of its columns left out."""
    return sorted(set(_metadata(path)) - {_TYPES})


def _is_plain(name: str, text: str) -> bool:
    """Whether metadata are those that a program writes by itself, and hold nothing but names and types of columns."""
    if name == _TYPES or name.startswith(_WRITERS):
        return True
    if name not in ("pandas", _SPARK):
        return False
    try:
        said = json.loads(text)
        if name == "pandas":
            return set(said) <= _PANDAS and not said.get("attributes")
        return not any(field.get("metadata") for field in said["fields"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return False


def _described_columns(path: Path) -> list[str]:
    """Return the columns that have metadata of their own, but for what polars and Parquet themselves note there."""
    from pyarrow import parquet

    own = (b"PARQUET:", b"_PL_")
    fields: Any = parquet.read_schema(path)
    return [field.name for field in fields if any(not key.startswith(own) for key in field.metadata or {})]


def dictionary_texts(path: Path, columns: Sequence[str]) -> dict[str, tuple[set[str], set[str]]]:
    """Return the values that stand in the dictionaries of columns, and those that rows show; pyarrow must be there."""
    from pyarrow import parquet

    kinds = pl.read_parquet_schema(engine_path(path))
    texts = sorted(column for column in set(columns) if not kinds[column].is_numeric())
    found: dict[str, tuple[set[str], set[str]]] = {column: (set(), set()) for column in texts}
    file = parquet.ParquetFile(path, read_dictionary=texts)
    for at in range(file.num_row_groups):  # one at a time: the file may be larger than memory
        table = file.read_row_group(at, texts)
        for column, (written, shown) in found.items():
            for chunk in table[column].chunks:
                if hasattr(chunk, "dictionary"):
                    written |= {str(text) for text in chunk.dictionary.to_pylist() if text is not None}
                    shown |= {
                        str(text) for text in chunk.dictionary.take(chunk.indices.unique().drop_null()).to_pylist()
                    }
    for column, (written, shown) in found.items():
        kind = kinds[column]
        if isinstance(kind, pl.Enum):  # its categories stand beside the pages as well
            written |= set(kind.categories.to_list())
            rows = pl.scan_parquet(engine_path(path), glob=False).select(pl.col(column).cast(pl.String).unique())
            shown |= set(rows.collect()[column].drop_nulls())
    return found


def unshown_values(attribute: Attribute, written: set[str], shown: set[str]) -> set[str]:
    """Return the values that only a dictionary holds; where all of the domain stand there, these say nothing."""
    only = written - shown
    if not only or len(written) < attribute.size:
        return only
    domain = set(attribute.texts())
    return only - domain if domain <= written else only
