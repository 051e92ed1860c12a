"""Item 15: SPSS, Stata and SAS files, with value labels and declared missing values, each cell read by itself."""

from __future__ import annotations

import datetime as dt
import sys

import pandas as pd
import pyreadstat
import pytest
from hypothesis import given, settings, strategies as st

from sfumato.counts import check, read
from sfumato.drafting import draft
from sfumato.errors import ReadError
from sfumato.io import stats_files
from sfumato.io.source import open_source
from sfumato.raw_files import STATS
from sfumato.schema import Schema

DAYS = [dt.date(2020, 1, 1), dt.date(2021, 2, 3), None, dt.date(2020, 1, 1)]
FRAME = pd.DataFrame(
    {"sex": [1, 2, 9, 1], "age": [30, 45, 98, -5], "town": ["Ulm", "Bath", "XX", "Ulm"], "w": [0.7, 2.25, 0.0, 0.7]}
)
SEXES = {1: "m", 2: "f", 9: "refused"}
SCHEMA = Schema.parse(
    {
        "name": "t",
        "attribute": {
            "sex": {"role": "quasi", "values": ["f", "m"], "missing": [""]},
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 120], "missing": [""]},
            "town": {"role": "sensitive", "values": ["Bath", "Ulm"], "missing": [""]},
            "w": {"role": "target", "kind": "numeric", "range": [0, 10], "step": "0.1"},
        },
    }
)
CODES = [[1, 30, 1, 7], [0, 45, 0, 22], [2, 98, 2, 0], [1, 120, 1, 7]]


def spss(path, frame: pd.DataFrame = FRAME, **given_keys) -> None:
    ranges = {"sex": [9], "age": [{"lo": -9, "hi": -1}], "town": ["XX"]}
    measure = {"age": "scale", "sex": "nominal"}
    labels = {"sex": SEXES, "age": {98: "98 or more"}}
    pyreadstat.write_sav(
        frame, path, variable_value_labels=labels, missing_ranges=ranges, variable_measure=measure, **given_keys
    )


@pytest.mark.parametrize("suffix", ["sav", "zsav"])
def test_spss_labels_and_missing_ranges(tmp_path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    spss(path, compress=suffix == "zsav")
    assert read(path, SCHEMA).codes().tolist() == CODES
    assert check(path, SCHEMA) == []


def test_stata_labels_and_missing_letters(tmp_path) -> None:
    path = tmp_path / "t.dta"
    frame = FRAME.assign(sex=[1, 2, "a", 1], age=[30, 45, 98, "z"], town=["Ulm", "Bath", "", "Ulm"])
    pyreadstat.write_dta(
        frame,
        str(path),
        variable_value_labels={"sex": {1: "m", 2: "f", "a": "refused"}},
        missing_user_values={"sex": ["a"], "age": ["z"]},
    )
    assert read(path, SCHEMA).codes().tolist() == CODES


def test_stata_floats_are_the_decimals_they_print(tmp_path) -> None:
    path = tmp_path / "t.dta"
    FRAME[["w"]].astype("float32").to_stata(path, write_index=False)
    schema = Schema.parse(
        {"name": "t", "attribute": {"w": {"role": "quasi", "kind": "numeric", "range": [0, 9], "step": "0.1"}}}
    )
    assert read(path, schema).codes("w").ravel().tolist() == [7, 22, 0, 7]


def test_keys_that_a_float_of_stata_cannot_hold_are_refused(tmp_path) -> None:
    path = tmp_path / "t.dta"
    frame = pd.DataFrame({"id": pd.Series([123_456_789, 123_456_790], dtype="float32"), "town": ["Ulm", "Bath"]})
    frame.to_stata(path, write_index=False)
    schema = {"name": "t", "person": "id", "rows_per_person": 1}
    with pytest.raises(ReadError, match="person: 2 rows have a key in id that is a number"):
        read(path, Schema.parse({**schema, "attribute": {"town": {"role": "quasi", "values": ["Ulm", "Bath"]}}}))


def test_sas_transport_and_portable_files(tmp_path) -> None:
    plain = FRAME.assign(town=["Ulm", "Bath", "", "Ulm"], age=[30, 45, 98, None], sex=[1, 2, None, 1])
    schema = Schema.parse(
        {
            "name": "t",
            "attribute": {
                "SEX": {"role": "quasi", "values": ["2", "1"], "missing": [""]},
                "AGE": {"role": "quasi", "kind": "numeric", "range": [0, 120], "missing": [""]},
            },
        }
    )
    upper = plain.rename(columns=str.upper)
    pyreadstat.write_xport(upper, tmp_path / "t.xpt")
    pyreadstat.write_por(upper, str(tmp_path / "t.por"))
    for name in ("t.xpt", "t.por"):
        assert read(tmp_path / name, schema).codes().tolist() == [row[:2] for row in CODES]


def test_a_draft_of_an_spss_file_reads_it(tmp_path) -> None:
    path = tmp_path / "t.sav"
    many = pd.concat([FRAME] * 15, ignore_index=True).assign(day=DAYS * 15)
    spss(path, many)
    (tmp_path / "t.toml").write_text(draft(path))
    schema = Schema.load(tmp_path / "t.toml").with_roles(quasi=["sex", "day"])
    assert schema["sex"].texts()[:2] == ["f", "m"]
    assert schema["day"].kind == "date"
    assert check(path, schema) == []


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(range(4)), min_size=1, max_size=6))
def test_each_row_is_read_as_it_is_read_alone(tmp_path_factory, places) -> None:
    path = tmp_path_factory.mktemp("stats") / "t.sav"
    spss(path, FRAME.iloc[places].reset_index(drop=True))
    assert read(path, SCHEMA).codes().tolist() == [CODES[place] for place in places]


