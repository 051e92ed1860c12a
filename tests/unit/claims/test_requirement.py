from __future__ import annotations

import dataclasses
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array, csr_matrix

import sfumato as sf
from sfumato.claims import (
    REQUIREMENTS,
    AlphaK,
    BetaLikeness,
    Conjunction,
    Ground,
    KAnonymity,
    LDiversity,
    Requirement,
    SemanticPrivacy,
    TCloseness,
    check_each,
    classes,
    requirement_from_json,
    requirement_notes,
)
from sfumato.errors import ParameterError
from sfumato.schema import Schema
from sfumato.visible import markdown

EVERY = [
    KAnonymity(3),
    AlphaK(0.6, k=4),
    LDiversity(2.5),
    LDiversity(2, kind="distinct"),
    LDiversity(2, kind="entropy"),
    LDiversity(2, kind="recursive", c="3/2"),
    TCloseness(0.1),
    TCloseness("1/3", distance="emd"),
    SemanticPrivacy(1.5),
    SemanticPrivacy(1, sides="one"),
    SemanticPrivacy(1, absent="ignore"),
    BetaLikeness(0.75),
]
TABLE = np.array([[3, 2, 1], [1, 1, 1], [5, 0, 0], [4, 4, 4], [1, 0, 2]])
OVERALL = TABLE.sum(axis=0)
every = pytest.mark.parametrize("requirement", EVERY, ids=str)


def test_every_registered_requirement_is_tried():
    assert {requirement.label for requirement in EVERY} == set(REQUIREMENTS)


@every
def test_no_formula_is_written_in_entities(requirement):
    """A dictionary is also read as plain text, where max p &lt;= 1/2 is no formula."""
    assert "&" not in markdown(requirement.describe())


@every
def test_round_trip_through_json(requirement):
    again = requirement_from_json(json.loads(json.dumps(requirement.to_json())))
    assert again == requirement
    assert hash(again) == hash(requirement)
    assert again.to_json() == requirement.to_json()
    assert pickle.loads(pickle.dumps(requirement)) == requirement


@every
def test_frozen_and_described(requirement):
    field = dataclasses.fields(requirement)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(requirement, field, 1)
    assert dataclasses.replace(requirement) == requirement
    assert requirement.describe().endswith(".")
    assert requirement.label in str(requirement)


def test_first_field_is_positional_and_the_rest_by_name():
    for call in (
        lambda: AlphaK(0.5, 3),
        lambda: LDiversity(2, "distinct"),
        lambda: TCloseness(0.1, "emd"),
        lambda: SemanticPrivacy(1, "one"),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize(
    ("requirement", "name", "json_form"),
    [
        (KAnonymity(10), "k-anonymity(10)", {"kind": "k-anonymity", "k": 10}),
        (TCloseness(0.2), "t-closeness(0.2)", {"kind": "t-closeness", "t": "1/5", "distance": "js"}),
        (LDiversity(3), "l-diversity(3)", {"kind": "l-diversity", "l": 3, "reading": "probability"}),
        (
            LDiversity(3, kind="recursive", c=0.5),
            "recursive l-diversity(3, c=0.5)",
            {"kind": "l-diversity", "l": 3, "reading": "recursive", "c": "1/2"},
        ),
        (AlphaK(0.5, k=2), "alpha-k-anonymity(0.5, 2)", {"kind": "alpha-k-anonymity", "alpha": "1/2", "k": 2}),
        (
            SemanticPrivacy(1, sides="one"),
            "semantic-privacy(1, one-sided)",
            {"kind": "semantic-privacy", "delta": 1, "sides": "one", "absent": "ignore"},
        ),
        (BetaLikeness("1/3"), "beta-likeness(1/3)", {"kind": "beta-likeness", "beta": "1/3"}),
    ],
)
def test_names_and_json_are_fixed(requirement, name, json_form):
    assert str(requirement) == name
    assert requirement.to_json() == json_form


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: KAnonymity(0), "k"),
        (lambda: KAnonymity(2.5), "k"),
        (lambda: KAnonymity(True), "k"),
        (lambda: LDiversity(0.5), "l"),
        (lambda: LDiversity(2.5, kind="distinct"), "l"),
        (lambda: LDiversity(2, kind="entropie"), "kind"),
        (lambda: LDiversity(2, c=2), "c"),
        (lambda: LDiversity(2, kind="recursive"), "c"),
        (lambda: LDiversity(2, kind="recursive", c=0), "c"),
        (lambda: TCloseness(-0.1), "t"),
        (lambda: TCloseness(1.1), "t"),
        (lambda: TCloseness(0.1, distance="kl"), "distance"),
        (lambda: SemanticPrivacy(0), "delta"),
        (lambda: SemanticPrivacy(1, sides="three"), "sides"),
        (lambda: SemanticPrivacy(1, absent="maybe"), "absent"),
        (lambda: AlphaK(0, k=2), "alpha"),
        (lambda: AlphaK(1.01, k=2), "alpha"),
        (lambda: AlphaK(0.5, k=0), "k"),
        (lambda: BetaLikeness(0), "beta"),
        (lambda: requirement_from_json({"kind": "m-invariance"}), "kind"),
        (lambda: requirement_from_json({"kind": "pure-dp", "epsilon": 1}), "kind"),
        (lambda: requirement_from_json({"kind": "k-anonymity"}), "k"),
        (lambda: requirement_from_json({"kind": "l-diversity", "l": 2}), "reading"),
        (lambda: requirement_from_json({"k": 3}), "kind"),
        (lambda: requirement_from_json([3]), "promise"),
        (lambda: Conjunction(()), "requirements"),
    ],
)
def test_bad_parameters_are_refused_by_name(make, name):
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.name == name


