"""Rows in = rows read + left out + refused: what a line is, counted apart from the engine and against Python's csv.

`read` and `check` agree on every file; a line is a row by its own look, wherever it stands.
"""

from __future__ import annotations

import csv
import gzip
import io
import random

import pytest

from sfumato.counts import check, read
from sfumato.drafting import draft
from sfumato.errors import ReadError, SfumatoError
from sfumato.io.dialect import WrongLine, count_lines, open_csv, without_blank_lines
from sfumato.io.source import open_source
from sfumato.schema import Schema

ONE = Schema.parse({"name": "t", "attribute": {"a": {"role": "quasi", "values": ["x", "y"], "missing": "category"}}})
THREE = Schema.parse(
    {
        "name": "t",
        "attribute": {
            "a": {"role": "quasi", "values": ["x", "y"], "missing": "category"},
            "b": {"role": "quasi", "values": ["1", "2"], "missing": "category"},
            "c": {"role": "sensitive", "values": ["u", "v"], "missing": "category", "other": "v"},
        },
    }
)


# -- the slow reader: one character after the other ---------------------------------------------


def slow_lines(text: str, delimiter: str, width: int) -> tuple[int, int] | None:
    """Records and blank lines by a state machine; None for a text that the rule refuses."""
    if "\0" in text:
        return None
    text += "" if text.endswith("\n") or not text else "\n"
    records = blank = cells = 0
    lines: list[str] = []  # of the record
    line, state = "", "start"  # of a cell: start, plain, quoted, closed
    at = 0
    while at < len(text):
        sign, after = text[at], text[at + 1 : at + 2]
        at += 1
        if state == "quoted":
            if sign == '"' and after == '"':
                line, at = line + '""', at + 1
            elif sign == "\n":
                lines.append(line)
                line = ""
            else:
                line, state = line + sign, "closed" if sign == '"' else "quoted"
            continue
        if sign == "\r" and after == "\n":
            continue
        if sign == "\n":
            lines.append(line)
            if lines == [""]:
                blank += 1
            else:
                whole = [each.count(delimiter) + 1 >= width for each in lines]
                if cells + 1 != width or any(whole[1:-1]) or (len(lines) > 1 and whole[0] and whole[-1]):
                    return None
                records += 1
            lines, line, cells, state = [], "", 0, "start"
            continue
        if sign == delimiter:
            cells, state = cells + 1, "start"
        elif state == "start" and sign == '"':
            state = "quoted"
        elif state == "closed" or sign in '"\r':
            return None
        else:
            state = "plain"
        line += sign
    return (records, blank) if state == "start" and not lines else None


def fast_lines(text: str, delimiter: str, width: int, block: int) -> tuple[int, int] | None:
    raw = text.encode()
    parts = [raw[at : at + block] for at in range(0, len(raw), block)]
    try:
        found = count_lines(parts, delimiter=delimiter, width=width)
    except WrongLine:
        return None
    return found.records, found.blank


def lines_agree(count: int, seed: int) -> int:
    rng, accepted = random.Random(seed), 0
    for _ in range(count):
        width = rng.choice([1, 2, 3])
        text = random_text(rng, width)
        expected = slow_lines(text, ",", width)
        accepted += expected is not None
        for block in (1, 7, 1 << 18):
            assert fast_lines(text, ",", width, block) == expected, (text, width, block)
        if expected is not None and expected[1]:
            assert slow_lines(without_blank_lines(text.encode()).decode(), ",", width) == (expected[0], 0)
    return accepted


