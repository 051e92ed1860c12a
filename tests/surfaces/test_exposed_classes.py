"""Classes of one person or of one sensitive value are said to be so, whatever the release promises."""

from __future__ import annotations

import json
import random
import re
import tomllib
import warnings
from dataclasses import replace
from datetime import date, timedelta

import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.errors import PublicationWarning
from sfumato.schema import Attribute

SCHEMA = """
name = "members"
rows_per_person = 1
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
[attribute.town]
role = "quasi"
values = ["a", "b", "c", "d"]
[attribute.illness]
role = "sensitive"
values = ["flu", "gout", "none"]
"""


def _frame() -> pl.DataFrame:
    draw = random.Random(5)
    return pl.DataFrame(
        {
            "age": [draw.randrange(100) for _ in range(300)],
            "town": [draw.choice("abcd") for _ in range(300)],
            "illness": [draw.choice(["flu", "gout", "none", "none"]) for _ in range(300)],
        }
    )


@pytest.fixture
def files(tmp_path):
    _frame().write_csv(tmp_path / "d.csv")
    (tmp_path / "s.toml").write_text(SCHEMA)
    return [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]


LOOSE = [["mondrian", "--t", "0.6"], ["bucketize", "--t", "0.6"], ["mondrian", "--beta", "9"]]


@pytest.mark.parametrize("asked", LOOSE, ids=" ".join)
def test_classes_of_one_person_or_one_value_are_said_under_any_requirement(asked, files, tmp_path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["publish", asked[0], *files, *asked[1:], "-o", str(out)])
    assert done.exit_code == 0, done.exception
    exposed = sf.Release.load(out).exposed()
    answer = " ".join(done.output.split())
    assert exposed.single
    assert exposed.alike["illness"] >= exposed.single
    assert f"Warning: in {exposed.single:,} of {exposed.classes:,}" in answer
    assert "there is one person only" in answer
    assert f"in {exposed.alike['illness']:,} of" in answer
    assert "all rows have one value of illness" in answer
    assert f"Warning: {exposed.one_value()[0]}" in sf.verify(out).notes  # whoever has the files reads it too
    assert "Only the link to illness is hidden" not in answer
    dictionary = " ".join((out / "dictionary.md").read_text().split())
    assert "so that several records look alike" not in dictionary
    assert "whose is whose" not in dictionary
    assert "there is one person only" in dictionary
    heard = CliRunner().invoke(app, ["publish", asked[0], *files, *asked[1:], "--json", "-o", str(tmp_path / "again")])
    assert any("one person only" in text for text in json.loads(heard.stdout)["warnings"])


def test_where_k_and_l_are_asked_for_the_dictionary_says_that_records_look_alike(files, tmp_path) -> None:
    done = CliRunner().invoke(app, ["publish", "mondrian", *files, "--k", "5", "--l", "2", "-o", str(tmp_path / "out")])
    assert "one person only" not in done.output
    assert "all rows have one value" not in done.output
    assert "several records look alike" in " ".join((tmp_path / "out" / "dictionary.md").read_text().split())


def test_exposed_counts_people_not_rows() -> None:
    schema = sf.Schema.parse(tomllib.loads(SCHEMA))
    release = sf.publish(sf.read(_frame(), schema), sf.Mondrian(sf.TCloseness("0.6")))
    brute = release.frame().group_by("age", "town").agg(pl.len(), pl.col("illness").n_unique().alias("values"))
    exposed = release.exposed()
    assert exposed.classes == brute.height
    assert exposed.single == (brute["len"] == 1).sum()
    assert exposed.alike == {"illness": (brute["values"] == 1).sum()}
    twice = replace(release, schema=replace(release.schema, rows_per_person=2))
    assert twice.exposed().single == (brute["len"] <= 2).sum()
    assert "there may be one person only: they have at most 2 rows" in twice.exposed().alone()


def _skewed() -> sf.Table:
    """Return a table in which more than half of the people have one illness."""
    draw = random.Random(5)
    some = pl.Series([draw.choice(["flu", "gout", *["none"] * 3]) for _ in range(300)])
    return sf.read(_frame().with_columns(illness=some), sf.Schema.parse(tomllib.loads(SCHEMA)))


@pytest.mark.parametrize("method", [sf.Bucketize, sf.Mondrian])
def test_a_hint_names_an_l_that_the_table_can_reach(method) -> None:
    table, loose = _skewed(), sf.TCloseness("0.6")
    warned = sf.publish(table, method(loose)).warnings()
    alike = next(text for text in warned if "one value of illness" in text)
    most = re.search(r"Ask for l as well \(--l\), at most ([0-9.]+): ", alike)
    assert most is not None, alike
    assert "--l 2 --l-kind distinct" in alike
    for asked in (sf.LDiversity(most[1]), sf.LDiversity(2, kind="distinct")):
        found = sf.publish(table, method(loose & asked)).exposed()
        assert not found.alike["illness"]
        assert not found.single
    with pytest.raises(sf.Infeasible):
        sf.publish(table, method(loose & sf.LDiversity(2)))


def test_a_hint_names_nothing_that_the_method_refuses() -> None:
    table = _skewed()
    buckets = sf.publish(table, sf.Bucketize(sf.TCloseness("0.6"))).warnings()
    assert "one person only. Ask for l as well" in buckets[0]
    assert not any("--k" in text for text in buckets)
    even = sf.read(_frame(), sf.Schema.parse(tomllib.loads(SCHEMA)))
    assert "Ask for l of at least 2 as well" in sf.publish(even, sf.Bucketize(sf.TCloseness("0.6"))).warnings()[0]
    target = tomllib.loads(SCHEMA)
    target["attribute"]["ill"] = {"role": "target", "values": ["no", "yes"]}
    rows = _frame().with_columns(ill=pl.Series(["no", "yes"] * 150))
    cut = sf.publish(sf.read(rows, sf.Schema.parse(target)), sf.TopDown(2)).warnings()
    assert any("This method does not take l or t; Mondrian does (publish mondrian --l, --t)" in text for text in cut)