# --- checking -------------------------------------------------------------------------------


@every
def test_one_class_many_classes_and_sparse_say_the_same(requirement, monkeypatch):
    answers = requirement.check(TABLE, OVERALL)
    assert answers.dtype == np.bool_
    assert answers.tolist() == [requirement.holds(row, OVERALL) for row in TABLE]
    assert answers.tolist() == requirement.check(csr_matrix(TABLE), OVERALL).tolist()
    assert answers.tolist() == requirement.check(csr_array(TABLE), OVERALL).tolist()
    assert answers.tolist() == requirement.check(TABLE.tolist(), OVERALL.tolist()).tolist()
    attained = requirement.found(TABLE, OVERALL)
    monkeypatch.setattr(classes, "_CELLS", 6)  # two classes to a block
    assert requirement.check(csr_matrix(TABLE), OVERALL).tolist() == answers.tolist()
    assert requirement.found(csr_matrix(TABLE), OVERALL) == attained


@every
def test_input_is_left_alone(requirement):
    table, overall = TABLE.copy(), OVERALL.copy()
    requirement.check(table, overall)
    requirement.found(table, overall)
    assert (table == TABLE).all()
    assert (overall == OVERALL).all()


@every
def test_renaming_values_and_reordering_classes_changes_nothing(requirement):
    columns, rows = [2, 0, 1], [4, 2, 0, 1, 3]
    answers = requirement.check(TABLE, OVERALL)
    assert requirement.check(TABLE[:, columns], OVERALL[columns]).tolist() == answers.tolist()
    assert requirement.check(TABLE[rows], OVERALL).tolist() == answers[rows].tolist()


@every
def test_a_class_without_rows_satisfies_nothing(requirement):
    table = np.vstack([TABLE, np.zeros((1, 3), dtype=np.int64)])
    assert not requirement.check(table, OVERALL)[-1]
    assert requirement.check(table, OVERALL)[:-1].tolist() == requirement.check(TABLE, OVERALL).tolist()
    worst = requirement.found(table, OVERALL)
    worst = worst if isinstance(worst, tuple) else (worst,)
    assert set(worst) <= {0, math.inf}


@every
def test_no_classes_attain_nothing(requirement):
    none = np.zeros((0, 3), dtype=np.int64)
    assert requirement.check(none, OVERALL).shape == (0,)
    assert requirement.found(none, OVERALL) in (None, (None, None))


