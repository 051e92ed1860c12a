"""Keys of people that no name gives away: found by rows that agree, in every role, and never in ordinary columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import sfumato as sf
from sfumato.counts import suspected_keys

TOWNS = ["Arnhem", "Breda", "Delft", "Gouda"]
JOBS = ["clerk", "cook", "driver", "nurse", "smith"]
ILL = ["asthma", "flu", "gout", "migraine"]
QUASI = {
    "age": {"role": "quasi", "kind": "numeric", "range": [0, 120]},
    "sex": {"role": "quasi", "values": ["F", "M"]},
    "town": {"role": "quasi", "values": TOWNS},
    "illness": {"role": "sensitive", "values": ILL},
}
K5 = sf.Mondrian(sf.KAnonymity(5))


def schema(more=None, /, **head):
    return sf.Schema.parse({"name": "t", "rows_per_person": 1, **head, "attribute": {**QUASI, **(more or {})}})


def people(seed=3, number=250, most=9):
    """One line for each row of each person: number, row of the person, age, sex, town."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(number):
        age, sex, town = int(rng.integers(18, 90)), str(rng.choice(["F", "M"])), str(rng.choice(TOWNS))
        times = 1 if rng.random() < 0.4 else int(rng.integers(3, most + 1))
        rows += [(person, at, age, sex, town, str(rng.choice(ILL))) for at in range(times)]
    frame = pl.DataFrame(rows, schema=["person", "at", "age", "sex", "town", "illness"], orient="row")
    return frame.sample(fraction=1, shuffle=True, seed=seed)


def answer(frame, described):
    """What check warns of or refuses, by column."""
    problems = sf.check(frame, described)
    return problems or list(sf.read(frame, described).doubts.remarks())


@pytest.mark.parametrize("name", ["patient_id", "actor"])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "target", "other", "identifier"])
def test_a_key_in_any_role_is_refused(name, role):
    frame = people().with_columns(pl.format("u{}", "person").alias(name)).drop("person", "at")
    column = {name: {"role": role, "values": sorted(frame[name].unique())}}
    found = sf.check(frame, schema(column))
    assert [problem.path for problem in found] == [f"attribute.{name}"]
    assert f'person = "{name}"' in found[0].hint
    assert ('role = "identifier"' in found[0].hint) == (role in ("quasi", "sensitive", "target"))
    with pytest.raises(sf.SchemaError, match=r"of one person do|looks like the key of a person"):
        sf.publish(sf.read(frame, schema(column)), K5)
    other = bool(sf.check(frame, schema(column, not_person=[name])))
    assert other == (role == "quasi")  # what others know of a person is no key in any table: that explains nothing
    assert not sf.check(frame, schema(column, not_person=[name], copies_are_people=True))
    assert not sf.check(frame, schema(column, rows_per_person=9))


