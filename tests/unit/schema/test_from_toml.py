from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from sfumato.errors import SchemaError
from sfumato.schema import Days, Edges, Grid, Schema, Values


def parse(**table):
    return Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **table}}})["x"]


def problems(folder=".", **table):
    with pytest.raises(SchemaError) as caught:
        Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **table}}}, folder=folder)
    assert all(p.hint for p in caught.value.problems)
    return caught.value.problems


def rules(**table):
    return [(p.path.removeprefix("attribute.x").removeprefix("."), p.rule) for p in problems(**table)]


NUMERIC = {"kind": "numeric"}
MONTHS = "must be a whole number of days, or month, quarter, year or decade"
DATE = {"kind": "date"}


@pytest.mark.parametrize(
    ("table", "domain"),
    [
        ({"range": [17, 91]}, Grid(Decimal(17), step=Decimal(1), size=74)),
        ({"range": [0, 1], "step": 0.1}, Grid(Decimal(0), step=Decimal("0.1"), size=10)),
        ({"range": ["-0.3", "0.3"], "step": "0.1"}, Grid(Decimal("-0.3"), step=Decimal("0.1"), size=6)),
        ({"range": [0, 10], "step": 3}, Grid(Decimal(0), step=Decimal(3), size=4)),  # the last cell is partly outside
        ({"range": [0, 1], "step": 100}, Grid(Decimal(0), step=Decimal(100), size=1)),
        ({"range": [0, 1], "step": "0.3"}, Grid(Decimal(0), step=Decimal("0.3"), size=4)),
        ({"range": [-(2**30), 2**30 - 1]}, Grid(Decimal(-(2**30)), step=Decimal(1), size=2**31 - 1)),
        ({"range": ["0", "3.0000000000000000000000000001"]}, Grid(Decimal(0), step=Decimal(1), size=4)),
        ({"edges": [0, 0.5, "10"]}, Edges((Decimal(0), Decimal("0.5"), Decimal(10)))),
        ({"values": [1, 2.5, 10]}, Values(("1", "2.5", "10"))),
        ({"hierarchy": {"low": [1, 2], "high": [3]}}, Values(("1", "2", "3"))),
    ],
)
def test_numeric_domains(table, domain):
    assert parse(**NUMERIC, **table).domain == domain


@pytest.mark.parametrize(
    ("table", "size"),
    [
        ({"range": ["2024-02-01", "2024-03-01"]}, 29),
        ({"range": ["2023-02-01", "2023-03-01"]}, 28),
        ({"range": [dt.date(1900, 2, 1), dt.date(1900, 3, 1)]}, 28),
        ({"range": ["2020-01-01", "2020-01-09"], "step": 7}, 2),
        ({"range": ["2020-01-01", "2021-01-01"], "dates": ["month"]}, 366),
        ({"range": ["0001-01-01", "9999-12-31"], "step": 3_000_000}, 2),
    ],
)
def test_date_domains(table, size):
    x = parse(**DATE, **table)
    assert isinstance(x.domain, Days)
    assert x.size == size