def test_where_the_table_has_one_value_no_l_is_asked_for() -> None:
    alone = _frame().with_columns(illness=pl.lit("flu"))
    table = sf.read(alone, sf.Schema.parse(tomllib.loads(SCHEMA)))
    warned = sf.publish(table, sf.Mondrian(sf.KAnonymity(2) & sf.TCloseness("0.6"))).warnings()
    assert any("No l above 1 can be reached" in text for text in warned)
    assert not any("Ask for l" in text for text in warned)


def test_a_recommendation_says_that_classes_hold_one_person() -> None:
    schema = sf.Schema.parse(tomllib.loads(SCHEMA))
    table = sf.read(_frame(), schema)
    front = sf.frontier(table, [sf.Mondrian(sf.TCloseness("0.6"))], panels=False)
    with pytest.raises(sf.Infeasible):
        front.recommend()  # the default policy keeps no class of one person
    asked = front.recommend(sf.Policy({"k": 1}))
    assert "classes there is one person only. Ask for k as well (--k)." in asked.reason
    safe = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(5))], panels=False)
    assert "one person only" not in safe.recommend().reason


PAYROLL = """
name = "payroll"
person = "employee"
source = "public"
[attribute.employee]
role = "identifier"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [20, 70]
[attribute.illness]
role = "sensitive"
values = ["flu", "gout", "none"]
"""


def _stays() -> pl.DataFrame:
    """Everybody has two stays. Below 45 the first is always for gout; above, illnesses differ."""
    draw = random.Random(3)
    rows = []
    for who in range(120):
        age = draw.randrange(20, 70)
        first = "gout" if age < 45 else draw.choice(["flu", "none", "gout"])
        rows += [(f"e{who}", age, first), (f"e{who}", age, draw.choice(["flu", "none"]))]
    return pl.DataFrame(rows, schema=["employee", "age", "illness"], orient="row")


@pytest.mark.parametrize("asked", [["--k", "5"], ["--k", "5", "--t", "0.4"]], ids=" ".join)
def test_a_value_that_everybody_of_a_class_has_is_said_though_rows_differ(asked, tmp_path) -> None:
    frame = _stays()
    frame.write_csv(tmp_path / "d.csv")
    (tmp_path / "s.toml").write_text(PAYROLL)
    out = tmp_path / "out"
    files = [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]
    command = ["publish", "mondrian", *files, *asked, "--format", "csv", "-o", str(out)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    answer = " ".join(done.output.split())
    classes = [label.strip("[)").split("-") for label in pl.read_csv(out / "data.csv")["age"].unique()]
    everybody = 0
    for low, *high in classes:
        end = int(high[0]) if high else int(low) + 1
        inside = frame.filter(pl.col("age").is_between(int(low), end, closed="left"))
        people = inside["employee"].n_unique()
        everybody += max(inside.group_by("illness").agg(pl.col("employee").n_unique())["employee"]) == people
    assert everybody
    assert f"in {everybody} of {len(classes)} classes everybody has one value" in answer
    assert "in 0 of" not in answer
    if "--t" in asked:  # under k alone the people with each value are not declared
        said = f"Warning: in {everybody} of {len(classes)} classes everybody has one value of illness in common"
        assert said in sf.verify(out).notes


def test_a_count_of_rows_alone_would_not_see_it(tmp_path) -> None:
    """The mutant: classes in which all rows have one value. There is none, and everybody has gout in some."""
    table = sf.read(_stays(), sf.Schema.parse(tomllib.loads(PAYROLL)))
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5) & sf.TCloseness(0.4)))
    assert release.exposed().alike["illness"] == release.seen_by_key.alike["illness"] > 0
    assert replace(release, people=None).exposed().alike["illness"] == 0


def test_a_loaded_release_says_that_it_cannot_see_what_people_share(tmp_path) -> None:
    table = sf.read(_stays(), sf.Schema.parse(tomllib.loads(PAYROLL)))
    unseen = "whether everybody of a class has one value of illness in common cannot be seen here"
    for asked, said in ((sf.KAnonymity(5), True), (sf.KAnonymity(5) & sf.TCloseness(0.4), False)):
        release = sf.publish(table, sf.Mondrian(asked))
        folder = tmp_path / str(said)
        release.save(folder)
        assert not any(unseen in text for text in release.warnings())
        assert any(unseen in text for text in sf.Release.load(folder).warnings()) == said


