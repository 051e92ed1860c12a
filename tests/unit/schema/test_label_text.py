from __future__ import annotations

import time

import pytest

from sfumato.schema import Schema, label_name, parse_label
from sfumato.schema.labels import is_ambiguous, merged


def attribute(**table):
    return Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **table}}})["x"]


AGE = {"kind": "numeric", "range": [0, 100]}
TENTHS = {"kind": "numeric", "range": [0, 1], "step": "0.1"}
JOBS = {"hierarchy": {"White": ["Clerk", "Nurse"], "Blue": ["Miner", "Cook", "Smith"]}}
STATUS = {"values": ["Divorced", "Married", "Single", "Widowed"]}
EDGES = {"kind": "numeric", "edges": [0, 1, 10, 100]}
DAYS = {"kind": "date", "range": ["2020-01-01", "2021-01-01"], "dates": ["month"]}
GRADE = {"kind": "ordered", "values": ["low", "mid", "high"]}
ZIP = {"mask": {"length": 3, "alphabet": "012"}}


@pytest.mark.parametrize(
    ("table", "intervals", "name"),
    [
        (AGE, [(20, 40)], "[20-40)"),
        (AGE, [(20, 21)], "20"),
        (AGE, [(0, 100)], "*"),
        (AGE, [(0, 5), (7, 8)], "[0-5) | 7"),
        (TENTHS, [(3, 4)], "[0.3-0.4)"),
        (JOBS, [(0, 2)], "White"),
        (JOBS, [(1, 4)], "Nurse | Miner | Cook"),
        (JOBS, [(0, 4)], "White | Miner | Cook"),
        (STATUS, [(0, 1), (3, 4)], "Divorced | Widowed"),
        ({**STATUS, "missing": ["?"]}, [(4, 5)], "(missing)"),
        ({**STATUS, "missing": ["?"]}, [(0, 4)], "(known)"),
        ({**STATUS, "missing": ["?"]}, [(0, 5)], "*"),
        ({**STATUS, "missing": ["?"]}, [(3, 5)], "Widowed | (missing)"),
        (EDGES, [(0, 2)], "[0-10)"),
        (DAYS, [(0, 31)], "2020-01"),
        (DAYS, [(0, 32)], "[2020-01-01..2020-02-02)"),
        (GRADE, [(0, 2)], "low..mid"),
        (ZIP, [(0, 9)], "0**"),
        (ZIP, [(3, 6)], "01*"),
        ({"values": ["a | b", "c", "d"]}, [(0, 2)], "a \\| b | c"),
        ({"values": ["a|b", "c\\d", "e"]}, [(0, 2)], "a|b | c\\d"),
        # a name on two levels means the lowest, so the group is written out
        ({"hierarchy": {"a": ["a", "b"], "c": ["d"]}}, [(0, 2)], "a | b"),
    ],
)
def test_names_as_a_person_reads_them(table, intervals, name):
    x = attribute(**table)
    assert label_name(x, intervals) == name
    assert parse_label(x, name) == tuple(intervals)


@pytest.mark.parametrize(
    ("table", "text", "intervals"),
    [
        (AGE, "[20, 40[", ((20, 40),)),
        (AGE, "]20, 40]", ((21, 41),)),
        (AGE, "(20, 40)", ((21, 40),)),
        (AGE, "20-40", ((20, 41),)),
        (AGE, "20 – 40", ((20, 41),)),
        (AGE, "20 to 40", ((20, 41),)),
        (AGE, ">=40", ((40, 100),)),
        (AGE, ">40", ((41, 100),)),
        (AGE, "≤ 40", ((0, 41),)),
        (AGE, "<40", ((0, 40),)),
        (AGE, "[90-200)", ((90, 100),)),
        (AGE, "{20, 22, 21}", ((20, 23),)),
        (AGE, "[200-300)", None),
        (AGE, "[40-20)", None),
        (AGE, "abc", None),
        (AGE, "", None),
        (AGE, "{}", None),
        (AGE, ">=1e999999999", None),
        (AGE, "<1e999999999", ((0, 100),)),
        (TENTHS, "[0.3-0.5)", ((3, 5),)),
        (TENTHS, "0.3-0.5", ((3, 6),)),
        (EDGES, "[1-10]", ((1, 3),)),
        (EDGES, "[1-10)", ((1, 2),)),
        (EDGES, ">=50", ((2, 3),)),
        (DAYS, "2020-01-01..2020-01-31", ((0, 31),)),
        (DAYS, ">2020-12-30", ((365, 366),)),
        (DAYS, "[2020-02-29..2020-03-01)", ((59, 60),)),
        (STATUS, "{Divorced, Widowed}", ((0, 1), (3, 4))),
        (STATUS, "{'Divorced'; 'Widowed'}", ((0, 1), (3, 4))),
        (STATUS, "{Divorced, Other}", None),
        (STATUS, "Divorced | Other", None),
        (STATUS, "Divorced..Widowed", None),
        (GRADE, "high..low", None),
        (ZIP, "0*1", ((1, 2), (4, 5), (7, 8))),
        (ZIP, "***", ((0, 27),)),
        (ZIP, "9**", None),
        # numbers that stand in any order in a list: only those between the ends
        ({"values": ["30", "10", "x", "20"]}, "10-20", ((1, 2), (3, 4))),
        ({"values": ["30", "10", "x", "20"]}, ">20", ((0, 1),)),
        ({"values": ["30", "10", "x", "20"]}, "40-50", None),
        ({**AGE, "missing": ["?"]}, "?", ((100, 101),)),
        ({**AGE, "missing": ["?"]}, ">=40", ((40, 100),)),
    ],
)
def test_labels_of_other_tools(table, text, intervals):
    assert parse_label(attribute(**table), text) == intervals


@pytest.mark.parametrize(
    "text", ["{" * 5000 + "a" + "}" * 5000, "{" * 60 + "}" * 60, " | " * 5000, "\\" * 5000, "*" * 5000, ".." * 5000]
)
def test_hostile_labels_are_refused_quickly(text):
    start = time.process_time()
    assert parse_label(attribute(**STATUS), text) is None
    assert parse_label(attribute(**GRADE), text) is None
    assert time.process_time() - start < 1


def test_a_name_on_several_levels_is_ambiguous():
    x = attribute(hierarchy={"a": ["a", "b"], "c": ["d"]})
    assert is_ambiguous(x, " a ")
    assert not is_ambiguous(x, "c")
    assert parse_label(x, "a") == ((0, 1),)


def test_merged_sorts_and_joins():
    assert merged([(5, 6), (0, 2), (2, 3), (1, 2)]) == ((0, 3), (5, 6))
    assert merged([]) == ()


def test_naming_a_part_of_a_long_flat_list_is_fast():
    x = attribute(values=[f"v{code:05d}" for code in range(20_000)])
    start = time.process_time()
    for low in range(0, 19_000, 100):
        label_name(x, [(low, low + 5)])
    assert time.process_time() - start < 5