def random_text(rng: random.Random, width: int) -> str:
    """Lines of a table, most of them sound; then, half of the time, a few characters put in or taken away."""
    cells = ["x", "", "12", '"q"', '""', '"a,b"', '"a""b"', '"a\nb"', '"\n"', '"a\r\nb"', "é", " ", '"x\ny,z"']
    weights = [9, 3, 9, 4, 2, 2, 2, 1, 1, 1, 1, 1, 1]
    end = rng.choice(["\n", "\n", "\r\n"])
    lines = []
    for _ in range(rng.randrange(1, 9)):
        if rng.random() < 0.1:
            lines.append("")
        lines.append(",".join(rng.choices(cells, weights, k=width)))
    text = end.join(lines) + rng.choice(["", end, end * 2])
    for _ in range(rng.choice([0, 0, 1, 2, 3])):
        at = rng.randrange(len(text) + 1)
        if rng.random() < 0.7:
            text = text[:at] + rng.choice(['"', '"', '"', ",", "\n", "\r", "x", "\0"]) + text[at:]
        else:
            text = text[:at] + text[at + 1 :]
    return text


def test_lines_agree_with_a_slow_reader() -> None:
    assert lines_agree(1_500, 1) > 250


@pytest.mark.full
def test_lines_agree_with_a_slow_reader_on_many_texts() -> None:
    assert lines_agree(20_000, 2) > 4_000


# -- against Python's csv -----------------------------------------------------------------------


def cells_read(path, **options) -> list[tuple[str, ...]] | None:
    """What the source gives, null as an empty text; None where it refuses."""
    try:
        source = open_source(path, delimiter=",", encoding="utf-8", **options)
        found = source.read(source.columns)
        assert source.height() == found.height == source.counted
    except SfumatoError:
        return None
    return [tuple(cell or "" for cell in row) for row in found.rows()]


def like_python(folder, count: int, seed: int) -> tuple[int, int]:
    """Read random texts both ways: the same rows, or a refusal. Returns how many were read and how many rows in all."""
    rng, accepted, rows = random.Random(seed), 0, 0
    path = folder / "t.csv"
    for _ in range(count):
        width = rng.choice([1, 2, 3])
        text = random_text(rng, width)
        path.write_bytes(text.encode())
        found = cells_read(path, header=False)
        if found is None:
            continue
        expected = [tuple(row) for row in csv.reader(io.StringIO(text, newline="")) if row]
        assert found == expected, text
        accepted, rows = accepted + 1, rows + len(found)
    return accepted, rows


def test_any_csv_is_read_as_python_reads_it_or_refused(tmp_path) -> None:
    accepted, rows = like_python(tmp_path, 400, 3)
    assert accepted > 60
    assert rows > 200


@pytest.mark.full
def test_many_csv_files_are_read_as_python_reads_them_or_refused(tmp_path) -> None:
    accepted, rows = like_python(tmp_path, 12_000, 4)
    assert accepted > 2_000
    assert rows > 8_000


# -- the files of the issue ---------------------------------------------------------------------


def body(rows: int) -> list[str]:
    return [f"{'xy'[at % 2]},{1 + at % 2},{'uv'[at % 2]}" for at in range(rows)]


def refused_alike(path, schema, match: str) -> None:
    """`read`, `check` and `draft` refuse, and none of them quotes a cell."""
    with pytest.raises(ReadError, match=match) as caught:
        read(path, schema)
    assert [str(problem) for problem in check(path, schema)] == [str(caught.value)]
    with pytest.raises(ReadError, match=match):
        draft(path)
    assert "swallowed" not in str(caught.value)


def test_two_stray_quotes_swallow_nothing(tmp_path) -> None:
    """1,002 rows of which `read` gave 601 and `check` none."""
    lines = body(1002)
    lines[300], lines[701] = 'x,1,"swallowed', 'y",2,v'
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c", *lines]) + "\n")
    refused_alike(path, THREE, "line 302 opens a quote")
    lines[701] = 'y,2",v'
    path.write_text("\n".join(["a,b,c", *lines]) + "\n")
    refused_alike(path, THREE, "line (302|703) (opens a quote|has a quote)")


@pytest.mark.parametrize("apart", [1, 2, 40])
@pytest.mark.parametrize("first", ['x,1,"swallowed', 'x,"1,u', '"x,1,u', '"x, really,1,u'])
@pytest.mark.parametrize("last", ['y",2,v', 'y,2",v', 'y,2,v"'])
def test_stray_quotes_at_the_ends_of_cells(tmp_path, apart: int, first: str, last: str) -> None:
    lines = body(100)
    lines[20], lines[20 + apart] = first, last
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c", *lines]) + "\n")
    refused_alike(path, THREE, "quote|cells")