def test_the_library_and_the_verifier_name_classes_of_one_person(tmp_path) -> None:
    table = sf.read(_frame(), sf.Schema.parse(tomllib.loads(SCHEMA)))
    release = sf.publish(table, sf.Mondrian(sf.TCloseness("0.6")))
    single = release.exposed().single
    assert single
    assert any(f"in {single:,} of" in text for text in release.warnings())
    with pytest.warns(PublicationWarning) as saved:
        release.save(tmp_path / "a")
    with pytest.warns(PublicationWarning) as published:
        sf.publish(table, sf.Mondrian(sf.TCloseness("0.6")), save_to=tmp_path / "b")
    for heard in (saved, published):
        assert any(
            str(one.message).startswith(f"In {single:,} of") and "one person only" in str(one.message) for one in heard
        )
    assert f"Warning: in {single:,} of" in str(sf.verify(tmp_path / "a"))
    hidden = sf.publish(table, sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hidden.save(tmp_path / "c")
    assert "Warning" not in str(sf.verify(tmp_path / "c"))


LISTED = SCHEMA.replace('["flu", "gout", "none"]', '["flu", "gout", "none", "unknown", "n/a", "?", "C34.1", "c34-1"]')


def _regular(rows: int = 40, others: int = 1) -> pl.DataFrame:
    """Four towns of `rows` people: in one all but `others` have gout, elsewhere illnesses alternate."""
    ill = ["gout"] * (rows - others) + ["flu"] * others + ["flu", "none"] * (3 * rows // 2)
    return pl.DataFrame(
        {"age": [30] * 4 * rows, "town": [town for town in "abcd" for _ in range(rows)], "illness": ill}
    )


def test_classes_that_nearly_agree_are_stated_with_true_numbers(tmp_path) -> None:
    """One other value among forty hides nobody, and a count of classes of one value would not see it."""
    schema = sf.Schema.parse(tomllib.loads(SCHEMA))
    release = sf.publish(sf.read(_regular(), schema), sf.Mondrian(k=40))
    assert release.summary().classes == 4
    said = "in 1 of 4 classes of 20 rows or more at least 95 % of the rows have one value of illness: 40 of 160 rows"
    assert sum(said in one for one in release.warnings()) == 1
    release.save(tmp_path / "out")
    assert any(said in note for note in sf.verify(tmp_path / "out").notes)
    release.frame().write_csv(tmp_path / "bare.csv")
    bare = sf.verify(tmp_path / "bare.csv", schema=schema, requirement=sf.KAnonymity(40))
    assert any(said in note for note in bare.notes)
    three = sf.publish(sf.read(_regular(others=3), schema), sf.Mondrian(k=40))  # 37 of 40
    assert not any("at least 95 %" in one for one in three.warnings())
    few = sf.publish(sf.read(_regular(rows=10, others=0), schema), sf.Mondrian(k=10))  # chance does that
    assert not any("at least 95 %" in one for one in few.warnings())


def test_a_class_without_any_value_is_not_said_to_tell_one(tmp_path) -> None:
    """Of classes in which everybody's income was missing it was said that whoever knows the class knows it."""
    schema = sf.Schema.parse(tomllib.loads(f'{SCHEMA}missing = ["-"]\n'))
    rows = _regular(others=0)
    without = rows.with_columns(illness=pl.col("illness").replace({"gout": "-"}))
    release = sf.publish(sf.read(without, schema), sf.Mondrian(k=40))
    assert release.exposed().missing == {"illness": 1}
    said = [text for text in release.warnings() if "nobody has a value, it is missing" in text]
    assert len(said) == 1
    assert any("that value is: missing" in text for text in release.warnings())  # of those that nearly agree
    assert not any("knows it of nearly all" in text for text in said)
    release.save(tmp_path / "out")
    assert any("nobody has a value, it is missing" in note for note in sf.verify(tmp_path / "out").notes)
    told = sf.publish(sf.read(rows, schema), sf.Mondrian(k=40)).warnings()
    assert any("knows it of nearly all" in text for text in told)
    assert not any("nobody has a value" in text for text in told)


def test_a_listed_word_for_no_value_tells_nobodys_value_either(tmp_path) -> None:
    """The verifier took `unknown` for no value where `publish` said that whoever knows the class knows it."""
    schema = sf.Schema.parse(tomllib.loads(LISTED))
    rows = _regular(others=0).with_columns(illness=pl.col("illness").replace({"gout": "unknown"}))
    release = sf.publish(sf.read(rows, schema), sf.Mondrian(k=40))
    assert release.exposed().missing == {"illness": 1}
    release.save(tmp_path / "out")
    for said in (release.warnings(), sf.verify(tmp_path / "out").notes):
        assert any("nobody has a value, it is missing" in text for text in said)
        assert not any("knows it of nearly all" in text for text in said)
    mixed = rows.with_columns(illness=pl.Series(["unknown", "?"] * 20 + ["flu"] * 40 + ["flu", "gout"] * 40))
    exposed = sf.publish(sf.read(mixed, schema), sf.Mondrian(k=40)).exposed()
    assert (exposed.alike, exposed.missing) == ({"illness": 1}, {"illness": 0})  # two words for none are two values


@pytest.mark.parametrize("asked", [sf.KAnonymity(5), sf.KAnonymity(5) & sf.TCloseness("0.69")], ids=str)
@pytest.mark.parametrize(
    ("cells", "alike", "missing"),
    [
        ((("-", "-"), ("-", "-")), 1, 1),
        ((("-", "unknown"), ("-", "-")), 1, 1),  # two words for none, one of which everybody has
        ((("unknown", "unknown"), ("?", "?")), 0, 0),  # two words for none are two values, as they are in rows
        ((("-", "gout"), ("-", "-")), 0, 0),  # what everybody has in common is no value, and somebody has one
        ((("-", "gout"), ("-", "gout")), 1, 0),
        ((("gout", "flu"), ("gout", "none")), 1, 0),
    ],
)
def test_where_people_are_counted_no_value_is_not_a_shared_value(cells, alike, missing, asked) -> None:
    """In a class in which everybody lacks a value of one row, it was said that everybody has one value in common."""
    text = PAYROLL.replace('["flu", "gout", "none"]', '["flu", "gout", "none", "unknown", "?"]\nmissing = ["-"]')
    others = (("flu", "none"), ("gout", "none"), ("flu", "gout"))
    rows = [(f"a{at}", 30, ill) for at in range(10) for ill in cells[at % 2]]
    rows += [(f"b{at}", 60, ill) for at in range(12) for ill in others[at % 3]]
    table = sf.read(pl.DataFrame(rows, schema=["employee", "age", "illness"], orient="row"), _schema_of(text))
    release = sf.publish(table, sf.Mondrian(asked))
    assert release.summary().classes == 2
    assert (release.seen_by_key.alike, release.seen_by_key.missing) == ({"illness": alike}, {"illness": missing})
    if asked.reads_sensitive:
        exposed = release.exposed()
        assert (exposed.alike, exposed.missing) == ({"illness": alike}, {"illness": missing})
    said = [one for one in release.warnings() if "everybody has one value" in one]
    assert len(said) == alike
    assert all(("nobody has a value, it is missing" in one) == bool(missing) for one in said)


def _schema_of(text: str) -> sf.Schema:
    return sf.Schema.parse(tomllib.loads(text))


def test_what_is_true_of_no_class_is_no_warning() -> None:
    """ "nothing is promised of illness, and in 0 of 4 classes all rows have one value" told of nothing."""
    release = sf.publish(sf.read(_regular(others=20), sf.Schema.parse(tomllib.loads(SCHEMA))), sf.Mondrian(k=40))
    assert release.exposed().alike == {"illness": 0}
    assert release.warnings() == ()
    alike = sf.publish(sf.read(_regular(others=0), sf.Schema.parse(tomllib.loads(SCHEMA))), sf.Mondrian(k=40))
    assert any("nothing is promised of illness, and in 1 of 4 classes" in one for one in alike.warnings())


def test_small_classes_are_not_counted_among_those_of_20_rows() -> None:
    small = _regular(rows=10, others=0).with_columns(age=pl.lit(50, pl.Int64))
    release = sf.publish(
        sf.read(pl.concat([_regular(), small]), sf.Schema.parse(tomllib.loads(SCHEMA))), sf.Mondrian(k=10)
    )
    sizes = release.frame().group_by("age", "town").len()["len"]
    large = int((sizes >= 20).sum())
    assert large < len(sizes)
    assert any(f"of {large} classes of 20 rows or more" in one for one in release.warnings())


def test_a_mutant_that_asks_for_less_is_caught(tmp_path, monkeypatch) -> None:
    from sfumato.release import exposed

    monkeypatch.setattr(exposed, "_NEARLY", (9, 10))
    with pytest.raises(AssertionError):
        test_classes_that_nearly_agree_are_stated_with_true_numbers(tmp_path)


def test_a_value_that_nearly_everybody_has_is_no_news() -> None:
    frame = _regular(rows=100).with_columns(illness=pl.Series(["none"] * 395 + ["flu"] * 5))
    release = sf.publish(sf.read(frame, sf.Schema.parse(tomllib.loads(SCHEMA))), sf.Mondrian(k=100))
    assert not any("at least 95 %" in one for one in release.warnings())


def test_the_verifier_says_where_missing_is_the_only_second_value(tmp_path) -> None:
    values = ["flu", None] * 10 + ["flu", "gout", None] * 10
    rows = pl.DataFrame({"age": [30] * 20 + [60] * 30, "town": ["a"] * 50, "illness": values})
    schema = sf.Schema.parse(tomllib.loads(f'{SCHEMA}\nmissing = [""]'))
    release = sf.publish(sf.read(rows, schema), sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2, kind="distinct")))
    said = "in 1 of 2 classes everyone whose illness is known has the same"
    said += "; a missing value counts as a value of its own"
    assert said in release.warnings()
    release.save(tmp_path / "out", format="csv")
    assert f"Warning: {said}" in sf.verify(tmp_path / "out").notes
    bare = sf.verify(tmp_path / "out" / "data.csv", schema=schema, requirement=sf.LDiversity(2, kind="distinct"))
    assert f"Warning: {said}" in bare.notes


