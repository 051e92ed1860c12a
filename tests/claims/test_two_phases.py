"""Top cuts from summaries and parts by the kernel: the same release as in memory, whatever fits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import sfumato as sf
from sfumato.counts import Table
from sfumato.kernels import conditions as sc
from sfumato.kernels.mondrian import summary as summaries
from sfumato.kernels.mondrian.layout import BOX, EXTREMES, SET, CutAttribute, lay_out, whole_box
from sfumato.kernels.mondrian.partition import RULES, partition
from sfumato.kernels.mondrian.summary import PartSummary, choose
from sfumato.mechanisms.mondrian import two_phases
from sfumato.schema import Schema

QUIET = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
TREE = ((0, 6, (1, 2, 3)), (0, 2, (4, 5)), (2, 5, (6, 7)), (5, 6, ()), (0, 1, ()), (1, 2, ()), (2, 4, ()), (4, 5, ()))


def summarize(codes, weights, sensitive) -> PartSummary:
    """The counts of rows, slowly: every pair of columns by a dictionary."""

    def pairs(one, other):
        found: dict[tuple[int, int], int] = {}
        for a, b, weight in zip(one.tolist(), other.tolist(), weights.tolist(), strict=True):
            found[a, b] = found.get((a, b), 0) + weight
        keys = sorted(found)
        first, second = np.array(keys, np.int64).reshape(-1, 2).T
        return first, second, np.array([found[key] for key in keys], np.int64)

    q = codes.shape[1]
    one_way = [pairs(codes[:, a], codes[:, a]) for a in range(q)]
    return PartSummary(
        [codes_.astype(np.int32) for codes_, _, _ in one_way],
        weights=[weight for _, _, weight in one_way],
        pairs={(a, b): pairs(codes[:, a], codes[:, b]) for a in range(q) for b in range(a + 1, q)},
        sensitive={(a, 0): pairs(codes[:, a], sensitive) for a in range(q)},
    )


def first_cut(found):
    """The cut at the root of a partition: attribute and the low ends of its children."""
    tree = found.tree
    if tree.attribute[0] < 0:
        return None
    children = slice(int(tree.child_first[0]), int(tree.child_first[0] + tree.child_count[0]))
    return int(tree.attribute[0]), tree.child_low[children].tolist()


@st.composite
def small_tables(draw):
    sizes = [draw(st.integers(1, 7)), 6, draw(st.integers(2, 300))]
    label, missing = draw(st.sampled_from([BOX, SET, EXTREMES])), draw(st.booleans())
    attributes = [CutAttribute(size, label=label, missing=missing and size > 1) for size in sizes]
    if draw(st.booleans()):
        attributes[1] = CutAttribute(6, label=label, missing=missing, nodes=TREE)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.sampled_from([4, 30, 400]))
    codes = np.column_stack([rng.integers(0, size, rows) for size in sizes]).astype(np.int32)
    if draw(st.booleans()):
        codes[:, 2] = np.minimum(codes[:, 2], codes[:, 0] * 3)
        codes[:, 2] = np.minimum(codes[:, 2], sizes[2] - 1)
    codes, weights = np.unique(codes, axis=0, return_counts=True)
    return codes, weights * draw(st.integers(1, 3)), rng.integers(0, 3, len(codes)).astype(np.int32), attributes


def conditions_of(name: str, sensitive, weights):
    counts = np.bincount(sensitive, weights=weights, minlength=3).astype(np.int64)
    return {
        "k": [sc.size(2)],
        "l": [sc.size(2), sc.distinct(min(2, np.count_nonzero(counts)))],
        "t": [sc.size(2), sc.js(Fraction(1, 5))],
        "emd": [sc.size(2), sc.emd(Fraction(3, 10), sc.GroundEdges.ordered(counts))],
    }[name], counts


def both_cuts(table, name, rule):
    """The first cut of a table by its rows and by its summary, written in one form."""
    codes, weights, sensitive, attributes = table
    conditions, counts = conditions_of(name, sensitive, weights)
    options = {"sensitive": sensitive[:, None], "sensitive_sizes": [3]}
    by_rows = first_cut(partition(codes, weights, attributes, conditions=conditions, cut=rule, **options))
    layout = lay_out(attributes)
    overall = [] if name == "k" else [counts]
    answer = summarize(codes, weights, sensitive)
    answer = answer if overall else PartSummary(answer.codes, weights=answer.weights, pairs=answer.pairs, sensitive={})
    bound = sc.bind(conditions, overall, int(weights.sum()))
    box = whole_box(layout)
    cut = choose(answer, layout, attributes, bound, box=box, rule=RULES[rule], uniformity_weight=0.3)
    if cut is None:
        return by_rows, None
    a = cut.attribute
    if cut.position >= 0:
        return by_rows, (a, [0, cut.position])
    return by_rows, (a, [TREE[child][0] for child in TREE[0][2]])


@QUIET
@given(small_tables(), st.sampled_from(["k", "l", "t", "emd"]), st.sampled_from(["best", "sparing", "widest"]))
def test_a_summary_is_cut_like_its_rows(table, name, rule):
    by_rows, by_summary = both_cuts(table, name, rule)
    assert by_summary == by_rows


def test_a_mutant_without_pairs_is_caught(monkeypatch):
    """A summary whose pairs are dropped leaves the other labels out of account."""
    filled = summaries._filled
    monkeypatch.setattr(summaries, "_filled", lambda *given, **_: filled(*given, pairs=False))
    rng = np.random.default_rng(5)
    differ = 0
    for _ in range(20):
        codes = np.unique(rng.integers(0, 6, (60, 3)).astype(np.int32), axis=0)
        table = codes, np.ones(len(codes), np.int64), rng.integers(0, 3, len(codes)), [CutAttribute(6)] * 3
        one, other = both_cuts(table, "k", "best")
        differ += one != other
    assert differ


# -- whole releases ------------------------------------------------------------------------------------


def schema_of(person: bool, levels: bool) -> Schema:
    born = {"role": "quasi", "kind": "date", "range": ["1990-03-17", "1992-02-05"], "missing": [""]}
    born |= {"dates": ["month", "year"]} if levels else {}
    return Schema.parse(
        {
            "name": "far",
            **({"person": "who", "rows_per_person": 4} if person else {}),
            "attribute": {
                **({"who": {"role": "identifier"}} if person else {}),
                "age": {"role": "quasi", "kind": "numeric", "range": [0, 40]},
                "born": born,
                "town": {"role": "quasi", "values": ["a", "b", "c", "d", "e"], "missing": ["?"]},
                "zip": {"role": "quasi", "mask": {"length": 2}},
                "ill": {"role": "sensitive", "values": ["x", "y", "z"]},
                "stage": {"role": "sensitive", "kind": "ordered", "values": ["1", "2", "3", "4"]},
                "income": {"role": "target", "values": ["low", "high"]},
            },
        }
    )


def rows_of(schema: Schema, rows: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows)
    columns = [
        np.minimum((hidden + rng.random(rows) * 0.7) / 1.7 * a.size, a.size - 1).astype(np.int64)
        if at % 2 == 0
        else rng.integers(0, a.size, rows)
        for at, a in enumerate(schema.published)
    ]
    people = None
    if schema.person:
        owner = rng.integers(0, max(rows // 3, 1), rows)
        for at in (0, 2):  # some of a person's rows agree
            same = rng.random(rows) < 0.6
            columns[at] = np.where(same, columns[at][owner], columns[at])
        people = [f"p{one}" for one in owner.tolist()]
    return Table.from_codes(schema, np.column_stack(columns), people=people)


REQUIREMENTS = [
    sf.KAnonymity(5),
    sf.KAnonymity(4) & sf.LDiversity("1.3"),
    sf.KAnonymity(4) & sf.TCloseness("0.3"),
    sf.KAnonymity(3) & sf.TCloseness("0.5", distance="emd"),
    sf.LDiversity(2, kind="entropy"),
]


def compare(schema, requirement, *, rows, seed, cells, **options):
    mechanism = sf.Mondrian(requirement, **options)
    near, far = rows_of(schema, rows, seed), rows_of(schema, rows, seed)
    far.driver_cells = cells
    try:
        expected = sf.publish(near, mechanism)
    except sf.Infeasible:
        with pytest.raises(sf.Infeasible):
            sf.publish(far, mechanism)
        return None
    found = sf.publish(far, mechanism)
    assert (found.residence is None) == (far.engine is not None)
    np.testing.assert_array_equal(found.boxes.labels, expected.boxes.labels)
    np.testing.assert_array_equal(found.boxes.weight, expected.boxes.weight)
    assert found.frame().equals(expected.frame())
    assert found.notes == expected.notes
    assert str(found.claim) == str(expected.claim)
    if expected.people is not None:
        np.testing.assert_array_equal(found.people.classes, expected.people.classes)
    codes = near.codes([a.name for a in schema.quasi])
    np.testing.assert_array_equal(found.recoding.route(codes), expected.recoding.route(codes))
    return found


@settings(QUIET, max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    requirement=st.sampled_from(REQUIREMENTS),
    person=st.booleans(),
    levels=st.booleans(),
    cells=st.sampled_from([1, 20, 90]),
    cut=st.sampled_from(["best", "widest"]),
    nominal=st.sampled_from(["leaves", "nodes"]),
    tight=st.booleans(),
)
def test_two_phases_give_the_same_release(seed, requirement, person, levels, cells, cut, nominal, tight):
    schema = schema_of(person, levels)
    compare(schema, requirement, rows=150, seed=seed, cells=cells, cut=cut, nominal=nominal, tight=tight)


@pytest.mark.full
@settings(QUIET, max_examples=600)
@given(st.data())
def test_two_phases_give_the_same_release_on_many_tables(data):
    schema = schema_of(data.draw(st.booleans()), data.draw(st.booleans()))
    compare(
        schema,
        data.draw(st.sampled_from(REQUIREMENTS)),
        rows=data.draw(st.sampled_from([30, 300, 1500])),
        seed=data.draw(st.integers(0, 10**9)),
        cells=data.draw(st.sampled_from([1, 20, 90, 600])),
        cut=data.draw(st.sampled_from(["best", "widest"])),
        nominal=data.draw(st.sampled_from(["leaves", "nodes"])),
        tight=data.draw(st.booleans()),
    )


def test_a_mutant_that_finishes_parts_from_the_whole_domain_is_caught(monkeypatch):
    """A part that forgets its box is labelled with codes it does not have."""
    whole = two_phases.Inside

    def forgets(rows, *, overall, box):
        wide = box.copy()
        wide["low"] = 0
        return whole(rows, overall=overall, box=wide)

    monkeypatch.setattr(two_phases, "Inside", forgets)
    with pytest.raises(AssertionError):
        compare(schema_of(person=False, levels=False), REQUIREMENTS[0], rows=150, seed=1, cells=20)


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        (sf.Mondrian(sf.KAnonymity(5), max_suppressed="0.05"), "max_suppressed"),
        (sf.Mondrian(sf.KAnonymity(5) & sf.Linkability()), "requirement"),
    ],
    ids=["suppression", "linkability"],
)
def test_what_summaries_cannot_decide_is_refused(mechanism, name):
    table = rows_of(schema_of(person=False, levels=False), 150, 1)
    table.driver_cells = 20
    with pytest.raises(sf.ParameterError) as caught:
        sf.publish(table, mechanism)
    assert caught.value.name == name
    assert "driver_cells" in str(caught.value)


def rows_read(rows: int) -> int:
    """How many rows an engine goes through until a table is cut, parts holding a quarter of it."""
    table = rows_of(schema_of(person=False, levels=True), rows, 4)
    table.driver_cells = rows // 4
    engine, read = table.engine, []

    def counted(places):
        for columns, weights in engine.again(places):
            read.append(len(weights))
            yield columns, weights

    table._engine = replace(engine, again=counted)
    sf.publish(table, sf.Mondrian(sf.KAnonymity(5), cut="widest"))
    return sum(read)


def test_doubling_the_rows_doubles_the_work():
    """The passes over a table follow how often it must be halved, not its rows."""
    small, large = rows_read(600), rows_read(1200)
    assert small > 600
    assert large <= 2.5 * small


def test_cuts_that_lead_to_one_part_lose_no_row():
    """Parts that are not asked for share a node, which was counted before all cuts that lead to it were known."""
    requirement = sf.KAnonymity(4) & sf.LDiversity("1.3")
    assert compare(schema_of(False, False), requirement, rows=150, seed=0, cells=1, cut="best", tight=True) is not None
