"""DiffGen and NoisyTable: parameters, plans, claims, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.mechanisms import REGISTRY, Mechanism
from sfumato.mechanisms.base import gather, run
from sfumato.mechanisms.diffgen.diffgen import step_epsilon
from sfumato.mechanisms.diffgen.growth import Node, by_splits, cut_labels, for_new_cells, for_ways, replaced, root_cut
from sfumato.mechanisms.diffgen.scores import score_of
from sfumato.mechanisms.noisy_cells import expected_error
from sfumato.randomness import Entropy
from sfumato.schema import Schema

DATA = {
    "name": "small",
    "source": "public",
    "attribute": {
        "job": {
            "role": "quasi",
            "kind": "nominal",
            "hierarchy": {"White": ["clerk", "boss"], "Blue": {"Only": ["smith"]}},
        },
        "age": {"role": "quasi", "kind": "numeric", "range": [20, 28], "step": 1, "missing": ["?"]},
        "grade": {"role": "quasi", "kind": "ordered", "values": ["low", "mid", "high"]},
        "income": {"role": "quasi", "kind": "numeric", "edges": [0, 1, 10, 100, 1000]},
        "pay": {"role": "target", "kind": "nominal", "values": ["no", "yes"]},
    },
}


@pytest.fixture
def schema():
    return Schema.parse(DATA)


@pytest.fixture
def table(schema):
    rng = np.random.default_rng(7)
    return Table.from_codes(schema, np.column_stack([rng.integers(a.size, size=500) for a in schema.published]))


def released(mechanism, table, seed=1):
    return run(mechanism, gather(mechanism, table), Entropy.seeded(seed))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": 1, "specializations": 0}, "specializations"),
        ({"epsilon": 1, "specializations": "all"}, "specializations"),
        ({"epsilon": 1, "score": "best"}, "score"),
        ({"epsilon": 1, "first": "best"}, "first"),
        ({"epsilon": 1, "structure": 1}, "structure"),
        ({"epsilon": 1, "structure": 0}, "structure"),
        ({"epsilon": 1, "prefix": "1/2"}, "prefix"),
        ({"epsilon": 1, "threshold": 0}, "threshold"),
        ({"epsilon": 1, "scored": "cells", "score": "infogain"}, "score"),
        ({"epsilon": 1, "scored": "cells", "first": "gain"}, "first"),
        ({"epsilon": 1, "ratio": 0}, "ratio"),
        ({"epsilon": 1, "ratio": 2}, "ratio"),
        ({"epsilon": 1, "penalty": -1}, "penalty"),
        ({"epsilon": 1, "penalty": 1}, "penalty"),
        ({"epsilon": 1, "penalty": 1, "scored": "cells", "paper": True}, "scored"),
    ],
)
def test_bad_parameters_are_named(options, named):
    epsilon = options.pop("epsilon")
    with pytest.raises(sf.ParameterError, match=f"^{named} ="):
        sf.DiffGen(epsilon, **options)


def test_values_are_exact_frozen_and_equal():
    assert sf.DiffGen(0.1) == sf.DiffGen("1/10")
    assert hash(sf.DiffGen(0.1)) == hash(sf.DiffGen(Fraction(1, 10)))
    assert sf.DiffGen(1, paper=True).threshold == 1
    assert sf.DiffGen(1).threshold == "auto"
    assert hash(sf.NoisyTable(1, cuts={"job": ["*"]})) == hash(sf.NoisyTable("1", cuts={"job": ("*",)}))
    with pytest.raises(AttributeError):
        sf.DiffGen(1).epsilon = 2
    assert isinstance(sf.DiffGen(1), Mechanism)
    assert REGISTRY["diffgen"] is sf.DiffGen
    assert REGISTRY["noisy-table"] is sf.NoisyTable


@pytest.mark.parametrize(
    "mechanism", [sf.DiffGen(1, prefix="1/10"), sf.DiffGen.recommended("1/3"), sf.NoisyTable(2, cuts={"job": ["*"]})]
)
def test_json_holds_every_parameter_and_no_seed(mechanism, table):
    data = json.loads(json.dumps(mechanism.to_json()))
    kind = REGISTRY[data.pop("name")]
    assert kind(**data) == mechanism
    assert "seed" not in json.dumps(released(mechanism, table).mechanism)


def test_domains_read_off_the_data_are_refused(schema, table):
    age = replace(schema["age"], source="data")
    guessed = replace(schema, attributes=tuple(age if a.name == "age" else a for a in schema.attributes))
    for mechanism in (sf.DiffGen(1), sf.NoisyTable(1)):
        for call in (mechanism.claim, mechanism.plan, mechanism.needs):
            with pytest.raises(sf.SchemaError, match=r"attribute\.age"):
                call(guessed)


def test_the_plan_tells_what_each_stage_gets(schema):
    plan = sf.DiffGen(1, specializations=3, paper=True).plan(schema)
    budgets = {stage.name: stage.budget for stage in plan.stages}
    step = step_epsilon(1, 3, 3)
    assert budgets == {
        "initial splits": 3 * step, "selections": 3 * step, "later splits": 2 * step, "counts": Fraction(1, 2),
        "unspent": step,
    }  # fmt: skip
    assert sum(budgets.values()) == 1
    [counts] = [stage for stage in plan.stages if stage.name == "counts"]
    assert counts.expected_error == expected_error(Fraction(1, 2))
    assert "1.92 rows" in counts.expected_error
    together = sf.DiffGen.recommended(1).plan(schema)
    assert [(s.name, s.budget) for s in together.stages] == [
        ("selections", Fraction(7, 10)),
        ("counts", Fraction(3, 10)),
    ]
    assert [s.name for s in sf.DiffGen(1, specializations="leaves").plan(schema).stages] == ["counts"]


def test_the_recommended_number_of_specializations_follows_from_epsilon_alone():
    answer = {"0.01": 3, "0.1": 3, "0.19": 3, "0.2": 4, "0.25": 4, "0.5": 5, "1": 6, "2": 7, "10": 9}
    assert {epsilon: sf.DiffGen.recommended(epsilon).specializations for epsilon in answer} == answer
    with pytest.raises(sf.ParameterError, match=r"^epsilon ="):
        sf.DiffGen.recommended(0)


def test_prices_rise_by_the_ratio_and_sum_to_the_structure(schema):
    mechanism = sf.DiffGen(1, specializations=3, splits="together", ratio=2, structure="7/10")
    assert mechanism.prices(schema) == (Fraction(1, 10), Fraction(2, 10), Fraction(4, 10))
    assert sf.DiffGen(1, specializations="leaves").prices(schema) == ()
    few = Table.from_codes(schema, np.zeros((4, 5), int)).with_roles(quasi="job")
    trace = dict(released(mechanism, few).claim.trace)  # a tree of two specializations: the third is not paid
    assert trace == {"selections": Fraction(3, 10), "counts": Fraction(7, 10)}


def test_handicaps_are_whole_and_public():
    largest, squares = (score_of(name, classes=2, in_cells=True) for name in ("max", "gini"))
    assert for_ways([1, 1000], Fraction(1, 100), largest) == [0, 690]  # ln 1000 = 6.9, times 100
    assert for_ways([1, 3], Fraction(1), squares) == [0, 2303956]  # 2 ln 3, in steps of 2^-20
    two, four = np.array([[0, 1, 3]]), np.array([[0, 1, 2, 3, 4]])
    assert for_new_cells([two, four], [6, 3], Fraction(5, 2), largest) == [15, 22]
    assert for_new_cells([two], [6], Fraction(5, 2), squares) == [15 << 20]


def test_a_handicap_beyond_int64_is_no_error(table):
    choices = {"scored": "cells", "splits": "together", "selection": "permute-and-flip", "score": "gini"}
    tiny = sf.DiffGen("1e-9", specializations=2, penalty=10**6, **choices)
    assert released(tiny, table).rows >= 0


def test_many_cells_must_earn_their_noise():
    """A column of 40 values that tells the class a little better than one of 2 is not worth its cells."""
    wide = {"role": "quasi", "kind": "nominal", "values": [str(v) for v in range(40)]}
    columns = {"wide": wide, "sex": {**wide, "values": ["m", "f"]}, "pay": DATA["attribute"]["pay"]}
    data = {"name": "wide", "source": "public", "attribute": columns}
    sex = np.arange(2000) % 2
    pay = np.where(np.arange(2000) % 10 < 2, 1 - sex, sex)
    code = sex + 2 * (np.arange(2000) * 7 % 20)
    code[pay != sex] = code[pay != sex] // 4 * 4 + pay[pay != sex]  # a hint that only the wide column gives
    table = Table.from_codes(Schema.parse(data), np.column_stack([code, sex, pay]))
    for penalty, labels in ((0, [40, 1]), (2, [1, 2])):
        mechanism = sf.DiffGen(
            10, specializations=1, scored="cells", splits="together", structure="99/100", penalty=penalty
        )
        assert [len(t) for t in released(mechanism, table).boxes.tables] == labels


def test_the_claim_says_what_it_rests_on(schema):
    claim = sf.DiffGen("1/2").claim(schema)
    assert claim.promise == sf.PureDP("1/2")
    assert claim.neighbours is sf.Neighbours.ADD_OR_REMOVE_ONE
    assert "domain and hierarchy of age" in claim.public_inputs
    assert any("replacing" in silence for silence in claim.silent_on)
    twice = sf.DiffGen("1/2").claim(replace(schema, rows_per_person=2))
    assert any("more than 2 rows" in silence for silence in twice.silent_on)
    assert any("all rows of a person" in silence for silence in twice.silent_on)


def test_same_seed_same_release_whatever_the_order_of_rows(table):
    for mechanism in (sf.DiffGen(3), sf.DiffGen.recommended(3), sf.NoisyTable(3, threshold=1)):
        first, second = released(mechanism, table), released(mechanism, table.take(np.arange(500)[::-1]))
        assert first.frame().equals(second.frame())
        assert first.claim.rehearsal
        assert not first.frame().equals(released(mechanism, table, seed=2).frame())


def test_cuts_and_labels_agree(table):
    release = released(sf.DiffGen(5, specializations=6), table)
    codes = table.codes([a.name for a in release.quasi])
    labels = release.recoding.route(codes)
    for at, known in enumerate(release.boxes.tables):
        assert known.size.sum() == known.attribute.size  # a cut holds each value once
        assert (known.low[labels[:, at]] <= codes[:, at]).all()
        assert (codes[:, at] < known.high[labels[:, at]]).all()


def test_counts_are_near_where_epsilon_is_large(table):
    release = released(sf.DiffGen(10**6, specializations=3), table)
    assert release.rows == 500
    kept = released(
        sf.NoisyTable(10**6, cuts={"age": ["(known)", "(missing)"], "grade": ["*"], "income": ["*"]}), table
    )
    true = table.counts(["job", "pay"]).weights
    answer = np.zeros((3, 2), int)
    carried = kept.groups.carried
    np.add.at(answer, (kept.boxes.labels[carried.group, 0], carried.codes[:, 0]), carried.weight)
    assert answer.ravel().tolist() == true.tolist()


def test_leaves_pay_for_no_choice(table):
    leaves = released(sf.DiffGen(2, specializations="leaves", threshold=1), table)
    assert leaves.claim.trace == (("counts", Fraction(2)),)
    assert leaves.frame().equals(released(sf.NoisyTable(2, threshold=1), table).frame())


def test_growth_stops_where_nothing_is_left(table):
    few = table.with_roles(quasi="job")
    release = released(sf.DiffGen(2, specializations=50), few)
    assert [len(labels) for labels in release.boxes.tables] == [3]
    assert dict(release.claim.trace)["selections"] == 2 * Fraction(2) / 2 / 99


def test_an_empty_table_gives_a_release(schema):
    empty = Table.from_codes(schema, np.zeros((0, 5), int))
    for mechanism in (sf.DiffGen(1, specializations=2), sf.DiffGen.recommended(1), sf.DiffGen(1, prefix="1/9")):
        assert released(mechanism, empty).rows >= 0
    assert (
        released(sf.NoisyTable(9, cuts={n: ["*"] for n in ("job", "age", "grade", "income")}, threshold=50), empty).rows
        == 0
    )


def test_it_is_saved_with_its_public_recoding_and_read_back(table, tmp_path):
    release = released(sf.DiffGen(5, specializations=3), table)
    release.save(tmp_path / "out", allow_rehearsal=True)
    back = sf.Release.load(tmp_path / "out")
    assert back.claim == release.claim
    assert back.recoding is not None
    assert back.frame().equals(release.frame())


@pytest.mark.parametrize(
    ("cuts", "rule"),
    [
        ({"pay": ["*"]}, "not a quasi-identifier"),
        ({"age": ["[20-24)"]}, "4 values are in none of its labels and \\(missing\\) is in none"),
        ({"grade": ["low", "low..mid", "high"]}, "1 value is in more than one label"),
        ({"grade": ["nowhere"]}, "cannot be read"),
        ({"grade": "*"}, "must list"),
    ],
)
def test_declared_cuts_must_hold_each_value_once(cuts, rule, schema):
    with pytest.raises(sf.ParameterError, match=rule):
        sf.NoisyTable(1, cuts=cuts).plan(schema)


def test_nodes(schema):
    age, job, grade = schema["age"], schema["job"], schema["grade"]
    assert [by_splits(a) for a in (age, job, grade)] == [True, False, True]
    known, missing = root_cut(age)
    assert (known.low, known.high, missing.low, missing.closed) == (0, 8, 8, True)
    assert len(missing.splits()) == 0
    assert known.splits().tolist() == list(range(1, 8))
    [root] = root_cut(job)
    white, blue = root.children(job)
    assert [(n.low, n.high) for n in white.children(job)] == [(0, 1), (1, 2)]
    assert blue.children(job) == ()  # a chain of single children ends in a leaf
    cut = replaced((root,), root, (white, blue))
    assert cut_labels(job, cut).names == ("White", "smith")
    assert Node(0, high=4).split(1) == (Node(0, high=1), Node(1, high=4))


def test_the_least_group_that_is_seen_is_counted_in_rows():
    """It was called a number of people where a person has ten rows."""
    said = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
        "ill": {"role": "sensitive", "values": [f"d{at}" for at in range(300)]},
        "job": {"role": "sensitive", "values": ["x", "y"]},
    }
    several = {"name": "t", "source": "public", "rows_per_person": 10, "rows": 100_000, "attribute": said}
    notes = sf.DiffGen("1/2", specializations=3).plan(sf.Schema.parse(several)).notes
    (warning,) = [note for note in notes if "no group below" in note]
    assert "rows is seen" in warning
    assert "people" not in warning