def test_without_the_extra_it_is_named(tmp_path, monkeypatch) -> None:
    path = tmp_path / "t.sav"
    spss(path)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(ReadError, match=r"pip install 'sfumato\[stats\]'"):
        read(path, SCHEMA)


@pytest.mark.parametrize("suffix", ["sav", "dta", "sas7bdat", "xpt", "por"])
def test_damaged_files_get_a_message(tmp_path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(b"$FL2 nobody 12345" * 50)
    with pytest.raises(ReadError) as caught:
        read(path, SCHEMA)
    assert "nobody" not in str(caught.value)
    assert "check" in str(caught.value)


def test_every_form_has_its_reader() -> None:
    assert stats_files._READERS.keys() == STATS


def test_a_column_without_any_value_is_a_column(tmp_path) -> None:
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(FRAME.assign(w=[None] * 4).astype({"w": float}), path)
    schema = Schema.parse(
        {"name": "t", "attribute": {"w": {"role": "quasi", "kind": "numeric", "range": [0, 1], "missing": [""]}}}
    )
    assert read(path, schema).codes("w").ravel().tolist() == [1] * 4


def cells_of(path) -> dict[str, list[object]]:
    return open_source(path).scan(open_source(path).columns).collect().to_dict(as_series=False)


def test_durations_of_more_than_a_day_stay_apart(tmp_path) -> None:
    """Stays of 6, 30 and 54 hours were all read as 06:00:00: pyreadstat takes times modulo 24 hours."""
    hours = pd.DataFrame({"stay": [h * 3600.0 for h in (6, 30, 54, -6)] + [90.5]})
    texts = ["06:00:00", "30:00:00", "54:00:00", "-06:00:00", "00:01:30.5"]
    for form in ("TIME8", "DTIME12", "MTIME8"):
        pyreadstat.write_sav(hours, tmp_path / "t.sav", variable_format={"stay": form})
        assert cells_of(tmp_path / "t.sav") == {"stay": texts}
    pyreadstat.write_xport(hours, tmp_path / "t.xpt", variable_format={"stay": "TIME8"})
    assert cells_of(tmp_path / "t.xpt") == {"stay": texts}
    pyreadstat.write_dta(hours * 1000, tmp_path / "t.dta", variable_format={"stay": "%tcHH:MM:SS"})
    assert cells_of(tmp_path / "t.dta") == {"stay": texts}


DAY = dt.date(2018, 8, 19)
SINCE_1960 = float((DAY - dt.date(1960, 1, 1)).days)


def one_each(writer, path, value: float, forms: list[str]) -> dict[str, object]:
    """Write a number once in each format, and return what is read of it."""
    frame = pd.DataFrame({f"V{at}": [value] for at in range(len(forms))})
    writer(frame, str(path), variable_format=dict(zip(frame.columns, forms, strict=True)))
    return {form: cells[0] for form, cells in zip(forms, cells_of(path).values(), strict=True)}


def test_days_are_days_in_every_format(tmp_path) -> None:
    """SAS's MONYY7, SPSS's MOYR8 and Stata's %tdDD/NN/CCYY, among others, were read as bare numbers without a word."""
    day = DAY.isoformat()
    sas = ["DATE9", "MONYY7", "YYMM7", "YYQ6", "WORDDATE", "JULIAN7", "YEAR4", "YYMMDDN8", "E8601DA", "EURDFDD10"]
    assert set(one_each(pyreadstat.write_xport, tmp_path / "t.xpt", SINCE_1960, sas).values()) == {day}
    stata = ["%td", "%d", "%-td", "%tdDD/NN/CCYY", "%td_D_m_CY", "%dD_m_Y", "%tdMon_CCYY"]
    assert set(one_each(pyreadstat.write_dta, tmp_path / "t.dta", SINCE_1960, stata).values()) == {day}
    seconds = (DAY - dt.date(1582, 10, 14)).days * 86_400.0
    spss = ["DATE11", "MOYR8", "QYR8", "WKYR10", "JDATE7", "DATETIME20"]
    assert set(one_each(pyreadstat.write_sav, tmp_path / "t.sav", seconds, spss).values()) == {day}


def test_numbers_stay_numbers(tmp_path) -> None:
    assert set(one_each(pyreadstat.write_xport, tmp_path / "t.xpt", 7.5, ["BEST12", "COMMA9", "F8"]).values()) == {7.5}
    assert set(one_each(pyreadstat.write_dta, tmp_path / "t.dta", 7.5, ["%9.0g", "%-9.2f", "%ty"]).values()) == {7.5}
    assert set(one_each(pyreadstat.write_sav, tmp_path / "t.sav", 7.5, ["F8.2", "N5", "MONTH9"]).values()) == {7.5}


def test_periods_of_stata_are_named(tmp_path) -> None:
    """Months, quarters, half-years and weeks since 1960 were read as bare numbers; one before 1960 counts down."""
    forms = {"%tm": "1971-10", "%tq": "1995Q2", "%th": "2030H2", "%tw": "1962W38"}
    assert one_each(pyreadstat.write_dta, tmp_path / "t.dta", 141.0, list(forms)) == forms
    assert one_each(pyreadstat.write_dta, tmp_path / "t.dta", -1.0, ["%tm"]) == {"%tm": "1959-12"}


def test_days_of_datetimes_are_read_and_numbers_outside_the_calendar_stay(tmp_path) -> None:
    """One DTDATE9 variable made a whole SAS file unreadable, with a hint about delimiters."""
    frame = pd.DataFrame({"V": [SINCE_1960 * 86_400, SINCE_1960 * 86_400 + 3600, 1e15]})
    pyreadstat.write_xport(frame, tmp_path / "t.xpt", variable_format={"V": "DTDATE9"})
    assert cells_of(tmp_path / "t.xpt") == {"V": ["2018-08-19", "2018-08-19T01:00:00", "1000000000000000"]}


def test_a_variable_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path) -> None:
    """Days of a business calendar (%tb), and milliseconds with leap seconds (%tC), were read as if they were plain."""
    path = tmp_path / "t.dta"
    frame = pd.DataFrame({"open": [1.0, 2.0], "leap": [1.0, 2.0], "n": [1.0, 2.0]})
    pyreadstat.write_dta(frame, path, variable_format={"open": "%tbnyse", "leap": "%tC"})
    schema = Schema.parse({"name": "t", "attribute": {"n": {"role": "quasi", "values": ["1", "2"]}}})
    assert check(path, schema) == []
    for name, said in (("open", "%tb"), ("leap", "%tC")):
        wrong = Schema.parse({"name": "t", "attribute": {name: {"role": "quasi", "values": ["1", "2"]}}})
        with pytest.raises(ReadError, match=f"column {name} has the format {said}"):
            read(path, wrong)
        with pytest.raises(ReadError, match=f"person: column {name} has the format {said}"):
            read(path, keyed(name))
    assert "in Stata, replace it by dofb() of it" in draft(path)