@pytest.mark.parametrize(
    ("requirement", "attained"),
    [
        (KAnonymity(3), 3),
        (AlphaK(0.6, k=4), (Fraction(1), 3)),
        (LDiversity(2), Fraction(1)),
        (LDiversity(2, kind="distinct"), 1),
        (LDiversity(2, kind="recursive", c=2), 1),
        (TCloseness(1, distance="emd"), Fraction(15, 29)),
        (SemanticPrivacy(1), math.inf),
        (SemanticPrivacy(1, sides="one"), pytest.approx(math.log(29 / 12))),
        (BetaLikeness(1), Fraction(17, 12)),
    ],
    ids=str,
)
def test_found_is_the_worst_class(requirement, attained):
    # Overall 14, 7, 8 of 29. [5, 0, 0] is furthest off; in [1, 0, 2] the third share rises most, 2/3 from 8/29.
    assert requirement.found(TABLE, OVERALL) == attained


def test_a_requirement_of_what_was_found_is_met():
    for requirement in (LDiversity(1), TCloseness(1, distance="emd"), BetaLikeness(1)):
        attained = requirement.found(TABLE, OVERALL)
        assert isinstance(attained, Fraction)
        first = dataclasses.fields(requirement)[0].name
        assert dataclasses.replace(requirement, **{first: attained}).check(TABLE, OVERALL).all()


def test_rows_per_person_asks_for_more_rows():
    assert KAnonymity(3).check(TABLE, OVERALL, rows_per_person=2).tolist() == [True, False, False, True, False]
    assert KAnonymity(1).found(TABLE, OVERALL, rows_per_person=2) == 1  # three rows may be two people: one is sure
    assert AlphaK(1, k=3).check(TABLE, OVERALL, rows_per_person=2).tolist() == [True, False, False, True, False]
    with pytest.raises(ParameterError, match="rows_per_person"):
        KAnonymity(3).check(TABLE, OVERALL, rows_per_person=0)


@pytest.mark.parametrize(
    ("table", "overall", "name"),
    [
        ([1, 2, 3], [1, 2, 3], "histograms"),
        ([[1.0, 2.0]], [1, 2], "histograms"),
        ([[-1, 2]], [1, 2], "histograms"),
        ([[1, 2]], [1, 2, 3], "overall"),
        ([[1, 2]], [1.5, 2.5], "overall"),
        ([[1, 2]], [3, 0], "overall"),
        ([[1, 2]], None, "overall"),
    ],
)
def test_counts_that_can_not_be_are_refused(table, overall, name):
    with pytest.raises(ParameterError) as caught:
        TCloseness(0.1).check(table, overall)
    assert caught.value.name == name


def test_sizes_alone_do_for_k():
    assert KAnonymity(3).check([[2], [3]]).tolist() == [False, True]
    assert not KAnonymity(3).reads_sensitive
    assert LDiversity(2).reads_sensitive
    assert not LDiversity(2).reads_overall
    assert TCloseness(0.1).reads_overall


def test_absent_defaults_follow_the_sides():
    assert SemanticPrivacy(1).absent == "fail"
    assert SemanticPrivacy(1, sides="one").absent == "ignore"
    assert not SemanticPrivacy(1, sides="one", absent="fail").holds([3, 0], [3, 1])
    assert SemanticPrivacy(1, sides="one").holds([3, 0], [3, 1])
    # A value that nobody has, anywhere, is not absent from a class.
    assert SemanticPrivacy(1).holds([3, 1, 0], [3, 1, 0])


# --- conjunction ----------------------------------------------------------------------------


def test_conjunction_is_the_logical_and():
    both = KAnonymity(5) & TCloseness(0.1)
    expected = KAnonymity(5).check(TABLE, OVERALL) & TCloseness(0.1).check(TABLE, OVERALL)
    assert both.check(TABLE, OVERALL).tolist() == expected.tolist()
    assert KAnonymity(5).check(TABLE, OVERALL).tolist() != expected.tolist()
    assert TCloseness(0.1).check(TABLE, OVERALL).tolist() != expected.tolist()


