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
from sfumato.io import source
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
    assert source._READERS.keys() == STATS


def test_a_column_without_any_value_is_a_column(tmp_path) -> None:
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(FRAME.assign(w=[None] * 4).astype({"w": float}), path)
    schema = Schema.parse(
        {"name": "t", "attribute": {"w": {"role": "quasi", "kind": "numeric", "range": [0, 1], "missing": [""]}}}
    )
    assert read(path, schema).codes("w").ravel().tolist() == [1] * 4
