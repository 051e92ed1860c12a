"""Releases of dLink: every class passes with the label that is published, the base's requirement still verifies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.kernels.dlink.score import score
from sfumato.mechanisms.base import gather
from sfumato.mechanisms.dlink.dlink import joint_presence
from sfumato.mechanisms.dlink.population_model import Frequencies, bind_model
from sfumato.randomness import Entropy
from sfumato.schema import JointCells

SCHEMA = sf.Schema.parse(
    {
        "name": "people",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 60], "step": 2, "missing": ["?"]},
            "job": {
                "role": "quasi",
                "hierarchy": {"X": {"X1": ["a", "b"], "X2": ["c"]}, "Y": ["d", "e", "f"]},
                "missing": ["?"],
            },
            "sex": {"role": "quasi", "kind": "nominal", "values": ["f", "m"]},
            "ill": {"role": "sensitive", "values": ["flu", "gout", "none", "pox", "rash", "cold"]},
            "paid": {"role": "target", "values": ["no", "yes"]},
        },
    }
)
BASE = sf.Mondrian(sf.KAnonymity(5))
OPTIONS = {
    "default": {},
    "all": {"partner": "all"},
    "leaves": {"nominal": "leaves"},
    "uniform": {"distance": "uniform", "nominal": "leaves"},
    "uniform nodes": {"distance": "uniform"},
    "joint": {"population": "joint"},
    "product": {"probability": "product"},
    "robust": {"probability": "robust", "k_other": 12},
    "three": {"organisations": 3, "others": [900, 1500]},
    "suppressing": {"max_suppressed": 0.05},
}


def people(rows=900, seed=2):
    rng = np.random.default_rng(seed)
    age = rng.normal(30, 9, rows).clip(0, 59).astype(int)
    job = rng.choice(list("abcdef"), rows, p=[0.3, 0.1, 0.2, 0.2, 0.15, 0.05])
    frame = pl.DataFrame(
        {
            "age": [str(a) if r > 0.03 else "?" for a, r in zip(age, rng.random(rows), strict=True)],
            "job": [j if r > 0.03 else "?" for j, r in zip(job, rng.random(rows), strict=True)],
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(SCHEMA["ill"].texts(), rows, p=[0.3, 0.22, 0.2, 0.14, 0.1, 0.04]),
            "paid": rng.choice(["no", "yes"], rows),
        }
    )
    return sf.read(frame, SCHEMA)


def released(table, mechanism):
    return mechanism.apply(gather(mechanism, table), Entropy.seeded(1))


def scores(release, mechanism):
    """From the published labels alone, by the definition: share of each label, presence of the class's values."""
    home = release.residence
    stays = home.group >= 0
    counted = Frequencies.of(release.quasi, release.schema.sensitive, home.codes[stays], home.weight[stays], home.names)
    link = bind_model(mechanism.linkability, counted, k=5)
    found = []
    histogram = release.groups.histogram("ill").toarray()
    for box in range(len(release.boxes)):
        mass = 1.0
        for a, table in enumerate(release.boxes.tables):
            prefix = link.prefix[link.start[a] : link.start[a + 1]]
            held = table.intervals(int(release.boxes.labels[box, a]))
            mass *= sum(prefix[high] - prefix[low] for low, high in held)
        found.append(score(link, mass, histogram[release.boxes.group[box]], np.zeros(0)))
    return np.array(found), link.alpha


@pytest.mark.parametrize("name", OPTIONS)
def test_every_class_passes_with_its_published_label(name) -> None:
    mechanism = sf.DLink(BASE, **OPTIONS[name])
    table = people()
    release = released(table, mechanism)
    found, alpha = scores(release, mechanism)
    assert (found >= alpha - 1e-12).all()
    before, _ = scores(released(table, BASE), mechanism)
    assert (before < alpha).any()  # there was something to do
    assert len(found) < len(before)
    assert len(np.unique(release.boxes.labels, axis=0)) == len(release.boxes)  # equal labels are one class


@pytest.mark.parametrize("base", [BASE, sf.Mondrian(sf.KAnonymity(5), tight=True), sf.TopDown(8)], ids=str)
def test_every_kind_of_base_is_united(base) -> None:
    mechanism = sf.DLink(base, d=4, alpha=0.7)
    made = released(people(), mechanism)
    found, alpha = scores(made, mechanism)
    assert (found >= alpha - 1e-12).all()
    assert (made.recoding is None) == isinstance(base, sf.TopDown)


@pytest.mark.parametrize("name", ["default", "uniform", "suppressing"])
def test_base_requirement_still_verifies(name, tmp_path) -> None:
    requirement = sf.KAnonymity(5) & sf.LDiversity(2) & sf.TCloseness(0.35)
    release = sf.publish(people(), sf.DLink(sf.Mondrian(requirement), **OPTIONS[name]))
    release.save(tmp_path / "out")
    verdict = sf.verify(tmp_path / "out")
    assert verdict.holds
    assert verdict.kind == "estimate"
    assert {finding.requirement.label for finding in verdict.findings} == {"k-anonymity", "l-diversity", "t-closeness"}
    assert any("not checkable" in note for note in verdict.notes)


def test_classes_are_unions_of_the_base() -> None:
    table = people()
    base, made = released(table, BASE), released(table, sf.DLink(BASE))
    pairs = np.unique(np.stack([base.residence.group, made.residence.group]), axis=1)
    assert len(pairs[0]) == len(np.unique(pairs[0]))  # each of the base's classes went to one place
    assert made.rows == base.rows
    np.testing.assert_array_equal(made.groups.overall["ill"], base.groups.overall["ill"])
    for row in range(len(made.boxes)):
        for a, labels in enumerate(made.boxes.tables):
            missing = labels.attribute.missing_code
            held = labels.holds(np.arange(labels.attribute.size))[made.boxes.labels[row, a]]
            assert missing is None or not held[missing] or held.sum() in (1, labels.attribute.size)