def test_the_second_look_at_a_table_says_the_same():
    frame = people().with_columns(clinic=pl.format("c{}", pl.col("person") // 8)).drop("person", "at")
    frame = frame.with_columns(age=pl.col("clinic").str.slice(1).cast(int), sex=pl.lit("F"), town=pl.lit("Breda"))
    table = sf.read(frame, schema({"clinic": {"role": "identifier"}}))
    assert (found := [str(one) for one in table.doubts.repeated_keys()])
    assert found == [str(one) for one in table.doubts.repeated_keys()]


def test_a_hint_proposes_no_number_read_off_the_data():
    frame = people().with_columns(mrn=pl.format("u{}", "person")).drop("person", "at")
    hint = sf.check(frame, schema())[0].hint
    assert "rows_per_person = m" in hint
    assert "without looking at the data" in hint
    assert hint.startswith('person = "mrn"')


# -- keys whose people change, keys in two columns, keys of rows that begin with the person's --------------------


def refused(frame, described):
    """Warned of in check, refused where a claim counts people, not refused where it is proved or counts rows."""
    found = answer(frame, described)
    with pytest.raises(sf.SchemaError, match="as the rows of one person do"):
        sf.publish(sf.read(frame, described), K5)
    return found


def test_a_key_whose_people_grow_older_is_refused():
    frame = people().with_columns(pl.format("X{}", "person").alias("ref"), pl.col("age") + pl.col("at") // 2)
    frame = frame.with_columns(year=2015 + pl.col("at")).drop("person", "at")
    assert not sf.check(frame, schema())  # no two rows of a person agree in everything
    found = refused(frame, schema())
    assert [problem.path for problem in found] == ["ref"]
    assert "agree or nearly agree in 3 of 3 quasi-identifiers" in found[0].rule
    year = {"year": {"role": "quasi", "kind": "numeric", "range": [2010, 2030]}}
    assert [problem.path for problem in refused(frame, schema(year))] == ["ref"]
    for said in ({"rows_per_person": 9}, {"person": "ref"}):
        assert not answer(frame, schema(**said))
    (pairs,) = answer(frame, schema(not_person=["ref"]))  # which is false here: two rows of a person agree each
    assert "occur an even number of times" in pairs.rule


def test_a_key_in_two_columns_is_refused():
    frame = people(number=300).with_columns(
        clinic=pl.format("KH{}", pl.col("person") // 25), no=pl.col("person") % 25, stay=pl.int_range(pl.len())
    )
    frame = frame.drop("person", "at")
    found = refused(frame, schema())
    assert [problem.path for problem in found] == ["clinic"]
    assert 'person = ["clinic", "no"]' in found[0].hint
    assert answer(frame, schema(not_person=["clinic"])), "true of a clinic, and no reason why rows agree"
    assert not answer(frame, schema(copies_are_people=True))
    assert not answer(frame, schema(person=["clinic", "no"]))


@pytest.mark.parametrize("written", ["P{}/{}", "P{}-{}", "P{} {}", "{}{}"])
def test_a_key_of_rows_that_begins_with_the_person_is_refused(written):
    whole = pl.col("person").cast(pl.String).str.zfill(3)
    frame = people().with_columns(stay=pl.format(written, whole, pl.col("at") + 1)).drop("person", "at")
    described = schema({"stay": {"role": "identifier"}})
    assert not sf.check(frame, described)
    found = refused(frame, described)
    assert [problem.path for problem in found] == ["attribute.stay"]
    assert "column of its own" in found[0].hint
    assert not answer(frame, schema({"stay": {"role": "identifier"}}, not_person=["stay"]))


def test_claims_about_rows_and_proved_claims_are_not_refused_by_it():
    frame = people().with_columns(pl.format("X{}", "person").alias("ref"), pl.col("age") + pl.col("at") // 2)
    frame = frame.drop("person", "at")
    rows = sf.Schema.parse({"name": "t", "attribute": QUASI})
    assert sf.publish(sf.read(frame, rows), K5).rows == frame.height
    public = schema(source="public")
    assert sf.publish(sf.read(frame, public), sf.NoisyTable(1), seed=1, allow_noise=True).claim.kind == "proved"


def panel(*, waves=5, moves=0.0, gaps=0.0, gap=None, number=300):
    """People who grow older, move and learn between waves, and leave out answers."""
    rng = np.random.default_rng(5)
    rows = []
    for at in range(number):
        who = {"age": int(rng.integers(18, 90))}
        who.update((name, str(rng.choice(of))) for name, of in (("sex", ["F", "M"]), ("town", TOWNS), ("job", JOBS)))
        for wave in range(waves):
            for name, values in (("town", TOWNS), ("job", JOBS)):
                if rng.random() < moves:
                    who[name] = str(rng.choice(values))
            now = {**who, "age": who["age"] + wave if moves else who["age"]}
            said = {name: gap if rng.random() < gaps else str(value) for name, value in now.items()}
            rows.append({"respondent": f"K{at * 7:05d}", **said, "illness": "flu"})
    return pl.DataFrame(rows).sample(fraction=1, shuffle=True, seed=1).rename({"respondent": "strange"})


def of_panel(**head):
    columns = {**QUASI, "job": {"role": "quasi", "values": JOBS}}
    columns = {name: {**column, "missing": ["", "-1"]} for name, column in columns.items()}
    return sf.Schema.parse({"name": "t", "rows_per_person": 1, **head, "attribute": columns})


@pytest.mark.parametrize("gap", [None, "-1"])
@pytest.mark.parametrize("gaps", [0.02, 0.1, 0.2])
def test_answers_left_out_do_not_hide_a_person(gaps, gap):
    frame = panel(waves=3, gaps=gaps, gap=gap)
    (found,) = [one for one in refused(frame, of_panel()) if one.path == "strange"]
    assert "agree in every quasi-identifier" in found.rule
    passed = of_panel(not_person=["strange"])
    assert not [one for one in answer(frame, passed) if one.path == "strange"]
    assert not sf.read(frame, passed).doubts.suspected_keys()


@pytest.mark.parametrize("moves", [0.03, 0.06, 0.1])
def test_people_who_move_and_grow_older_are_people(moves):
    frame = panel(moves=moves, gaps=0.02, gap="-1")
    found = [one for one in refused(frame, of_panel()) if one.path == "strange"]
    assert "or nearly agree in 4 of 4" in found[0].rule


def test_gaps_of_most_people_are_no_evidence():
    """Rows put together at random in which hardly any cell is filled do not agree."""
    rng = np.random.default_rng(3)
    frame = panel(waves=3, gaps=0.9, gap=None)
    mixed = frame.with_columns(strange=pl.Series(rng.permutation(frame["strange"].to_list())))
    assert not [one for one in answer(mixed, of_panel()) if one.path == "strange"]


def town_lists_are_ordinary():
    for seed in range(12):
        assert not ordinary(town_list(seed).head(400), ["sex", "grade", "county", "diagnosis"])


@pytest.mark.parametrize(
    ("name", "mutant", "caught_by"),
    [
        ("_kept", lambda *_, **__: 0.0, lambda: test_people_who_move_and_grow_older_are_people(0.06)),
        ("_kept", lambda *_, **__: 1.0, town_lists_are_ordinary),
        (
            "_equal",  # a gap is a value that differs from all others
            lambda rows, groups, name: groups.spread(rows.codes[name]) == 0,
            lambda: test_answers_left_out_do_not_hide_a_person(0.1, "-1"),
        ),
        (
            "_equal",  # a gap agrees with everything, however few cells are filled
            lambda rows, groups, name: (
                ~(groups.spread(np.where(rows.codes[name] < 0, np.nan, rows.codes[name].astype(float)), known=True) > 0)
            ),
            test_gaps_of_most_people_are_no_evidence,
        ),
    ],
)
def test_mutants_of_agreement_are_caught(monkeypatch, name, mutant, caught_by):
    caught_by()
    monkeypatch.setattr(suspected_keys, name, mutant)
    with pytest.raises((AssertionError, pytest.fail.Exception, ValueError)):
        caught_by()


# -- what is no key ---------------------------------------------------------------------------------------------


def ordinary(frame, quasi):
    """What would be said of a table with these quasi-identifiers; of unpublished columns the stricter rule is older."""
    columns = {
        name: {"role": "quasi" if name in quasi else "other", "values": sorted(frame[name].cast(str).unique())}
        for name in frame.columns
    }
    described = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": columns})
    source = agreement_source(frame)
    return suspected_keys.agreeing_columns(source, described, quasi) + suspected_keys.suspected_keys(source, described)


def agreement_source(frame):
    from sfumato.io.source import open_source

    return open_source(frame.with_columns(pl.all().cast(pl.String)))


ADULT = sf.datasets.adult_frame().head(20_000)
CENSUS = sf.datasets.census_frame(20_000, seed=1)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_ordinary_columns_are_not_reported(data):
    """Neither of Adult, nor of a census, nor of a list in which one column follows from another."""
    frame = data.draw(st.sampled_from([ADULT, CENSUS, town_list(data.draw(st.integers(0, 50)))]))
    number = data.draw(st.sampled_from([400, 3000, 20_000]))
    start = data.draw(st.integers(0, max(frame.height - number, 0)))
    part = frame.slice(start, number)
    quasi = data.draw(st.lists(st.sampled_from(frame.columns), min_size=1, max_size=8, unique=True))
    assert not ordinary(part, quasi)


def town_list(seed):
    """A register: street, postcode, town and county follow from one another; job and pay depend on each other."""
    rng = np.random.default_rng(seed)
    number = int(rng.integers(100, 5000))
    plz = rng.integers(0, 200, number)
    street = plz * 7 + rng.integers(0, 7, number)
    job = rng.integers(0, 40, number)
    born = rng.integers(0, 25_000, number)
    return pl.DataFrame(
        {
            "plz": plz,
            "street": street,
            "town": plz // 4,
            "county": plz // 40,
            "sex": rng.integers(0, 2, number),
            "born": born,
            "age": born // 365,
            "job": job,
            "grade": job // 4,
            "salary": 1000 + job * 50 + rng.integers(0, 500, number),
            "diagnosis": rng.integers(0, 30, number),
        }
    )


def test_the_chance_of_agreement_is_counted_exactly():
    from itertools import combinations

    column, sizes = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([2, 3, 3])
    shares = [
        sum(len({int(column[at]) for at in some}) == 1 for some in found) / len(found)
        for found in (list(combinations(range(7), int(size))) for size in sizes)
    ]
    assert suspected_keys._by_chance(column, sizes) == pytest.approx(sum(shares) / 3)


def test_mutants_are_caught(monkeypatch):
    """Without its second evidence a postcode is a person; without the count of chance sexes and towns are."""
    frame = town_list(1)
    assert not ordinary(frame, ["street", "plz", "town", "county"])
    with monkeypatch.context() as patch:
        patch.setattr(suspected_keys, "_two_apart", lambda *_: True)
        assert ordinary(frame, ["street", "plz", "town", "county"])
    rng = np.random.default_rng(5)
    pairs = pl.DataFrame({"ref": np.repeat(np.arange(300), 2), "a": 0, "b": 1, "c": 1}).with_columns(
        a=pl.Series(rng.random(600) < 0.004).cast(int), b=pl.Series(rng.random(600) < 0.004).cast(int)
    )
    assert not ordinary(pairs, ["a", "b"])
    with monkeypatch.context() as patch:
        patch.setattr(suspected_keys, "_by_chance", lambda *_: 0.0)
        patch.setattr(suspected_keys, "_ENOUGH_PAIRS", 0)
        patch.setattr(suspected_keys, "_LITTLE", 2)
        assert ordinary(pairs, ["a", "b"])


@pytest.mark.parametrize("rows", [1, 4])
def test_rows_that_agree_in_a_birth_date_and_all_else_are_warned_of(rows):
    rng = np.random.default_rng(2)
    born = np.datetime64("1930-01-01") + rng.integers(0, 25_000, 5000)
    people = pl.DataFrame(
        {"born": born, "sex": rng.choice(["F", "M"], 5000), "town": rng.choice(TOWNS, 5000)}
    ).with_columns(pl.col("born").cast(pl.Date).cast(pl.String))
    frame = pl.concat([people] * rows).with_columns(entry=pl.int_range(pl.len()), illness=pl.lit("flu"))
    day = {"role": "quasi", "kind": "date", "range": ["1930-01-01", "2010-01-01"]}
    columns = {
        "born": day,
        **{name: QUASI[name] for name in ("sex", "town", "illness")},
        "entry": {"role": "identifier"},
    }
    described = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": columns})
    found = answer(frame, described)
    assert [problem.path for problem in found] == ([] if rows == 1 else ["attribute.born"])