@pytest.mark.parametrize("method", [sf.Anatomy(2), sf.Bucketize(sf.LDiversity(2, kind="distinct"))], ids=str)
def test_groups_in_which_missing_is_the_only_second_value_are_said_as_well(method, tmp_path) -> None:
    """It was said of classes only: of a group, whoever is known to have answered is read off in the same way."""
    values = ["flu", "-"] * 6 + ["C34.1", "c34-1"] * 6 + ["flu", "gout"] * 6
    rows = pl.DataFrame({"age": [at // 12 for at in range(36)], "town": ["a"] * 36, "illness": values})
    schema = sf.Schema.parse(tomllib.loads(f'{LISTED}\nmissing = ["-"]'))
    release = sf.publish(sf.read(rows, schema), method)
    release.save(tmp_path / "out", format="csv", allow_fingerprints=True)
    groups = pl.read_csv(tmp_path / "out" / "groups.csv").group_by("group").agg("illness")["illness"].to_list()
    known = sum("(missing)" in held and len(set(held)) == 2 for held in groups)
    spelt = sum(set(held) == {"C34.1", "c34-1"} for held in groups)
    assert known
    said = [f"in {known} of {len(groups)} groups everyone whose illness is known has the same; a missing value counts"]
    said += [f"in {spelt} of {len(groups)} groups all values of illness may be spellings of one; each"] if spelt else []
    for stated in (release.warnings(), sf.Release.load(tmp_path / "out").warnings(), sf.verify(tmp_path / "out").notes):
        found = [one for one in stated if "whose illness is known" in one or "spellings" in one]
        assert all(text in one for one, text in zip(found, said, strict=True))


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (["unknown", "n/a", "?"], "everyone whose illness is known has the same; a missing value counts as a value of"),
        (["flu", "C34.1"], ""),
        (["flu", "none"], ""),  # no illness is a value
    ],
)
def test_listed_values_that_say_that_there_is_none_are_no_second_value(second, said, tmp_path) -> None:
    values = [["flu", *second][at % (len(second) + 1)] for at in range(20)] + ["flu", "gout", "none"] * 10
    rows = pl.DataFrame({"age": [30] * 20 + [60] * 30, "town": ["a"] * 50, "illness": values})
    schema = sf.Schema.parse(tomllib.loads(LISTED))
    assert any("1 pair of values differs" in one.rule for one in schema.remarks())
    assert any("3 listed values say that there is none" in one.rule for one in schema.remarks())
    release = sf.publish(sf.read(rows, schema), sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2, kind="distinct")))
    release.save(tmp_path / "out", format="csv")
    for stated in (release.warnings(), sf.verify(tmp_path / "out").notes):
        assert any(f"in 1 of 2 classes {said}" in one for one in stated) == bool(said)
    assert any("missing values of illness" in one for one in release.claim.silent_on)


def test_no_answer_behind_a_code_is_no_second_value() -> None:
    """In 7 of 55 classes everybody who had answered gave one answer, and "[98] don't know" counted as the other."""
    none = ["[98] don't know", "refused (99)"]
    rows = pl.DataFrame({"age": [30] * 20 + [60] * 30, "town": ["a"] * 50})
    illness = [["flu", *none][at % 3] for at in range(20)] + ["flu", "gout", *none[:1]] * 10
    rows = rows.with_columns(illness=pl.Series(illness))
    schema = sf.Schema.parse(tomllib.loads(SCHEMA.replace('"none"]', ", ".join(f'"{one}"' for one in none) + "]")))
    assert any("2 listed values say that there is none" in one.rule for one in schema.remarks())
    release = sf.publish(sf.read(rows, schema), sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2, kind="distinct")))
    assert any("in 1 of 2 classes everyone whose illness is known has the same" in one for one in release.warnings())