@pytest.mark.parametrize(
    ("table", "path", "rule"),
    [
        ({}, "", "a nominal attribute in the role quasi has no domain"),
        (NUMERIC, "", "a numeric attribute in the role quasi has no domain"),
        (DATE, "range", "is missing"),
        ({**NUMERIC, "range": [10, 10]}, "range", "is empty: the high end must be above the low end"),
        ({**NUMERIC, "range": ["a", 10]}, "range", "is not a number"),
        ({**NUMERIC, "range": [dt.date(2020, 1, 1), 10]}, "range", "is not a number"),
        ({**NUMERIC, "range": [0, float("inf")]}, "range", "is not a number"),
        ({**NUMERIC, "range": [0, float("nan")]}, "range", "is not a number"),
        ({**NUMERIC, "range": [0, "1e999999999"]}, "range", "has more than 30 digits before or after the point"),
        ({**NUMERIC, "range": [0, 16**6000]}, "range", "has more than 30 digits before or after the point"),
        ({**NUMERIC, "range": [0, 1], "step": "1e-31"}, "step", "has more than 30 digits before or after the point"),
        ({**NUMERIC, "range": [0, 1], "step": 0}, "step", "must be above 0"),
        ({**NUMERIC, "range": [0, 1], "step": -1}, "step", "must be above 0"),
        ({**NUMERIC, "range": [0, 2**31 + 1]}, "range", "has 2147483649 grid cells, more than 2^31"),
        ({**NUMERIC, "range": [0, 2**31]}, "", "has 2147483648 values or grid cells, more than 2^31"),
        ({**NUMERIC, "range": [0, 1e29]}, "range", f"has {10**29} grid cells, more than 2^31"),
        ({**NUMERIC, "edges": [0]}, "edges", "must rise, at least two points"),
        ({**NUMERIC, "edges": [0, 2, 1]}, "edges", "must rise, at least two points"),
        ({**NUMERIC, "edges": [0, "x"]}, "edges", "is not a number"),
        ({**NUMERIC, "edges": [0, 9], "intervals": [3]}, "intervals", "need a range with a step"),
        ({**NUMERIC, "intervals": [5]}, "range", "is missing"),
        ({**NUMERIC, "range": [0, 9], "mask": {"length": 1}}, "", "a numeric attribute takes intervals or a hierarchy"),
        ({**NUMERIC, "range": [0, 9], "edges": [0, 9]}, "", "declares range and edges"),
        ({**NUMERIC, "range": [0, 9], "values": [1]}, "", "declares range and values"),
        ({**NUMERIC, "hierarchy": {"g": [2, 1]}}, "", "does not list its numbers in rising order"),
        ({**NUMERIC, "hierarchy": {"g": [2, "x"]}}, "", "1 value is not a number"),
        ({**NUMERIC, "range": [0, 3], "hierarchy": {"g": [0, 2]}}, "hierarchy", "lacks 1 cell of the range"),
        ({**NUMERIC, "range": [0, 2], "hierarchy": {"g": [0, 1, 2]}}, "hierarchy", "lists 1 value outside the range"),
        ({**NUMERIC, "range": [0, 2**30], "hierarchy": {"g": [0]}}, "hierarchy",
         f"lacks {2**30 - 1} cells of the range"),
        (
            {**NUMERIC, "range": [0, 2], "hierarchy": {"g": [1, 0]}},
            "hierarchy",
            "does not list the cells of the range once each, in rising order",
        ),
        ({**DATE, "range": ["2020-02-30", "2021-01-01"]}, "range", "is not a pair of ISO dates"),
        ({**DATE, "range": ["2021-01-01", "2020-01-01"]}, "range", "is empty: the last day must come after the first"),
        ({**DATE, "range": ["2020-01-01", "2021-01-01"], "step": 0.5}, "step", MONTHS),
        ({**DATE, "range": ["2020-01-01", "2021-01-01"], "step": 10**30}, "step", MONTHS),
        ({**DATE, "range": ["2020-01-01", "2021-01-01"], "mask": {"length": 1}}, "mask",
         "is for numeric and ordered and nominal attributes, not date ones"),
        ({"values": ["a"], "range": [0, 9]}, "range", "is for numeric and date attributes, not nominal ones"),
        ({"values": ["a"], "intervals": [9]}, "intervals", "is for numeric attributes, not nominal ones"),
        ({"values": []}, "values", "is empty"),
        ({"values": ["a", "a"]}, "", "1 value is listed twice"),
        ({"values": ["12", "12"], "mask": {"length": 2}}, "", "1 value is listed twice"),
        ({"values": ["a", ""]}, "", "a value is empty"),
        ({"values": ["a", "*", "(known)", "(missing)"]}, "", "3 values have a reserved name"),
        ({"values": ["a"], "other": "*"}, "", "1 value has a reserved name"),
        ({"values": ["a"], "other": " "}, "", "a value is empty"),
        ({"values": ["a", "?"], "missing": ["?"]}, "missing", "1 value is also declared missing"),
        ({"values": ["a", "b"], "hierarchy": {"g": ["a"]}}, "hierarchy", "lacks 1 of the declared values"),
        ({"values": ["a", "b"], "groups": {"g": ["a"]}}, "groups", "lack 1 of the declared values"),
        ({"values": ["a"], "groups": {"g": ["a", "b"]}}, "groups", "name 1 value that is not in `values`"),
        ({"values": ["a"], "hierarchy": {"g": ["a", "b", "c"]}}, "hierarchy",
         "names 2 values that are not in `values`"),
        ({"values": ["a", "b"], "kind": "ordered", "groups": {"g": ["b"], "h": ["a"]}}, "groups",
         "list the values in another order than `values`"),
        ({**DATE, "range": ["2020-01-01", "2021-01-01"], "format": "%d.%m.%y"}, "format",
         "must hold %d, %m and %Y once each, or %m and %Y for months, and no other %"),
        ({**DATE, "range": ["2020-01-01", "2021-01-01"], "format": "%d of %m %Y"}, "format",
         "may hold only signs such as . / - between %d, %m and %Y"),
        ({**NUMERIC, "range": [0, 9], "format": "%d.%m.%Y"}, "format", "is for date attributes, not numeric ones"),
        ({"values": ["1,5"], "decimal": ","}, "decimal", "is for numeric attributes, not nominal ones"),
        ({**NUMERIC, "values": ["1.5"], "decimal": ","}, "decimal",
         "is for a range or edges, not for listed values"),
        ({"values": ["a"], "hierarchy": {"g": ["a"]}, "groups": {"h": ["a"]}}, "", "declares hierarchy and groups"),
        ({"values": ["a"], "clamp": True}, "clamp", "is for numeric and date attributes"),
        ({**NUMERIC, "range": [0, 9], "other": "Other"}, "other", "is for attributes with listed values"),
        ({"hierarchy": "absent.csv"}, "hierarchy", "the file absent.csv cannot be read (No such file or directory)"),
        ({"hierarchy": "a\0b"}, "hierarchy", "the file a\0b cannot be read (no such file)"),
        ({"values": "absent.csv"}, "values", "the file absent.csv cannot be read (No such file or directory)"),
        ({"mask": {"length": 9}}, "mask", "the mask spans 1,000,000,000 values, more than can be listed (1,000,000)"),
    ],
)  # fmt: skip
def test_each_problem_has_its_path_and_rule(table, path, rule):
    assert (path, rule) in rules(**table)


