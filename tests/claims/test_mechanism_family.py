"""Joining the family means passing the family's tests: every mechanism of the registry, one set of checks."""

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.claims import Claim
from sfumato.counts import Table
from sfumato.declare import example
from sfumato.mechanisms import REGISTRY, Mechanism
from sfumato.schema import parse_label

SCHEMA = {
    "name": "family",
    "source": "public",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 2},
        "job": {"role": "quasi", "hierarchy": {"X": ["x1", "x2"], "Y": ["y1", "y2", "y3"]}, "missing": ["?"]},
        "ill": {"role": "sensitive", "values": ["flu", "gout", "none", "pox"]},
        "paid": {"role": "target", "values": ["no", "yes"]},
        "name": {"role": "identifier"},
    },
}

# How to make one for this table, where the example that its fields declare is not right for it. `synthesize` has data
# of its own.
MADE = {
    "anatomy": lambda: sf.Anatomy(2),
    "bucketize": lambda: sf.Bucketize(sf.LDiversity(2)),
    "diffgen": lambda: sf.DiffGen(1, specializations=4),
    "dlink": lambda: sf.DLink(sf.Mondrian(sf.KAnonymity(4)), d=2, alpha=0.5),
    "marginals": lambda: sf.Marginals(1),
    "mondrian": lambda: sf.Mondrian(sf.KAnonymity(4) & sf.TCloseness(0.3)),
    "noisy-table": lambda: sf.NoisyTable(1),
    "raw": sf.Raw,
    "suppress": sf.Suppress,
    "target-rows": lambda: sf.TargetRows(1),
    "topdown": lambda: sf.TopDown(4),
}
ELSEWHERE = {"synthesize": "tests/claims/test_synthesize.py"}
NAMES = sorted(set(REGISTRY) - set(ELSEWHERE) - set(REGISTRY.third_party))


def frame(seed: int = 1, rows: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": rng.integers(0, 40, rows),
            "job": rng.choice(["x1", "x2", "y1", "y2", "y3", "?"], rows),
            "ill": rng.choice(["flu", "gout", "none", "pox"], rows, p=[0.4, 0.3, 0.2, 0.1]),
            "paid": rng.choice(["no", "yes"], rows),
        }
    )


def table(data: pl.DataFrame) -> Table:
    return sf.read(data, sf.Schema.parse(SCHEMA))


@pytest.fixture(params=NAMES)
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    return MADE[request.param]() if request.param in MADE else example(REGISTRY[request.param])


def test_what_is_made_or_tested_elsewhere_is_a_mechanism() -> None:
    assert {*MADE, *ELSEWHERE} <= set(REGISTRY)


def test_it_follows_the_protocol(mechanism: Mechanism) -> None:
    assert isinstance(mechanism, Mechanism)
    schema = sf.Schema.parse(SCHEMA)
    assert mechanism.plan(schema).stages
    assert all(set(names) <= {"age", "job", "ill", "paid"} for names in mechanism.needs(schema))
    with pytest.raises((AttributeError, TypeError)):
        mechanism.new_attribute = 1  # type: ignore[attr-defined]


def test_the_claim_is_stated_before_any_data_is_seen(mechanism: Mechanism) -> None:
    schema = sf.Schema.parse(SCHEMA)
    claim = mechanism.claim(schema)
    assert Claim.from_json(json.loads(json.dumps(claim.to_json()))) == claim
    release = sf.publish(table(frame()), mechanism, seed=1)
    assert release.claim.promise == claim.promise


def test_the_input_is_not_changed(mechanism: Mechanism) -> None:
    given = table(frame())
    before = {
        names: (given.counts(names).codes.copy(), given.counts(names).weights.copy())
        for names in mechanism.needs(given.schema)
    }
    sf.publish(given, mechanism, seed=1)
    for names, (codes, weights) in before.items():
        np.testing.assert_array_equal(given.counts(names).codes, codes)
        np.testing.assert_array_equal(given.counts(names).weights, weights)


def test_row_order_is_irrelevant(mechanism: Mechanism) -> None:
    data = frame()
    one = sf.publish(table(data), mechanism, seed=3)
    other = sf.publish(table(data.sample(fraction=1, shuffle=True, seed=9)), mechanism, seed=3)
    for name, published in one.frames().items():
        assert published.equals(other.frames()[name])


def test_the_same_entropy_gives_the_same_release(mechanism: Mechanism) -> None:
    given = table(frame())
    one, other = (sf.publish(given, mechanism, seed=5) for _ in range(2))
    for name, published in one.frames().items():
        assert published.equals(other.frames()[name])


def test_the_output_lies_inside_the_schema(mechanism: Mechanism) -> None:
    release = sf.publish(table(frame()), mechanism, seed=2)
    schema = sf.Schema.parse(SCHEMA)
    for published in release.frames().values():
        for name in published.columns:
            if name in schema:
                assert all(parse_label(schema[name], text) is not None for text in published[name].unique())
        assert "name" not in published.columns
        assert published.rows() == published.sort(published.columns).rows() or release.form == "buckets"


def test_relabelling_values_commutes(mechanism: Mechanism) -> None:
    """Other names for the same values give the same release under those names."""
    renamed = {"x1": "b1", "x2": "b2", "y1": "c1", "y2": "c2", "y3": "c3", "X": "B", "Y": "C"}
    other_schema = json.loads(json.dumps(SCHEMA))
    other_schema["attribute"]["job"]["hierarchy"] = {"B": ["b1", "b2"], "C": ["c1", "c2", "c3"]}
    data = frame()
    one = sf.publish(table(data), mechanism, seed=4)
    other = sf.publish(
        sf.read(data.with_columns(pl.col("job").replace(renamed)), sf.Schema.parse(other_schema)), mechanism, seed=4
    )
    back = {new: old for old, new in renamed.items()}
    for name, wanted in one.frames().items():
        again = other.frames()[name]
        if "job" in again.columns:
            parts = pl.col("job").str.split(" | ").list.eval(pl.element().replace(back)).list.join(" | ")
            again = again.with_columns(parts)
        assert wanted.sort(wanted.columns).equals(again.sort(again.columns))


def test_a_seeded_release_that_drew_is_stamped_and_refused(mechanism: Mechanism, tmp_path) -> None:
    release = sf.publish(table(frame()), mechanism, seed=1)
    if not release.claim.rehearsal:
        return
    with pytest.raises(sf.ReleaseError, match="rehearsal"):
        release.save(tmp_path / "out")
    release.save(tmp_path / "out", allow_rehearsal=True)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["claim"]["rehearsal"] is True


@pytest.mark.parametrize(
    "bad",
    [
        lambda: sf.Mondrian(10),
        lambda: sf.Mondrian(sf.KAnonymity(0)),
        lambda: sf.Mondrian(sf.KAnonymity(2), cut="worst"),
        lambda: sf.Anatomy(1),
        lambda: sf.TopDown(0),
        lambda: sf.Bucketize(3),
        lambda: sf.Mondrian(sf.KAnonymity(2), max_suppressed=1),
        lambda: sf.Mondrian(sf.TCloseness(-1)),
    ],
)
def test_bad_parameters_are_refused_by_name(bad) -> None:
    with pytest.raises(sf.ParameterError):
        bad()