def test_conjunction_is_flat_ordered_and_without_repetition():
    a, b, c = KAnonymity(5), LDiversity(2), TCloseness(0.1)
    assert (c & b) & a == a & (b & c) == Conjunction((a, (b & c)))
    assert list(c & b & a) == [a, b, c]
    assert len(a & b & a) == 2
    assert a & a == a
    assert isinstance(a & b, Requirement)
    assert str(c & a) == "k-anonymity(5) & t-closeness(0.1)"
    assert requirement_from_json(json.loads(json.dumps((a & b & c).to_json()))) == a & b & c
    with pytest.raises(TypeError):
        a & 3


def test_conjunction_inherits_what_its_parts_need():
    assert (KAnonymity(5) & TCloseness(0.1)).reads_overall
    assert not (KAnonymity(5) & KAnonymity(6)).reads_sensitive
    assert (KAnonymity(5) & TCloseness(0.1)).monotone
    assert not (KAnonymity(5) & SemanticPrivacy(1, absent="ignore")).monotone
    assert (KAnonymity(5) & LDiversity(2)).found(TABLE, OVERALL) == (3, Fraction(1))
    described = (KAnonymity(5) & TCloseness(0.1)).describe("person")
    assert "5 people" in described
    assert "5 rows" in (KAnonymity(5) & TCloseness(0.1)).describe()
    assert "Jensen-Shannon" in described


# --- several sensitive attributes -----------------------------------------------------------


def test_each_sensitive_attribute_is_checked_by_itself():
    one, other = np.array([[2, 2], [2, 2]]), np.array([[4, 0], [2, 2]])
    tables = {"illness": one, "income": other}
    overalls = {name: table.sum(axis=0) for name, table in tables.items()}
    assert check_each(LDiversity(2), tables, overalls).tolist() == [False, True]
    assert LDiversity(2).check(one, overalls["illness"]).all()
    with pytest.raises(ParameterError):
        check_each(LDiversity(2), {}, {})


def test_each_attribute_has_its_own_ground():
    table = {"wage": np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])}
    overall = {"wage": np.array([1, 1, 1])}
    half = TCloseness("1/2", distance="emd")
    assert not check_each(half, table, overall).any()  # 2/3 from each
    assert check_each(half, table, overall, grounds={"wage": Ground.ordered()}).tolist() == [True, True, True]


def described_table(**keys):
    columns = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 9]},
        "illness": {"role": "sensitive", "values": ["flu", "gout"], "missing": "category"},
        "income": {"role": "sensitive", "kind": "numeric", "range": [0, 9]},
        "paid": {"role": "target", "values": ["yes", "no"]},
    }
    return Schema.parse({"name": "t", "attribute": columns, **keys})


def test_notes_say_what_is_separate_and_what_rows_mean():
    notes = " ".join(requirement_notes(KAnonymity(2) & LDiversity(2), described_table(rows_per_person=3)))
    assert "illness, income are each checked separately" in notes
    assert "k x 3 rows" in notes
    assert "one person may own 3 rows" in notes
    plain = " ".join(requirement_notes(KAnonymity(2), described_table()))
    assert "separately" not in plain
    assert "sensitive values are not looked at" in plain


def test_notes_say_whose_word_it_is_that_rows_are_people():
    declared = "the publisher declares that each row is a different person, and the file cannot show it"
    for keys, said, unsaid in (
        ({"rows_per_person": 1}, declared, "several may be one person's"),
        ({"rows_per_person": 4}, "more than 4 rows: the publisher declares that nobody has more", declared),
        ({}, "rows are counted; several may be one person's, and one may stand for several people", "not decided"),
        ({"rows_per_person": 1, "decide": ["rows_per_person: who?"]}, "rows are counted", "declares"),
        ({"person": "mrn"}, "how many rows a person has", "declares"),
        ({"person": "mrn", "rows_per_person": 1}, "from elsewhere", "declares"),
    ):
        notes = " ".join(requirement_notes(KAnonymity(2), described_table(**keys)))
        assert said in notes
        assert unsaid not in notes


