"""What a plan forecasts is near what is measured on simulated tables of another kind, and reads no data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.frontiers import forecast as forecasting
from sfumato.frontiers.forecast import forecast, stand_in
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy

ROWS = 10_000
SCHEMA = {
    "name": "simulated",
    "source": "public",
    "rows": ROWS,
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 80], "step": 2},
        "job": {"role": "quasi", "kind": "nominal", "values": [f"j{at}" for at in range(9)]},
        "town": {"role": "quasi", "kind": "nominal", "values": [f"t{at}" for at in range(6)]},
        "kids": {"role": "quasi", "kind": "ordered", "values": ["0", "1", "2", "3", "more"]},
        "rich": {"role": "target", "kind": "nominal", "values": ["no", "yes"]},
    },
}
PRIVATE = {
    "DiffGen": sf.DiffGen.recommended,
    "NoisyTable": sf.NoisyTable,
    "Marginals": sf.Marginals,
    "Marginals, delta": lambda epsilon: sf.Marginals(epsilon, delta="1e-9"),
    "TargetRows": sf.TargetRows,
}
NEAR = 2.5  # a forecast is called near within this factor, or where both errors are below NOTHING
NOTHING = 0.001


def simulated(seed):
    """A chain: each attribute depends on the one before by random shares, most of them small."""
    rng = np.random.default_rng(seed)
    schema = sf.Schema.parse(SCHEMA)
    columns = []
    for attribute in schema.published:
        size = attribute.size
        given = columns[-1] if columns else np.zeros(ROWS, int)
        edges = np.cumsum(rng.dirichlet(np.full(size, 0.6 if size < 20 else 0.3), int(given.max()) + 1), axis=1)
        columns.append((rng.random(ROWS)[:, None] > edges[given]).sum(axis=1).clip(max=size - 1))
    return Table.from_codes(schema, np.column_stack(columns))


def measured(mechanism, seeds=(1, 2, 3)):
    found = []
    for seed in seeds:
        table = simulated(seed)
        release = run(mechanism, gather(mechanism, table), Entropy.seeded(seed))
        found.append(sf.workload_error(table, release).value)
    return float(np.exp(np.mean(np.log(found))))


def near(promised, found):
    return max(promised, found) < NOTHING or 1 / NEAR < promised / found < NEAR


def test_fewer_rows_than_declared_are_not_called_declared(monkeypatch):
    monkeypatch.setattr("sfumato.frontiers.forecast.MOST_STAND_IN_ROWS", 500)
    found = sf.plan(sf.Schema.parse({**SCHEMA, "rows": 1_000_000}), PRIVATE["NoisyTable"]("1")).forecast
    assert found.rows == 500
    assert found.describe().startswith("On 500 stand-in rows (1,000,000 are declared)")
    assert found.to_json()["of"] == 1_000_000


@pytest.mark.cells(4)
@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("epsilon", ["1/10", pytest.param("1", marks=pytest.mark.full), "10"])
def test_the_forecast_is_near_what_is_measured(name, epsilon):
    mechanism = PRIVATE[name](epsilon)
    plan = sf.plan(sf.Schema.parse(SCHEMA), mechanism)
    assert plan.forecast is not None
    assert plan.forecast.rows == ROWS
    assert plan.forecast.declared
    assert plan.to_json()["forecast"]["describe"] == plan.forecast.describe()
    assert near(plan.forecast.workload_error, measured(mechanism)), (name, epsilon)


@pytest.mark.parametrize(
    ("name", "epsilon", "factor"), [("NoisyTable", "1/10", 1.4), ("NoisyTable", "1", 1.5), ("DiffGen", "10", 1.25)]
)
def test_the_forecast_is_near_on_a_real_table(name, epsilon, factor):
    """On Adult, where rows of many values in common are many: the stand-in must have such rows as well."""
    table, mechanism = sf.datasets.adult(), PRIVATE[name](epsilon)
    promised = forecast(replace(table.schema, rows=table.rows), mechanism).workload_error
    release = run(mechanism, gather(mechanism, table), Entropy.seeded(1))
    assert 1 / factor < promised / sf.workload_error(table, release).value < factor


def test_wrong_mutants_are_caught():
    """A forecast for another epsilon, or for the wrong number of rows, is not near."""
    schema = sf.Schema.parse(SCHEMA)
    dark, middling = measured(sf.Marginals("1/10")), measured(sf.Marginals(1))
    assert near(forecast(schema, sf.Marginals(1)).workload_error, middling)
    assert not near(forecast(schema, sf.Marginals(10)).workload_error, dark)
    assert not near(forecast(replace(schema, rows=500), sf.Marginals(1)).workload_error, middling)
    assert not near(forecast(schema, sf.NoisyTable("1/10")).workload_error, measured(sf.NoisyTable(10)))


def test_the_stages_promise_the_noise_that_is_drawn():
    """Expected error of a count: the mean size of its noise, on many counts of one draw."""
    schema = sf.Schema.parse(SCHEMA)
    promised = float(sf.plan(schema, sf.NoisyTable("1/2"), forecast=False).stages[0].expected_error.split()[0])
    table = simulated(1)
    mechanism = sf.NoisyTable("1/2", threshold=1)
    release = run(mechanism, gather(mechanism, table), Entropy.seeded(4))
    names = [attribute.name for attribute in schema.published]
    counts = table.counts(names)
    truth = {tuple(row): n for row, n in zip(counts.codes.tolist(), counts.weights, strict=True)}
    boxes, carried = release.boxes, release.groups.carried
    where = np.empty(len(release.groups), int)
    where[boxes.group] = np.arange(len(boxes))
    cells = np.column_stack(
        [*(one.low[boxes.labels[where[carried.group], at]] for at, one in enumerate(boxes.tables)), carried.codes]
    )
    large = [(n, truth.get(tuple(cell), 0)) for cell, n in zip(cells.tolist(), carried.weight.tolist(), strict=True)]
    off = [abs(answer - n) for answer, n in large if n >= 20]  # far above the threshold: no noise is cut off
    assert len(off) > 30
    assert np.mean(off) == pytest.approx(promised, rel=0.5)
    assert np.mean(off) != pytest.approx(promised / 4, rel=0.5)


def test_a_forecast_reads_no_data(monkeypatch):
    """It is the same on every call, and nothing but the schema is at hand."""
    schema = sf.Schema.parse(SCHEMA)
    one, two = (sf.plan(schema, sf.Marginals(1)).forecast for _ in range(2))
    assert one == two
    assert stand_in(schema, 100).codes().shape == (100, 5)
    monkeypatch.setattr(forecasting, "MOST_STAND_IN_ROWS", 700)
    assert forecast(schema, sf.Marginals(1)).rows == 700


def test_only_differential_privacy_has_one(clinic):
    assert sf.plan(clinic.schema, sf.Mondrian(sf.KAnonymity(5))).forecast is None
    assert sf.plan(clinic.schema, sf.DiffGen(1), forecast=False).forecast is None
    answer = sf.plan(clinic.schema, sf.DiffGen(1)).forecast
    assert answer is not None
    assert not answer.declared
