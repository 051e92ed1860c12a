"""What anyone's workbook or Parquet file holds beside its table is looked for when it is verified."""

from __future__ import annotations

import json
import sys
import zipfile

import openpyxl
import openpyxl.comments
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato.release.hidden_content import beside_the_table

SCHEMA = sf.Schema.parse(
    {
        "name": "t",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
            "job": {"role": "sensitive", "values": ["baker", "clerk", "mason"]},
        },
    }
)
ROWS = [["age", "job"], *[["[30, 40)", job] for job in ("baker", "clerk", "baker", "clerk")]]
ANYTHING = "not looked at"


def workbook(folder, **sheets):
    book = openpyxl.Workbook()
    book.active.title = "People"
    for row in ROWS:
        book.active.append(row)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def verdict_of(path, **options):
    return sf.verify(path, schema=SCHEMA, requirement=sf.KAnonymity(2), **options)


def edited(path, edit):
    book = openpyxl.load_workbook(path)
    edit(book)
    book.save(path)
    return path


def test_plain_files_hold_nothing_beside(tmp_path) -> None:
    pl.DataFrame(ROWS[1:], schema=ROWS[0], orient="row").write_parquet(tmp_path / "t.parquet")
    frame = pl.DataFrame(ROWS[1:], schema=ROWS[0], orient="row").to_pandas()
    frame.to_parquet(tmp_path / "pandas.parquet", index=False)
    for path in (workbook(tmp_path), tmp_path / "t.parquet", tmp_path / "pandas.parquet"):
        verdict = verdict_of(path)
        assert verdict.holds, str(verdict)
        assert not [note for note in verdict.notes if note.startswith("Warning: ") and "class" not in note]
        assert any(note.startswith(ANYTHING) for note in verdict.notes)


def test_our_own_files_out_of_their_folder_hold_nothing_beside(tmp_path) -> None:
    table = sf.datasets.adult("test")
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    for kind in ("parquet", "xlsx"):
        release.save(tmp_path / kind, format=kind)
        path = (tmp_path / kind / f"data.{kind}").rename(tmp_path / f"data.{kind}")
        verdict = sf.verify(path, schema=table.schema, requirement=sf.KAnonymity(50))
        assert not [problem for problem in verdict.problems if "holds" in problem.rule], str(verdict)


def add_comment(book):
    book["People"]["B2"].comment = openpyxl.comments.Comment("this is Anna Muster", "steward")


def add_link(book):
    book["People"]["B2"].hyperlink = "mailto:anna.muster@example.org"


def add_filter(book):
    book["People"].auto_filter.ref = "A1:B3"
    book["People"].auto_filter.add_filter_column(0, ["Anna Muster"])


def add_prompt(book):
    asked = openpyxl.worksheet.datavalidation.DataValidation(type="whole", prompt="Anna Muster", promptTitle="who")
    book["People"].add_data_validation(asked)
    asked.add("B2")


def add_part(path, name, text="<x/>"):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, text)
    return path


def test_what_a_workbook_holds_beside_its_cells_is_said(tmp_path) -> None:
    def said(path, **options):
        verdict = verdict_of(path, **options)
        assert "Anna" not in str(verdict)
        assert verdict.exit_code == (0 if verdict.holds else 3)
        return verdict.holds, str(verdict)

    for add, what in {add_link: "links on cells", add_filter: "a filter", add_prompt: "messages that appear"}.items():
        holds, text = said(edited(workbook(tmp_path), add))
        assert not holds
        assert what in text
    holds, text = said(edited(workbook(tmp_path), add_comment))
    assert not holds
    assert "holds comments on cells" in text
    assert "Inspect Document" in text
    for part, what in {
        "xl/persons/person.xml": "who wrote comments",
        "xl/pivotCache/pivotCacheRecords1.xml": "behind a pivot table",
        "xl/externalLinks/externalLink1.xml": "of another workbook",
        "xl/threadedComments/threadedComment1.xml": "comments on cells",
        "xl/model/item.data": "a data model",
        "xl/embeddings/file1.bin": "embedded files",
    }.items():
        holds, text = said(add_part(workbook(tmp_path), part))
        assert not holds
        assert what in text
    holds, text = said(add_part(workbook(tmp_path), "xl/media/image1.png"))
    assert holds
    assert "not looked at: xl/media/image1.png" in text

    def author(book):
        book.properties.creator = "Anna Muster"
        book.properties.title = "List of Anna Muster"

    holds, text = said(edited(workbook(tmp_path), author))
    assert holds
    assert "Warning: its properties name an author, a title" in text


def test_texts_that_no_cell_shows_are_found(tmp_path) -> None:
    part = "xl/sharedStrings.xml"
    path = add_part(workbook(tmp_path), part, "<sst><si><t>Anna Muster</t></si></sst>")
    sheet = "<worksheet><row><c t='s'><v>1</v></c><c t='s'><v>1</v></c><c><v>7</v></c></row></worksheet>"
    verdict = verdict_of(path)
    assert not verdict.holds
    assert "1 text that no cell shows" in str(verdict)
    with zipfile.ZipFile(tmp_path / "u.xlsx", "w") as archive:
        archive.writestr(part, f"<sst>{'<si><t>x</t></si>' * 3}</sst>")
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
    assert "2 texts that no cell shows" in beside_the_table(tmp_path / "u.xlsx", SCHEMA, {}, sheet=None)[0][0].rule


