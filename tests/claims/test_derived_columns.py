"""A carried column that quasi-identifiers tell undoes k and l from inside a class: found, counted, said and asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st

import sfumato as sf
from sfumato.cli.main import app
from sfumato.counts import Table, derived
from sfumato.counts.derived import derived_columns, explained_share
from sfumato.mechanisms import refined_classes as apart
from sfumato.mechanisms.refined_classes import refined_classes

DISEASES = [f"d{at}" for at in range(6)]
PUBLIC = {"source": "public"}
AGE = {**PUBLIC, "role": "quasi", "kind": "numeric", "range": [0, 100]}
ZIP = {**PUBLIC, "role": "quasi", "mask": {"length": 3}}
DISEASE = {**PUBLIC, "role": "sensitive", "values": DISEASES}
SCORE = {**PUBLIC, "role": "target", "kind": "numeric", "range": [0, 100]}


def schema(**more) -> sf.Schema:
    return sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {"age": AGE, "zip": ZIP, **more}})


def people(rows: int = 600, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(20, 90, rows), rng.integers(0, 1000, rows), rng.integers(0, 6, rows)


def scored(score: np.ndarray, rows: int = 600, **role) -> Table:
    age, place, disease = people(rows)
    found = schema(disease=DISEASE, score={**SCORE, **role})
    columns = dict(zip(("age", "zip", "disease", "score"), (age, place, disease, score), strict=True))
    return Table.from_codes(found, np.column_stack([columns[a.name] for a in found.published]))


# -- what is found --------------------------------------------------------------------------


def by_hand(known, column, weights, *, neighbours):
    """Every pair of different rows, one by one."""
    rows = [(a, b) for a, b, many in zip(known, column, weights, strict=True) for _ in range(many)]

    def differ(one, other):
        return one[1] != other[1]

    def any_two(some):
        pairs = list(combinations(some, 2))
        return sum(differ(*pair) for pair in pairs) / len(pairs) if pairs else 0

    groups = defaultdict(list)
    for row in rows:
        groups[row[0]].append(row)
    large = {at: some for at, some in groups.items() if len(some) > 1}
    again = [row for some in large.values() for row in some]
    chance = any_two(again) * len(again)
    within = 1 - sum(len(some) * any_two(some) for some in large.values()) / chance if chance >= 20 else 0.0
    if not neighbours or len(groups) < 2:
        return within
    order = sorted(groups)
    beside = sum((len(some) - 1) * any_two(some) for some in large.values())
    for one, other in pairwise(order):
        pairs = [(a, b) for a in groups[one] for b in groups[other]]
        beside += sum(differ(*pair) for pair in pairs) / len(pairs)
    chance = any_two(rows) * (len(rows) - 1)
    return max(within, 1 - beside / chance if chance >= 20 else 0.0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=40),
    st.booleans(),
    st.booleans(),
)
def test_equals_a_count_over_all_pairs(lines, function, neighbours):
    known, column, weights = (np.array(one) for one in zip(*lines, strict=True))
    column = known // 3 if function else column
    expected = by_hand(known.tolist(), column.tolist(), weights.tolist(), neighbours=neighbours)
    assert explained_share(known, column, weights, neighbours=neighbours) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_independent_columns_are_not_reported(seed):
    rng = np.random.default_rng(seed)
    age, place, disease = people(int(rng.integers(30, 800)), seed)
    table = Table.from_codes(
        schema(disease=DISEASE), np.column_stack([age, place, np.minimum(disease, rng.integers(0, 6))])
    )
    assert derived_columns(table) == []


def test_adult_has_none_and_its_number_of_school_years_is_one():
    adult = sf.datasets.adult()
    assert derived_columns(adult) == []
    years = adult.with_roles(quasi=["age", "education"], sensitive="occupation", target="education-num")
    assert [(one.column, one.known, one.follows) for one in derived_columns(years)] == [
        ("education-num", ("education",), True)
    ]


RELATIONS = {
    "age // 4": (lambda age, _: age // 4, "age"),
    "nine in ten": (lambda age, _: np.where(np.arange(len(age)) % 10, age // 4, 3), "age"),
    "region of a postcode": (lambda _, place: place // 100, "zip"),  # hardly any code repeats: neighbours tell it
    "the age again": (lambda age, _: age, "age"),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_relations_are_found(name):
    age, place, _ = people()
    score, known = RELATIONS[name]
    assert [(one.column, one.known, one.follows) for one in derived_columns(scored(score(age, place)))] == [
        ("score", (known,), True)
    ]


def test_a_function_of_two_quasi_identifiers_is_found():
    age, place, disease = people()
    age, place = age // 20 * 20, place // 250 * 250
    table = Table.from_codes(
        schema(disease=DISEASE, score=SCORE), np.column_stack([age, place, disease, (age // 20 + place // 250) % 4])
    )
    assert [(one.column, one.known) for one in derived_columns(table)] == [("score", ("age", "zip"))]


def test_a_finer_column_tells_the_coarse_one():
    """The year of birth beside an age that is made coarser: it says the age again, and is no function of it."""
    age, place, disease = people()
    rng = np.random.default_rng(4)
    days = {**PUBLIC, "role": "target", "kind": "numeric", "range": [0, 1000]}
    table = Table.from_codes(
        schema(disease=DISEASE, days=days), np.column_stack([age, place, disease, age * 10 + rng.integers(0, 10, 600)])
    )
    assert [(one.column, one.known, one.follows) for one in derived_columns(table)] == [("days", ("age",), False)]
    with pytest.raises(sf.ReleaseError, match="age follows from days"):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(10))).refined.require()


# -- what it undoes -------------------------------------------------------------------------


def failing_by_hand(release, k, diverse):
    """Rows whose class and score together hold fewer than k rows or l diseases."""
    frame = release.frame()
    size, kinds = Counter(), defaultdict(set)
    for *quasi, disease, score in frame.select(*[a.name for a in release.quasi], "disease", "score").rows():
        size[*quasi, score] += 1
        kinds[*quasi, score].add(disease)
    return sum(many for key, many in size.items() if many < k or len(kinds[key]) < diverse)


@pytest.mark.parametrize("seed", range(6))
def test_refined_classes_equal_a_count_by_hand(seed):
    age, place, disease = people(400, seed)
    table = Table.from_codes(schema(disease=DISEASE, score=SCORE), np.column_stack([age, place, disease, age // 4]))
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(3, kind="distinct")))
    assert release.refined.rows == failing_by_hand(release, 5, 3) > 0


def test_people_are_counted_where_the_table_is_keyed():
    """Three rows of one person are one person: a class that is large enough in rows is not in people."""
    age, place, disease = (np.repeat(column, 3) for column in people(300))
    key = np.repeat(np.arange(300), 3)
    found = sf.Schema.parse(
        {
            "name": "t",
            "person": "who",
            "attribute": {"who": {"role": "identifier"}, "age": AGE, "zip": ZIP} | {"disease": DISEASE, "score": SCORE},
        }
    )
    codes = np.column_stack([age, place, disease, age // 4])
    table = Table.from_codes(found, codes, people=key)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(6)))
    home, expected = release.residence, 0
    line = {tuple(one): at for at, one in enumerate(home.codes.tolist())}
    inside = defaultdict(set)
    rows = Counter()
    for one, who in zip(codes.tolist(), key.tolist(), strict=True):
        group = int(home.group[line[tuple(one)]])
        inside[group, one[3]].add(who)
        rows[group, one[3]] += 1
    expected = sum(rows[at] for at, some in inside.items() if len(some) < 6)
    in_rows = sum(many for many in rows.values() if many < 6)
    assert release.refined.rows == expected > in_rows

    table.driver_cells = 20
    far = sf.publish(table, sf.Mondrian(sf.KAnonymity(6)))
    assert far.residence is None
    assert far.refined.rows == expected  # in two phases rows were counted as people


def test_rows_are_not_taken_for_people_where_nobody_knows_whose_they_are():
    """A release that counts people and does not say where each row went was judged by its rows."""
    found, codes, who = visits(300, lambda age, _visit, _rng: age // 5)
    table = Table.from_codes(found, codes, people=who)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(2)))
    unknown = refined_classes(table, replace(release, residence=None), derived_columns(table))
    with pytest.raises(sf.errors.ReleaseError, match=r"satisfy k-anonymity\(2\) in people cannot be seen"):
        unknown.require()
    assert "score follows from age" in unknown.silences()[0]


def test_a_mutant_that_does_not_split_is_caught(monkeypatch):
    table = scored(people()[0] // 4)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    assert release.refined.rows > 0
    columns = derived_columns(table)
    blind = [derived.Derived(c.column, known=c.known, follows=c.follows, part=np.zeros_like(c.part)) for c in columns]
    assert refined_classes(table, release, blind).rows == 0
    monkeypatch.setattr(derived, "_DIFFER", 0.0)  # a mutant that asks for a function without one exception
    noisy = people()[0] // 4
    noisy[::10] = 3
    assert derived_columns(scored(noisy)) == []
    monkeypatch.undo()
    assert derived_columns(scored(noisy)) != []
    monkeypatch.setattr(apart, "satisfied_by_rows", lambda *_: np.ones(10_000, bool)[: _[3]])
    assert refined_classes(table, release, columns).rows == 0


# -- what is said and asked -----------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.Mondrian(sf.KAnonymity(5)),
        sf.Mondrian(sf.LDiversity(2)),
        sf.TopDown(50),
        sf.Bucketize(sf.LDiversity(2)),
        sf.Anatomy(2),
        sf.Suppress(),
        sf.DLink(sf.Mondrian(sf.KAnonymity(5)), d=2),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_a_score_of_the_age_is_refused(tmp_path, mechanism):
    table = scored(people()[0] // 4)
    release = sf.publish(table, mechanism)
    assert any("score follows from age" in silence for silence in release.claim.silent_on)
    for save in (
        lambda **yes: release.save(tmp_path / "a", **yes),
        lambda **yes: sf.publish(table, mechanism, save_to=tmp_path / "b", **yes),
    ):
        with pytest.raises(sf.ReleaseError, match="score follows from age") as caught:
            save()
        assert "allow_derived" in caught.value.hint
        save(allow_derived=True)
    assert any("score follows from age" in silence for silence in sf.Release.load(tmp_path / "a").claim.silent_on)
    assert sf.verify(tmp_path / "a").holds


def test_a_score_that_is_made_coarser_too_or_left_out_is_not_asked_about(tmp_path):
    score = people()[0] // 4
    for role in ("quasi", "other"):
        table = scored(score).with_roles(
            quasi=["age", "zip", *(["score"] if role == "quasi" else [])], sensitive="disease", target=[]
        )
        sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / role)


def test_a_draw_is_not_refused(tmp_path):
    table = scored(people()[0] // 4).with_roles(quasi="age", target="score")
    release = sf.publish(table, sf.DiffGen(1, specializations=2))
    assert release.refined is None
    release.save(tmp_path / "out", allow_unaccounted=True)


def test_a_refused_release_is_kept_nowhere_and_the_ledger_hears_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    table, ledger = scored(people()[0] // 4), sf.Ledger(tmp_path / "l.db")
    with pytest.raises(sf.ReleaseError, match="follows from"):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "out", ledger=ledger)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert ledger.saved_folders("t") == []


def test_the_commands_say_it_and_ask(tmp_path):
    age, place, disease = people()
    lines = [f"{a},{z:03d},d{d},{a // 4}" for a, z, d in zip(age, place, disease, strict=True)]
    (tmp_path / "d.csv").write_text("\n".join(["age,zip,disease,score", *lines]) + "\n")
    (tmp_path / "s.toml").write_text(
        'name = "t"\nrows_per_person = 1\nsource = "public"\n'
        '[attribute.age]\nrole = "quasi"\nkind = "numeric"\nrange = [0, 100]\n'
        '[attribute.zip]\nrole = "quasi"\nmask = { length = 3 }\n'
        f'[attribute.disease]\nrole = "sensitive"\nvalues = {DISEASES}\n'
        '[attribute.score]\nrole = "target"\nkind = "numeric"\nrange = [0, 100]\n'
    )
    files = [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]
    run = CliRunner().invoke
    assert "score follows from age" in " ".join(run(app, ["check", *files]).output.split())
    words = ["publish", "mondrian", *files, "--k", "5", "-o", str(tmp_path / "out")]
    refused = run(app, words)
    assert isinstance(refused.exception, sf.ReleaseError)
    assert "--allow-derived" in refused.exception.hint
    assert not (tmp_path / "out").exists()
    assert run(app, [*words, "--allow-derived"]).exit_code == 0
    assert "score follows from age" in (tmp_path / "out" / "dictionary.md").read_text("utf-8")


# -- looser relations: school grade and age --------------------------------------------------


GRADE = {**PUBLIC, "role": "target", "kind": "numeric", "range": [0, 14]}


def pupils(rows: int = 1200, repeats: float = 0.3, seed: int = 8) -> tuple[Table, np.ndarray, np.ndarray]:
    """Pupils of 6 to 18; the grade is that of the age, or one below for those who began late or repeated a year."""
    rng = np.random.default_rng(seed)
    age = rng.integers(6, 18, rows)
    grade = np.where(rng.random(rows) < repeats, np.maximum(age - 6, 0), age - 5)
    found = schema(disease=DISEASE, grade=GRADE)
    columns = {"age": age, "zip": rng.integers(0, 1000, rows), "disease": rng.integers(0, 6, rows), "grade": grade}
    return Table.from_codes(found, np.column_stack([columns[a.name] for a in found.published])), age, grade


def told_by_hand(age, grade):
    """How many have the grade that most of their age have, that most of all have, and are of an age that agrees."""
    by_age = {one: Counter(grade[age == one].tolist()) for one in set(age.tolist())}
    right = sum(max(found.values()) for found in by_age.values())
    sure = [found.total() for found in by_age.values() if max(found.values()) >= 0.95 * found.total() >= 19]
    return right, max(Counter(grade.tolist()).values()), sum(sure)


@pytest.mark.parametrize("repeats", [0.3, 0.1])
def test_a_loose_relation_is_stated_with_true_numbers(repeats):
    table, age, grade = pupils(repeats=repeats)
    if repeats == 0.3:
        assert table.derived() == []  # rows of one age differ too often for the strict rule
    (found,) = derived.related_columns(table, [])
    assert (found.column, found.known, found.total, found.many) == ("grade", "age", 1200, "people")
    assert (found.right, found.usual, found.sure) == told_by_hand(age, grade)
    rule = found.problem("attribute.grade").rule
    assert f"{found.right:,} of 1,200 people have the most frequent grade of those with nearly the same age" in rule
    said = [one.rule for one in table.doubts.remarks()]
    assert (rule in said) == (repeats == 0.3)  # a closer relation is refused, not stated
    assert any("grade" in one and "age" in one for one in said)


def test_a_mutant_that_counts_one_more_is_caught(monkeypatch):
    real = derived._people_determined
    monkeypatch.setattr(derived, "_people_determined", lambda *given: tuple(found + 1 for found in real(*given)))
    with pytest.raises(AssertionError):
        test_a_loose_relation_is_stated_with_true_numbers(0.3)


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_say_little_of_each_other_are_not_stated(seed):
    """Independent ones, and a disease that is twice as frequent with the old."""
    rng = np.random.default_rng(seed)
    age, place, disease = people(800, seed)
    assert derived.related_columns(scored(rng.integers(0, 100, 600)), []) == []
    tilted = np.where((age > 60) & (rng.random(800) < 0.3), 0, disease)
    table = Table.from_codes(schema(disease=DISEASE), np.column_stack([age, place, tilted]))
    assert derived.related_columns(table, []) == []


def test_rows_are_called_rows_where_nobody_decided_who_they_are():
    table, _, _ = pupils()
    open_unit = sf.Schema.parse(
        {"name": "t", "attribute": {"age": AGE, "zip": ZIP, "disease": DISEASE, "grade": GRADE}}
    )
    (found,) = derived.related_columns(Table.from_codes(open_unit, table.codes()), [])
    assert found.many == "rows"
    assert "people" not in found.problem("attribute.grade").rule


def test_check_and_publish_say_it(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    table, age, grade = pupils()
    names = [attribute.name for attribute in table.schema.published]
    texts = [[table.schema[n].text(int(c)) for n, c in zip(names, row, strict=True)] for row in table.codes()]
    (tmp_path / "d.csv").write_text("\n".join(",".join(line) for line in (names, *texts)) + "\n")
    (tmp_path / "s.toml").write_text(PUPILS)
    right, usual, sure = told_by_hand(age, grade)
    files = [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]
    for words in (["check", *files], ["publish", "mondrian", *files, "--k", "5", "-o", str(tmp_path / "out")]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        answer = " ".join((done.output + done.stderr).split())
        assert f"{right:,} of 1,200 people have the most frequent grade of those with nearly the same age" in answer
        assert f"and {usual:,} that of all; {sure:,} people are among at least 20" in answer


PUPILS = """
name = "t"
rows_per_person = 1
source = "public"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
[attribute.zip]
role = "quasi"
mask = { length = 3 }
[attribute.disease]
role = "sensitive"
values = ["d0", "d1", "d2", "d3", "d4", "d5"]
[attribute.grade]
role = "target"
kind = "numeric"
range = [0, 14]
"""


# -- what two quasi-identifiers tell together --------------------------------------------------------------------


def grouped(band, role, rows: int = 800) -> Table:
    """People with an age, a sex and a town; `band` says their group from these codes."""
    rng = np.random.default_rng(31)
    codes = {"age": rng.integers(18, 90, rows), "sex": rng.integers(0, 2, rows), "town": rng.integers(0, 6, rows)}
    codes |= {"disease": rng.integers(0, 6, rows), "band": band(**codes)}
    found = sf.Schema.parse(
        {
            "name": "t",
            "rows_per_person": 1,
            "attribute": {
                "age": AGE,
                "sex": {**PUBLIC, "role": "quasi", "values": ["f", "m"]},
                "town": {**PUBLIC, "role": "quasi", "values": list("ABCDEF")},
                "disease": DISEASE,
                "band": {**SCORE, "role": role},
            },
        }
    )
    return Table.from_codes(found, np.column_stack([codes[a.name] for a in found.published]))


TWO = {
    "sex and decade": (lambda age, sex, **_: sex * 10 + age // 10, ("age", "sex"), True),
    "town and decade": (lambda age, town, **_: town * 10 + age // 10, ("age", "town"), True),
    "women from 50 to 75": (lambda age, sex, **_: (sex == 0) & (age >= 50) & (age < 75), ("age", "sex"), True),
    "sex, town and old age": (lambda age, sex, town: town * 4 + sex * 2 + (age > 64), ("sex", "town"), False),
}


@pytest.mark.parametrize("role", ["target", "sensitive"])
@pytest.mark.parametrize("name", TWO)
def test_a_group_of_two_quasi_identifiers_is_found_though_it_tells_one_of_them(name, role):
    band, known, follows = TWO[name]
    (found,) = derived_columns(grouped(lambda **codes: band(**codes).astype(int), role))
    assert (found.column, found.known, found.follows) == ("band", known, follows)


@pytest.mark.parametrize("role", ["target", "sensitive"])
def test_a_group_of_sex_and_decade_is_refused(role, tmp_path):
    release = sf.publish(grouped(TWO["sex and decade"][0], role), sf.Mondrian(k=10))
    with pytest.raises(sf.ReleaseError, match=r"band follows from age and sex: .* no longer satisfies"):
        release.save(tmp_path / "out")


def test_neighbours_within_a_town_tell_a_group_of_fine_numbers():
    """No two people agree in a number of 1,000 values; those next to each other in an age group tell the column."""
    rng = np.random.default_rng(6)
    place, age = rng.permutation(1000)[:300], rng.integers(0, 3, 300) * 10
    codes = np.column_stack([age, place, rng.integers(0, 6, 300), (place // 250 + age // 10 * 2) % 4])
    (found,) = derived_columns(Table.from_codes(schema(disease=DISEASE, score=SCORE), codes))
    assert found.known == ("age", "zip")


@pytest.mark.parametrize("seed", range(10))
def test_independent_columns_do_not_follow_from_two(seed):
    rng = np.random.default_rng(seed)
    table = grouped(lambda age, **_: rng.integers(0, rng.integers(2, 8), len(age)), "target", 300 + 50 * seed)
    assert derived_columns(table) == []


# -- several rows of a person ------------------------------------------------------------------------------------


def visits(people: int, value) -> tuple[sf.Schema, np.ndarray, np.ndarray]:
    """Three to five rows of each person, whose score is `value(age, visit, rng)`; the rows and whose they are."""
    rng = np.random.default_rng(4)
    rows = []
    for who in range(people):
        age, place = rng.integers(20, 85), rng.integers(0, 1000)
        rows += [(who, age, place, rng.integers(0, 6), value(age, visit, rng)) for visit in range(rng.integers(3, 6))]
    found = sf.Schema.parse(
        {
            "name": "t",
            "person": "who",
            "attribute": {"who": {"role": "identifier"}, "age": AGE, "zip": ZIP, "disease": DISEASE, "score": SCORE},
        }
    )
    lines = np.array(rows)
    return found, lines[:, 1:], lines[:, 0]


ONE_TELLS = {
    "the first": (lambda age, visit, rng: age // 5 if visit == 0 else 50 + rng.integers(0, 30)),
    "all but the first": (lambda age, visit, _: 99 if visit == 0 else age // 5),
    "all": (lambda age, _visit, _rng: age // 5),
}


@pytest.mark.parametrize("name", ONE_TELLS)
def test_the_order_of_the_rows_of_people_says_nothing(name):
    found, codes, who = visits(300, ONE_TELLS[name])
    rng, seen = np.random.default_rng(1), []
    for order in (np.arange(len(codes)), np.arange(len(codes))[::-1], rng.permutation(len(codes))):
        table = Table.from_codes(found, codes[order], people=who[order])
        seen.append([one.rule for one in table.doubts.remarks() if "score" in one.rule])
    assert seen[0] == seen[1] == seen[2]
    assert any("follows from" in one for one in seen[0]) == (name == "all")
    if name == "all":
        assert "one row of each person" in " ".join(seen[0])


def test_rows_are_counted_where_a_person_has_several_values():
    found, codes, who = visits(300, lambda age, visit, _: 99 if visit == 4 else age // 5)
    (one,) = derived.related_columns(Table.from_codes(found, codes, people=who), [])
    assert (one.column, one.known, one.many, one.total) == ("score", "age", "rows", len(codes))
    assert one.usual == max(Counter(codes[:, 3].tolist()).values())
    assert one.usual < one.right < len(codes) - (codes[:, 3] == 99).sum()  # ages next to each other may have another
    whole, codes, who = visits(300, ONE_TELLS["all"])
    (one,) = derived.related_columns(Table.from_codes(whole, codes, people=who), [])
    assert (one.many, one.total) == ("people", 300)
