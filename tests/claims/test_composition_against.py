"""A new release beside earlier ones: who would be left fewer than d values."""

from __future__ import annotations

import random
from dataclasses import replace

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.paper_tables import TABLE_1A, TABLE_2A, TABLE_2B, people, published
from tests.claims.planted_people import PLANTED, drawn, made
from tests.claims.small_worlds import random_release, small_table

import sfumato as sf
from sfumato.attacks import against, composition
from sfumato.attacks.composing.against import open_releases
from sfumato.claims import Claim, Neighbours, PureDP
from sfumato.counts import Table
from sfumato.errors import Infeasible, NotComparable, ParameterError, ReleaseError
from sfumato.schema import Schema
from sfumato.web.publishing import together


def test_counts_people_below_d():
    found = against(published(TABLE_2A), published(TABLE_2B), people(TABLE_1A), d=3)
    # The women of A have {Fever, Diabetes} alone. B's second class has {Cough, Diabetes}: Diabetes is left to all four.
    # Mina and Anju have Fever, which is gone, so they cannot be in both: only Alice and Sofia count.
    assert (found.people, found.certain, found.alone) == (2, 2, 4)
    assert not found.holds
    with pytest.raises(Infeasible, match="2 of 8 records keep fewer together with 1 earlier release") as caught:
        found.require()
    assert caught.value.best == 1
    assert "2 of 8 records" in found.describe()
    assert found.to_json()["people"] == 2
    assert found.confidential


def test_d_is_at_most_the_number_of_values():
    """Of three values nobody keeps four: the warning named every person, whatever was published."""
    one = {**TABLE_2A, "sex": ["*"] * 8}
    rows = [(*row[:4], "Cough" if row[4] == "Flu" else row[4]) for row in TABLE_1A]
    assert len({row[4] for row in rows}) == 3
    shown = {**one, "diagnosis": [row[4] for row in rows]}
    found = against(published(shown), published(shown), people(rows), d=4)
    assert (found.people, found.alone, found.d) == (0, 0, 3)  # one class: everybody keeps all three
    found.require()
    assert "diagnosis has 3 values, so nobody can keep 4: fewer than 3 left are counted." in found.describe()
    told = composition([published(shown)], people(rows), d=4).describe()
    assert "diagnosis has 3 values in these releases, so nobody can keep 4, whatever is published" in told
    assert "nobody can keep" not in composition([published(shown)], people(rows), d=3).describe()


def test_one_value_left_together_needs_a_yes():
    """`--against` was the way to publish a release that names the value of people together with an earlier one."""
    a, b = published(TABLE_2A), published(TABLE_2B)
    found = against(a, b, people(TABLE_1A), d=3)
    assert found.newly == found.certain == 2  # Alice and Sofia: two values by each release, one by both
    with pytest.raises(ReleaseError, match="2 records are left with one value by this release together with 1 earlier"):
        found.refuse_certain()
    drawn = replace(found, claim=Claim(PureDP(1), neighbours=Neighbours.ADD_OR_REMOVE_ONE))
    with pytest.raises(ParameterError, match="cannot withhold a differentially private release"):
        drawn.refuse_certain()


def test_who_has_one_value_by_one_release_alone_is_not_asked_about():
    """A class of one value breaks that release's own promise, or its own silence; no second release is needed."""
    alone = {**TABLE_2A, "diagnosis": ["Flu"] * 8}
    rows = [(*row[:4], "Flu") for row in TABLE_1A]
    found = against(published(alone), published(alone), people(rows), d=3)
    assert found.certain == 8
    assert found.newly == 0
    found.refuse_certain()


def test_people_who_are_not_in_the_earlier_release_do_not_count():
    # A mutant that counts everyone with few values left counts two women who demonstrably are not in B.
    estimate = composition([published(TABLE_2A), published(TABLE_2B)], people(TABLE_1A), d=2)
    assert estimate.tally.below_d.successes == 4
    assert against(published(TABLE_2A), [published(TABLE_2B)], people(TABLE_1A), d=2).people == 2


