"""What `classification` and `cross_validate` return, refuse and repeat."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.claims import Claim, Nothing
from sfumato.counts import Table
from sfumato.estimate import align
from sfumato.measures import Measured, classification, cross_validate
from sfumato.measures.classification import resampled_interval, target_of, training_lines
from sfumato.measures.learners import MODELS
from sfumato.measures.proportions import wilson
from sfumato.release import assemble
from sfumato.schema import Labels

SPEC = {
    "name": "small",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "missing": ["?"]},
        "job": {"role": "quasi", "hierarchy": {"W": ["w1", "w2"], "B": ["b1", "b2", "b3"]}},
        "ill": {"role": "sensitive", "hierarchy": {"bad": ["flu", "gout"], "good": ["none"]}},
        "pay": {"role": "target", "values": ["low", "high"]},
    },
}
SCHEMA = sf.Schema.parse(SPEC)


def people(rows: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    age, job = np.minimum(rng.integers(0, 48, rows), 40), rng.integers(0, 5, rows)  # 40 is the missing code
    pay = (age + 8 * (job < 2) + rng.normal(0, 4, rows) > 29).astype(int)
    ill = np.where(rng.random(rows) < 0.8, np.minimum(age // 14, 2), rng.integers(0, 3, rows))
    return Table.from_codes(SCHEMA, np.column_stack([age, job, ill, pay]))


TRAIN, TEST = people(900), people(400, seed=1)
MECHANISMS = {
    "raw": sf.Raw(),
    "suppress": sf.Suppress(),
    "mondrian": sf.Mondrian(sf.KAnonymity(10)),
    "tight": sf.Mondrian(sf.KAnonymity(10), tight=True),
    "topdown": sf.TopDown(10),
    "bucketize": sf.Bucketize(sf.LDiversity(2)),
    "anatomy": sf.Anatomy(2),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_release_with_every_learner(name, model):
    found = classification(TRAIN, TEST, sf.publish(TRAIN, MECHANISMS[name], seed=3), model=model)
    assert found.rows == 400
    assert found.interval[0] < found.accuracy < found.interval[1]
    assert (found.model, found.target, found.classes) == (model, "pay", 2)
    assert found.baseline > found.lower_bound + 0.15
    if name == "raw":
        assert found.accuracy == found.baseline
    elif name == "suppress":
        assert found.accuracy == found.lower_bound
    elif name in ("mondrian", "tight", "topdown"):
        assert found.lower_bound + 0.1 < found.accuracy < found.baseline + 0.03


def test_the_suppressed_group_is_learned_from_with_its_stars():
    job = SCHEMA["job"]
    tables = (Labels.from_hulls(SCHEMA["age"], [0], [41])[0], Labels.from_hulls(job, [0, 0, 2], [2, 5, 5])[0])
    release, _ = assemble(
        SCHEMA,
        tables=tables,
        labels=np.array([[0, 0], [0, 1], [0, 2]]),  # W, *, B
        weight=np.array([7, 5, 4]),
        group=np.arange(3),
        carried_group=np.array([0, 0, 1, 2]),
        carried_codes=np.array([[0, 0], [1, 1], [2, 1], [2, 0]]),
        carried_weight=np.array([4, 3, 5, 4]),
        suppressed_group=1,
        claim=Claim(Nothing()),
    )
    goal = target_of(SCHEMA, None, None)
    found = training_lines(align(release, SCHEMA, "pay"), goal.of_code)
    shares = np.round(found.x[:, 2:] * 6).astype(int).tolist()  # sixths of the five jobs
    assert sorted(zip(shares, found.y.tolist(), found.weight.tolist(), strict=True)) == [
        ([0, 0, 2, 2, 2], 0, 4),
        ([1, 1, 1, 1, 1], 1, 5),
        ([3, 3, 0, 0, 0], 0, 4),
        ([3, 3, 0, 0, 0], 1, 3),
    ]


def test_buckets_spread_their_classes_over_their_boxes():
    release = sf.publish(TRAIN, MECHANISMS["anatomy"], seed=3)
    found = training_lines(align(release, SCHEMA, "pay"), target_of(SCHEMA, None, None).of_code)
    classes = np.bincount(found.y, weights=found.weight)
    assert classes == pytest.approx(np.bincount(TRAIN.codes("pay")[:, 0]))
    jobs = (found.x[:, 2:] * found.weight[:, None]).sum(axis=0)
    assert jobs == pytest.approx(np.bincount(TRAIN.codes("job")[:, 0]))


def test_lower_bound_is_the_majority_of_the_training_rows():
    codes = TEST.codes()
    upside = Table.from_codes(SCHEMA, np.column_stack([codes[:, :3], 1 - codes[:, 3]]))
    most = int(TRAIN.codes("pay").mean() > 0.5)
    found = classification(TRAIN, upside, sf.publish(TRAIN, sf.Suppress()))
    assert found.lower_bound == (upside.codes("pay") == most).mean()
    assert found.lower_bound < 0.5  # the test rows have another majority, which nobody may know


def test_the_figure_is_confidential_and_plain():
    found = classification(TRAIN, TEST, sf.publish(TRAIN, sf.TopDown(10)))
    measured = found.measured()
    assert isinstance(measured, Measured)
    assert measured.confidential
    assert found.confidential
    assert found.value == measured.value == found.accuracy
    assert found.to_json()["details"]["baseline"] == found.baseline


def test_the_same_seed_gives_the_same_result():
    release = sf.publish(TRAIN, MECHANISMS["mondrian"])
    again = [classification(TRAIN, TEST, release, seed=4) for _ in range(2)]
    assert again[0] == again[1]
    one, two = (cross_validate(TRAIN, MECHANISMS["mondrian"], folds=3, repeats=2, seed=s) for s in (4, 4))
    assert one == two
    assert one.runs != cross_validate(TRAIN, MECHANISMS["mondrian"], folds=3, repeats=2, seed=5).runs


def test_row_order_does_not_matter():
    release = sf.publish(TRAIN, MECHANISMS["mondrian"])
    mixed = TEST.take(np.random.default_rng(0).permutation(400))
    assert classification(TRAIN, TEST, release) == classification(TRAIN, mixed, release)


def test_another_class_and_a_binning_of_it():
    release = sf.publish(TRAIN, MECHANISMS["mondrian"])
    fine = classification(TRAIN, TEST, release, target="ill")
    coarse = classification(TRAIN, TEST, release, target="ill", bins=["bad", "good"])
    assert (fine.classes, coarse.classes) == (3, 2)
    assert coarse.accuracy > fine.accuracy > fine.lower_bound


def test_a_number_may_be_the_class():
    table = TRAIN.with_roles(quasi=["job", "ill"], sensitive=[], target=["age", "pay"])
    test = TEST.with_roles(quasi=["job", "ill"], sensitive=[], target=["age", "pay"])
    found = classification(table, test, sf.publish(table, sf.Raw()), target="age", bins=[14, 28])
    assert found.classes == 4  # missing ages are one
    assert found.accuracy > found.lower_bound + 0.2


def test_a_loaded_release_is_asked_about_exact_rows(tmp_path: Path):
    release = sf.publish(TRAIN, MECHANISMS["mondrian"])
    release.save(tmp_path / "out", allow_derived=True)
    loaded = sf.Release.load(tmp_path / "out", schema=SCHEMA)
    assert loaded.recoding is None
    found = classification(TRAIN, TEST, loaded)
    assert found.lower_bound + 0.1 < found.accuracy
    assert found == classification(TRAIN, TEST, replace(release, recoding=None))


def test_a_saved_recoding_is_used(tmp_path: Path):
    release = sf.publish(TRAIN, sf.TopDown(10))
    release.save(tmp_path / "out", allow_derived=True)
    loaded = sf.Release.load(tmp_path / "out", schema=SCHEMA)
    assert classification(TRAIN, TEST, loaded) == classification(TRAIN, TEST, release)


def test_a_release_that_lacks_a_predictor():
    fewer = TRAIN.with_roles(quasi=["age"])
    found = classification(TRAIN, TEST, sf.publish(fewer, MECHANISMS["mondrian"]))
    assert found.lower_bound < found.accuracy < found.baseline


def test_empty_groups_and_odd_counts_do_not_stop_it():
    release = sf.publish(TRAIN, MECHANISMS["mondrian"])
    noise = np.random.default_rng(1).integers(0, 3, len(release.groups.carried.weight))
    carried = replace(release.groups.carried, weight=release.groups.carried.weight * noise)
    odd = replace(release, groups=replace(release.groups, carried=carried), form="cells")
    assert 0 < classification(TRAIN, TEST, odd).accuracy < 1
    none = replace(odd, groups=replace(release.groups, carried=replace(carried, weight=carried.weight * 0)))
    assert classification(TRAIN, TEST, none).accuracy == (TEST.codes("pay") == 0).mean()


@pytest.mark.parametrize(
    ("change", "error", "rule"),
    [
        ({"test": TRAIN}, sf.ParameterError, "not published"),
        ({"test": TEST.take(np.zeros(0, int))}, sf.ParameterError, "at least one row"),
        ({"test": TEST.with_roles(quasi=["age"])}, sf.NotComparable, "job differs"),
        ({"model": "forest"}, sf.ParameterError, "must be one of"),
        ({"target": "age"}, sf.ParameterError, "neither sensitive nor target"),
    ],
)
def test_what_is_refused(change, error, rule):
    given = {"train": TRAIN, "test": TEST, "release_of_train": sf.publish(TRAIN, sf.Raw()), **change}
    with pytest.raises(error, match=rule):
        classification(**given)


@pytest.mark.parametrize(
    "change", [{"folds": 1}, {"folds": 10_000}, {"repeats": 0}, {"model": "forest"}, {"target": "job"}]
)
def test_what_cross_validation_refuses(change):
    with pytest.raises(sf.ParameterError):
        cross_validate(TRAIN, sf.Raw(), **change)


def test_cross_validation_means_over_its_runs():
    answer = []
    found = cross_validate(TRAIN, sf.Raw(), folds=4, repeats=2, model="bayes", progress=lambda *a: answer.append(a))
    assert len(found.runs) == 8
    assert [run.rows for run in found.runs] == [225] * 8
    assert found.accuracy == pytest.approx(np.mean([run.accuracy for run in found.runs]))
    assert found.accuracy == pytest.approx(found.baseline)
    assert found.interval[0] < found.accuracy < found.interval[1]
    assert answer[-1] == (1.0, "repeat 2, fold 4")
    assert found.measured().confidential
    assert len(found.to_json()["runs"]) == 8


def test_the_wilson_interval():
    # Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662; 0 of 20 gives 0 to 0.1611
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert wilson(20, 20)[1] == 1


def test_the_resampled_interval_by_hand():
    # Four runs of 2 folds: s^2 = 0.0025 / 3, test/train = 1, t(3) = 3.182446
    low, high = resampled_interval(np.array([0.775, 0.775, 0.825, 0.825]), 1.0)
    half = 3.1824463 * math.sqrt((1 / 4 + 1) * 0.0025 / 3)
    assert (low, high) == pytest.approx((0.8 - half, 0.8 + half))
    assert resampled_interval(np.array([0.5, 0.5]), 0.1) == (0.5, 0.5)