def keyed(name: str) -> Schema:
    held = {"n": {"role": "quasi", "values": ["1", "2"]}}
    return Schema.parse({"name": "t", "person": name, "rows_per_person": 1, "attribute": held})


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_two_codes_are_never_one_text(tmp_path, suffix: str) -> None:
    """Code 3 with the label 4 and code 4 without one were both read as 4; two codes of one label were one value."""
    path = tmp_path / f"t.{suffix}"
    frame = pd.DataFrame({"kids": [1.0, 2.0, 3.0, 4.0, 5.0], "land": [1.0, 2.0, 3.0, 1.0, 4.0]})
    labels = {"kids": {1: "0", 2: "1", 3: "4.0"}, "land": {1: "Georgia", 2: "Georgia", 3: "Ohio"}}
    getattr(pyreadstat, f"write_{suffix}")(frame, path, variable_value_labels=labels)
    kids, land = ["0", "1", "4.0", "4 (no label)", "5"], ["1 Georgia", "2 Georgia", "Ohio", "1 Georgia", "4"]
    assert cells_of(path) == {"kids": kids, "land": land}
    frame = frame.iloc[3:].reset_index(drop=True)  # the same without the rows that they could be taken for
    getattr(pyreadstat, f"write_{suffix}")(frame, path, variable_value_labels=labels)
    assert cells_of(path) == {"kids": kids[3:], "land": land[3:]}


