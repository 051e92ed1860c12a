"""A key that stands for several people counts them as one: their ages and days of birth tell it."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.notes import table_warnings
from sfumato.counts import mixed_keys
from sfumato.errors import PublicationWarning

WORDS = "one key may stand for several people"


def read(frame, **options):
    columns = {
        "file": {"role": "identifier"},
        "sex": {"role": "quasi", "values": ["f", "m"]},
        "town": {"role": "quasi", "values": ["Bonn", "Hof", "Jena"]},
        "ill": {"role": "sensitive", "values": ["a", "b", "c"]},
    }
    if "age" in frame.columns:
        columns["age"] = {"role": "quasi", "kind": "numeric", "range": [0, 100], "missing": [""]}
    return sf.read(frame, sf.Schema.parse({"name": "t", "person": "file", "attribute": columns, **options}))


def mixed(frame):
    return [one for one in read(frame).doubts.remarks() if WORDS in one.rule]


def families(rng, number=300):
    """A file number of each family; its members share a town."""
    rows = []
    for at in range(number):
        town = str(rng.choice(["Bonn", "Hof", "Jena"]))
        rows += [
            (f"V{at}", int(rng.integers(0, 70)), str(rng.choice(["f", "m"])), town, str(rng.choice(["a", "b", "c"])))
            for _ in range(int(rng.integers(1, 6)))
        ]
    return pl.DataFrame(rows, schema=["file", "age", "sex", "town", "ill"], orient="row")


def sites(rng):
    """Subjects are numbered from 1 in each of five sites; the age stands in the first row of each."""
    rows = []
    for subject in range(80):
        for _ in range(5):
            age, sex = int(rng.integers(18, 90)), str(rng.choice(["f", "m"]))
            rows += [(f"{subject:03}", age if at == 0 else None, sex, "Bonn", "a") for at in range(4)]
    return pl.DataFrame(rows, schema=["file", "age", "sex", "town", "ill"], orient="row")


def namesakes(rng):
    """Pupils under their names, which some share; a day of birth tells them apart."""
    rows = []
    for _ in range(500):
        who, born = (
            f"n{rng.integers(0, 400)}",
            f"{rng.integers(1, 29):02}.{rng.integers(1, 13):02}.{rng.integers(2006, 2013)}",
        )
        rows += [(who, born, "f", "Hof", str(rng.choice(["a", "b", "c"]))) for _ in range(3)]
    return pl.DataFrame(rows, schema=["file", "Geburtsdatum", "sex", "town", "ill"], orient="row")


def patients(rng, *, years=1, slips=0):
    """One key for each person, who grows older in the years of the file; some days of birth have a slip of the pen."""
    rows = []
    for at in range(400):
        born, sex = (int(rng.integers(1940, 2005)), int(rng.integers(1, 13)), int(rng.integers(1, 29))), "f"
        for visit in range(int(rng.integers(1, 5))):
            year = 2000 + int(rng.integers(0, years + 1))
            wrong = visit == 1 and at < slips
            day = f"{born[0]}-{born[1]:02}-{born[2] % 28 + 1 if wrong else born[2]:02}"
            rows.append((f"P{at}", year - born[0], day, born[0] + wrong, f"{year}-05-01", sex, "Hof", "a"))
    names = ["file", "age", "date_of_birth", "yob", "seen", "sex", "town", "ill"]
    return pl.DataFrame(rows, schema=names, orient="row").filter(pl.col("age") >= 0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("made", "by"), [(families, "age more than 10 years"), (sites, "age more than"), (namesakes, "Geburtsdatum")]
)
def test_a_key_of_several_people_is_warned_of(made, by, seed):
    frame = made(np.random.default_rng(seed))
    (found,) = mixed(frame)
    assert by in found.rule
    table = read(frame)
    assert any(WORDS in one for one in table_warnings(table, sf.Mondrian(sf.KAnonymity(5)).claim(table.schema)))


@pytest.mark.parametrize(
    ("method", "options"), [(sf.Mondrian(sf.KAnonymity(2)), {}), (sf.Anatomy(2), {"rows_per_person": 1})]
)
def test_the_library_warns_when_it_publishes(method, options):
    with pytest.warns(PublicationWarning, match=f"file: of 300 keys .*{WORDS}.* Give each person a key of their own"):
        sf.publish(read(families(np.random.default_rng(0)), **options), method)


def test_under_differential_privacy_the_library_neither_warns_nor_refuses():
    """A warning can be turned into an error (`python -W error`), and that would depend on the rows."""
    table = read(families(np.random.default_rng(0)), source="public", rows_per_person=2)
    assert table.doubts.of_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PublicationWarning)
        sf.publish(table, sf.NoisyTable(1), seed=1)


@pytest.mark.parametrize("seed", range(3))
def test_people_who_grow_older_and_slips_of_the_pen_are_not(seed):
    for years, slips in ((1, 0), (30, 0), (5, 200)):
        assert mixed(patients(np.random.default_rng(seed), years=years, slips=slips)) == []
    without = patients(np.random.default_rng(seed), years=8).drop("seen")
    assert mixed(without) == []


def test_mutants_are_caught(monkeypatch):
    rng = np.random.default_rng(1)
    with monkeypatch.context() as mutant:
        mutant.setattr(mixed_keys, "_YEARS", 1)
        assert mixed(patients(rng, years=8).drop("seen"))
    with monkeypatch.context() as mutant:
        mutant.setattr(mixed_keys, "_other_lives", lambda *_: {})
        assert mixed(families(rng)) == []


def births(*, shared=True, column="mother_id", answer=()):
    """150 births by 100 mothers, or one each; every published column describes the mother."""
    mothers = [at % 100 if shared else at for at in range(150)]
    frame = pl.DataFrame(
        {
            "child_id": [f"C{at:04}" for at in range(150)],
            column: [f"M{at:04}" for at in mothers],
            "age": [20 + at % 20 + row // 100 for row, at in enumerate(mothers)],
            "town": ["abcd"[at % 4] for at in mothers],
            "hiv": ["yn"[at % 3 > 0] for at in mothers],
        }
    )
    schema = sf.Schema.parse(
        {
            "name": "births",
            "person": "child_id",
            "rows_per_person": 1,
            "not_person": list(answer),
            "attribute": {
                "child_id": {"role": "identifier"},
                column: {"role": "identifier"},
                "age": {"role": "quasi", "kind": "numeric", "range": [0, 60]},
                "town": {"role": "quasi", "values": [*"abcd"]},
                "hiv": {"role": "sensitive", "values": ["y", "n"]},
            },
        }
    )
    return sf.read(frame, schema)


def others(table):
    return [problem.path for problem in table.doubts.of_classes() if "key of other people" in problem.rule]


def test_a_key_of_other_people_beside_that_of_person_is_named():
    """Classes of five children held two mothers, whom every published column described, and nothing said so."""
    assert others(births()) == ["attribute.mother_id"]
    assert others(births(shared=False)) == []
    assert others(births(column="clinic_id")) == []
    assert others(births(answer=["mother_id"])) == []
    with pytest.warns(PublicationWarning, match="key of other people than child_id: up to 2"):
        sf.publish(births(), sf.Mondrian(sf.KAnonymity(5)))


def test_publish_warns_of_a_key_with_very_many_rows():
    """`check` did, `publish` did not."""
    keys = [f"P{at // 2:03}" for at in range(400)] + ["P999"] * 60
    frame = pl.DataFrame({"p": keys, "age": [at % 60 for at in range(460)], "hiv": ["yn"[at % 2] for at in range(460)]})
    attributes = {
        "p": {"role": "identifier"},
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 60]},
        "hiv": {"role": "sensitive", "values": ["y", "n"]},
    }
    table = sf.read(frame, sf.Schema.parse({"name": "t", "person": "p", "attribute": attributes}))
    with pytest.warns(PublicationWarning, match="one key has 60 rows"):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))


def test_a_declared_code_for_no_answer_is_not_another_year_of_birth():
    rng = np.random.default_rng(1)
    years = {f"R{at:05d}": int(rng.integers(1940, 2003)) for at in range(300)}
    rows = [(key, 9999 if rng.random() < 0.05 else year, "f", "Hof", "a") for key, year in years.items() for _ in "123"]
    frame = pl.DataFrame(rows, schema=["file", "geboortejaar", "sex", "town", "ill"], orient="row")

    def remarks(**more):
        born = {"role": "quasi", "kind": "numeric", "range": [1930, 2010 if more else 10_000], **more}
        columns = {
            "file": {"role": "identifier"},
            "geboortejaar": born,
            "sex": {"role": "quasi", "values": ["f", "m"]},
            "ill": {"role": "sensitive", "values": ["a", "b"]},
        }
        table = sf.read(frame, sf.Schema.parse({"name": "t", "person": "file", "attribute": columns}))
        return [one for one in table.doubts.remarks() if WORDS in one.rule]

    assert remarks()  # a year of its own, until the schema says what it means
    assert remarks(missing=["9999"]) == []


def test_one_birthday_in_two_forms_is_one():
    rng = np.random.default_rng(2)
    rows = []
    for at in range(100):
        year, month, day = rng.integers(1940, 2000), rng.integers(1, 13), rng.integers(1, 29)
        days = (f"{year}-{month:02d}-{day:02d}", f"{day:02d}.{month:02d}.{year}")
        rows += [(f"K{at}", dob, "f", "Bonn", "a") for dob in days]
    names = ["file", "date of birth", "sex", "town", "ill"]
    assert mixed(pl.DataFrame(rows, schema=names, orient="row")) == []
    other = [(key, dob if at % 2 else "1931-11-30", *rest) for at, (key, dob, *rest) in enumerate(rows)]
    assert len(mixed(pl.DataFrame(other, schema=names, orient="row"))) == 1


def test_what_was_seen_in_the_first_rows_is_said_of_them(monkeypatch):
    frame = pl.DataFrame(
        {"file": [f"K{at // 2}" for at in range(60)], "dob": [f"19{40 + at}-0{1 + at % 9}-11" for at in range(60)]}
    ).with_columns(sex=pl.lit("f"), town=pl.lit("Bonn"), ill=pl.lit("a"))
    (whole,) = mixed(frame)
    monkeypatch.setattr("sfumato.counts.row_groups.FIRST_ROWS", 40)
    (part,) = mixed(frame)
    assert ("of 30 keys" in whole.rule, "first" in whole.rule) == (True, False)
    assert "in the first 40 rows of 20 keys" in part.rule
