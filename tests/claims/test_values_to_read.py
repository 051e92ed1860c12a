"""Values that are published as they are: names of people, spellings, decimals. `check` says what `publish` refuses."""

from __future__ import annotations

import tomllib

import numpy as np
import polars as pl
import pytest

import sfumato as sf

FIRST, LAST = ["Anna", "Bert", "Carla", "Dirk", "Eva"], ["Becker", "Jansen", "van Vogel", "O'Neill"]
NAMES = [f"{first} {last}" for first in FIRST for last in LAST]
QUASI = {"age": {"role": "quasi", "kind": "numeric", "range": [0, 100]}, "sex": {"role": "quasi", "values": ["F", "M"]}}
K5 = sf.Mondrian(sf.KAnonymity(5))


def table(more, columns):
    number = len(next(iter(columns.values())))
    ages = [at * 37 // 7 % 90 for at in range(number)]  # no value follows from them
    frame = pl.DataFrame({"age": ages, "sex": ["F", "M"] * (number // 2), **columns})
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {**QUASI, **more}})
    assert not sf.check(frame, schema)
    return sf.read(frame, schema)


@pytest.mark.parametrize("role", ["sensitive", "target"])
def test_names_of_people_are_warned_of_and_need_a_yes(role, tmp_path):
    values = {"contact": {"role": role, "values": ["none", *NAMES]}}
    contact = [NAMES[at] if at < 20 else "none" for at in range(400)]
    read = table(values, {"contact": contact})
    said = [problem for problem in read.doubts.remarks() if problem.path == "attribute.contact"]
    assert [problem.rows for problem in said] == [20]
    assert "20 rows have values that look like the name of a person" in said[0].rule
    assert "Becker" not in str(said[0])
    with pytest.raises(sf.ReleaseError, match="20 rows have values that look like the name of a person"):
        sf.publish(read, K5, save_to=tmp_path / "a")
    assert not (tmp_path / "a").exists()
    with pytest.raises(sf.ReleaseError, match="look like the name of a person"):
        sf.publish(read, K5).save(tmp_path / "b")
    sf.publish(read, K5, save_to=tmp_path / "c", allow_text=True, allow_fingerprints=True)


@pytest.mark.parametrize("name", ["Frau Rossi", "Mr. O'Neill", "Dr. med. von Klein", "Mme Dupont-Roy", "dhr. Jansen"])
def test_a_title_makes_a_name_in_however_many_rows_it_stands(name, tmp_path):
    """Who reported a case was published by name, a category like the others because it stood in many rows."""
    values = ["school", "neighbour", name]
    read = table({"by": {"role": "sensitive", "values": values}}, {"by": [values[at % 3] for at in range(600)]})
    said = [problem for problem in read.doubts.remarks() if problem.path == "attribute.by"]
    assert [problem.rows for problem in said] == [200]
    with pytest.raises(sf.ReleaseError, match="200 rows have values that look like the name of a person"):
        sf.publish(read, K5, save_to=tmp_path / "a")
    with pytest.raises(sf.ReleaseError, match="look like the name of a person"):
        sf.publish(read, K5).save(tmp_path / "b")
    sf.publish(read, K5, save_to=tmp_path / "c", allow_text=True)


def test_titles_alone_and_categories_with_such_words_are_not_names(tmp_path):
    values = ["Frau", "Herr", "Prof. Dr.", "MS Typ", "Dr. h.c.", "Miss 1", "frau und kind"]
    read = table({"by": {"role": "sensitive", "values": values}}, {"by": [values[at % 7] for at in range(400)]})
    assert not read.doubts.remarks()
    sf.publish(read, K5, save_to=tmp_path / "a")


def test_places_and_categories_are_not_names(tmp_path):
    places = ["South Holland", "New York", "High School", "HIV", "type two", "Grade A1", "none"]
    read = table({"place": {"role": "sensitive", "values": places}}, {"place": [places[at % 7] for at in range(400)]})
    assert not read.doubts.remarks()
    sf.publish(read, K5, save_to=tmp_path / "a")


def test_check_warns_of_spellings_that_publish_refuses():
    values = {"illness": {"role": "sensitive", "values": ["HIV", "hiv", "flu"]}}
    read = table(values, {"illness": [["HIV", "hiv", "flu"][at % 3] for at in range(300)]})
    said = read.doubts.remarks()
    assert [problem.path for problem in said] == ["attribute.illness"]
    with pytest.raises(sf.SchemaError) as refused:
        sf.publish(read, sf.Mondrian(sf.LDiversity(2)))
    assert [str(one) for one in refused.value.problems] == [str(one) for one in said]


@pytest.mark.parametrize(("decimal", "cells"), [(".", ["26.1", "30", "7.0"]), (",", ["26,1", "30", "7,0"])])
def test_decimals_that_are_rounded_down_are_named(decimal, cells, tmp_path):
    """A mean of 26.10 became 25.60, and the dictionary said that the numbers are published as they are."""
    column = {"bmi": {"role": "sensitive", "kind": "numeric", "range": [0, 80], "step": 1, "decimal": decimal}}
    read = table(column, {"bmi": [cells[at % 3] for at in range(300)]})
    said = read.doubts.remarks()
    assert [(problem.path, problem.rows) for problem in said] == [("attribute.bmi", 100)]
    assert "rounded down to whole numbers" in said[0].rule
    sf.publish(read, K5, save_to=tmp_path / "a", format="csv", allow_fingerprints=True)
    text = (tmp_path / "a" / "dictionary.md").read_text().split("### bmi")[1]
    assert "decimals, where the data had any, are rounded down" in text
    assert "published as it is" not in text
    outsiders = {**column["bmi"], "role": "quasi"}
    ill = {"role": "sensitive", "values": ["a", "b", "c"]}
    held = {"bmi": [cells[at % 3] for at in range(300)], "ill": ["a", "b", "c"] * 100}
    known = table(
        {name: {**one, "source": "public"} for name, one in {**QUASI, "bmi": outsiders, "ill": ill}.items()}, held
    )
    assert [problem.rows for problem in known.doubts.rounded()] == [100]
    for at, method in enumerate((K5, sf.Bucketize(sf.LDiversity(2)), sf.NoisyTable(1))):
        sf.publish(known, method, save_to=tmp_path / f"{at}", format="csv", allow_unaccounted=True, allow_noise=True)
        text = (tmp_path / f"{at}" / "dictionary.md").read_text()
        said = text.split("### bmi")[1].split("###")[0]
        assert "decimals, where the data had any, are rounded down" in said
        assert "published as it is" not in said
        assert "a number alone is that number, rounded down where the data had decimals" in text
    finer = {"bmi": {**column["bmi"], "step": "0.1"}}
    assert not table(finer, {"bmi": [cells[at % 3] for at in range(300)]}).doubts.remarks()


@pytest.mark.parametrize("source", ["public", "data"])
@pytest.mark.parametrize("mechanism", [K5, sf.Bucketize(sf.LDiversity(2))], ids=["mondrian", "buckets"])
def test_values_moved_to_the_ends_of_a_range_are_said_to_be(mechanism, source, tmp_path):
    """Everybody over 79 was published as 79 years old, and the dictionary said: a number alone is that number."""
    rng = np.random.default_rng(5)
    drawn = {"age": rng.integers(0, 100, 600), "pay": rng.integers(0, 50, 600), "ill": rng.choice(["a", "b", "c"], 600)}
    frame = pl.DataFrame(drawn)
    ends = {"kind": "numeric", "clamp": True, "source": source}
    described = {
        "age": {"role": "quasi", "range": [18, 80], **ends},
        "pay": {"role": "sensitive", "range": [0, 40], "step": 10, **ends},
        "ill": {"role": "sensitive", "values": ["a", "b", "c"], "source": source},
    }
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": described})
    release = sf.publish(sf.read(frame, schema), mechanism)
    release.save(tmp_path / "out", format="csv")
    assert sf.verify(tmp_path / "out").holds
    assert sf.verify(tmp_path / "out", schema=schema).holds
    text = (tmp_path / "out" / "dictionary.md").read_text()
    for name, moved in {"age": True, "pay": True, "ill": False}.items():
        column = text.split(f"### {name}\n")[1].split("\n### ")[0].split("\n## ")[0]
        assert ("cells at the ends may also stand for values beyond it" in column) is moved, name
    numbers = "a number alone is that number, rounded down where the data had decimals"
    assert f"{numbers}; not so at the ends of a column whose values were moved there" in text
    sf.report(None, tmp_path / "page.html", release=release, audience="public")
    assert "age, pay: values outside the range" in (tmp_path / "page.html").read_text()
    for told in (release, sf.Release.load(tmp_path / "out")):
        assert [attribute.name for attribute in told.schema.attributes if attribute.clamp] == ["age", "pay"]


def test_a_range_that_moves_nothing_is_not_said_to(tmp_path):
    read = table({"ill": {"role": "sensitive", "values": ["a", "b"]}}, {"ill": ["a", "a", "b"] * 100})
    sf.publish(read, K5, save_to=tmp_path / "a")
    assert "moved" not in (tmp_path / "a" / "dictionary.md").read_text()
    assert "clamp" not in (tmp_path / "a" / "manifest.json").read_text()


SPELLINGS = [
    ("flu", "Flu."),
    ("COVID-19", "Covid 19"),
    ("COVID19", "covid\u201119"),
    ("Crohn's disease", "Crohns Disease"),
    ("d\u00e9pression", "DEPRESSION"),
    ("HIV (AIDS)", "hiv aids"),
    ("type_2", "Type 2"),
]
DIFFERENT = [
    ("A-", "A+"),
    ("A", "A-"),
    ("1.5", "15"),
    ("10-19", "1019"),
    ("<5", ">5"),
    ("1/2", "12"),
    (".", "/"),
    ("C", "C#"),
]


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
def test_spellings_of_one_value_are_no_diversity(one, other, tmp_path):
    """Neither in our own releases nor in a file of somebody else."""
    values = {"illness": {"role": "sensitive", "values": [one, other]}}
    illness = [[one, other][at * 7 // 3 % 2] for at in range(300)]
    with pytest.raises(sf.SchemaError) as refused:
        sf.publish(table(values, {"illness": illness}), sf.Mondrian(sf.LDiversity(2)))
    assert [problem.path for problem in refused.value.problems] == ["attribute.illness"]
    frame = pl.DataFrame({"age": ["*"] * 300, "sex": ["*"] * 300, "illness": illness})
    frame.write_csv(tmp_path / "foreign.csv")
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {**QUASI, **values}})
    assert not sf.verify(tmp_path / "foreign.csv", schema=schema, requirement=sf.LDiversity(2, kind="distinct")).holds


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_signs_that_mean_something_tell_values_apart(one, other):
    schema = sf.Schema.parse({"name": "t", "attribute": {"a": {"role": "sensitive", "values": [one, other]}}})
    assert schema.alike_spellings(["a"]) == []


MISSING_SPELLINGS = [
    ({"values": ["none", "nuts"], "missing": ["None"]}, 1),
    ({"values": ["none", "nuts"], "missing": {"values": ["None", "NONE."], "action": "suppress"}}, 2),
    ({"values": ["none", "nuts"], "same": {"none": ["nihil"]}, "missing": ["Nihil"]}, 1),
    ({"groups": {"any": ["nuts", "latex"], "no": ["né ant"]}, "missing": ["NEANT"]}, 1),
    ({"values": ["none", "nuts"], "missing": ["", "nothing", "?", "(known)"]}, 0),
    ({"values": ["none", "nuts"], "same": {"none": ["None"]}, "missing": [""]}, 0),
    ({"values": ["nuts", "latex"], "missing": ["none", "None"]}, 0),
    ({"mask": {"length": 5, "from": "right"}, "missing": ["99"]}, 0),
]


@pytest.mark.parametrize(("given", "texts"), MISSING_SPELLINGS)
def test_a_text_for_missing_is_not_another_spelling_of_a_value(given, texts):
    """Two clinics that write None and none have one value, whichever of them the schema calls missing."""
    schema = sf.Schema.parse({"name": "t", "attribute": {"a": {"role": "sensitive", **given}}})
    found = schema.alike_spellings(["a"])
    assert [problem.path for problem in found] == ["attribute.a.missing"] * bool(texts)
    assert [problem.count for problem in found] == [texts] * bool(texts)
    assert all("same = { value" in problem.hint and "`missing`" in problem.hint for problem in found)


def test_a_claim_does_not_count_missing_as_another_value_than_its_spelling(tmp_path):
    values = {"illness": {"role": "sensitive", "values": ["none", "nuts", "latex"], "missing": ["None"]}}
    illness = [["none", "None", "nuts", "None", "none", "latex"][at % 6] for at in range(300)]
    data = table(values, {"illness": illness})
    assert "attribute.illness.missing" in [problem.path for problem in data.doubts.remarks()]
    with pytest.raises(sf.SchemaError, match="1 text that means missing differs from a listed value only in case"):
        sf.publish(data, sf.Mondrian(sf.LDiversity(2)))
    frame = pl.DataFrame({"age": ["*"] * 300, "sex": ["*"] * 300, "illness": illness})
    frame.write_csv(tmp_path / "foreign.csv")
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {**QUASI, **values}})
    assert not sf.verify(tmp_path / "foreign.csv", schema=schema, requirement=sf.LDiversity(2)).holds


