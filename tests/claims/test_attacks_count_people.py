"""Where a person may have several rows, attacks speak of people: rates, classes, conditions."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks import (
    REGISTRY,
    Differencing,
    Identity,
    Inference,
    Knowledge,
    Linkage,
    Shadow,
    SinglingOut,
    attack_all,
    case as case_module,
)
from sfumato.attacks.base import PEOPLE
from sfumato.attacks.singling_out import Predicates
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy

SCHEMA = sf.Schema.parse(
    {
        "name": "visits",
        "source": "public",
        "person": "mrn",
        "attribute": {
            "mrn": {"role": "identifier"},
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "step": 1},
            "ward": {"role": "quasi", "kind": "nominal", "values": ["a", "b", "c"]},
            "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "asthma", "burn", "gout"]},
            "drug": {"role": "sensitive", "kind": "nominal", "values": ["x", "y"]},
        },
    }
)
EVERYTHING = Knowledge()


def visits(rows):
    """Rows of (mrn, age, ward, ill, drug)."""
    frame = pl.DataFrame(rows, schema=["mrn", "age", "ward", "ill", "drug"], orient="row")
    return sf.read(frame, SCHEMA)


def exact(table):
    """The table as it is, published by somebody else."""
    codes = table.codes(("age", "ward", "ill", "drug"))
    columns = {
        name: [SCHEMA[name].text(int(code)) for code in codes[:, at]]
        for at, name in enumerate(("age", "ward", "ill", "drug"))
    }
    return sf.Release.read(pl.DataFrame(columns), SCHEMA)


def regular():
    """One person with thirty equal rows, and ten people with one row each, of whom two are alike in all but illness."""
    rows = [("p0", 50, "a", "flu", "x")] * 30
    rows += [(f"p{at}", 10 + at // 2 * 2, "b", ("asthma", "burn")[at % 2], "y") for at in range(2, 12)]
    return visits(rows)


def test_rates_are_of_people():
    table = regular()
    assert table.people == 11
    found = Inference().run([exact(table)], Knowledge(attribute="ill"), table)
    assert found.targets.trials == 11
    assert found.targets.successes == 1 + 5  # the person with thirty rows, and one of each pair
    by_rows = 30 + 5
    assert found.targets.successes < by_rows


GUESSING = ("inference", "skewness", "ruled-out", "learner", "definetti", "foreground", "composition")


def test_the_most_frequent_value_is_one_for_all_attacks():
    """Most rows are flu, most people have gout; each attack drew rows of its own, and composition counted rows."""
    rng = np.random.default_rng(3)
    rows = [("p0", 50, "a", "flu", "x")] * 40
    rows += [
        (f"p{who}", 10 + who % 60, "abc"[who % 3], ("gout", "burn", "flu")[ill], "xy"[ill % 2])
        for who in range(1, 61)
        for ill in rng.choice(3, p=[0.45, 0.35, 0.2], size=1 + who % 3)
    ]
    table = visits(rows)
    theirs = {}
    for who, _, _, ill, _ in rows:
        theirs.setdefault(who, []).append(ill)
    share = {name: sum(Fraction(own.count(name), len(own)) for own in theirs.values()) for name in ("flu", "gout")}
    assert sum(row[3] == "flu" for row in rows) > sum(row[3] == "gout" for row in rows)
    assert share["gout"] > share["flu"]
    releases = [sf.publish(table, sf.Mondrian(sf.KAnonymity(k))) for k in (4, 9)]
    known = Knowledge(attribute="ill")
    for seed in (1, 2):
        found = attack_all(releases, table, knowledge=known, attacks=GUESSING, seed=seed).gains
        assert {gain.attack for gain in found} == set(GUESSING)
        for gain in found:
            assert gain.frequent.rate == pytest.approx(float(share["gout"] / 61)), gain.attack
            assert gain.frequent.trials == 61
        said = {gain.beside.partition(" The guess it is compared with")[0] for gain in found}
        assert len(said) == 1
        assert said.pop().startswith("Always saying the most frequent ill is right for ")


def test_differencing_compares_with_the_value_of_most_people():
    """Three people stand between the cuts at 30 and 33; they have what most people have, not what most rows have."""
    rows = [("p0", 50, "a", "flu", "x")] * 40 + [(f"p{at}", 10 + 2 * at, "b", "burn", "y") for at in range(1, 10)]
    rows += [(f"p{at}", 20 + at, "b", "burn", "y") for at in range(10, 13)]
    table, pair = visits(rows), []
    for cut in (30, 33):
        label = [f"[0-{cut})" if age < cut else f"[{cut}-100]" for _, age, *_ in rows]
        columns = {"age": label, "ward": ["*"] * len(rows), "ill": [row[3] for row in rows]}
        pair.append(sf.Release.read(pl.DataFrame(columns), SCHEMA))
    found = Differencing().run(pair, Knowledge(attribute="ill"), table)
    assert found.details["isolated"] == 3
    assert found.baseline.successes == 3


def test_a_mutant_that_counts_rows_is_caught(monkeypatch):
    monkeypatch.setattr(case_module, "one_row_each", lambda *_: None)
    with pytest.raises(AssertionError):
        test_rates_are_of_people()


def test_a_class_of_one_persons_rows_hides_nobody():
    """Thirty rows in a class, all of one person: whoever points at one of them points at that person."""
    table = regular()
    found = Identity().run([exact(table)], EVERYTHING, table)
    ages = found.records.codes[:, 0]
    assert found.records.chance[ages == 50].tolist() == [1.0]
    assert set(found.records.chance[ages != 50].tolist()) == {0.5}
    assert "a right row of" in found.sentence
    mixed = visits([("p0", 50, "a", "flu", "x")] * 3 + [("p1", 50, "a", "burn", "y")])
    shared = Identity().run([exact(mixed)], EVERYTHING, mixed)
    assert sorted(shared.records.chance.tolist()) == [0.25, 0.75]


def test_groups_that_agree_in_labels_do_not_count_a_row_twice():
    """Buckets of two, and four people alike: each of them was said to be found for 1 in 2, as their row was in both."""
    table = visits([(f"p{at}", at // 4, "a", ("flu", "asthma", "burn", "gout")[at % 4], "x") for at in range(16)])
    rows = {"age": [at // 4 for at in range(16)], "ward": "a", "bucket": [at // 2 for at in range(16)]}
    frame = pl.DataFrame(rows).with_columns(pl.Series("ill", ["flu", "asthma", "burn", "gout"] * 4), drug=pl.lit("x"))
    release = sf.Release.read(frame, SCHEMA, groups="bucket")
    assert len(np.unique(release.boxes.labels, axis=0)) < len(release.boxes)
    found = Identity().run([release], EVERYTHING, table)
    assert set(found.records.chance.tolist()) == {1 / 4}


def test_the_risk_of_the_prosecutor_is_by_people():
    """A class of 10 people with 24 rows was said to hide each among 24."""
    rows = [(f"p{at}", 30 + at // 10, "a", ("flu", "gout")[at % 2], "x") for at in range(20) for _ in range(1 + at % 3)]
    table = visits(rows)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(10)))
    assert release.people.classes.tolist() == [10, 10]
    assert release.groups.weight.min() > 15
    found = Identity().run([release], EVERYTHING, table).details["prosecutor"]
    assert found == {"highest": 1 / 10, "mean": 1 / 10, "rows at risk": 0.0, "sample uniques": 0.0}


def test_a_guess_without_the_release_is_one_of_the_people():
    """Of 20 people with ten rows each a row at random is the right one's for one in twenty, not for one in 200."""
    table = visits([(f"p{at}", at, "abc"[row % 3], "flu", "x") for at in range(20) for row in range(10)])
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    for attack in (Identity(), Linkage()):
        assert attack.run([release], EVERYTHING, table).baseline.rate == pytest.approx(1 / 20)