def test_nobody_below_d():
    one = {**TABLE_2A, "sex": ["*"] * 8}
    found = against(published(one), published(one), people(TABLE_1A), d=4)
    assert found.holds
    assert found.people == 0
    found.require()
    assert (found.rows, found.d) == (8, 4)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_equals_the_definition(seed):
    """Two sensitive attributes, the second carried by one of two earlier releases only."""
    table = small_table(seed).with_roles(sensitive=["ill", "pay"], target=[])
    new, old = (random_release(table, seed + at, "classes")[0] for at in (0, 1))
    ill_only = random_release(table.with_roles(sensitive="ill", target=[]), seed + 2, "buckets")[0]
    found = against(new, [old, ill_only], table, d=2)
    expected, of_each = set(), {}
    for name, releases in (("ill", [new, old, ill_only]), ("pay", [new, old])):
        records = composition(releases, table, d=2, attribute=name).records
        of_each[name] = 0
        for at, value in enumerate(table.codes([name])[:, 0].tolist()):
            left = records.candidates(at)
            if 1 <= len(left) < 2 and table.schema[name].text(value) in left:
                expected.add(at)
                of_each[name] += 1
    assert found.people == len(expected)
    assert found.notes[-2] == "1 earlier release does not carry pay."
    # The figure named no attribute: it is shown for each, the worst first.
    assert found.by_attribute == of_each
    worst = max(of_each.values())
    assert list(found.by_attribute.values()) == sorted(of_each.values(), reverse=True)
    assert len(found.notes) == (3 if worst else 2)
    assert not worst or found.notes[0].startswith(f"By attribute: {next(iter(found.by_attribute))} {worst}, ")


def test_people_are_counted_once_where_the_table_names_them():
    """78 of 180 rows were called people in a table of 30 people."""
    rng = np.random.default_rng(1)
    ids = np.repeat(np.arange(20), 6)
    rows = drawn(1, 20)[ids]
    rows[:, 2] = rng.integers(0, 4, len(ids))
    table = Table.from_codes(replace(PLANTED, person=("pid",), rows_per_person=1), rows, people=ids.tolist())
    new, old = (made(table, sf.Mondrian(sf.KAnonymity(k))) for k in (1, 2))
    found = against(new, old, table, d=4, names=["spring"])
    records = next(iter(found.estimates.values())).records
    exposed = np.unique(table.persons()[records.held & (records.left < found.d)])
    assert (found.people, found.of, found.rows) == (len(exposed), 20, 120)
    assert 0 < found.people <= 20
    told = found.to_json()
    assert (told["people"], told["of"], told["counted"], told["names"]) == (found.people, 20, "people", ["spring"])
    assert f"{found.people} of 20 people are left" in found.describe()
    page = together({"against": told}, ["--against", "a"])
    assert f"{found.people} of 20 people" in page["text"][0]
    assert page["names"] == ["spring"]  # what was tried, the ledger's releases included
    old_answer = {name: value for name, value in told.items() if name not in ("of", "names")}
    assert "of 120 rows" in together({"against": old_answer}, [])["text"][0]


CLINIC = {
    "age": {"role": "quasi", "kind": "numeric", "range": [20, 90]},
    "sex": {"role": "quasi", "values": ["m", "f"]},
    "mode": {"role": "quasi", "values": ["home", "transfer"]},
    "ward": {"role": "quasi", "values": list("ABCDEF")},
    "ill": {"role": "sensitive", "values": list("pqrstuvw")},
}


def clinic(data, **roles):
    attributes = {name: {**column, "role": roles.get(name, column["role"])} for name, column in CLINIC.items()}
    raw = {"name": "t", "rows_per_person": 1, "copies_are_people": True, "attribute": attributes}
    return sf.read(data, Schema.parse(raw))


def patients(seed, rows=400):
    rng = np.random.default_rng(seed)
    columns = {name: rng.choice(column["values"], rows) for name, column in CLINIC.items() if "values" in column}
    return pl.DataFrame({"age": rng.integers(20, 90, rows), **columns})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("role", ["other", "target", "sensitive"])
def test_what_each_release_is_published_by_is_known_of_who_is_in_all(seed, role):
    """An earlier release by sex and a new one without: 16 people were left with one value, and `against` said none."""
    frame = patients(seed)
    method = sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity("1.5"))
    before, now, every = clinic(frame, mode="other"), clinic(frame, sex=role), clinic(frame)
    old, new = sf.publish(before, method), sf.publish(now, method)
    known = composition([new, old], every, d=4, attribute="ill", everywhere=True).records
    truth = every.codes(["ill"])[:, 0]
    exposed = [known.left[at] < 4 and CLINIC["ill"]["values"][truth[at]] in known.candidates(at) for at in range(400)]
    found = against(new, old, now, d=4)
    one = found.estimates["ill"]
    assert int(((one.records.left < 4) & one.records.held).sum()) == sum(exposed)
    few = composition([new, old], now, d=4, attribute="ill")
    assert few.tally.exposed.successes < sum(exposed)
    assert "Release 2 is also published by sex, which the attacker is not taken to know" in few.describe()
    assert "published by sex" not in one.describe()
    gain = sf.attacks.Intersection().run([new, old], sf.attacks.Knowledge(attribute="ill"), now)
    assert gain.targets.successes == one.tally.guessed.successes


