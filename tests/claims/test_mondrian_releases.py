"""Is what Mondrian claims true? Every release is verified from its rows; the compiled check against the requirement."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sfumato as sf
from sfumato.claims import MECHANISM_TOLERANCE, Conjunction, Requirement
from sfumato.counts import Counts, Table
from sfumato.kernels.conditions import all_hold
from sfumato.mechanisms.conditions import compile_requirement
from sfumato.release import ground_of

ADULT_CASES: list[Requirement] = [
    *(sf.KAnonymity(k) for k in (5, 10, 50, 5000)),
    *(sf.LDiversity(l) for l in (3, 5)),
    *(sf.TCloseness(t) for t in (0.1, 0.2)),
    *(sf.SemanticPrivacy(delta) for delta in (1.5, 2.0)),
    sf.KAnonymity(10) & sf.LDiversity(3) & sf.TCloseness(0.2),
    sf.KAnonymity(10) & sf.LDiversity(5, kind="distinct"),
    sf.KAnonymity(10) & sf.TCloseness(0.2, distance="emd"),
    sf.AlphaK(0.5, k=10) & sf.BetaLikeness(3),
    sf.LDiversity(3, kind="entropy") & sf.LDiversity(3, kind="recursive", c=2),
]


@pytest.fixture(scope="module")
def adult() -> Table:
    return sf.datasets.adult().with_roles(sensitive="occupation", target=[])


@pytest.mark.cells(6)
@pytest.mark.parametrize("requirement", ADULT_CASES, ids=str)
@pytest.mark.parametrize("cut", ["best", "widest"])
def test_every_release_verifies(adult: Table, requirement: Requirement, cut: str, tmp_path: Path) -> None:
    release = sf.publish(adult, sf.Mondrian(requirement, cut=cut))
    release.save(tmp_path / "out")
    verdict = sf.verify(tmp_path / "out")
    assert verdict.holds, verdict
    assert release.rows == adult.rows
    assert release.summary().suppressed == 0


def test_a_mutant_that_checks_one_side_only_is_caught(adult: Table, tmp_path: Path) -> None:
    """A partition made for less than it claims: the verifier says so."""
    from dataclasses import replace

    release = sf.publish(adult, sf.Mondrian(sf.KAnonymity(9)))
    mutant = replace(release, claim=sf.Mondrian(sf.KAnonymity(10)).claim(adult.schema))
    mutant.save(tmp_path / "out")
    assert not sf.verify(tmp_path / "out").holds


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("requirement", "function", "expected"),
    [
        (sf.KAnonymity(10), "k_anonymity", "k"),
        (sf.LDiversity(3), "alpha_k_anonymity", "alpha"),
        (sf.TCloseness(0.2, distance="emd"), "t_closeness", "t"),
    ],
    ids=["k", "alpha", "t"],
)
def test_pycanon_agrees_on_the_written_file(
    adult: Table, requirement: Requirement, function: str, expected: str, tmp_path: Path
) -> None:
    import pandas as pd
    from pycanon import anonymity

    release = sf.publish(adult, sf.Mondrian(sf.KAnonymity(2) & requirement))
    release.save(tmp_path / "out", format="csv")
    frame = pd.read_csv(tmp_path / "out" / "data.csv", dtype=str, keep_default_na=False)
    quasi = [attribute.name for attribute in adult.schema.quasi]
    if function == "k_anonymity":
        assert anonymity.k_anonymity(frame, quasi) >= 10
        return
    found = getattr(anonymity, function)(frame, quasi, ["occupation"])
    if expected == "alpha":
        assert found[0] <= 1 / 3 + 1e-12
    else:
        assert found <= 0.2 + 1e-12
        asked = sf.verify(tmp_path / "out").found
        assert float(asked["t-closeness"]) == pytest.approx(found, abs=1e-9)


SMALL = {
    "name": "small",
    "attribute": {
        "a": {"role": "quasi", "kind": "numeric", "range": [0, 6]},
        "b": {"role": "quasi", "hierarchy": {"X": ["x1", "x2"], "Y": ["y1", "y2", "y3"]}, "missing": ["?"]},
        "s": {"role": "sensitive", "values": ["p", "q", "r", "t"]},
        "o": {"role": "sensitive", "kind": "ordered", "values": ["1", "2", "3"]},
    },
}
PARTS = [
    sf.KAnonymity(2),
    sf.LDiversity(2),
    sf.LDiversity(2, kind="distinct"),
    sf.LDiversity("3/2", kind="entropy"),
    sf.LDiversity(2, kind="recursive", c=3),
    sf.TCloseness(0.1),
    sf.TCloseness(0.3, distance="emd"),
    sf.SemanticPrivacy(1),
    sf.SemanticPrivacy(1, sides="one"),
    sf.AlphaK(0.6, k=2),
    sf.BetaLikeness(1),
]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)),
            min_size=1,
            max_size=60,
        )
    )
    return Table.from_codes(sf.Schema.parse(SMALL), np.array(rows))


@settings(max_examples=150)
@given(
    table=tables(),
    parts=st.sets(st.sampled_from(PARTS), min_size=1, max_size=3),
    cut=st.sampled_from(["best", "widest"]),
    nominal=st.sampled_from(["leaves", "nodes"]),
    tight=st.booleans(),
    limit=st.sampled_from([0, 0.1]),
)
def test_any_table_any_requirement(
    table: Table, parts: set[Requirement], cut: str, nominal: str, tight: bool, limit: float
) -> None:
    requirement = Conjunction(tuple(parts)) if len(parts) > 1 else next(iter(parts))
    mechanism = sf.Mondrian(
        requirement, cut=cut, nominal=nominal, tight=tight, max_suppressed=limit if cut == "best" else 0
    )
    try:
        release = sf.publish(table, mechanism)
    except sf.Infeasible:
        return
    for name in ("s", "o"):
        overall = release.groups.overall[name]
        histograms = release.groups.histogram(name)
        assert requirement.check(histograms, overall, ground=ground_of(table.schema[name])).all()
    assert release.rows + (release.left_out or 0) == table.rows
    _labels_hold_their_rows(release)


def _labels_hold_their_rows(release: sf.Release) -> None:
    home = release.residence
    box_of = np.empty(len(release.groups), int)
    box_of[release.boxes.group] = np.arange(len(release.boxes))
    stays = home.group >= 0
    for at, labels in enumerate(release.boxes.tables):
        held = labels.holds(np.arange(labels.attribute.size))
        assert held[release.boxes.labels[box_of[home.group[stays]], at], home.codes[stays, at]].all()
        missing = labels.attribute.missing_code
        if missing is not None:  # a label is missing alone, values alone, or the whole domain
            joined = held[:, missing] & held[:, :missing].any(axis=1)
            assert held[joined].all()


@settings(max_examples=200)
@given(
    part=st.sampled_from(PARTS),
    rows=st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=5),
)
def test_compiled_conditions_agree_with_the_requirement(part: Requirement, rows: list[list[int]]) -> None:
    classes = np.array([row for row in rows if sum(row)], np.int64).reshape(-1, 4)
    if not len(classes):
        return
    overall = classes.sum(axis=0)
    attribute = sf.Schema.parse(SMALL)["s"]
    conditions = compile_requirement(part, [attribute], [overall], 1)
    for row in classes:
        accepted = all_hold(conditions, [row], [overall], int(row.sum()))
        if accepted:
            assert part.holds(row, overall, ground=ground_of(attribute))
        elif part.holds(row, overall, ground=ground_of(attribute), tolerance=MECHANISM_TOLERANCE):
            # only at a limit that integers can decide and the margin cannot: never a refusal by more than the margin
            assert not part.holds(
                row, overall, ground=ground_of(attribute), tolerance=2 * MECHANISM_TOLERANCE
            ) or part.label in ("l-diversity", "t-closeness")


def test_l_out_of_reach_says_how_much_is_possible(adult: Table) -> None:
    with pytest.raises(sf.Infeasible, match=r"7\.51") as caught:
        sf.publish(adult, sf.Mondrian(sf.LDiversity(8)))
    assert float(caught.value.best) == pytest.approx(45222 / 6020)


def test_k_larger_than_the_table() -> None:
    table = Table.from_codes(sf.Schema.parse(SMALL), np.array([[0, 0, 0, 0], [1, 1, 1, 1]]))
    with pytest.raises(sf.Infeasible) as caught:
        sf.publish(table, sf.Mondrian(sf.KAnonymity(3)))
    assert caught.value.best == 2


@pytest.mark.parametrize("shape", ["single row", "all equal", "all unique", "one giant class", "a missing value"])
def test_named_shapes(shape: str) -> None:
    rows = {
        "single row": [[0, 0, 0, 0]],
        "all equal": [[3, 1, 2, 1]] * 50,
        "all unique": [[a, b, (a + b) % 4, b % 3] for a in range(6) for b in range(5)],
        "one giant class": [[0, 0, 0, 0]] * 1000 + [[5, 4, 1, 1]] * 2,
        "a missing value": [[a, 5 if a == 0 else b, b % 4, a % 3] for a in range(6) for b in range(5)],
    }[shape]
    table = Table.from_codes(sf.Schema.parse(SMALL), np.array(rows))
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(1)), allow_void=True)
    classes = {"single row": 1, "all equal": 1, "all unique": 30, "one giant class": 2, "a missing value": 26}[shape]
    assert release.summary().classes == classes
    assert release.frame().height == len(rows)
    coarse = sf.publish(table, sf.Mondrian(sf.KAnonymity(len(rows))), allow_void=shape == "single row")
    assert coarse.summary().classes == 1


def test_rows_per_person_multiplies_k() -> None:
    schema = sf.Schema.parse({**SMALL, "rows_per_person": 3})
    table = Table.from_codes(schema, np.array([[a, b % 5, 0, 0] for a in range(6) for b in range(10)]))
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(4)))
    assert release.summary().smallest >= 12


def test_weights_and_expanded_rows_give_the_same_boxes(adult: Table) -> None:
    """The compact table and one row for each record cut alike."""
    from sfumato.mechanisms.mondrian.cutting import cut_table

    part = adult.take(np.arange(5000))
    compact = part.counts()
    codes = part.codes()
    expanded = object.__new__(Counts)
    for name, value in (
        ("schema", compact.schema),
        ("names", compact.names),
        ("codes", codes),
        ("weights", np.ones(len(codes), np.int64)),
    ):
        object.__setattr__(expanded, name, value)
    for cut in ("best", "widest"):
        one, _ = cut_table(compact, sf.KAnonymity(10), cut=cut)
        other, _ = cut_table(expanded, sf.KAnonymity(10), cut=cut)
        np.testing.assert_array_equal(one.low, other.low)
        np.testing.assert_array_equal(one.high, other.high)


def test_row_order_does_not_matter(adult: Table) -> None:
    part = adult.take(np.arange(3000))
    mixed = adult.take(np.random.default_rng(3).permutation(3000))
    one, other = (sf.publish(table, sf.Mondrian(sf.KAnonymity(7))).frame() for table in (part, mixed))
    assert one.equals(other)


def test_suppression_is_counted_and_bounded(adult: Table) -> None:
    release = sf.publish(adult, sf.Mondrian(sf.KAnonymity(50), max_suppressed=0.02))
    summary = release.summary()
    assert 0 < summary.suppressed <= Fraction(2, 100) * adult.rows
    assert release.rows + (release.left_out or 0) == adult.rows


def test_few_missing_values_do_not_block_an_attribute() -> None:
    """Missing is parted from values first; cut last, its few rows would be scattered and the attribute stay *."""
    rng = np.random.default_rng(7)
    schema = sf.Schema.parse(
        {**SMALL, "attribute": {**SMALL["attribute"], "a": {**SMALL["attribute"]["a"], "missing": ["?"]}}}
    )
    rows = np.column_stack(
        [rng.integers(0, 6, 900), rng.integers(0, 5, 900), rng.integers(0, 4, 900), rng.integers(0, 3, 900)]
    )
    rows[:22, 0] = 6
    release = sf.publish(Table.from_codes(schema, rows), sf.Mondrian(sf.KAnonymity(10)))
    labels = release.frame()["a"]
    assert (labels == "(missing)").sum() == 22
    assert (labels == "*").sum() == 0