def test_classes_of_a_foreign_file_hold_people():
    """Six rows of one person, alike in all that is known, were said to hide six people."""
    table = visits([(f"p{at}", at, "a", ("flu", "gout")[row % 2], "x") for at in range(30) for row in range(6)])
    found = Identity(fraction="0.5").run([exact(table)], Knowledge(population=table), table).details
    assert found["prosecutor"] == {"highest": 1.0, "mean": 1.0, "rows at risk": 1.0, "sample uniques": 1.0}
    assert found["journalist"]["mean"] == 1.0
    assert found["population uniques"]["zayatz"] > 0


def test_the_risk_of_the_journalist_is_by_people():
    """Ten people of a class of twelve in the population: their 24 rows of its 48 were counted as people."""
    rows = [(f"p{at}", 30 + at // 12, "a", ("flu", "gout")[at % 2], "x") for at in range(24) for _ in range(1 + at % 3)]
    population = visits([row for row in rows for _ in range(2)])
    table = visits([row for row in rows if int(row[0][1:]) % 12 < 10])
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(10)))
    assert release.people.classes.tolist() == [10, 10]
    knowledge = Knowledge(population=population)
    found = Identity().run([release], knowledge, table).details["journalist"]
    assert found == pytest.approx({"highest": 1 / 12, "mean": 1 / 12, "rows at risk": 0.0, "marketer": 1 / 12})
    alone = visits([("p1", 30, "a", "flu", "x")] * 5)
    found = Identity().run([exact(alone)], Knowledge(population=alone), alone).details["journalist"]
    assert (found["highest"], found["rows at risk"]) == (1.0, 1.0)