def of_columns(frame, quasi, *, suppress=(), **keys):
    """Read two ages and a town, of which some may be missing, in the role of a quasi-identifier or in none."""
    columns = {
        name: {"role": "quasi" if name in quasi else "other", "kind": "numeric", "range": [0, 100]}
        for name in ("age", "grade")
    }
    columns["town"] = {"role": "quasi" if "town" in quasi else "other", "values": ["Hof", "Ulm"]}
    columns["ill"] = {"role": "sensitive", "values": list("pqrs")}
    for name in suppress:
        columns[name]["missing"] = "suppress"
    return sf.read(frame, Schema.parse({"name": "t", "attribute": columns, "copies_are_people": True, **keys}))


@pytest.mark.parametrize("where", ["frame", "database"])
def test_a_further_release_hides_nobody(where):
    """Twelve people without a town are left one value by two releases; beside a third one, by town, nobody was."""
    rows = [(20 + at % 2, at % 2, None, "p") for at in range(12)]  # p or q by age, p or r by grade
    rows += [(20 + at % 2, 8 + at % 2, "Hof", "q") for at in range(8)]
    rows += [(60 + at % 2, at % 2, "Ulm", "r") for at in range(8)]
    rows += [(60 + at % 2, 8 + at % 2, "Hof", "s") for at in range(16)]
    frame = pl.DataFrame(rows, schema=["age", "grade", "town", "ill"], orient="row")
    data = frame if where == "frame" else duckdb.connect().from_arrow(frame.to_arrow())
    told = {"suppress": ["town"], "rows_per_person": 1}
    method = sf.Mondrian(sf.KAnonymity(15))
    by_age, by_town = (sf.publish(of_columns(frame, names, **told), method) for names in (["age"], ["town"]))
    now = of_columns(data, ["grade"], **told)
    new = sf.publish(now, method)
    first = against(new, [by_age], now, d=4)
    assert first.certain >= 12
    both = against(new, [by_age, by_town], now, d=4)
    assert both.of == first.of == 44
    assert both.certain >= 12
    assert both.people >= first.people
    gain = sf.attacks.Intersection().run([new, by_age, by_town], sf.attacks.Knowledge(), now)
    assert gain.targets.trials == 44


@pytest.mark.parametrize("where", ["frame", "database"])
def test_the_rows_of_the_release_are_attacked(where):
    """Of people with three rows of which one is kept, another row was kept and attacked."""
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "id": [f"P{at:03d}" for at in np.repeat(np.arange(60), 3)],
            "age": np.repeat(rng.integers(18, 90, 60), 3),
            "grade": 1,
            "town": rng.choice(["Hof", "Ulm"], 180),
            "ill": rng.choice(list("pqrs"), 180),
        }
    )
    data = frame if where == "frame" else duckdb.connect().from_arrow(frame.to_arrow())
    told = {"person": "id", "rows_per_person": 1}
    now = of_columns(data, ["age"], **told)
    new = sf.publish(now, sf.Mondrian(sf.KAnonymity(3)))
    by_age, by_town = (
        sf.publish(of_columns(data, names, **told), sf.Mondrian(sf.KAnonymity(4))) for names in (["age"], ["town"])
    )
    wide = now.known_by(["age", "town"])
    assert wide.rows == now.rows == 60
    assert sorted(map(tuple, wide.codes(["age", "ill"]).tolist())) == sorted(
        map(tuple, now.codes(["age", "ill"]).tolist())
    )
    alone = {against(new, earlier, now, d=4).alone for earlier in (by_age, by_town, [by_age, by_town])}
    assert len(alone) == 1


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_a_further_release_never_lowers_the_number(seed):
    """A release that cannot hold somebody's row took them out of the count, though others expose them."""
    table = small_table(seed).with_roles(sensitive="ill", target=[])
    new, *old = (random_release(table, seed + at, "classes")[0] for at in range(4))
    found = [against(new, old[: at + 1], table, d=2) for at in range(3)]
    assert found[0].people <= found[1].people <= found[2].people


