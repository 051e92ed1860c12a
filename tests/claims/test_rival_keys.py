"""Of two keys the person is the one whose rows agree; a key that stands for several people is reported."""

from __future__ import annotations

import datetime as dt
import random
import re
import tomllib
from dataclasses import replace

import polars as pl
import pytest

import sfumato as sf

COLUMNS = """
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
[attribute.sex]
role = "quasi"
values = ["F", "M"]
[attribute.town]
role = "quasi"
values = ["a", "b", "c", "d"]
[attribute.illness]
role = "sensitive"
values = ["flu", "gout", "none"]
"""
PAIRS = [
    ("teacher_id", "student_id"),
    ("case_id", "contact_id"),
    ("employee_no", "client_no"),
    ("referrer_email", "email"),
    ("mother_id", "child_id"),
]


def two_keys(other: str, subject: str, *, seed: int = 4, unique: str = "") -> pl.DataFrame:
    """Rows of 250 people, several each, and another party's key that meets them at random."""
    draw = random.Random(seed)
    rows = []
    for at in range(250):
        same = {"age": draw.randint(18, 80), "sex": draw.choice("FM"), "town": draw.choice("abcd")}
        for _ in range(draw.choice([2, 4, 5, 6])):
            keys = {other: f"K{draw.randint(1000, 1500)}", subject: f"C{at:05d}"}
            rows.append({**keys, **same, "illness": draw.choice(["flu", "gout", "none"])})
    draw.shuffle(rows)
    return pl.DataFrame([{**({unique: f"U{at:06d}"} if unique else {}), **row} for at, row in enumerate(rows)])


def _proposed(frame: pl.DataFrame) -> str:
    found = re.search(r'^person = "([^"]*)"', sf.draft(frame), re.MULTILINE)
    return found[1] if found else ""


@pytest.mark.parametrize(("other", "subject"), PAIRS)
def test_of_two_keys_a_draft_proposes_the_one_whose_rows_agree(other: str, subject: str) -> None:
    frame = two_keys(other, subject)
    assert _proposed(frame) == subject
    assert _proposed(frame.select(subject, other, "age", "sex", "town", "illness")) == subject


def test_a_unique_identifier_leaves_no_shared_telephone_as_a_person() -> None:
    draw = random.Random(2)
    rows = []
    for family in range(300):
        town = draw.choice("abcd")
        for _ in range(draw.choice([1, 2, 3])):
            pupil = {"pupil_no": f"S{len(rows):05d}", "guardian_phone": f"07{family:08d}"}
            rows.append({**pupil, "age": draw.randint(6, 18), "sex": draw.choice("FM"), "town": town, "illness": "flu"})
    assert _proposed(pl.DataFrame(rows)) == ""
    # Each visit has a number of its own here, and the rows of an address agree: it is the person's.
    assert _proposed(two_keys("doctor", "email", unique="visit_id")) == "email"


def _schema(person: str, *others: str, not_person: str = "") -> sf.Schema:
    passed = f'not_person = ["{not_person}"]\n' if not_person else ""
    named = "".join(f'[attribute.{name}]\nrole = "identifier"\n' for name in (person, *others))
    return sf.Schema.parse(tomllib.loads(f'name = "t"\nperson = "{person}"\n{passed}{named}{COLUMNS}'))


@pytest.mark.parametrize(("other", "subject"), PAIRS)
def test_a_second_key_whose_rows_agree_is_refused(other: str, subject: str) -> None:
    frame = two_keys(other, subject)
    wrong = sf.read(frame, _schema(other, subject))
    (warned,) = [one for one in wrong.doubts.remarks() if one.path == f"attribute.{subject}"]
    assert f"those of {other}, which `person` names, do not" in warned.rule
    with pytest.raises(sf.SchemaError, match=subject):
        sf.publish(wrong, sf.Mondrian(sf.KAnonymity(5)))
    # The right key, and a wrong one that somebody answers for, pass.
    assert sf.publish(sf.read(frame, _schema(subject, other)), sf.Mondrian(sf.KAnonymity(5))).people is not None
    answered = sf.read(frame, _schema(other, subject, not_person=subject))
    assert sf.publish(answered, sf.Mondrian(sf.KAnonymity(5))).people is not None