@pytest.mark.parametrize("codes", [["9"], ["9", "99"], ["9", "99", "kA"], ["8", "kA"]])
def test_codes_for_no_answer_that_are_listed_as_values_are_named(tmp_path, codes) -> None:
    """A class of votes 1, 9 and 99 counted as one of three votes, and nothing said that all known votes may be one."""
    values = ["1", "1", *codes] * 7 + ["1", "2", "3", *codes] * 10
    first = 7 * (2 + len(codes))
    rows = {"age": [30] * first + [60] * (len(values) - first), "town": ["a"] * len(values), "illness": values}
    listed = ["1", "2", "3", *codes]
    schema = sf.Schema.parse(tomllib.loads(SCHEMA.replace('["flu", "gout", "none"]', json.dumps(listed))))
    numbers = sum(map(str.isdigit, codes))
    said = f"{numbers} listed value{' may be a code' if numbers == 1 else 's may be codes'} for no answer"
    assert any(said in one.rule for one in schema.remarks())
    asked = sf.KAnonymity(5) & sf.LDiversity(2, kind="distinct")
    release = sf.publish(sf.read(pl.DataFrame(rows), schema), sf.Mondrian(asked))
    release.save(tmp_path / "out", format="csv")
    for stated in (release.warnings(), sf.verify(tmp_path / "out").notes):
        (found,) = (one for one in stated if "may mean no answer" in one)
        assert "do mean that, everyone whose illness is known has the same in 1 of 2 classes" in found
    assert any("values of illness that may mean no answer" in one for one in release.claim.silent_on)


def test_a_refusal_among_the_values_is_not_called_a_code() -> None:
    """Of the value `refused` it was said that it may be a code for no answer, as 9 above 1 to 3 may be."""
    found = {}
    for listed in (["flu", "gout", "refused"], ["1", "2", "3", "9", "refused"]):
        schema = sf.Schema.parse(tomllib.loads(SCHEMA.replace('["flu", "gout", "none"]', json.dumps(listed))))
        found[len(listed)] = [one.rule for one in schema.remarks() if "may" in one.rule]
    assert [one.partition(";")[0] for one in found[3]] == [
        "1 listed value may say that an answer was refused or is not known"
    ]
    assert len(found[5]) == 2
    assert found[5][0].startswith("1 listed value may be a code for no answer")


def test_a_list_of_values_is_searched_for_none_once_for_each_use(tmp_path, monkeypatch) -> None:
    """Verifying a column of 4,000 listed codes took 22 s: the whole list was searched again for each of them."""
    codes = [f"{letter}{at:02}" for letter in "ABCD" for at in range(100)]
    schema = sf.Schema.parse(tomllib.loads(SCHEMA.replace('["flu", "gout", "none"]', json.dumps(codes))))
    drawn = random.Random(1).choices(codes, k=800)
    rows = pl.DataFrame({"age": [at % 90 for at in range(800)], "town": ["a"] * 800, "illness": drawn})
    sf.publish(sf.read(rows, schema), sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2))).save(
        tmp_path / "out", allow_fingerprints=True
    )
    searched = []
    whole = Attribute.no_value_codes.fget
    monkeypatch.setattr(Attribute, "no_value_codes", property(lambda one: searched.append(one) or whole(one)))
    assert sf.verify(tmp_path / "out").holds
    assert 1 <= len(searched) <= 10


def test_a_class_of_spellings_of_one_value_is_named(tmp_path) -> None:
    values = ["C34.1", "c34-1"] * 10 + ["flu", "C34.1", "c34-1"] * 10
    rows = pl.DataFrame({"age": [30] * 20 + [60] * 30, "town": ["a"] * 50, "illness": values})
    schema = sf.Schema.parse(tomllib.loads(LISTED))
    release = sf.publish(sf.read(rows, schema), sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2, kind="distinct")))
    said = "in 1 of 2 classes all values of illness may be spellings of one; each counts as a value of its own"
    assert said in release.warnings()
    release.save(tmp_path / "out", format="csv")
    assert f"Warning: {said}" in sf.verify(tmp_path / "out").notes


@pytest.mark.parametrize("spelt", [["1", "01"], ["1", "1.0"], ["2.5", "2,5"]])
def test_a_number_in_two_spellings_is_refused(spelt) -> None:
    rows = pl.DataFrame({"age": [30] * 20, "town": ["a"] * 20, "illness": spelt * 10})
    schema = sf.Schema.parse(tomllib.loads(SCHEMA.replace('"flu", "gout"', ", ".join(f'"{one}"' for one in spelt))))
    with pytest.raises(sf.SchemaError, match="would count as different values"):
        sf.publish(sf.read(rows, schema), sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2)))


def test_codes_of_several_levels_are_not_refused() -> None:
    codes = ["250", "250.0", "250.00", "01.1", "01.10", "1.234", "10-19"]
    rows = pl.DataFrame({"age": [30] * 70, "town": ["a"] * 70, "illness": codes * 10})
    listed = ", ".join(f'"{one}"' for one in codes)
    schema = sf.Schema.parse(tomllib.loads(SCHEMA.replace('"flu", "gout", "none"', listed)))
    assert sf.publish(sf.read(rows, schema), sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2))).rows == 70