# --- numbers at which floats and int64 give out ----------------------------------------------


def test_found_is_exact_where_floats_order_two_classes_wrongly():
    base = 2**55
    sizes = [(base + 26, 2 * base + 73), (base + 28, 2 * base + 80)]
    larger, smaller = (Fraction(*pair) for pair in sizes)
    assert larger > smaller
    assert float(sizes[0][0]) / float(sizes[0][1]) < float(sizes[1][0]) / float(sizes[1][1])
    table = [[most, (size - most) // 2, (size - most + 1) // 2] for most, size in sizes]
    assert AlphaK(1, k=1).found(table)[0] == larger


@pytest.mark.parametrize("places", [3, 12, 30])
def test_parameters_of_many_digits_do_not_overflow(places):
    tiny = Fraction(1, 10**places)
    row = [500_000, 499_999, 1]  # max p = 1/2 exactly, and r_1 = (r_2 + r_3)
    assert AlphaK(Fraction(1, 2) + tiny, k=1).holds(row)
    assert not AlphaK(Fraction(1, 2) - tiny, k=1).holds(row)
    assert LDiversity(2 - tiny).holds(row)
    assert not LDiversity(2 + tiny).holds(row)
    assert LDiversity(2, kind="recursive", c=1 + tiny).holds(row)
    assert not LDiversity(2, kind="recursive", c=1 - tiny).holds(row)


@pytest.mark.parametrize(
    ("void", "kept"),
    [
        (KAnonymity(1), KAnonymity(2)),
        (LDiversity(1), LDiversity("1.01")),
        (LDiversity(1, kind="entropy"), LDiversity(2, kind="entropy")),
        (TCloseness("0.6932"), TCloseness("0.6931")),
        (TCloseness(1, distance="emd"), TCloseness("0.999", distance="emd")),
        (AlphaK(1, k=1), AlphaK("0.999", k=1)),
        (KAnonymity(1) & LDiversity(1), KAnonymity(1) & LDiversity(2)),
    ],
)
def test_what_every_table_satisfies_is_vacuous(void, kept):
    alone = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])  # one person in each class: as bad as it gets
    assert void.vacuous
    assert void.check(alone, [1, 1, 10**6]).all()
    assert not kept.vacuous
    assert not kept.check(alone, [1, 1, 10**6]).all()


def test_notes_tell_of_missing_values_and_targets():
    said = " ".join(requirement_notes(LDiversity(2), described_table()))
    assert "missing values of illness: missing counts as a value of its own" in said
    assert "paid: published without being made coarser" in said
    assert "each value that the schema lists counts as a different one" in said
    plain = " ".join(requirement_notes(KAnonymity(2), described_table()))  # it looks at no value
    assert "people without" not in plain
    assert "counts as a different one" not in plain


@pytest.mark.parametrize("requirement", [KAnonymity(1), AlphaK(1, k=1)], ids=str)
def test_a_requirement_that_every_table_satisfies_never_fails(requirement):
    """With several rows to a person, a class of one row failed k = 1 and was said to hold 0 people."""
    table = np.array([[1, 0], [2, 2]])
    assert requirement.vacuous
    assert requirement.check(table, table.sum(axis=0), rows_per_person=3).all()
    assert KAnonymity(1).found(table, rows_per_person=3) == 1
    assert not KAnonymity(2).check(table, rows_per_person=3).any()
    schema = Schema.parse(
        {
            "name": "visits",
            "rows_per_person": 3,
            "attribute": {
                "sex": {"role": "quasi", "values": ["f", "m"]},
                "ill": {"role": "target", "values": ["y", "n"]},
            },
        }
    )
    rows = sf.read(pl.DataFrame({"sex": ["f"], "ill": ["y"]}), schema)
    for mechanism in (sf.Mondrian(KAnonymity(1)), sf.TopDown(1), sf.Suppress()):
        release = sf.publish(rows, mechanism, allow_void=True)
        sizes = release.groups.weight[:, None]
        assert KAnonymity(1).check(sizes, rows_per_person=release.schema.rows_per_person).all()