def test_a_sheet_can_be_named_and_the_others_are_not_passed_over(tmp_path) -> None:
    path = workbook(tmp_path, Names=[["name"], ["Anna Muster"]])
    with pytest.raises(sf.SfumatoError, match="--sheet"):
        verdict_of(path)
    verdict = verdict_of(path, sheet="People")
    assert verdict.holds
    assert "Names" in str(verdict)
    assert "about People alone" in str(verdict)
    with pytest.raises(sf.SfumatoError, match="no sheet named Nobody"):
        verdict_of(path, sheet="Nobody")

    def hide(book):
        book["Names"].sheet_state = "hidden"

    verdict = verdict_of(edited(path, hide), sheet="People")
    assert not verdict.holds
    assert "values in hidden sheets, which no claim covers: Names" in str(verdict)


def test_a_sheet_is_of_a_bare_excel_file(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("age,job\n30,baker\n")
    with pytest.raises(sf.ParameterError, match="is for Excel files"):
        verdict_of(tmp_path / "t.csv", sheet="People")
    with pytest.raises(sf.ParameterError, match="is for a bare file"):
        verdict_of(tmp_path, sheet="People")
    with pytest.raises(sf.SfumatoError, match="in a file of its own") as refused:  # a reader that takes no sheet
        sf.Release.read(workbook(tmp_path, Names=[["name"], ["x"]]), SCHEMA)
    assert "--sheet" not in str(refused.value)


def test_comments_of_an_open_document_are_found(tmp_path) -> None:
    office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
        archive.writestr("content.xml", f'<o:x xmlns:o="{office}"><o:annotation>Anna</o:annotation></o:x>')
        archive.writestr("meta.xml", f'<o:x xmlns:o="{office}"><o:creator>Anna</o:creator></o:x>')
    problems, notes = beside_the_table(tmp_path / "t.ods", SCHEMA, {}, sheet=None)
    assert [problem.rule for problem in problems] == ["holds comments on cells, which no claim covers"]
    assert "an author" in notes[0]


def test_what_a_parquet_file_holds_beside_its_rows_is_said(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    rows = {name: [row[at] for row in ROWS[1:]] for at, name in enumerate(ROWS[0])}
    plain = pa.table(rows)
    spark = json.dumps({"fields": [{"name": "age", "metadata": {}}]})
    for metadata, good in (
        ({"note": "Anna Muster"}, False),
        ({"pandas": json.dumps({"columns": [], "attributes": {"who": "Anna Muster"}})}, False),
        ({"pandas": json.dumps({"columns": [], "attributes": {}})}, True),
        ({"pandas": "Anna Muster"}, False),
        ({"org.apache.spark.version": "4.0", "org.apache.spark.sql.parquet.row.metadata": spark}, True),
        ({"org.apache.spark.sql.parquet.row.metadata": spark.replace("{}", '{"comment": "Anna Muster"}')}, False),
    ):
        parquet.write_table(plain.replace_schema_metadata(metadata), path)
        verdict = verdict_of(path)
        assert verdict.holds == good, (metadata, str(verdict))
        assert "Anna" not in str(verdict)
        assert good or "metadata beside its columns" in str(verdict)
    field = pa.field("job", pa.string(), metadata={"comment": "Anna Muster"})
    parquet.write_table(pa.table(rows, pa.schema([plain.schema.field("age"), field])), path)
    verdict = verdict_of(path)
    assert not verdict.holds
    assert "metadata of columns, which no claim covers: job" in str(verdict)


@pytest.mark.parametrize("kind", ["pyarrow", "enum"])
def test_values_that_no_row_shows_are_found(tmp_path, kind) -> None:
    path = tmp_path / "t.parquet"

    def write(jobs):
        rows = {name: [row[at] for row in ROWS[1:]] for at, name in enumerate(ROWS[0])}
        if kind == "enum":
            pl.DataFrame(rows).with_columns(pl.col("job").cast(pl.Enum(jobs))).write_parquet(path)
            return
        indices = pa.array([jobs.index(job) for job in rows["job"]])
        job = pa.DictionaryArray.from_arrays(indices, pa.array(jobs))
        parquet.write_table(pa.table({"age": rows["age"], "job": job}), path)

    write(["baker", "clerk"])
    assert verdict_of(path).holds
    write(["baker", "clerk", "mason"])  # the domain: it says nothing of the table
    assert verdict_of(path).holds
    write(["Anna Muster", "baker", "clerk", "mason"])
    assert "its dictionary holds 1 value that no row shows" in str(verdict_of(path))
    write(["Anna Muster", "baker", "clerk"])
    verdict = verdict_of(path)
    assert not verdict.holds
    assert "its dictionary holds 1 value that no row shows" in str(verdict)
    assert "Anna" not in str(verdict)
    assert "Anna" not in str(verdict.to_json())


def test_a_value_of_one_row_group_may_be_shown_by_another(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    rows = {name: [row[at] for row in ROWS[1:]] for at, name in enumerate(ROWS[0])}
    job = pa.DictionaryArray.from_arrays(pa.array([1, 1, 2, 2]), pa.array(["Anna Muster", "baker", "clerk"]))
    parquet.write_table(pa.table({"age": rows["age"], "job": job}), path, row_group_size=2)
    assert "its dictionary holds 1 value that no row shows" in str(verdict_of(path))


def test_without_pyarrow_it_is_said_what_was_not_looked_at(tmp_path, monkeypatch) -> None:
    pl.DataFrame(ROWS[1:], schema=ROWS[0], orient="row").write_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    verdict = verdict_of(tmp_path / "t.parquet")
    assert verdict.holds
    assert "were not looked at: pyarrow is not installed" in str(verdict)