def test_a_condition_singles_out_people_not_rows():
    table = regular()
    conditions = Predicates(
        ("age", "ward"), low=np.array([[50, 0], [0, 1], [12, 1]]), high=np.array([[51, 1], [100, 2], [13, 2]])
    )
    assert conditions.met_by(table.counts(("age", "ward"))).tolist() == [30, 10, 2]
    assert conditions.met_by_one(table).tolist() == [True, False, False]
    assert SinglingOut(columns=2, attempts=20).run([exact(table)], EVERYTHING, table).targets.trials > 0


def test_the_whole_suite_on_people_with_several_rows():
    rng = np.random.default_rng(3)
    rows = [
        (
            f"p{who}",
            int(rng.integers(0, 100)),
            "abc"[rng.integers(0, 3)],
            ("flu", "asthma", "burn", "gout")[ill],
            "xy"[ill % 2],
        )
        for who in range(120)
        for ill in rng.integers(0, 4, 1 + who % 3)
    ]
    table, control = sf.holdout(visits(rows), seed=1)
    found = attack_all(exact(table), table, control)
    for gain in found.gains:
        if gain.attack in ("inference", "skewness", "identity", "learner", "definetti"):
            assert gain.targets.trials == table.people, gain.attack
            assert gain.controls.trials == control.people, gain.attack


PLAIN = {
    "name": "clinic",
    "source": "public",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [20, 80], "step": 1},
        "town": {"role": "quasi", "kind": "nominal", "values": ["a", "b", "c", "d"]},
        "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "cold", "asthma", "gout"]},
    },
}
UNITS = {  # what the schema says of its rows, and what an attack may call them
    "undecided": ({}, "rows"),
    "each row a person": ({"rows_per_person": 1}, "people"),
    "at most three rows each, no key": ({"rows_per_person": 3}, "rows"),
    "a question": ({"rows_per_person": 1, "decide": ["rows_per_person: how many rows has a person?"]}, "rows"),
}


