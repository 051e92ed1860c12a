"""Old Excel files: cells are what they say, errors are refused by their address."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import random
import zipfile

import pytest
import python_calamine
from tests.claims.light_xls import (
    CALCULATED_ERROR,
    CALCULATED_NUMBER,
    EMPTY_TEXT,
    Error,
    write_xls,
)

from sfumato.counts import check, read
from sfumato.drafting import draft
from sfumato.errors import ReadError, SfumatoError
from sfumato.io import excel
from sfumato.io.excel import ContainerError, OldWorkbook, open_sheet
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "t",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "missing": "category"},
            "job": {"role": "quasi", "values": ["baker", "smith"], "missing": "category"},
        },
    }
)
ROWS = [["age", "job"], [30, "baker"], [41, "smith"]]


def test_cells_mean_what_they_say(tmp_path) -> None:
    cells = [5, 5.5, True, "007", dt.date(2024, 5, 31), dt.datetime(2024, 5, 31, 10, 30), "é"]  # noqa: DTZ001
    sheet = open_sheet(write_xls(tmp_path / "t.xls", {"s": [["a"], *([cell] for cell in cells)]}), None)
    assert sheet.objects("a") == cells


@pytest.mark.parametrize("beside", [None, "baker"])
@pytest.mark.parametrize("cell", [Error(), CALCULATED_ERROR, EMPTY_TEXT], ids=["typed", "calculated", "waiting"])
def test_cells_without_a_result_are_refused_by_their_address(tmp_path, cell, beside) -> None:
    """They were read as missing, and a row of nothing else was not counted at all."""
    path = write_xls(tmp_path / "t.xls", {"empty": [], "people": [ROWS[0], [cell, beside], *ROWS[1:]]})
    for action in (lambda: read(path, SCHEMA), lambda: draft(path)):
        with pytest.raises(ReadError, match=r"has 1 cell with an error such as #N/A.*: A2\. Hint: "):
            action()
    assert len(check(path, SCHEMA)) == 1


def test_results_and_other_sheets_are_nothing_to_refuse(tmp_path) -> None:
    rows = [ROWS[0], [CALCULATED_NUMBER, "baker"], [EMPTY_TEXT, "smith"]]
    path = write_xls(tmp_path / "t.xls", {"sums": [[Error()]], "people": rows}, calculated=True)
    assert read(path, SCHEMA, sheet="people").codes()[:, 0].tolist() == [7, 100]
    with pytest.raises(ReadError, match=r"error such as #N/A.*: A1"):
        read(path, SCHEMA, sheet="sums")


def test_large_files_are_followed_through_their_sectors(tmp_path) -> None:
    rows = [ROWS[0], *[[at % 90, "baker"] for at in range(3000)], [Error(), "smith"], [3, CALCULATED_ERROR]]
    path = write_xls(tmp_path / "t.xls", {"people": rows})
    assert list(OldWorkbook.of(path.read_bytes()).without_result(0)) == [(3002, 1), (3003, 2)]
    assert read(write_xls(path, {"people": rows[:-2]}), SCHEMA).rows == 3000


def test_an_archive_at_the_end_does_not_make_it_another_format(tmp_path) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("a", "b")
    path = write_xls(tmp_path / "t.xls", {"people": [*ROWS, [Error(), "smith"]]})
    path.write_bytes(path.read_bytes() + held.getvalue())
    assert zipfile.is_zipfile(path)
    with pytest.raises(ReadError, match=r"error such as #N/A.*: A4"):
        read(path, SCHEMA)


def test_damaged_files_are_read_or_refused(tmp_path) -> None:
    sound = write_xls(tmp_path / "t.xls", {"s": ROWS * 40}).read_bytes()
    path, rng, refused = tmp_path / "u.xls", random.Random(5), 0
    for number in range(100):
        raw = bytearray(sound)
        top = 1600 if number % 2 else len(raw)
        for _ in range(rng.choice([1, 3, 20])):
            raw[rng.randrange(top)] = rng.randrange(256)
        path.write_bytes(raw if rng.random() < 0.8 else raw[: rng.randrange(len(raw))])
        with contextlib.suppress(ContainerError):
            list(OldWorkbook.of(path.read_bytes()).without_result(0))
        try:
            read(path, SCHEMA)
        except SfumatoError:
            refused += 1
    assert refused > 10


def cyclic(data):
    """The table of sectors names the second sector of the stream after the third."""
    data[512 + 4 * 4 : 512 + 5 * 4] = (3).to_bytes(4, "little")


def wide(data):
    at = data.index(b"\x00\x02\x0e\x00", 1024)
    data[at + 8 : at + 12] = (1 << 30).to_bytes(4, "little")


def far(data):
    at = data.index(b"\x03\x02\x0e\x00", 1024)
    data[at + 4 : at + 8] = b"\xff\xff\xff\xff"


def greedy(data):
    data[64:68] = (1 << 30).to_bytes(4, "little")


def endless(data):
    data[68:72] = (0).to_bytes(4, "little")  # the first sector of the table, which names itself last
    data[1020:1024] = (0).to_bytes(4, "little")


@pytest.mark.parametrize("change", [cyclic, wide, far, greedy, endless])
def test_hostile_files_are_refused_before_they_are_read(tmp_path, monkeypatch, change) -> None:
    """The library would follow a chain for ever, or ask for all memory and end the process."""
    path, asked = write_xls(tmp_path / "t.xls", {"s": [ROWS[0], *ROWS[1:] * 200]}), []
    data, genuine = bytearray(path.read_bytes()), python_calamine.CalamineWorkbook.from_path
    monkeypatch.setattr(
        python_calamine.CalamineWorkbook, "from_path", lambda given: asked.append(given) or genuine(given)
    )
    assert read(path, SCHEMA).rows == 400
    assert len(asked) == 1
    change(data)
    path.write_bytes(data)
    with pytest.raises(ReadError, match=r"damaged or protected|at most 20,000,000 are read"):
        read(path, SCHEMA)
    assert len(asked) == 1


@pytest.mark.parametrize("kind", ["_ERROR", "_FORMULA"])
def test_a_reader_that_forgets_a_kind_of_record_is_caught(tmp_path, monkeypatch, kind: str) -> None:
    monkeypatch.setattr(excel, kind, 0xFFFE)
    path = write_xls(tmp_path / "t.xls", {"people": [*ROWS, [Error(), "smith"], [CALCULATED_ERROR, "smith"]]})
    assert len(list(OldWorkbook.of(path.read_bytes()).without_result(0))) == 1
    assert python_calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()[3][0] == ""
