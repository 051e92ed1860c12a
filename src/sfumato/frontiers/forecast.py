"""What a budget buys, before it is spent: the method is run on stand-in rows that are made from the schema alone.

Source    ours. The rows: a latent class model (Lazarsfeld & Henry 1968) with classes and shares fixed by formula.
Claim     A forecast is a function of the schema and the mechanism; it reads no data and spends nothing.
Because   the stand-in rows are drawn from a seeded stream by public formulas; the schema's declared `rows` is the only
          number about the table, and 1,000 where none is declared.
Checked   tests/claims/test_forecast.py::test_the_forecast_is_near_what_is_measured
          tests/claims/test_forecast.py::test_a_forecast_reads_no_data
          tests/claims/test_forecast.py::test_wrong_mutants_are_caught
Silent on the real table: its values may be more or less alike, and depend on each other more or less, than the
          stand-in's. One run of the mechanism is looked at.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.arrays import Floats
from sfumato.counts import Table
from sfumato.errors import SfumatoError
from sfumato.frontiers.panel import tables_of, typical_count
from sfumato.measures import workload_error
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.base import Forecast, Plan, gather, run
from sfumato.mechanisms.noisy_cells import ASSUMED_ROWS
from sfumato.randomness import Entropy
from sfumato.schema import Attribute, Schema

MOST_STAND_IN_ROWS = 50_000  # of the stand-in; for a longer table the forecast is too pessimistic
_CLASSES = 8
_OWN = 0.5  # share of the rows that follow a class in every attribute; the others follow what is common in every one
_GOLDEN = (5**0.5 - 1) / 2


def with_forecast(plan: Plan, schema: Schema, mechanism: Mechanism) -> Plan:
    """Return the plan with a forecast, where the mechanism promises differential privacy and would not refuse."""
    if plan.refusal is not None or mechanism.claim(schema).neighbours is None:
        return plan
    return replace(plan, forecast=forecast(schema, mechanism))


def forecast(schema: Schema, mechanism: Mechanism) -> Forecast | None:
    """Run a mechanism on stand-in rows and say how wrong a reader would be; None where it cannot be run on them.

    >>> from sfumato.frontiers.forecast import forecast
    >>> schema = sf.datasets.adult("test").schema
    >>> few, many = (forecast(schema, sf.Marginals(epsilon)).workload_error for epsilon in ("0.1", 10))
    >>> few > many
    True
    """
    rows = min(schema.rows or ASSUMED_ROWS, MOST_STAND_IN_ROWS)
    try:
        table = stand_in(schema, rows)
        release = run(mechanism, gather(mechanism, table), Entropy.seeded(0).child("forecast"))
        error = workload_error(table, release)
        typical = typical_count(*tables_of(table, release))
    except SfumatoError:
        return None
    return Forecast(
        error.value,
        tables=error.tables,
        columns=len(error.worst),
        rows=rows,
        declared=schema.rows is not None,
        of=schema.rows if schema.rows is not None and schema.rows > rows else None,
        count=int(typical.get("count", 0)),
        off=float(typical.get("off", 0.0)),
    )


def stand_in(schema: Schema, rows: int) -> Table:
    """Return rows of the published attributes, drawn from a fixed model in which attributes depend on each other."""
    entropy = Entropy.seeded(0).child("stand-in")
    falling = 1 / np.arange(1, _CLASSES + 1)
    # A row is common or of a class as a whole: were that drawn for each attribute, rows that are common in all of them
    # would be rare, and real tables are full of such rows.
    weight = np.concatenate([[1 - _OWN], _OWN * falling / falling.sum()])
    group = _drawn(weight, entropy.child("class").uniforms(rows))
    columns = []
    for at, attribute in enumerate(schema.published):
        point = entropy.child(f"attribute {at}").uniforms(rows)
        codes = np.zeros(rows, np.int64)
        for one in range(len(weight)):
            here = group == one
            codes[here] = _drawn(_shares(attribute, (_GOLDEN * (at + 1) * (one + 1)) % 1.0), point[here])
        columns.append(codes)
    return Table.from_codes(schema, np.column_stack(columns))


def _shares(attribute: Attribute, top: float) -> Floats:
    """Return the shares of an attribute's values, with a top: a bell in order, else one over the rank, cubed."""
    place = np.arange(attribute.size) / attribute.size
    if attribute.ordered:
        shares: Floats = np.exp(-(((place - top) / 0.1) ** 2) / 2) + 1e-3
    else:
        shares = (1 + attribute.size * ((place - top) % 1.0)) ** -3.0
    shares /= shares.sum()
    return shares


def _drawn(shares: Floats, points: Floats) -> np.ndarray:
    edges = np.cumsum(shares)
    found: np.ndarray = np.minimum(np.searchsorted(edges, points * edges[-1], side="right"), len(shares) - 1)
    return found