def suites(unit):
    """Every attack that fits, on partitions, buckets and a noisy table, two releases each."""
    schema = sf.Schema.parse({**PLAIN, **UNITS[unit][0], "rows": 200})
    rng = np.random.default_rng(5)
    codes = np.column_stack([rng.integers(0, 60, 400), rng.integers(0, 4, 400), rng.integers(0, 4, 400)])
    table, control = sf.holdout(sf.Table.from_codes(schema, codes), seed=1)
    asked = [sf.Mondrian(k=5, l=2, tight=True), sf.Anatomy(l=2)]
    asked += [] if schema.decide else [sf.NoisyTable(epsilon=1)]
    entropy = Entropy.seeded(0)
    made = [run(one, gather(one, table), entropy.child(str(at))) for at, one in enumerate(asked)]
    again = run(sf.Mondrian(k=9), gather(sf.Mondrian(k=9), table), entropy)
    attacks = [one for one in REGISTRY if one != "shadow"]
    for releases, few in (([made[0]], control), ([made[1]], control.take(np.arange(120))), ([made[0], again], control)):
        yield attack_all(releases, table, few, attacks=[*attacks, Shadow(releases=8, people=2)])
    for release in made[2:]:
        yield attack_all(release, table, control, attacks=["membership", "inference"])


@pytest.mark.parametrize("unit", UNITS)
def test_no_sentence_says_people_where_rows_are_counted(unit):
    counted, seen = UNITS[unit][1], set()
    for suite in suites(unit):
        for gain in suite.gains:
            seen.add(gain.attack)
            answer = gain.describe() + json.dumps(gain.to_json())
            if counted == "rows":
                assert not re.search(r"\b(people|persons?|everybody|somebody)\b", without_silences(answer)), answer
            assert gain.whom.many in (counted, "cells", "conditions", "rows"), gain.attack
            assert gain.whom.many == gain.to_json()["counted"]
        assert counted == "people" or "people" not in suite.describe()
    assert seen >= {"identity", "inference", "membership", "singling-out", "linkage", "differencing", "composition"}
    assert seen >= {"learner", "definetti", "foreground", "skewness", "downcoding", "downcoding-rows"}


def without_silences(answer):
    """What is said of the world at large is not a number of people."""
    return answer.replace("it is not known how much of it is true of everybody", "")


def test_a_mutant_sentence_about_people_is_caught(monkeypatch):
    monkeypatch.setattr(case_module, "whom", lambda *_, **__: PEOPLE)
    with pytest.raises(AssertionError):
        test_no_sentence_says_people_where_rows_are_counted("undecided")


def test_a_key_in_question_is_not_a_person():
    rows = [(f"p{at % 7}", 20 + at, "a", "flu", "x") for at in range(21)]
    frame = pl.DataFrame(rows, schema=["mrn", "age", "ward", "ill", "drug"], orient="row")
    asked = replace(SCHEMA, decide=("person: is mrn the key of a person?",))
    for schema, trials, many in ((SCHEMA, 7, "people"), (asked, 21, "rows")):
        table = sf.read(frame, schema)
        found = Inference().run([exact(table)], Knowledge(attribute="ill"), table)
        assert (found.targets.trials, found.whom.many) == (trials, many)
        assert f"of the {many} in the table" in found.sentence


def test_a_column_with_braces_in_its_name_is_said_as_it_is():
    values = {**PLAIN["attribute"], "a{0}{}": PLAIN["attribute"]["ill"]}
    del values["ill"]
    schema = sf.Schema.parse({**PLAIN, "attribute": values, "rows_per_person": 1})
    rng = np.random.default_rng(5)
    codes = np.column_stack([rng.integers(0, 60, 100), rng.integers(0, 4, 100), rng.integers(0, 4, 100)])
    table = sf.Table.from_codes(schema, codes)
    found = Inference().run([sf.publish(table, sf.Mondrian(k=5))], EVERYTHING, table)
    assert re.search(r"guesses a\{0\}\{\} of [\d.]+ % of the people in the table", found.sentence)


def test_the_control_is_as_large_as_it_is_said_to_be():
    table = visits([(f"p{at // 2}", at % 90, "a", "flu", "x") for at in range(120)])
    control = visits([(f"q{at // 3}", at % 90, "b", "flu", "x") for at in range(60)])
    found = SinglingOut().run([exact(table)], EVERYTHING, table, control)
    assert "The control has 20 people, the table 60: " in found.describe()