def test_what_was_sensitive_earlier_is_attacked_whatever_its_role_now():
    """A diagnosis that is now a target was not tried, and nothing said so."""
    frame, method = patients(1), sf.Mondrian(sf.KAnonymity(5))
    old = sf.publish(clinic(frame, mode="other"), method)
    now, same = clinic(frame, sex="other", ward="sensitive", ill="target"), clinic(frame, sex="other", ward="sensitive")
    found, sure = (against(sf.publish(table, method), old, table, d=4) for table in (now, same))
    assert found.people == sure.people > 0
    assert found.by_attribute == sure.by_attribute


def quarters(role):
    """Four decades of age and three quarters; within each of the 12 cells some have one illness, some two."""
    draw, rows = random.Random(6), []
    for decade in (20, 30, 40, 50):
        for at, quarter in enumerate(("East", "West", "South")):
            odd = (at + decade // 10) % 2
            ills = [(at + decade // 10 + (one % 2 if odd else 0)) % 3 for one in range(6 + odd)]
            rows += [(decade + draw.randint(0, 9), quarter, "pqr"[ill]) for ill in ills]
    attributes = {
        "age": {"role": "quasi", "kind": "numeric", "range": [20, 60], "step": 10},
        "quarter": {"role": role, "values": ["East", "West", "South"]},
        "ill": {"role": "sensitive", "values": ["p", "q", "r"]},
    }
    raw = {"name": "t", "rows_per_person": 1, "copies_are_people": True, "attribute": attributes}
    frame = pl.DataFrame(rows, schema=["age", "quarter", "ill"], orient="row")
    return rows, sf.read(frame, Schema.parse(raw))


@pytest.mark.parametrize("role", ["sensitive", "target"])
@pytest.mark.parametrize("first", [True, False])
def test_a_column_that_one_release_is_published_by_and_another_carries_picks_rows(role, first):
    """By decade and quarter 36 of 78 have one illness; "None of 78 is left with fewer than 2 values" was printed."""
    rows, by_quarter = quarters("quasi")
    _, beside = quarters(role)
    one = sf.publish(by_quarter, sf.Mondrian(sf.KAnonymity(12) & sf.LDiversity("1.5")))
    two = sf.publish(beside, sf.Mondrian(sf.KAnonymity(5)))
    labels = [label for label, _ in {(row["age"], row["quarter"]) for row in two.frame().to_dicts()}]
    assert set(labels) == {f"[{decade}-{decade + 10})" for decade in (20, 30, 40, 50)}  # each decade is a class
    cells = {}
    for age, quarter, ill in rows:
        cells.setdefault((age // 10, quarter), set()).add(ill)
    certain = sum(len(cells[age // 10, quarter]) == 1 for age, quarter, _ in rows)
    new, old, table = (one, two, by_quarter) if first else (two, one, beside)
    found = against(new, old, table, d=2)
    assert found.people == found.certain == found.newly == certain == 36
    assert found.alone == 0
    with pytest.raises(ReleaseError, match="36 records are left with one value"):
        found.refuse_certain()


@pytest.mark.parametrize("role", ["identifier", "other"])
def test_an_earlier_column_without_values_here_is_named(tmp_path, role):
    """The folder could not be loaded: an AssertionError."""
    frame = patients(1)
    method = sf.Mondrian(sf.KAnonymity(5))
    sf.publish(clinic(frame), method).save(tmp_path / "old", allow_fingerprints=True)
    columns = {**CLINIC, "sex": {"role": role}}
    now = sf.read(
        frame, Schema.parse({"name": "t", "rows_per_person": 1, "copies_are_people": True, "attribute": columns})
    )
    (old,) = open_releases([tmp_path / "old"], now.schema)
    found = against(sf.publish(now, method), old, now)
    assert "Not tried: sex, by which earlier releases are published" in found.describe()


def test_a_table_in_a_database_is_attacked_as_the_frame_is():
    """Its columns were sorted one by one, so that people were judged by the values of others: 9 % for 35 %."""
    frame = patients(2)
    here, there = clinic(frame), clinic(duckdb.connect().from_arrow(frame.to_arrow()))
    method = sf.Mondrian(sf.KAnonymity(5))
    old, new = sf.publish(here, method), sf.publish(here, replace(method, cut="widest"))
    one, two = (composition([old, new], table) for table in (here, there))
    for share in ("one", "below_d", "right", "exposed", "guessed"):
        assert getattr(one.tally, share) == getattr(two.tally, share)
    assert one.tally.guessed.rate > 0.3
    here, there = against(new, old, here), against(new, old, there)
    assert (here.people, here.certain, here.by_attribute) == (there.people, there.certain, there.by_attribute)


def test_refusals():
    table = people(TABLE_1A)
    with pytest.raises(ParameterError, match="earlier"):
        against(published(TABLE_2A), [], table)
    other = {name: column for name, column in TABLE_2B.items() if name != "diagnosis"}
    with pytest.raises(NotComparable, match="no earlier release carries"):
        against(published(TABLE_2A), [published(other)], table)


def test_a_release_made_with_another_schema_is_named_with_the_columns_that_differ(tmp_path):
    def schema(most):
        age = {"role": "quasi", "kind": "numeric", "range": [0, most], "step": 1}
        ill = {"role": "sensitive", "values": ["a", "b"]}
        return Schema.parse({"name": "t", "source": "public", "attribute": {"age": age, "ill": ill}})

    frame = pl.DataFrame({"age": [at % 50 for at in range(201)], "ill": ["abb"[at % 3] for at in range(201)]})
    sf.publish(sf.read(frame, schema(60)), sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "spring")
    assert len(open_releases([tmp_path / "spring"], schema(60))) == 1
    with pytest.raises(ReleaseError) as error:
        open_releases([tmp_path / "spring"], schema(20))
    assert "spring" in str(error.value)
    assert "`age`" in error.value.hint
    assert "`ill`" not in error.value.hint


@pytest.mark.parametrize("keyed", [True, False])
def test_labels_that_end_inside_a_step_of_the_schema_are_not_read_as_wider_ones(tmp_path, keyed):
    """Single years were read as five years each, and with a key the refusal blamed a file that was as it was saved."""

    def schema(step):
        age = {"role": "quasi", "kind": "numeric", "range": [20, 40], "step": step}
        ill = {"role": "sensitive", "values": ["a", "b"]}
        head = {"person": "id"} if keyed else {"rows_per_person": 1, "copies_are_people": True}
        return Schema.parse({"name": "t", **head, "attribute": {"age": age, "ill": ill}})

    ids = np.arange(200) // (2 if keyed else 1)
    frame = pl.DataFrame({"id": ids, "age": 20 + ids % 20, "ill": ["abb"[at % 3] for at in range(200)]})
    fine = sf.publish(sf.read(frame, schema(1)), sf.Mondrian(sf.KAnonymity(4)))
    fine.save(tmp_path / "fine")
    sf.publish(sf.read(frame, schema(10)), sf.Mondrian(sf.KAnonymity(4)), save_to=tmp_path / "wide")
    assert len(open_releases([tmp_path / "fine", tmp_path / "wide"], schema(1))) == 2
    assert len(open_releases([tmp_path / "wide"], schema(5))) == 1
    with pytest.raises(ReleaseError) as error:
        open_releases([tmp_path / "fine"], schema(5))
    assert "describe `age` as in the schema of that release" in error.value.hint
    assert [problem.rule for problem in error.value.problems] == ["is published in narrower steps than the schema has"]


def test_people_who_moved_are_not_seen_and_the_words_say_so():
    """Of 40 people who had moved, 4 kept one value for a reader who knows both villages; "None is left" was printed."""
    ill = ["flu", "gout", "burn", "cold"]
    places = {"role": "quasi", "values": ["a", "b", "c"]}
    schema = Schema.parse(
        {"name": "t", "source": "public", "attribute": {"town": places, "ill": {"role": "sensitive", "values": ill}}}
    )

    def month(first):
        towns = [first, *"aaabbbbcccc"]
        return Table.from_codes(schema, np.array([["abc".index(town), at % 4] for at, town in enumerate(towns)]))

    before, after = month("a"), month("c")
    old, new = (sf.publish(table, sf.Mondrian(sf.KAnonymity(3)), allow_fingerprints=True) for table in (before, after))
    found = against(new, old, after, d=3)
    assert found.holds
    said = found.describe()
    assert "None of 12 records is left with fewer than 3 values" in said
    assert "if they are in the releases that can hold them with the values they have here" in said
    assert "Not tried: people whose quasi-identifiers differ in an earlier release" in said
    assert said.endswith("Confidential: computed from the original.")


def test_drawn_counts_exclude_no_value_and_the_words_say_so():
    table = sf.datasets.census(400)
    first = sf.publish(table, sf.Mondrian(sf.KAnonymity(3)))
    drawn = sf.publish(table, sf.NoisyTable(1), seed=1, allow_noise=True)
    said = against(drawn, first, table).describe()
    assert "1 release holds drawn counts: a value that is not there is not excluded" in said
    assert "drawn counts" not in against(first, first, table).describe()
