"""dLink's formulas against worked numbers, its parameters, its claim and what it refuses."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.claims import Claim, Linkable
from sfumato.mechanisms.dlink.dlink import (
    DLink,
    axis_of,
    hierarchical_distance,
    joint_presence,
    level_losses,
    presence,
    record_probability,
)
from sfumato.schema import Schema

SCHEMA = {
    "name": "small",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 2, "missing": ["?"]},
        "job": {"role": "quasi", "hierarchy": {"X": ["x1", "x2"], "Y": ["y1", "y2", "y3"]}, "missing": ["?"]},
        "sex": {"role": "quasi", "kind": "nominal", "values": ["f", "m"]},
        "ill": {"role": "sensitive", "values": ["flu", "gout", "none", "pox"]},
    },
}
BASE = sf.Mondrian(sf.KAnonymity(4))


def test_vectors() -> None:
    # dlink.record_prob, dlink.pes.*, dlink.p_values, dlink.best2, dlink.exact2.small, dlink.eq6, dlink.min_rho
    assert record_probability([0.15, 0.5, 0.05]) == pytest.approx(0.00375, abs=1e-15)
    assert presence(0.00375, 100) == pytest.approx(0.31319501231145186, abs=1e-12)
    assert presence(0.00375, 1000) == pytest.approx(0.9766474449696518, abs=1e-12)
    rhos = [0.02, 0.01, 0.003, 0.001]
    expected = [0.9824120533942784, 0.8660203251420381, 0.4516830613738196, 0.1813511705213643]
    assert [presence(rho, 200) for rho in rhos] == pytest.approx(expected, abs=1e-12)
    best = joint_presence(rhos[:2], 200, exact=False)
    assert best == pytest.approx(0.8507888059039702, abs=1e-12)
    assert best ** (3 - 1) == pytest.approx(0.7238415922515036, abs=1e-12)
    assert joint_presence([0.2, 0.2], 10, exact=False) == pytest.approx(0.7967808502460685, abs=1e-12)
    assert joint_presence([0.2, 0.2], 10) == pytest.approx(0.7912982528, abs=1e-12)
    needed = 2.885104544186686e-05
    assert presence(needed, 101_000) == pytest.approx(0.9457416090031758, abs=1e-12)
    assert joint_presence([needed] * 4, 101_000, exact=False) == pytest.approx(0.8, abs=1e-12)
    # dlink.whd.beta1
    assert hierarchical_distance(4, 2, height=4) == pytest.approx(0.45454545454545453, abs=1e-12)
    assert hierarchical_distance(4, 2, height=4, beta=0.0) == pytest.approx(2 / 3)


def test_tail_of_independent_presences_is_above_the_best_subset() -> None:
    # dlink.pb_tail2: the fixed subset is a lower bound of "at least d of the values occur"
    p = [presence(rho, 200) for rho in (0.02, 0.01, 0.003, 0.001)]
    counts = np.array([1.0])
    for chance in p:
        counts = np.convolve(counts, [1 - chance, chance])
    assert counts[2:].sum() == pytest.approx(0.9319165714910218, abs=1e-12)
    assert counts[2:].sum() > joint_presence([0.02, 0.01], 200)


def test_presence_keeps_small_probabilities() -> None:
    assert presence(1e-15, 100) == pytest.approx(1e-13, rel=1e-9)
    assert 1 - (1 - 1e-17) ** 100 == 0  # the mutant that underflows (trap 18)
    assert presence(1e-17, 100) == pytest.approx(1e-15, rel=1e-9)
    assert presence(1.0, 1) == 1
    assert presence(0.0, 5) == 0


def test_exact_is_never_above_the_product() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        rhos = (rng.random(rng.integers(1, 7)) * 0.15).tolist()
        n = int(rng.integers(1, 60))
        assert 0 <= joint_presence(rhos, n) <= joint_presence(rhos, n, exact=False) + 1e-15
    with pytest.raises(sf.ParameterError, match="at most 12"):
        joint_presence([0.01] * 13, 10)


def test_levels_of_a_tree_lose_what_the_distance_says() -> None:
    parent = [-1, 0, 1, 2, 0]
    losses = level_losses(parent)
    for node, level in enumerate([1, 2, 3, 4, 2]):
        assert losses[node] == pytest.approx(hierarchical_distance(4, level, height=4))
    with pytest.raises(sf.ParameterError):
        hierarchical_distance(2, 3, height=4)


def test_axes_follow_the_trees() -> None:
    schema = Schema.parse(SCHEMA)
    job = axis_of(schema["job"], nominal="nodes", distance="hierarchical")
    assert job.missing
    assert {(low, high) for low, high, _, _ in job.nodes} >= {(0, 6), (0, 2), (2, 5), (5, 6)}
    for attribute in ("age", "sex"):  # numbers, and nominal values without a tree, are joined to intervals
        assert axis_of(schema[attribute], nominal="nodes", distance="hierarchical").nodes == ()
    wide = axis_of(schema["job"], nominal="nodes", distance="uniform")
    assert {(low, high): loss for low, high, _, loss in wide.nodes}[2, 5] == pytest.approx(2 / 5)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"d": 1}, "d"),
        ({"d": 13}, "d"),
        ({"alpha": 0}, "alpha"),
        ({"alpha": 1}, "alpha"),
        ({"organisations": 1}, "organisations"),
        ({"others": [10, 10]}, "others"),
        ({"others": 0}, "others"),
        ({"population": 3}, "population"),
        ({"probability": "sure"}, "probability"),
        ({"probability": "robust", "population": "joint"}, "probability"),
        ({"max_suppressed": 1}, "max_suppressed"),
        ({"partner": "none"}, "partner"),
        ({"nominal": "tree"}, "nominal"),
        ({"distance": "far"}, "distance"),
        ({"k_other": 1}, "k_other"),
    ],
)
def test_bad_parameters_are_refused(options, name) -> None:
    with pytest.raises(sf.ParameterError) as refused:
        DLink(BASE, **options)
    assert refused.value.name == name


def test_bases_that_can_not_be_united_are_refused() -> None:
    schema = Schema.parse(SCHEMA)
    with pytest.raises(sf.ParameterError, match="partition mechanism"):
        DLink(10)
    with pytest.raises(sf.ParameterError, match="partition mechanism"):
        DLink(DLink(BASE))
    with pytest.raises(sf.ParameterError, match="must promise a requirement"):
        DLink(sf.NoisyTable(1)).claim(Schema.parse({**SCHEMA, "source": "public"}))
    loose = sf.SemanticPrivacy(2, absent="ignore")
    assert not loose.monotone
    with pytest.raises(sf.ParameterError, match="not kept when classes are united"):
        DLink(sf.Mondrian(sf.KAnonymity(4) & loose)).claim(schema)
    with pytest.raises(sf.ParameterError, match="must promise a requirement"):
        DLink(sf.Mondrian(sf.KAnonymity(4) & sf.Linkability(2, 0.5))).plan(schema)


def test_the_claim_says_that_it_is_an_estimate() -> None:
    claim = DLink(BASE, d=3, alpha=0.7, organisations=3, others=[500, 900]).claim(Schema.parse(SCHEMA))
    promise = claim.promise
    assert isinstance(promise, Linkable)
    assert (promise.d, promise.organisations, promise.other_rows, promise.base) == (3, 3, (500, 900), sf.KAnonymity(4))
    assert claim.kind == "estimate"
    assert "not a guarantee" in promise.describe()
    assert "500 and 900 rows" in promise.describe()
    assert "overstates" not in promise.describe()
    product = DLink(BASE, d=3, alpha=0.7, probability="product").claim(Schema.parse(SCHEMA))
    assert "by the paper's product formula, which overstates it" in product.promise.describe()
    assert any("overstates" in note for note in product.silent_on)
    assert any("500, 900" in note for note in claim.silent_on)
    assert Claim.from_json(json.loads(json.dumps(claim.to_json()))) == claim


def test_plan_and_json_name_the_parameters() -> None:
    made = DLink(BASE, population="joint", max_suppressed=0.05)
    plan = made.plan(Schema.parse(SCHEMA))
    assert [stage.name for stage in plan.stages] == ["partition", "unite"]
    answer = json.loads(json.dumps(made.to_json()))
    assert answer["base"]["name"] == "mondrian"
    assert answer["linkability"]["population"] == "the table itself, jointly"
    assert answer["max_suppressed"] == "1/20"


def test_posterior_of_two_values_can_be_81_to_1() -> None:
    # dlink.posterior_skew: d common values is not 1/d confidence
    assert math.isclose(9 * 9 / (9 * 9 + 1), 0.9878048780487805, abs_tol=1e-12)
    assert any("1/d" in note for note in DLink(BASE).linkability.notes())
