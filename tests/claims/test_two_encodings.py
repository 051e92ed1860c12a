"""Files joined in two encodings: each name, and each value, would be two. They are refused; so are keys damaged so."""

from __future__ import annotations

import tomllib

import polars as pl
import pytest

import sfumato as sf
from sfumato.io import dialect
from sfumato.schema.checks import plain_spelling

SCHEMA = """
name = "t"
person = "name"
[attribute.name]
role = "identifier"
[attribute.ill]
role = "sensitive"
values = ["Röteln", "Gicht"]
"""


def schema():
    return sf.Schema.parse(tomllib.loads(SCHEMA))


def half(number=30):
    return "".join(f"Müller {chr(97 + at % 26)}{at},{'Röteln' if at % 2 else 'Gicht'}\n" for at in range(number))


def test_lines_in_two_encodings_are_refused(tmp_path):
    """60 people were 120, and classes of three were said to hold six."""
    joined = ("name,ill\n" + half()).encode() + half(40).encode("cp1252")
    (tmp_path / "t.csv").write_bytes(joined)
    with pytest.raises(sf.ReadError, match=r"30 lines are in UTF-8, and 40 lines are not: .* in UTF-8 is line 2"):
        sf.read(tmp_path / "t.csv", schema())
    with pytest.raises(sf.ReadError):
        sf.draft(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes(("name,ill\n" + half()).encode() + half(3).encode("cp1252"))
    with pytest.raises(sf.ReadError, match=r"30 lines are in UTF-8, and 3 lines are not: .* is line 32"):
        sf.read(tmp_path / "t.csv", schema())


def test_a_single_letter_that_could_be_two_is_no_second_encoding(tmp_path):
    (tmp_path / "t.csv").write_bytes(("name,ill\n" + half()).encode("latin-1") + b"BL\xc5\xbb,Gicht\n")
    assert sf.read(tmp_path / "t.csv", schema()).people == 31


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252"])
def test_one_encoding_is_read(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(("name,ill\n" + half()).encode(encoding))
    assert sf.read(tmp_path / "t.csv", schema()).people == 30


def test_a_mutant_that_looks_for_nothing_is_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(dialect, "_refuse_two_encodings", lambda *_: None)
    (tmp_path / "t.csv").write_bytes(("name,ill\n" + half()).encode() + half().encode("cp1252"))
    with pytest.raises(sf.ReadError) as error:  # values that the schema does not list
        sf.read(tmp_path / "t.csv", schema())
    assert "UTF-8" not in str(error.value)


@pytest.mark.parametrize("other", ["M\u00c3\u00bcller", "M&uuml;ller", "M&#252;ller"])
def test_damaged_letters_in_keys_and_values_are_spellings(other):
    frame = pl.DataFrame({"name": ["Müller", other, "Abt"], "ill": ["Gicht"] * 3})
    with pytest.raises(sf.ReadError, match="2 keys differ from another"):
        sf.read(frame, schema())
    assert plain_spelling(other) == plain_spelling("Müller")  # diversity counts them as one value