def test_labels_that_nothing_tells_apart_are_refused(tmp_path) -> None:
    path = tmp_path / "t.sav"
    labels = {"land": {1: "Georgia", 2: "Georgia", 3: "1 Georgia"}}
    pyreadstat.write_sav(pd.DataFrame({"land": [1.0, 2.0]}), path, variable_value_labels=labels)
    schema = Schema.parse({"name": "t", "attribute": {"land": {"role": "quasi", "values": ["Georgia"]}}})
    with pytest.raises(ReadError, match="column land has value labels that cannot be told apart"):
        read(path, schema)


def test_a_text_that_is_the_label_of_another_is_marked(tmp_path) -> None:
    path = tmp_path / "t.sav"
    frame = pd.DataFrame({"sex": ["m", "male", "x"]})
    pyreadstat.write_sav(frame, path, variable_value_labels={"sex": {"m": "male"}})
    assert cells_of(path) == {"sex": ["male", "male (no label)", "x"]}


SCALES = {"hours": {60: "refused", 50: "50 or more"}, "inc": {0: "no answer", 5: "5"}, "age": {77: "refused"}}


def scales(path, rows: int = 40) -> None:
    """Write scale variables with labels; 77 is declared missing, so that its label is never read."""
    hours = [60.0, 50.0, *map(float, range(1, rows - 1))]
    frame = pd.DataFrame({"hours": hours, "inc": [0.0, 5.0, *hours[2:]], "age": [77.0, *hours[1:]]})
    frame = pd.concat([frame, frame], ignore_index=True)
    measure = dict.fromkeys(SCALES, "scale")
    pyreadstat.write_sav(
        frame, path, variable_value_labels=SCALES, variable_measure=measure, missing_ranges={"age": [77]}
    )


def numeric(missing: list[str]) -> Schema:
    held = {"role": "quasi", "kind": "numeric", "range": [0, 100], "missing": missing}
    return Schema.parse({"name": "t", "attribute": {"hours": held}})


def test_a_number_that_is_labelled_as_no_answer_is_no_number(tmp_path) -> None:
    """People of whom a scale variable says `refused` were published with 60 hours: its labels were thrown away."""
    path = tmp_path / "t.sav"
    scales(path)
    cells = cells_of(path)
    assert (cells["hours"][:3], cells["inc"][:3]) == (["60 refused", "50", "1"], ["0 no answer", "5", "1"])
    assert cells["age"][:3] == [None, 50.0, 1.0]
    with pytest.raises(ReadError, match="hours has 1 distinct value in 2 rows that is not a number"):
        read(path, numeric(["60"]))
    assert read(path, numeric(["60 refused"])).rows == 80


def test_a_draft_asks_about_labelled_numbers(tmp_path) -> None:
    """A draft of a scale variable did not say that some of its numbers have labels."""
    path = tmp_path / "t.sav"
    scales(path)
    text = draft(path)
    assert 'missing = ["60 refused"]' in text
    assert "missing: does '60 refused' (2 rows) say that there is no value?" in text
    assert "missing: the file labels 50 as '50 or more': does it say that there is no value? then add its" in text
    assert "labels 5 as" not in text
    assert "77" not in text
    (tmp_path / "t.toml").write_text(text)
    assert check(path, Schema.load(tmp_path / "t.toml").with_roles(quasi=["hours", "inc", "age"])) == []


def test_a_draft_knows_labels_among_many_numbers(tmp_path) -> None:
    path = tmp_path / "t.sav"
    scales(path, rows=10_100)
    assert 'kind = "numeric"' in draft(path)
    assert 'missing = ["60 refused"]' in draft(path)


def test_another_file_than_a_text_has_no_delimiter_to_check(tmp_path) -> None:
    """A damaged file of a statistics program got a hint about delimiters, quotes and encodings."""
    (tmp_path / "t.sav").write_bytes(b"$FL2 nobody 12345" * 50)
    with pytest.raises(ReadError, match="the program that made it opens it"):
        read(tmp_path / "t.sav", SCHEMA)