def test_a_value_named_missing_is_not_the_mark_of_no_value():
    from sfumato.schema.checks import plain_spelling

    assert plain_spelling("missing") != plain_spelling("(missing)")
    assert plain_spelling("missing") == plain_spelling("Missing.")


ILLS = ["fracture", "fractures", "Asthma bronch.", "Asthma bronchiale", "I21.9", "I219", "hepatitis A", "hepatitis B"]


def ills(number=800):
    return [ILLS[at * 7 // 3 % len(ILLS)] for at in range(number)]


def test_a_draft_asks_about_values_that_may_be_one(tmp_path):
    """Diversity counts each listed value, so a person is asked; the question itself names no value."""
    frame = pl.DataFrame({"age": [at * 37 // 7 % 90 for at in range(800)], "diagnosis": ills()})
    text = sf.draft(frame)
    drafted = sf.Schema.parse(tomllib.loads(text))["diagnosis"]
    asked = [one for one in drafted.decide if one.startswith("same: may 3 pairs of values be spellings of one")]
    assert len(asked) == 1
    assert not any(value in question for question in drafted.decide for value in ILLS[2:])
    for one, other in zip(ILLS[0:6:2], ILLS[1:6:2], strict=True):
        assert f"one value? {one} and {other}" in text
    assert "hepatitis A and hepatitis B" not in text


SAME = {"fracture": ["fractures"], "Asthma bronchiale": ["Asthma bronch."], "I21.9": ["I219"]}
MERGED = ["fracture", "Asthma bronchiale", "I21.9", "hepatitis A", "hepatitis B"]


def test_check_says_it_until_same_closes_it():
    loose = {"diagnosis": {"role": "sensitive", "values": ILLS}}
    read = table(loose, {"diagnosis": ills()})
    said = [one for one in read.schema.remarks() if one.count == 3]
    assert "3 pairs of values differ in a letter, an ending, an abbreviation" in said[0].rule
    assert not any(value in str(said[0]) for value in ILLS)
    closed = table({"diagnosis": {"role": "sensitive", "values": MERGED, "same": SAME}}, {"diagnosis": ills()})
    assert not [one for one in closed.schema.remarks() if "differ in a letter" in one.rule]


def test_diversity_does_not_count_what_is_said_to_be_the_same(tmp_path):
    """Two spellings in a class are two values where nobody said that they are one, and one where somebody did."""
    spelt = [("fracture", "fractures")[at % 2] for at in range(200)]
    apart = table({"diagnosis": {"role": "sensitive", "values": ILLS}}, {"diagnosis": spelt})
    same = table({"diagnosis": {"role": "sensitive", "values": MERGED, "same": SAME}}, {"diagnosis": spelt})
    two = sf.Mondrian(sf.LDiversity(2))
    assert sf.publish(apart, two).summary().classes > 0
    with pytest.raises(sf.Infeasible):
        sf.publish(same, two)
    published = pl.DataFrame({"age": ["*"] * 200, "sex": ["*"] * 200, "diagnosis": spelt})
    published.write_csv(tmp_path / "foreign.csv")
    for read, holds in ((apart, True), (same, False)):
        verdict = sf.verify(tmp_path / "foreign.csv", schema=read.schema, requirement=sf.LDiversity(2))
        assert verdict.holds is holds


@pytest.mark.parametrize(
    ("low", "high", "first", "last", "source", "said"),
    [
        (23, 78, 23, 77, "public", True),
        (23, 78, 23, 77, "data", False),  # nobody says that it is known
        (22, 78, 23, 77, "public", False),
        (23, 79, 23, 77, "public", False),
        (20, 78, 20, 77, "public", False),  # round ends are chosen, not found
        (23, 80, 23, 79, "public", False),
    ],
)
def test_a_public_range_that_ends_where_the_rows_do_is_asked_about(low, high, first, last, source, said):
    """Typed from looking at the file, it tells the smallest and the largest value under any epsilon."""
    ages = [first + at % (last - first + 1) for at in range(220)]
    column = {"role": "quasi", "kind": "numeric", "range": [low, high], "source": source}
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {"age": column}})
    read = sf.read(pl.DataFrame({"age": ages}), schema)
    assert any("ends exactly where the values of the file do" in one.rule for one in read.doubts.remarks()) is said


def test_scales_and_clamped_ranges_are_not_asked_about():
    scale = {"role": "quasi", "kind": "numeric", "range": [1, 8], "source": "public"}
    held = {"role": "quasi", "kind": "numeric", "range": [23, 78], "source": "public", "clamp": True}
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {"q": scale, "age": held}})
    read = sf.read(
        pl.DataFrame({"q": [1 + at % 7 for at in range(200)], "age": [at % 100 for at in range(200)]}), schema
    )
    assert not any("ends exactly" in one.rule for one in read.doubts.remarks())
