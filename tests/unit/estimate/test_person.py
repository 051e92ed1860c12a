from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.claims import Claim, Nothing
from sfumato.errors import NotComparable
from sfumato.estimate import align, by_labels, by_residence, holding_boxes, person_distribution
from sfumato.release import Residence, assemble
from sfumato.schema import Labels, Schema

SCHEMA = Schema.parse(
    {
        "name": "t",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [20, 40], "step": 1},
            "sex": {"role": "quasi", "kind": "nominal", "values": ["F", "M"]},
            "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "cold"]},
        },
    }
)


def overlapping():
    """Two classes that both hold men of 25 to 29, as a merged class with sex `*` does."""
    age, ages = Labels.from_hulls(SCHEMA["age"], np.array([0, 5]), np.array([10, 15]))
    sex, sexes = Labels.from_hulls(SCHEMA["sex"], np.array([1, 0]), np.array([2, 2]))
    residence = Residence(
        ("age", "sex", "ill"),
        np.array([[6, 1, 0], [6, 1, 1], [2, 1, 0], [12, 0, 1]]),
        np.array([0, 1, 0, 1]),
        np.array([1, 1, 3, 3]),
    )
    release, number = assemble(
        SCHEMA,
        tables=(age, sex),
        labels=np.column_stack([ages, sexes]),
        weight=np.array([4, 4]),
        group=np.arange(2),
        carried_group=np.array([0, 1]),
        carried_codes=np.array([[0], [1]]),
        carried_weight=np.array([4, 4]),
        claim=Claim(Nothing()),
    )
    return replace(release, residence=replace(residence, group=number[residence.group]))


def test_by_labels_every_class_that_holds_the_person_counts_by_its_density():
    view = align(overlapping(), SCHEMA)
    people = np.array([[2, 1], [6, 1], [12, 0], [18, 0]])
    places = by_labels(view, people).toarray()
    # Class 0 has 10 x 1 cells, class 1 has 10 x 2: the share of the group's rows at one point.
    assert places.tolist() == [[0.1, 0.0], [0.1, 0.05], [0.0, 0.05], [0.0, 0.0]]
    found = person_distribution(view, by_labels(view, people))
    expected = [[1, 0], [2 / 3, 1 / 3], [0, 1], [0.5, 0.5]]
    assert found == pytest.approx(np.array(expected))


def test_by_residence_the_class_of_the_row_counts():
    release = overlapping()
    view = align(release, SCHEMA)
    found = by_residence(release, ["age", "sex"], np.array([[2, 1], [6, 1], [9, 0]])).toarray()
    assert found.tolist() == [[0.75, 0.0], [0.25, 0.25], [0.0, 0.0]]
    named = by_residence(release, ["age", "sex", "ill"], np.array([[6, 1, 1]]))
    assert person_distribution(view, named).tolist() == [[0.0, 1.0]]
    with pytest.raises(NotComparable, match="where rows landed by town"):
        by_residence(release, ["town"], np.array([[1]]))
    with pytest.raises(NotComparable, match="right after publish"):
        by_residence(replace(release, residence=None), ["age"], np.array([[1]]))


def test_many_boxes_fill_their_bytes():
    # 17 boxes: two full bytes and one bit of a third.
    count = 17
    labels, ids = Labels.from_hulls(SCHEMA["age"], np.arange(count), np.arange(count) + 2)
    sex, _ = Labels.from_hulls(SCHEMA["sex"], np.array([0]), np.array([2]))
    release, _ = assemble(
        SCHEMA,
        tables=(labels, sex),
        labels=np.column_stack([ids, np.zeros(count, int)]),
        weight=np.ones(count),
        group=np.arange(count),
        carried_group=np.arange(count),
        carried_codes=np.zeros((count, 1)),
        carried_weight=np.ones(count),
        claim=Claim(Nothing()),
    )
    people = np.array([[a, 0] for a in range(20)])
    person, box = holding_boxes(align(release, SCHEMA), people)
    expected = [(a, b) for a in range(20) for b in range(count) if b <= a < b + 2]
    assert sorted(zip(person.tolist(), box.tolist(), strict=True)) == expected
    assert len(holding_boxes(align(release, SCHEMA), people[:0])[0]) == 0


def test_without_quasi_identifiers_every_box_holds_everyone():
    bare = SCHEMA.with_roles(quasi=[])
    view = align(overlapping(), bare)
    person, box = holding_boxes(view, np.zeros((3, 0), int))
    assert sorted(zip(person.tolist(), box.tolist(), strict=True)) == [(p, b) for p in range(3) for b in range(2)]
    assert person_distribution(view, by_labels(view, np.zeros((1, 0), int))).tolist() == [[0.5, 0.5]]


def test_rows_that_were_left_out_landed_nowhere():
    from dataclasses import replace

    import numpy as np

    import sfumato as sf
    from sfumato.estimate import by_residence

    adult = sf.datasets.adult().take(np.arange(500))
    release = sf.publish(adult, sf.Mondrian(sf.KAnonymity(5)))
    home = release.residence
    group = home.group.copy()
    group[0] = -1
    names = [attribute.name for attribute in release.quasi]
    found = by_residence(
        replace(release, residence=replace(home, group=group)), [*names, "occupation", "income"], home.codes
    )
    assert found[0].nnz == 0
    assert found[1].nnz == 1
