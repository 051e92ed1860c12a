from __future__ import annotations

import numpy as np
import pytest

from sfumato.claims import Claim, Nothing
from sfumato.counts import Table
from sfumato.errors import NotComparable
from sfumato.estimate import align, align_boxes, distinct_boxes, measured_attribute
from sfumato.measures import privacy_loss, utility_loss
from sfumato.release import Release, assemble
from sfumato.schema import Labels, Schema

JOB = {
    "role": "quasi",
    "kind": "nominal",
    "hierarchy": {"White": ["clerk", "boss"], "Blue": ["smith"]},
    "missing": ["?"],
}
AGE = {"role": "quasi", "kind": "numeric", "range": [20, 40], "step": 1, "intervals": [5, 10]}
ILL = {"role": "sensitive", "kind": "nominal", "values": ["flu", "cold", "hiv"]}


def schema(**other):
    tables = {"job": JOB, "age": AGE, "ill": ILL, **other}
    return Schema.parse({"name": "t", "attribute": {name: table for name, table in tables.items() if table}})


def released(of, sets, carried=((0, 0, 2), (0, 1, 1), (1, 2, 3))):
    """One box a group; `sets` lists the labels of each attribute; carried is (group, code, rows)."""
    made = [Labels.from_sets(attribute, sets[attribute.name]) for attribute in of.quasi]
    carried = np.array(carried)
    count = len(next(iter(sets.values())))
    weight = np.bincount(carried[:, 0], weights=carried[:, 2], minlength=count)
    return assemble(
        of,
        tables=tuple(table for table, _ in made),
        labels=np.column_stack([ids for _, ids in made]),
        weight=weight,
        group=np.arange(count),
        carried_group=carried[:, 0],
        carried_codes=carried[:, 1:2],
        carried_weight=carried[:, 2],
        claim=Claim(Nothing()),
    )[0]


def sets_of(view, at):
    return [view.tables[at].intervals(int(label)) for label in view.labels[:, at]]


def test_equal_domains_keep_their_labels_and_unused_ones_go():
    own = schema()
    release = released(own, {"job": [((0, 2),), ((2, 3),)], "age": [((0, 10),), ((10, 20),)]})
    view = align(release, own)
    assert sets_of(view, 0) == [((0, 2),), ((2, 3),)]
    exact = Labels.of_codes(own["age"])
    wide = assemble(
        own,
        tables=(release.boxes.tables[0], exact),
        labels=np.array([[0, 3], [1, 17]]),
        weight=np.array([1, 1]),
        group=np.arange(2),
        carried_group=np.arange(2),
        carried_codes=np.zeros((2, 1)),
        carried_weight=np.ones(2),
        claim=Claim(Nothing()),
    )[0]
    view = align(wide, own)
    assert len(view.tables[1]) == 2
    assert sets_of(view, 1) == [((3, 4),), ((17, 18),)]


def test_other_codes_are_read_by_value():
    foreign = schema(job={"role": "quasi", "kind": "nominal", "values": ["smith", "boss", "clerk"]})
    release = released(foreign, {"job": [((0, 2),), ((2, 3),)], "age": [((0, 10),), ((10, 20),)]})
    own = schema()
    view = align(release, own)
    assert sets_of(view, 0) == [((1, 3),), ((0, 1),)]  # boss and smith; clerk
    # All of a domain is all of the other, the missing value included.
    release = released(foreign, {"job": [((0, 3),), ((0, 3),)], "age": [((0, 10),), ((10, 20),)]})
    assert sets_of(align(release, own), 0) == [((0, own["job"].size),)] * 2


def test_every_known_value_is_no_missing_one():
    own = schema()
    release = released(own, {"job": [((0, 3),), ((3, 4),)], "age": [((0, 10),), ((10, 20),)]})
    bare = schema(job={**JOB, "missing": "suppress"})
    with pytest.raises(NotComparable, match="attribute job: 1 published labels"):
        align(release, bare)  # a missing value has no code there
    release = released(own, {"job": [((0, 2),), ((0, 3),)], "age": [((0, 10),), ((10, 20),)]})
    assert sets_of(align(release, bare), 0) == [((0, 2),), ((0, 3),)]