def cards(each: int, *, shared: str = "name") -> pl.DataFrame:
    """Two loans on each of several cards of 200 readers; the rows of a card agree as well as those of a reader."""
    draw = random.Random(6)
    rows = []
    for at in range(200):
        same = {"age": draw.randint(18, 80), "sex": draw.choice("FM"), "town": draw.choice("abcd")}
        for card in range(each):
            whose = same if shared == "name" else {**same, "age": draw.randint(18, 80), "sex": draw.choice("FM")}
            key = {"card_no": f"C{draw.randint(100, 999)}{at:03d}{card}", shared: f"R{at:03d}"}
            rows += [{**key, **whose, "illness": draw.choice(["flu", "gout", "none"])} for _ in range(2)]
    draw.shuffle(rows)
    return pl.DataFrame(rows)


def test_several_keys_of_one_name_that_agree_are_refused() -> None:
    """A card for each year: 600 people were counted where there are 200."""
    table = sf.read(cards(3), _schema("card_no", "name"))
    (warned,) = table.doubts.suspected_keys()
    assert warned.path == "attribute.name"
    assert "one row of each card_no, which `person` names, is compared" in warned.rule
    with pytest.raises(sf.SchemaError, match="one row of each card_no"):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    by_name = sf.publish(sf.read(cards(3), _schema("name", "card_no")), sf.Mondrian(sf.KAnonymity(5)))
    assert by_name.people is not None
    assert by_name.people.everyone == 200
    answered = sf.read(cards(3), _schema("card_no", "name", not_person="name"))
    assert sf.publish(answered, sf.Mondrian(sf.KAnonymity(5))).people is not None


def test_several_keys_of_one_birthday_and_column_are_refused() -> None:
    """Too few towns to tell by: the birthday and a column of many values, whatever it is called, say it together."""
    draw = random.Random(9)
    born, surname = ({f"R{at:03d}": f(at) for at in range(200)} for f in (_birthday, lambda at: f"Name{at % 24}"))
    frame = cards(3).with_columns(
        born=pl.col("name").replace_strict(born), letters=pl.col("name").replace_strict(surname)
    )
    columns = COLUMNS.replace(
        'kind = "numeric"\nrange = [0, 100]', 'kind = "date"\nrange = ["1940-01-01", "2010-01-01"]'
    )
    answer = f'name = "t"\nperson = "card_no"\n{columns.replace("attribute.age", "attribute.born")}'
    table = sf.read(frame.drop("name", "age"), sf.Schema.parse(tomllib.loads(answer)))
    (warned,) = table.doubts.suspected_keys()
    assert warned.path == "attribute.born"
    assert "one row of each card_no" in warned.rule
    others = [_birthday(draw.randint(0, 10**6)) for _ in range(frame.height)]
    loose = pl.DataFrame({"card_no": frame["card_no"].unique(maintain_order=True)}).with_columns(
        born=pl.Series(others[: frame["card_no"].n_unique()])
    )
    apart = sf.read(frame.drop("name", "age", "born").join(loose, on="card_no"), table.schema)
    assert apart.doubts.suspected_keys() == []


def _birthday(at: int) -> str:
    return str(dt.date(1940, 1, 1) + dt.timedelta(days=at * 7919 % 25_000))