def test_recoding_leads_to_the_residence() -> None:
    made = released(people(), sf.DLink(BASE))
    home = made.residence
    np.testing.assert_array_equal(made.recoding.route(home.codes[:, :3]), home.group)


def test_labels_hold_the_rows_of_their_class() -> None:
    for options in OPTIONS.values():
        release = released(people(), sf.DLink(BASE, **options))
        home = release.residence
        for a, labels in enumerate(release.boxes.tables):
            inside = home.group >= 0
            ids = release.boxes.labels[home.group[inside], a]
            assert labels.holds(np.arange(labels.attribute.size))[ids, home.codes[inside, a]].all()


def test_nominal_labels_are_nodes_of_the_tree() -> None:
    release = released(people(), sf.DLink(sf.Mondrian(sf.KAnonymity(5), nominal="nodes")))
    nodes = set(SCHEMA["job"].nodes.by_interval)
    labels = release.boxes.tables[1]
    assert {labels.intervals(label)[0] for label in range(len(labels))} <= nodes


@pytest.mark.parametrize("share", ["0", "1/50", "1/10"])
def test_suppression_is_bounded_and_never_everything(share) -> None:
    table = people()
    release = released(table, sf.DLink(BASE, d=5, alpha=0.9, max_suppressed=share))
    assert release.summary().suppressed <= Fraction(share) * table.rows
    assert release.summary().classes >= 1
    with pytest.raises(sf.Infeasible):
        released(table, sf.DLink(BASE, d=7, max_suppressed="9/10"))


def test_infeasible_is_said_before_anything_is_united(monkeypatch) -> None:
    def never(*_args, **_more):
        raise AssertionError("united although it cannot be reached")

    monkeypatch.setattr("sfumato.mechanisms.dlink.dlink.merge_classes", never)
    with pytest.raises(sf.Infeasible, match="no partition can do better"):
        released(people(), sf.DLink(BASE, others=3))


def test_one_class_that_is_short_of_the_root_gets_the_root() -> None:
    """With a declared population the hull of everybody may be short of `*`, which was found to pass."""
    wide = np.ones(31)
    wide[:5] = 200.0  # ages that hardly occur in the table
    population = sf.Population("register", one_way={"age": wide})
    mechanism = sf.DLink(BASE, d=6, alpha=0.9, others=120, population=population)
    release = released(people(), mechanism)
    found, alpha = scores(release, mechanism)
    assert (found >= alpha - 1e-12).all()


def test_declared_cells_replace_independence() -> None:
    """Item 6: with P(value | cell) declared, classes are judged by what occurs in their cell."""
    table = people()
    rng = np.random.default_rng(4)
    rows = [(j, i, float(rng.integers(1, 50))) for j in range(7) for i in range(6)]
    cells = JointCells(
        ("job",),
        sensitive="ill",
        low=np.array([[j] for j, _, _ in rows]),
        high=np.array([[j + 1] for j, _, _ in rows]),
        value=np.array([i for _, i, _ in rows]),
        weight=np.array([w for _, _, w in rows]),
    )
    population = sf.Population("survey", cells=cells)
    mechanism = sf.DLink(BASE, d=3, alpha=0.7, population=population)
    release = released(table, mechanism)
    weight = np.zeros((7, 6))
    for j, i, w in rows:
        weight[j, i] = w
    weight /= weight.sum()
    home = release.residence
    histogram = release.groups.histogram("ill").toarray()
    for box in range(len(release.boxes)):
        others = 1.0
        for a in (0, 2):
            counts = np.bincount(home.codes[:, a], weights=home.weight, minlength=release.quasi[a].size)
            low, high = release.boxes.low[box, a], release.boxes.high[box, a]
            others *= counts[low:high].sum() / counts.sum()
        low, high = release.boxes.low[box, 1], release.boxes.high[box, 1]
        rho = weight[low:high].sum(axis=0) * others
        best = sorted(rho[histogram[release.boxes.group[box]] > 0], reverse=True)[:3]
        assert joint_presence(best, table.rows) >= 0.7 - 1e-9
    with pytest.raises(sf.ParameterError) as caught:
        released(table, sf.Mondrian(sf.KAnonymity(5) & sf.Linkability(3, 0.7, population=population)))
    assert caught.value.name == "population"


def test_buckets_are_refused() -> None:
    with pytest.raises(sf.ParameterError, match="one generalized label each"):
        released(people(), sf.DLink(sf.Bucketize(sf.LDiversity(2))))


def test_order_of_rows_does_not_matter() -> None:
    table = people()
    shuffled = table.take(np.random.default_rng(9).permutation(table.rows))
    one, other = (released(each, sf.DLink(BASE)) for each in (table, shuffled))
    assert one.frame().equals(other.frame())


@pytest.mark.parametrize("mechanism", [sf.DLink(BASE), sf.DLink.inside(BASE)], ids=["united", "inside"])
def test_an_empty_table_without_a_sensitive_column_is_refused_as_any_other_is(mechanism) -> None:
    """With rows it was refused; without, a claim was saved that the verifier says fails."""
    table = people(40).with_roles(sensitive=[])
    for rows in (table, table.take(np.zeros(40, bool))):
        with pytest.raises(sf.errors.ParameterError, match="needs a sensitive attribute"):
            sf.publish(rows, mechanism)
