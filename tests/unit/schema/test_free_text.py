"""Remarks that a person typed are distinguished from names of categories; `check` says so in every published role."""

from __future__ import annotations

import pytest

from sfumato.schema import Schema
from sfumato.schema.free_text import looks_like_free_text

NAMES = ["Anna Becker", "Ingo Wolf", "Zoë Klein", "Uwe Lange", "Elif Koch"]
REMARKS = ["motivated", *(f"wife calls: {name}" for name in NAMES)]


@pytest.mark.parametrize(
    ("texts", "rows", "free"),
    [
        (REMARKS, None, True),
        ([f"{name}{at}" for name in NAMES for at in range(4)], 60, True),  # twenty, each in three rows
        ([f"{name}{at}" for name in NAMES for at in range(4)], 6_000, False),  # twenty, each in hundreds
        ([f"{name}{at}" for name in NAMES for at in range(10)], None, True),
        (["x" * 41 + " y"] * 2 + [f"v{at}" for at in range(3)], None, False),
        ([f"a note of words {at}" for at in range(3)] + [f"v{at}" for at in range(20)], None, False),
        (["flu", "Multiple Sklerose", "HWS-Syndrom", "Knie-TEP"], None, False),
        (["Married-civ-spouse", "Never-married", "Trinadad&Tobago"], None, False),
        ([f"{code:05}" for code in range(500)], 500, False),
        ([], 0, False),
    ],
)
def test_a_guess_by_shape(texts, rows, free):
    assert looks_like_free_text(texts, rows=rows) is free


@pytest.mark.parametrize("role", ["quasi", "sensitive", "target"])
@pytest.mark.parametrize("listed", [{"values": REMARKS}, {"groups": {"g": REMARKS[:3], "h": REMARKS[3:]}}])
def test_a_remark_names_the_column_and_no_value(role, listed):
    schema = Schema.parse({"name": "t", "attribute": {"note": {"role": role, **listed}}})
    (answer,) = (remark for remark in schema.remarks() if "free text" in remark.rule)
    assert answer.path == "attribute.note"
    assert "names may be in it" in answer.rule
    assert not answer.values
    assert not any(word in f"{answer.rule} {answer.hint}" for word in ("Becker", "wife", "motivated"))


def test_what_is_not_published_is_not_remarked_on():
    schema = Schema.parse({"name": "t", "attribute": {"note": {"values": REMARKS}}})
    assert not any("free text" in remark.rule for remark in schema.remarks())


def test_an_open_role_is_stated_only_of_columns_that_would_be_published():
    listed = {"values": ["a", "b"], "decide": ["role: is it?"]}
    roles = {"q": "quasi", "s": "sensitive", "t": "target", "o": "other"}
    attributes = {name: {**listed, "role": role} for name, role in roles.items()}
    attributes["r"] = {"role": "quasi", "values": ["a"], "decide": ["range: which?"]}
    schema = Schema.parse({"name": "t", "attribute": attributes})
    found = schema.undecided_roles(schema.names)
    assert [problem.path for problem in found] == ["attribute.q", "attribute.s", "attribute.t"]
    assert [bool(problem.hint) for problem in found] == [False, False, True]
    assert [problem.path for problem in schema.undecided_roles(["s", "r", "o"])] == ["attribute.s"]