@pytest.mark.parametrize("changes", [False, True])
def test_several_keys_of_one_name_in_two_columns_are_refused(changes: bool) -> None:
    """First name and surname say it together, also where people grow older between their cards."""
    frame = cards(3)
    parts = pl.col("name").str.slice(1).cast(pl.Int64)
    older = pl.col("card_no").str.slice(-1).cast(pl.Int64) if changes else pl.lit(0)
    frame = frame.with_columns(
        age=pl.col("age") + older,
        first=pl.lit("F") + (parts % 17).cast(str),
        last=pl.lit("L") + (parts // 17).cast(str),
    )
    names = ("first", "last")
    for passed in ("", "first", "last"):  # true of either, and no reason why rows of both agree
        table = sf.read(frame.drop("name"), _schema("card_no", *names, not_person=passed))
        (warned,) = table.doubts.suspected_keys()
        assert "together with last" in warned.rule
        assert 'person = ["first", "last"]' in str(warned)
        assert "copies_are_people" in str(warned)
    plain = _schema("card_no", *names)
    assert sf.read(frame.drop("name"), replace(plain, copies_are_people=True)).doubts.suspected_keys() == []
    assert sf.read(frame.drop("name"), replace(plain, person=names)).doubts.suspected_keys() == []


def patients(number: int = 6000, *, visits: tuple[int, ...] = (1, 2, 4), surnames: int = 400) -> pl.DataFrame:
    """A list by name and birthday: the age follows from the birthday and the sex from the first name."""
    draw = random.Random(3)
    firsts = [(f"{sex}{at}", sex) for sex in "FM" for at in range(15)]
    rows = []
    for _ in range(number):
        (first, sex), year = draw.choice(firsts), draw.randint(1940, 2005)
        born = dt.date(year, 1, 1) + dt.timedelta(days=draw.randrange(365))
        who = {"First name": first, "surname": f"S{draw.randrange(surnames)}", "DOB": str(born)}
        same = {"age": 2024 - year, "sex": sex, "town": draw.choice("abcd")}
        rows += [{**who, **same, "illness": draw.choice(["flu", "gout"])} for _ in range(draw.choice(visits))]
    draw.shuffle(rows)
    return pl.DataFrame(rows)


NAMED = ("First name", "surname", "DOB")


def _listed(**head) -> sf.Schema:
    named = {name: {"role": "identifier"} for name in NAMED}
    return sf.Schema.parse({"name": "t", **head, "attribute": {**named, **tomllib.loads(COLUMNS)["attribute"]}})


def test_names_and_a_birthday_that_repeat_are_a_person() -> None:
    """Each column of the name is nobody's key, so `not_person` is true of it; together they are the patient."""
    frame = patients()
    table = sf.read(frame, _listed(rows_per_person=1, not_person=list(NAMED)))
    (found,) = table.doubts.suspected_keys()
    assert "repeats together with surname, DOB: up to 4 rows" in found.rule
    assert 'person = ["First name", "surname", "DOB"]' in found.hint
    with pytest.raises(sf.SchemaError, match="together with surname, DOB"):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    keyed = sf.publish(sf.read(frame, _listed(person=list(NAMED))), sf.Mondrian(sf.KAnonymity(5)))
    assert keyed.people.everyone == frame.select(NAMED).n_unique()
    for answer in ({"rows_per_person": 4}, {"rows_per_person": 1, "copies_are_people": True}):
        assert sf.read(frame, _listed(not_person=list(NAMED), **answer)).doubts.suspected_keys() == []


@pytest.mark.parametrize("number", [300, 20_000])
def test_people_with_one_row_each_may_share_a_name_and_a_birthday(number: int) -> None:
    frame = patients(number, visits=(1,), surnames=4)
    table = sf.read(frame, _listed(rows_per_person=1, not_person=list(NAMED)))
    assert table.doubts.suspected_keys() == []


def test_a_person_shown_by_three_columns_together_is_refused() -> None:
    """The clinic, the year and a number in both; no two of them are a key."""
    draw = random.Random(8)
    rows = []
    for at in range(360):
        key = {"clinic": at % 5, "cohort": 2015 + at // 5 % 6, "running": at // 30}
        same = {"age": draw.randint(18, 80), "sex": draw.choice("FM"), "town": draw.choice("abcd")}
        rows += [{**key, **same, "illness": draw.choice(["flu", "gout"])} for _ in range(draw.choice([1, 3]))]
    frame = pl.DataFrame(rows).sample(fraction=1, shuffle=True, seed=1)
    described = {"name": "t", "rows_per_person": 1, "attribute": tomllib.loads(COLUMNS)["attribute"]}
    (found,) = sf.read(frame, sf.Schema.parse(described)).doubts.suspected_keys()
    assert "together with cohort and running" in found.rule
    assert 'person = ["clinic", "cohort", "running"]' in found.hint
    loose = frame.with_columns(running=pl.col("running").shuffle(seed=2))
    assert sf.read(loose, sf.Schema.parse(described)).doubts.suspected_keys() == []


def test_mutants_that_count_keys_of_one_person_as_people_are_caught(monkeypatch) -> None:
    def two_names_are_refused() -> None:
        test_several_keys_of_one_name_in_two_columns_are_refused(changes=False)

    for name, mutant, caught_by in [
        (
            "sfumato.counts.doubts.keys_beside",
            lambda *_, **__: [],
            test_several_keys_of_one_name_that_agree_are_refused,
        ),
        ("sfumato.counts.suspected_keys._several_columns", lambda *_: [], two_names_are_refused),
        (
            "sfumato.counts.suspected_keys._named_people",
            lambda *_: [],
            test_names_and_a_birthday_that_repeat_are_a_person,
        ),
        (
            "sfumato.counts.suspected_keys._several_columns",
            lambda *_: [],
            test_a_person_shown_by_three_columns_together_is_refused,
        ),
        (
            "sfumato.counts.suspected_keys.more_than_by_chance",
            lambda *_: 2,
            lambda: test_people_with_one_row_each_may_share_a_name_and_a_birthday(20_000),
        ),
        (
            "sfumato.counts.other_keys._one_row_of_each",  # every row of a key is taken for another key
            lambda source, _: source,
            test_children_of_one_mother_and_readers_with_one_card_are_people,
        ),
    ]:
        caught_by()
        with monkeypatch.context() as broken:
            broken.setattr(name, mutant)
            with pytest.raises((AssertionError, ValueError)):
                caught_by()


def test_keys_that_are_objects_are_compared_too() -> None:
    frame = cards(3)
    mixed = [int(key[1:]) if key[-1] == "0" else key for key in frame["card_no"]]
    objects = frame.with_columns(card_no=pl.Series(mixed, dtype=pl.Object))
    for table in (
        sf.read(one, _schema("card_no", "name")) for one in (objects, frame.to_pandas().assign(card_no=mixed))
    ):
        assert table.people == 600
        assert [one.path for one in table.doubts.suspected_keys()] == ["attribute.name"]


def test_children_of_one_mother_and_readers_with_one_card_are_people() -> None:
    assert sf.read(cards(3, shared="mother_id"), _schema("card_no", "mother_id")).doubts.suspected_keys() == []
    assert sf.read(cards(1), _schema("card_no", "name")).doubts.suspected_keys() == []


def test_a_key_of_visits_is_no_rival_of_a_person_who_grows_older() -> None:
    frame = two_keys("doctor_id", "patient_id").with_columns(visit_id=pl.int_range(pl.len()) // 2)
    frame = frame.sort("patient_id").with_columns(visit_id=pl.int_range(pl.len()) // 2)
    frame = frame.with_columns(age=pl.col("age") + pl.int_range(pl.len()) % 3)
    assert sf.read(frame, _schema("patient_id", "visit_id", "doctor_id")).doubts.suspected_keys() == []


def _mixed(number: int, keys: int = 300) -> pl.DataFrame:
    """Two rows for each key; `number` keys stand for two people of another sex in another town."""
    draw = random.Random(1)
    rows = []
    for at in range(keys):
        age, sex, town = draw.randint(18, 80), draw.choice("FM"), draw.choice("abc")
        one = {"patient_id": f"P{at:04d}", "age": age, "sex": sex, "town": town, "illness": "flu"}
        rows += [one, {**one, "sex": "M" if sex == "F" else "F", "town": "d"} if at < number else one]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("number", "keys", "warned"), [(0, 300, 0), (2, 300, 0), (4, 300, 4), (5, 900, 5), (60, 300, 60)]
)
def test_keys_that_stand_for_several_people_are_reported(number: int, keys: int, warned: int) -> None:
    said = [
        one
        for one in sf.read(_mixed(number, keys), _schema("patient_id")).doubts.remarks()
        if "several people" in one.rule
    ]
    assert [one.count for one in said] == ([warned] if warned else [])


def test_people_who_move_are_not_reported_as_several() -> None:
    frame = _mixed(0)
    moved = frame.with_columns(town=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("d")).otherwise("town"))
    assert not [one for one in sf.read(moved, _schema("patient_id")).doubts.remarks() if "several people" in one.rule]


def test_a_missing_value_is_not_another_person() -> None:
    columns = COLUMNS.replace('values = ["F", "M"]', 'values = ["F", "M"]\nmissing = ["unknown"]')
    columns = columns.replace('values = ["a", "b", "c", "d"]', 'values = ["a", "b", "c", "d"]\nmissing = [""]')
    answer = f'name = "t"\nperson = "patient_id"\n[attribute.patient_id]\nrole = "identifier"\n{columns}'
    second = pl.int_range(pl.len()) % 2 == 1
    lacking = _mixed(0).with_columns(
        sex=pl.when(second).then(pl.lit("unknown")).otherwise("sex"), town=pl.when(second).then(None).otherwise("town")
    )
    table = sf.read(lacking, sf.Schema.parse(tomllib.loads(answer)))
    assert not [one for one in table.doubts.remarks() if "several people" in one.rule]