def test_the_advice_for_a_value_in_a_group_is_another_than_to_group_it() -> None:
    """The towns were in a group, and tight labels named them all the same."""
    grouped = 'source = "data"\ngroups = { all = ["a", "b", "c", "d"], one = ["mayor"] }'
    described = SCHEMA.replace('values = ["a", "b", "c", "d"]', grouped)
    assert described != SCHEMA
    frame = pl.concat([_frame(), pl.DataFrame({"age": [50], "town": ["mayor"], "illness": ["flu"]})])
    table = sf.read(frame, sf.Schema.parse(tomllib.loads(described)))
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5), tight=True))
    (said,) = [text for text in release.warnings() if "of town that one person alone has" in text]
    assert "without --tight" in said
    assert "Gather them" not in said


@pytest.mark.parametrize(("source", "said"), [("data", "in labels. "), ("", "manifest.json. "), ("public", "")])
def test_a_value_that_one_person_has_is_named_where_it_is_spelt(source, said, files, tmp_path) -> None:
    """A value of one person stood in a label and in the manifest, and nothing said so."""
    described = SCHEMA.replace('"d"]', '"d", "mayor"]' + (f'\nsource = "{source}"' if source else ""))
    frame = pl.concat([_frame(), pl.DataFrame({"age": [50], "town": ["mayor"], "illness": ["flu"]})])
    frame.write_csv(files[0])
    table = sf.read(frame, sf.Schema.parse(tomllib.loads(described)))
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    found = [text for text in release.warnings() if "one person alone has" in text]
    assert [text.startswith("1 value of town that one person alone has stands in labels") for text in found] == (
        [True] if said else []
    )
    assert all(said in text for text in found)
    (tmp_path / "s.toml").write_text(described)
    done = CliRunner().invoke(app, ["publish", "mondrian", *files, "--k", "5", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.exception
    assert ("one person alone has" in done.output) == bool(said)
    assert "mayor" in (tmp_path / "out" / "manifest.json").read_text()
    assert "mayor" not in " ".join(found)


@pytest.mark.parametrize(("levels", "tight"), [("", True), ("", False), ('dates = ["month", "year"]', True)])
def test_tight_labels_that_end_at_the_day_of_one_person_are_counted(levels, tight) -> None:
    """In 113 of 113 classes a label began on the exact birthday of somebody, and nothing said so."""
    described = SCHEMA.replace(
        'kind = "numeric"\nrange = [0, 100]', 'kind = "date"\nrange = ["1950-01-01", "2010-01-01"]'
    )
    described = described.replace("[attribute.town]", f"{levels}\n[attribute.town]")
    draw = random.Random(3)
    days = [date(1950, 1, 1) + timedelta(draw.randrange(9) * 500 + draw.randrange(500)) for _ in range(300)]
    frame = _frame().with_columns(age=pl.Series(days))
    release = sf.publish(
        sf.read(frame, sf.Schema.parse(tomllib.loads(described))), sf.Mondrian(sf.KAnonymity(5), tight=tight)
    )
    said = [text for text in release.warnings() if "or end at the value" in text]
    alone = {str(day) for day in days if days.count(day) == 1}
    ends = [re.fullmatch(r"\[(.*)\.\.(.*)\)", label) for label in release.frame()["age"].unique()]
    own = sum(m[1] in alone or str(date.fromisoformat(m[2]) - timedelta(1)) in alone for m in ends if m is not None)
    assert [int(text.split()[0]) for text in said] == ([own] if tight and not levels else [])


def test_a_carried_value_that_one_person_has_is_warned_of() -> None:
    """The faith of the only chaplain was published in a column of job titles, with a plain line about uniques."""
    schema = sf.Schema.parse(tomllib.loads(SCHEMA.replace('"gout", "none"]', '"gout", "none", "chaplain"]')))
    for many, said in ((1, True), (2, False)):
        rare = pl.DataFrame({"age": [50] * many, "town": ["a"] * many, "illness": ["chaplain"] * many})
        frame = pl.concat([_frame(), rare])
        release = sf.publish(sf.read(frame, schema), sf.Mondrian(sf.KAnonymity(5)))
        start = "1 value of illness that one person alone has is published unchanged"
        assert any(text.startswith(start) for text in release.warnings()) is said


@pytest.mark.parametrize(
    ("described", "wide"),
    [("range = [0, 10000]\nstep = 10", "intervals of 10"), ("edges = [0, 2000, 9000, 10000]", "intervals")],
)
def test_a_carried_number_that_one_person_has_is_warned_of(described, wide, tmp_path) -> None:
    """Of a column of listed values it was said, and nothing of the same cells as numbers with a step."""
    columns = {
        "wage": ("sensitive", f'kind = "numeric"\n{described}'),
        "hours": ("sensitive", 'kind = "numeric"\nrange = [0, 100]'),
        "seen": ("target", 'kind = "date"\nrange = ["2020-01-01", "2024-01-01"]'),
    }
    text = SCHEMA + "".join(f'[attribute.{name}]\nrole = "{role}"\n{of}\n' for name, (role, of) in columns.items())
    wages, hours = [1000 + 50 * (at % 4) for at in range(299)], [6 + at % 2 for at in range(299)]
    seen = pl.Series([date(2020, 1 + at % 2, 1) for at in range(300)])
    two = ", 1 value of hours that one person alone has are published as described: "
    for wage, worked, ending in ((1050, 7, ""), (9990, 7, " that one person alone has is published"), (9990, 77, two)):
        frame = _frame().with_columns(wage=pl.Series([*wages, wage]), hours=pl.Series([*hours, worked]), seen=seen)
        release = sf.publish(sf.read(frame, _schema_of(text)), sf.Mondrian(sf.KAnonymity(5)))
        said = [one for one in release.warnings() if "published as described" in one]
        assert len(said) == bool(ending)
        assert all(one.startswith(f"1 value of wage in {wide}{ending}") and "wider step" in one for one in said)
    release.save(tmp_path / "out")
    assert "alone has" not in str(sf.verify(tmp_path / "out"))  # files alone do not show it


def test_a_value_of_one_row_is_not_said_to_be_one_persons() -> None:
    """Nobody had said how many rows a person has, and the value of one row was called one person's."""
    text = SCHEMA.replace("rows_per_person = 1", "").replace('"d"]', '"d", "mayor"]')
    frame = pl.concat([_frame(), pl.DataFrame({"age": [50], "town": ["mayor"], "illness": ["flu"]})])
    warnings = sf.publish(sf.read(frame, _schema_of(text)), sf.Mondrian(sf.KAnonymity(5))).warnings()
    assert any(one.startswith("1 value of town that one row alone has stands in labels") for one in warnings)
    assert "person alone" not in " ".join(warnings)


@pytest.mark.parametrize("asked", [sf.KAnonymity(3), sf.KAnonymity(3) & sf.LDiversity(2, kind="distinct")])
def test_everyone_whose_value_is_known_is_counted_in_people(asked, tmp_path) -> None:
    """A class in which all have hiv, some also flu and some no value, was not counted; under k alone, none was."""
    rows = [("a", "m", "hiv"), ("b", "m", "hiv"), ("c", "m", ""), ("d", "m", "hiv")]
    rows += [("e", "f", "hiv"), ("e", "f", "flu"), ("f", "f", "hiv"), ("g", "f", ""), ("h", "f", "hiv")]
    rows += [("i", "d", "flu"), ("j", "d", "gout"), ("k", "d", "hiv"), ("l", "d", "")]
    named = {"sex": {"role": "quasi", "values": ["m", "f", "d"]}}
    named["ill"] = {"role": "sensitive", "values": ["hiv", "flu", "gout"], "missing": [""]}
    schema = sf.Schema.parse({"name": "t", "person": "who", "attribute": named})
    table = sf.read(pl.DataFrame(rows, schema=["who", "sex", "ill"], orient="row"), schema)
    release = sf.publish(table, sf.Mondrian(asked))
    assert len(release.groups) == 3
    said = "everyone whose ill is known has the same"
    assert any(text.startswith(f"in 2 of 3 classes {said}") for text in release.warnings())
    release.save(tmp_path / "out", allow_fingerprints=True)
    for answer in (sf.Release.load(tmp_path / "out").warnings(), sf.verify(tmp_path / "out").notes):
        assert any(f"in at least 1 of 3 classes {said}" in text for text in answer)
        unseen = any(
            "whether everybody of a class has one value of ill in common cannot be seen" in one for one in answer
        )
        assert unseen is (asked == sf.KAnonymity(3))


def test_rows_that_are_nobodys_are_not_called_everyone() -> None:
    """Nobody had said who a row is about, and the sentence about known values spoke of everyone."""
    text = SCHEMA.replace("rows_per_person = 1", "").replace('"none"]', '"none"]\nmissing = [""]')
    frame = pl.DataFrame({"age": [30] * 6, "town": ["a"] * 6, "illness": ["flu", "flu", "", "flu", "", "flu"]})
    (said,) = [text for text in sf.publish(sf.read(frame, _schema_of(text)), sf.Mondrian(sf.KAnonymity(3))).warnings()
               if "known" in text]  # fmt: skip
    assert said.startswith("in 1 of 1 class all rows in which illness is known have the same value; a missing value")


def test_a_column_of_which_no_value_says_anything_is_no_failure() -> None:
    """Counting people by known values failed where no listed value is one."""
    rows = pl.DataFrame({"who": list("aabcd"), "sex": ["m"] * 5, "ill": ["unknown", "n/a", "n/a", "unknown", "n/a"]})
    named = {"sex": {"role": "quasi", "values": ["m"]}, "ill": {"role": "sensitive", "values": ["unknown", "n/a"]}}
    schema = sf.Schema.parse({"name": "t", "person": "who", "attribute": named})
    release = sf.publish(sf.read(rows, schema), sf.Mondrian(sf.KAnonymity(3)))
    assert any("everyone whose ill is known has the same" in text for text in release.warnings())


def test_codes_of_a_mask_stand_in_no_list(tmp_path) -> None:
    """Every code was published as `0****`, and nine of them were said to stand in labels or in the manifest's list."""
    described = SCHEMA.replace('values = ["a", "b", "c", "d"]', 'mask = { length = 5, from = "right" }')
    frame = _frame().with_columns(town=pl.format("0{}", pl.int_range(pl.len()) + 1000))
    release = sf.publish(sf.read(frame, sf.Schema.parse(tomllib.loads(described))), sf.Mondrian(sf.KAnonymity(5)))
    assert not [text for text in release.warnings() if "one person alone has" in text]
    release.save(tmp_path / "out")
    manifest = (tmp_path / "out" / "manifest.json").read_text()
    assert not [code for code in frame["town"].to_list() if f'"{code}"' in manifest]


def test_saving_while_publishing_warns_once(files, tmp_path) -> None:
    """The refusals are gone through before anything is written, and were gone through again while it was."""
    data, schema = files
    table = sf.read(data, sf.Schema.load(schema))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sf.publish(table, sf.Mondrian(sf.TCloseness("0.6")), save_to=tmp_path / "out", allow_unaccounted=True)
    said = [str(one.message) for one in caught if issubclass(one.category, PublicationWarning)]
    assert said
    assert len(said) == len(set(said))
    assert {one.filename for one in caught} == {__file__}


def test_a_page_adds_no_warning_of_python(files, tmp_path) -> None:
    page = ["--page", str(tmp_path / "p.html")]
    with warnings.catch_warnings():
        warnings.simplefilter("error", PublicationWarning)
        done = CliRunner().invoke(app, ["publish", "mondrian", *files, "--k", "3", "-o", str(tmp_path / "out"), *page])
    assert done.exit_code == 0, done.exception
    assert "all rows have one value" in done.stdout


def _of_people(rows, missing: str = "") -> sf.Table:
    text = PAYROLL.replace('["flu", "gout", "none"]', f'["flu", "gout", "none"]\n{missing}')
    return sf.read(pl.DataFrame(rows, schema=["employee", "age", "illness"], orient="row"), _schema_of(text))


def test_classes_that_nearly_agree_are_counted_in_people_where_they_are_known(tmp_path) -> None:
    """One person's 400 rows were said to tell the value of nearly all; 39 people of 40 were not."""
    others = [(f"b{at}", 60, ("flu", "gout", "none")[at % 3]) for at in range(60)]
    one = [(f"a{at}", 30, ("gout", "none")[at % 2]) for at in range(19)] + [("a19", 30, "flu")] * 400
    assert not any("at least 95 %" in text for text in _nearly(one + others))
    most = [(f"a{at}", 30, "flu") for at in range(39)] + [("a39", 30, "gout")] * 21
    said = "in 1 of 2 classes of 20 people or more at least 95 % of the people have one value of illness"
    for asked in (sf.KAnonymity(20), sf.KAnonymity(20) & sf.TCloseness("0.6")):
        release = sf.publish(_of_people(most + others), sf.Mondrian(asked))
        assert [text for text in release.warnings() if text.startswith(said) and "knows it of nearly all" in text]
        release.save(tmp_path / str(asked.reads_sensitive), allow_fingerprints=True)
        loaded = sf.Release.load(tmp_path / str(asked.reads_sensitive)).warnings()
        assert any(said in text for text in loaded) == asked.reads_sensitive  # else nobody with the files can see it
        notes = sf.verify(tmp_path / str(asked.reads_sensitive)).notes
        assert any(said in text for text in notes) == asked.reads_sensitive


def _nearly(rows) -> tuple[str, ...]:
    release = sf.publish(_of_people(rows), sf.Mondrian(sf.KAnonymity(20)))
    assert release.summary().classes == 2
    return release.warnings()


@pytest.mark.parametrize("stated", ["rows_per_person = 2\n", ""])
def test_rows_that_may_not_be_people_tell_nobodys_value(stated) -> None:
    schema = sf.Schema.parse(tomllib.loads(SCHEMA.replace("rows_per_person = 1\n", stated)))
    release = sf.publish(sf.read(_regular(), schema), sf.Mondrian(k=20))
    assert any("at least 95 % of the rows" in text for text in release.warnings())
    assert not any("knows it of nearly all" in text for text in release.warnings())


def test_a_class_in_which_some_have_a_value_is_not_said_to_have_none(tmp_path) -> None:
    """Where 38 of 40 values are missing it was said that nobody has one."""
    schema = sf.Schema.parse(tomllib.loads(f'{SCHEMA}missing = ["-"]\n'))
    rows = _regular(others=1).with_columns(illness=pl.col("illness").replace({"gout": "-"}))
    release = sf.publish(sf.read(rows, schema), sf.Mondrian(k=40))
    release.save(tmp_path / "out")
    for said in (release.warnings(), sf.verify(tmp_path / "out").notes):
        assert any("at least 95 %" in text and "in all of them that value is: missing" in text for text in said)
        assert not any("nobody has a value" in text or "knows it of nearly all" in text for text in said)


def test_nearly_all_lack_a_value_only_where_they_have_no_other() -> None:
    others = [(f"b{at}", 60, ("flu", "gout", "none")[at % 3]) for at in range(60)]
    both = [(f"a{at}", 30, ill) for at in range(40) for ill in ("-", ("flu", "gout", "none")[at % 3])]
    release = sf.publish(_of_people(both + others, 'missing = ["-"]'), sf.Mondrian(sf.KAnonymity(20)))
    assert release.summary().classes == 2
    assert not any("at least 95 %" in text for text in release.warnings())


def test_the_verifier_takes_no_missing_value_for_one_that_everybody_has(tmp_path) -> None:
    """Everybody lacks a value in one row and has one in another: it said that everybody has one in common."""
    rows = [(f"a{at}", 30 + at, ill) for at in range(20) for ill in ("-", ("flu", "gout", "none")[at % 3])]
    release = sf.publish(_of_people(rows, 'missing = ["-"]'), sf.Mondrian(sf.KAnonymity(5) & sf.TCloseness("0.5")))
    release.save(tmp_path / "out", allow_fingerprints=True)
    assert "everybody has one value" not in str(sf.verify(tmp_path / "out"))


@pytest.mark.parametrize("method", [sf.Anatomy(2), sf.Bucketize(sf.LDiversity(2))], ids=lambda one: one.name)
def test_groups_that_may_be_one_persons_ask_for_an_l_that_leaves_none(method, tmp_path) -> None:
    """Anatomy(2) was said not to take l, and l of at least 2 was asked for where it had been."""
    values = ["flu", "gout", "none", "cold"]
    text = SCHEMA.replace("rows_per_person = 1", "rows_per_person = 2").replace('"none"]', '"none", "cold"]')
    rows = pl.DataFrame({"age": list(range(80)), "town": ["a"] * 80, "illness": [values[at % 4] for at in range(80)]})
    table = sf.read(rows, _schema_of(text))
    release = sf.publish(table, method)
    (said,) = [one for one in release.warnings() if "may be one person only" in one]
    assert "Ask for l of at least 3" in said
    assert "rows_per_person = 1" in said
    assert "does not take" not in said
    release.save(tmp_path / "out", allow_text=True)
    assert any(
        f"in {release.exposed().single} of" in one and "groups" in one for one in sf.verify(tmp_path / "out").notes
    )
    enough = sf.Anatomy(3) if method.name == "anatomy" else sf.Bucketize(sf.LDiversity(3))
    assert not sf.publish(table, enough).exposed().single


def test_a_value_of_two_rows_is_not_said_to_be_one_persons() -> None:
    """Two people with one row each had it: nobody who reads the rows knows whose they are."""
    text = SCHEMA.replace("rows_per_person = 1", "rows_per_person = 2").replace('"d"]', '"d", "mayor"]')
    two = pl.DataFrame({"age": [50, 51], "town": ["mayor"] * 2, "illness": ["flu", "gout"]})
    release = sf.publish(sf.read(pl.concat([_frame(), two]), _schema_of(text)), sf.Mondrian(sf.KAnonymity(5)))
    assert any("1 value of town that may be one person's stands" in one for one in release.warnings())
    assert not any("one person alone has" in one for one in release.warnings())
