"""A refusal before the draw depends on the rows, and every proved claim says that it is not covered."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.mechanisms.base import REFUSED_INPUT

SCHEMA = sf.Schema.parse(
    {
        "name": "t",
        "source": "public",
        "rows_per_person": 1,
        "rows": 200,
        "attribute": {
            "town": {"role": "quasi", "values": ["a", "b"]},
            "ill": {"role": "target", "values": ["flu", "none"]},
        },
    }
)
PROVED = [sf.NoisyTable(1), sf.DiffGen(1), sf.Marginals(1), sf.Marginals(1, delta="1e-6"), sf.TargetRows(1)]


@pytest.mark.parametrize("mechanism", PROVED, ids=repr)
def test_every_proved_claim_says_that_refusals_are_not_covered(mechanism):
    claim = mechanism.claim(SCHEMA)
    assert claim.kind == "proved"
    assert REFUSED_INPUT in claim.silent_on
    assert f"It does not cover: {REFUSED_INPUT}." in claim.describe()


def test_synthetic_commuters_say_it_too():
    data = sf.datasets.commuting(20, 100, 1)
    geography = sf.commuting.Geography.read(data.geography)
    flows = sf.commuting.read_flows(data.flows, geography)
    claim = sf.Synthesize("4.6", "1e-5", prior=sf.commuting.Shape(geography)).claim(flows.table.schema)
    assert REFUSED_INPUT in claim.silent_on


def test_the_refusal_does_depend_on_one_row():
    """What the sentence is about: one value outside its domain, and nothing is drawn."""
    rows = {"town": ["a", "b"] * 100, "ill": ["flu", "none"] * 100}
    sf.publish(sf.read(pl.DataFrame(rows), SCHEMA), sf.NoisyTable(1), seed=1)
    rows = {"town": [*rows["town"], "c"], "ill": [*rows["ill"], "flu"]}
    with pytest.raises(sf.ReadError):
        sf.publish(sf.read(pl.DataFrame(rows), SCHEMA), sf.NoisyTable(1), seed=1)


def test_a_checked_claim_has_no_draw_to_refuse():
    assert REFUSED_INPUT not in sf.Mondrian(sf.KAnonymity(5)).claim(SCHEMA).silent_on
