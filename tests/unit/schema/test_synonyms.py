"""Other spellings of a value are read as that value everywhere, and have no second meaning."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.schema import Attribute, Schema, parse_label


def attribute(**given) -> Attribute:
    return Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **given}}})["x"]


SEX = {
    "groups": {"male": ["m"], "not male": ["w", "d"]},
    "same": {"m": ["M", " Mann", "männlich"], "w": ["W", "Frau"]},
    "missing": ["-9"],
}


def test_spellings_are_no_values_of_their_own():
    x = attribute(**SEX)
    assert x.texts() == ["m", "w", "d", "(missing)"]
    assert dict(x.same) == {"M": "m", "Mann": "m", "männlich": "m", "W": "w", "Frau": "w"}
    assert hash(x) == hash(attribute(**SEX))
    assert x != attribute(**{**SEX, "same": {}})
    assert "Mann" not in str(x.to_json())


@pytest.mark.parametrize(
    ("label", "codes"),
    [("Mann", ((0, 1),)), ("Frau | d", ((1, 3),)), ("{M, W}", ((0, 2),)), ("not male", ((1, 3),)), ("mann", None)],
)
def test_labels_of_others_may_hold_spellings(label, codes):
    assert parse_label(attribute(**SEX), label) == codes


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"values": ["m", "M"], "same": {"m": ["M"]}}, "1 spelling is also listed as a value"),
        ({"values": ["m"], "same": {"m": ["m"]}}, "1 spelling is also listed as a value"),
        ({"values": ["m"], "same": {"male": ["M"]}}, "1 value is not listed"),
        ({"values": ["m", "w"], "same": {"m": ["X"], "w": ["X "]}}, "1 spelling is given twice"),
        ({"values": ["m"], "missing": ["M"], "same": {"m": ["M"]}}, "1 spelling is also declared missing"),
        ({"groups": {"M": ["m"], "W": ["w"]}, "same": {"m": ["M"], "w": ["W"]}}, "2 spellings are also the name of"),
        ({"values": ["m"], "same": {"m": ["", "*"]}}, "2 spellings are empty or reserved"),
        ({"kind": "numeric", "range": [0, 3], "same": {"1": ["one"]}}, "is for attributes with listed values"),
        ({"kind": "date", "range": ["2020-01-01", "2021-01-01"], "same": {"a": ["b"]}}, "not date ones"),
        ({"values": ["m"], "same": ["M"]}, "has a value of the wrong form"),
    ],
)
def test_a_text_has_one_meaning(given, rule):
    with pytest.raises(sf.SchemaError) as caught:
        attribute(**given)
    (problem,) = (found for found in caught.value.problems if rule in found.rule)
    assert problem.path == "attribute.x.same"
    assert problem.hint
    assert "'" not in problem.rule  # no value is named


def test_a_release_of_mixed_spellings_is_that_of_one_spelling(tmp_path):
    schema = Schema.parse(
        {"name": "t", "attribute": {"x": {**SEX, "role": "quasi"}, "y": {"role": "sensitive", "values": [1, 2]}}}
    )
    spelt = ["m", "M", "Mann", "männlich", "w", " W", "Frau", "d", "-9"] * 4
    plain = ["m", "m", "m", "m", "w", "w", "w", "d", "-9"] * 4
    frames = [pl.DataFrame({"x": texts, "y": [1, 2] * 18}) for texts in (spelt, plain)]
    tables = [sf.read(frame, schema) for frame in frames]
    assert tables[0].counts() == tables[1].counts()
    release = sf.publish(tables[0], sf.Mondrian(sf.KAnonymity(4), nominal="nodes"))
    release.save(tmp_path / "out", format="csv")
    assert sf.verify(tmp_path / "out").holds
    assert set(release.frame()["x"]) == {"m", "w", "d", "(missing)"}
    foreign = frames[0].with_columns(pl.col("x").str.strip_chars())
    assert sf.Release.read(foreign, schema).frame().sort("x", "y").equals(release.frame().sort("x", "y"))
    tables = [table.with_roles(quasi="x", sensitive=[], target="y") for table in tables]
    recoded = sf.publish(tables[1], sf.TopDown(4))
    assert sf.apply(recoded, tables[0])["x"].to_list() == sf.apply(recoded, tables[1])["x"].to_list()