def test_other_grids_are_read_by_name():
    foreign = schema(age={"role": "quasi", "kind": "numeric", "range": [10, 50], "step": 5})
    release = released(foreign, {"job": [((0, 2),), ((2, 3),)], "age": [((2, 4),), ((4, 6),)]})
    assert sets_of(align(release, schema()), 1) == [((0, 10),), ((10, 20),)]  # [20-30), [30-40)
    release = released(foreign, {"job": [((0, 2),), ((2, 3),)], "age": [((0, 1),), ((4, 6),)]})
    with pytest.raises(NotComparable, match="attribute age: 1 published labels"):
        align(release, schema())  # [10-15) is outside the table's range


def test_carried_values_are_read_by_name():
    foreign = schema(ill={"role": "sensitive", "kind": "nominal", "values": ["hiv", "flu", "cold"]})
    release = released(foreign, {"job": [((0, 2),), ((2, 3),)], "age": [((0, 10),), ((10, 20),)]})
    assert align(release, schema()).histogram.toarray().tolist() == [[1, 0, 2], [0, 3, 0]]
    strange = schema(ill={"role": "sensitive", "kind": "nominal", "values": ["flu", "cold", "plague"]})
    release = released(strange, {"job": [((0, 2),), ((2, 3),)], "age": [((0, 10),), ((10, 20),)]})
    with pytest.raises(NotComparable, match="attribute ill: 1 published values") as refused:
        align(release, schema())
    assert "plague" not in str(refused.value)


def test_an_attribute_the_release_lacks_is_a_star():
    short = schema(age=None)
    release = released(short, {"job": [((0, 2),), ((2, 3),)]})
    view = align(release, schema())
    assert sets_of(view, 1) == [((0, 20),)] * 2
    with pytest.raises(NotComparable, match="the release carries it"):
        align(
            released(short, {"job": [((0, 2),), ((2, 3),)]}),
            schema(ill={**ILL, "role": "quasi"}, age={**AGE, "role": "sensitive"}),
        )


def test_the_measured_attribute():
    two = schema(pay={"role": "target", "kind": "ordered", "values": ["low", "high"]})
    assert measured_attribute(two).name == "ill"
    assert measured_attribute(two, "pay").name == "pay"
    assert measured_attribute(two.with_roles(sensitive=[])).name == "pay"
    with pytest.raises(NotComparable, match="no attribute is sensitive"):
        measured_attribute(two.with_roles(sensitive=[], target=[]))


def test_a_saved_or_foreign_release_measures_as_the_one_in_memory(tmp_path):
    own = schema()
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, a.size, 60) for a in own.published])
    table = Table.from_codes(own, codes)
    group = (codes[:, 1] >= 10).astype(int)
    carried = [(g, s, int(((group == g) & (codes[:, 2] == s)).sum())) for g in (0, 1) for s in range(3)]
    release = released(own, {"job": [((0, 4),)] * 2, "age": [((0, 10),), ((10, 20),)]}, carried)
    path = tmp_path / "release.csv"
    release.frame().write_csv(path)
    read = Release.read(path, own)
    for one in (privacy_loss, utility_loss):
        assert one(table, read).value == one(table, release).value


def test_boxes_with_the_same_labels_are_one():
    own = schema()
    white, blue, young, old = ((0, 2),), ((2, 3),), ((0, 10),), ((10, 20),)
    sets = {"job": [white, blue, white, white], "age": [young, young, old, young]}
    release = released(own, sets, carried=((0, 0, 2), (1, 1, 3), (2, 2, 4), (3, 2, 5)))
    every = align_boxes(release, own)
    one = distinct_boxes(every)
    rows = dict(zip(zip(sets_of(one, 0), sets_of(one, 1), strict=True), one.weight.tolist(), strict=True))
    assert rows == {(white, young): 7, (blue, young): 3, (white, old): 4}
    assert one.group.tolist() == [0, 1, 2]
    assert one.group_weight.tolist() == one.histogram.toarray()[:, 0].tolist() == one.weight.tolist()
    assert one.weight.sum() == every.weight.sum() == 14
    # Where no labels are the same there is nothing to unite.
    apart = align_boxes(released(own, {name: held[:3] for name, held in sets.items()}), own)
    assert distinct_boxes(apart) is apart