@pytest.mark.parametrize("header", ['"a,b,c', 'a,"b,c', 'a,b,"c', 'a,b,c"', 'a"x,b,c'])
def test_a_quote_in_the_header_is_refused(tmp_path, header: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join([header, *body(200)]) + "\n")
    with pytest.raises(ReadError):
        read(path, THREE)
    assert check(path, THREE)


def test_cells_with_line_breaks_that_cannot_be_rows_are_read(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b,c\nx,1,"u\nmore"\n"y\n",2,v\n"x\n\n",1,u\nx,1,"a ""b"", c\nd"\n')
    table = read(path, THREE)
    assert (table.rows_in, table.rows, table.left_out) == (4, 4, 0)
    assert table.codes().tolist() == [[0, 0, 1], [1, 1, 1], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_no_rows_wherever_they_stand(tmp_path, packed: bool, end: str) -> None:
    """At the end, in the middle, before the header, in files that are chained, in files of one column."""
    for schema, header, lines in ((THREE, "a,b,c", ["x,1,u", "y,2,v", ",,u"]), (ONE, "a", ["x", "y", '""'])):
        plain = [header, *lines * 5]
        codes = None
        for at, blank in enumerate([[], [0], [3], [len(plain)], [0, 1, 4, 4, len(plain), len(plain)]]):
            text = list(plain)
            for place in sorted(blank, reverse=True):
                text.insert(place, "")
            raw = (end.join(text) + end).encode()
            path = tmp_path / f"{at}.csv{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(raw) if packed else raw)
            table = read(path, schema)
            assert (table.rows_in, table.blank_lines) == (15, len(blank))
            codes = table.codes().tolist() if codes is None else codes
            assert table.codes().tolist() == codes
            assert check(path, schema) == []
        chained = read(tmp_path / f"*.csv{'.gz' if packed else ''}", schema)
        assert chained.codes().tolist() == codes * 5
        for file in tmp_path.glob("*.csv*"):
            file.unlink()


def test_blank_lines_at_the_end_of_one_column_count_nobody(tmp_path) -> None:
    """40 people without a value were counted or not, by whether a blank line stood at the end."""
    path = tmp_path / "t.csv"
    text = "a\n" + "x\n" * 10 + '""\n' * 40
    found = []
    for tail in ("", "\n", "\n\n\n", "x\n", "\nx\n"):
        path.write_text(text + tail)
        found.append(read(path, ONE).counts().weights.tolist())
    assert found == [[10, 40]] * 3 + [[11, 40]] * 2


@pytest.mark.parametrize("line", ["x,1", "x", " ", "x,1,u,", "x\r,1,u", "x,1,\0"])
def test_a_line_that_is_no_row_is_refused_by_its_number(tmp_path, line: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\n".join(["a,b,c", *body(60_000), line, *body(10)]).encode())
    refused_alike(path, THREE, "line 60002 ")


def test_the_engine_is_held_to_the_count_of_the_lines(tmp_path, monkeypatch) -> None:
    """An engine that reads fewer rows than there are lines is found out."""
    import sfumato.io.source as module

    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c", *body(50)]))
    scan = module._scan_csv
    monkeypatch.setattr(module, "_scan_csv", lambda file: scan(file).head(49))
    for action in (lambda: read(path, THREE), lambda: draft(path), lambda: open_source(path).height()):
        with pytest.raises(ReadError, match="has 50 rows by its lines, and 49 were read"):
            action()


def test_files_as_they_are_handed_to_the_engine(tmp_path) -> None:
    """A file in UTF-8 without blank lines is read from disk; only other files are held in memory."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c", *body(50)]))
    assert open_csv(path).text is None
    path.write_text("\n".join(["a,b,c", "", *body(50)]))
    assert open_csv(path).text == "\n".join(["a,b,c", *body(50), ""]).encode()