def test_an_attribute_without_a_name():
    with pytest.raises(SchemaError, match="has no name"):
        Schema.parse({"name": "t", "attribute": {" ": {}}})


def test_several_problems_of_one_attribute_are_named_together():
    found = rules(values=["a", "a", "*"], missing=["a"], clamp=True, range=[0, 1])
    assert found == [
        ("range", "is for numeric and date attributes, not nominal ones"),
        ("", "declares range and values"),
        ("", "1 value has a reserved name"),
        ("missing", "1 value is also declared missing"),
        ("", "1 value is listed twice"),
        ("clamp", "is for numeric and date attributes"),
    ]


def test_a_group_named_like_a_value_is_refused_unless_it_holds_that_value_alone():
    def parsed(**given):
        return Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **given}}})

    for groups in ({"a": ["a", "b"], "c": ["d"]}, {"d": ["a", "b"], "c": ["d"]}):
        with pytest.raises(SchemaError, match=r"attribute\.x\.groups: 1 group is named like a value.*another name"):
            parsed(groups=groups)
    assert not [answer for answer in parsed(groups={"a": ["a"], "c": ["d", "e"]}).remarks() if "group" in answer.rule]
    (answer,) = (
        answer for answer in parsed(hierarchy={"a": ["a", "b"], "c": ["d"]}).remarks() if "group" in answer.rule
    )
    assert answer.path == "attribute.x"
    assert "published as the values it holds" in answer.rule
    assert answer.hint == "give it another name in the hierarchy"


def test_hierarchy_leaves_decide_the_codes_and_values_may_stand_in_a_file(tmp_path):
    (tmp_path / "v.csv").write_text("a\n\n b \n", encoding="utf-8")
    x = Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", "values": "v.csv"}}}, folder=tmp_path)["x"]
    assert x.texts() == ["a", "b"]
    (tmp_path / "v.csv").write_text("\n", encoding="utf-8")
    assert problems(folder=tmp_path, values="v.csv")[0].rule == "is empty"


def test_values_beside_groups_are_the_same_values_in_any_order_unless_order_matters():
    x = parse(values=["b", "a", "c"], groups={"g": ["a", "c"], "h": ["b"]}, other="Rest")
    assert x.texts() == ["a", "c", "b", "Rest"]
    found = problems(values=["a", "b"], groups={"g": ["a", "c"]})
    assert [(p.rule, p.values) for p in found] == [
        ("lack 1 of the declared values", ("b",)),
        ("name 1 value that is not in `values`", ("c",)),
    ]
    assert all("drop `values`" in p.hint for p in found)
    assert parse(kind="ordered", values=["a", "b", "c"], groups={"g": ["a"], "h": ["b", "c"]}).texts() == list("abc")


def test_other_is_a_leaf_of_its_own_below_the_root():
    x = parse(hierarchy={"g": ["a", "b"]}, other="Rest", missing=["?"])
    assert x.texts() == ["a", "b", "Rest", "(missing)"]
    assert parse(values=["a"], other=" Rest ").other == "Rest"
    assert x.nodes.parent[x.nodes.by_interval[2, 3]] == 0
    assert parse(values=["a", "Rest"], other="Rest").texts() == ["a", "Rest"]


@pytest.mark.parametrize(
    ("given", "texts", "action"),
    [
        (["?", " NA "], ("?", "NA"), "category"),
        ("category", (), "category"),
        ("suppress", (), "suppress"),
        ({"values": ["?"], "action": "suppress"}, ("?",), "suppress"),
        ({"action": "category"}, (), "category"),
    ],
)
def test_missing_rules(given, texts, action):
    missing = parse(values=["a"], missing=given).missing
    assert missing is not None
    assert (missing.texts, missing.action) == (texts, action)


def test_trees_where_none_is_declared():
    assert parse(values=["a", "b"]).nodes.names == ("*", "a", "b")
    assert parse(kind="ordered", values=["a", "b", "c", "d"]).nodes.names[:3] == ("*", "a..b", "a")
    assert parse(**NUMERIC, range=[0, 4]).declared_tree is False
    assert parse(**NUMERIC, range=[0, 40], intervals=[5]).declared_tree is True


def test_a_numeric_hierarchy_over_a_range_keeps_the_grid():
    x = parse(**NUMERIC, range=[0, 4], hierarchy={"low": [0, 1], "high": [2, 3]}, missing=["?"])
    assert isinstance(x.domain, Grid)
    assert x.nodes.names == ("*", "low", "0", "1", "high", "2", "3", "(missing)")


def test_attributes_never_published_need_no_domain():
    schema = Schema.parse({"name": "t", "attribute": {"id": {"role": "identifier"}, "note": {"kind": "date"}}})
    assert [a.domain for a in schema.attributes] == [None, None]
