"""A survey with thirty private questions is compared like any other table: no picture of its cells is too large."""

from __future__ import annotations

import polars as pl

import sfumato as sf
from sfumato.frontiers import asked_of


def test_a_release_with_thirty_private_columns_is_measured_without_a_count_box():
    names = [f"q{at}" for at in range(30)]
    answers = ["1", "2", "3", "4", "5", "9", "none"]
    data = pl.DataFrame(
        {
            "town": [("Ulm", "Bonn")[row % 2] for row in range(60)],
            **{name: [answers[(row + at) % 7] for row in range(60)] for at, name in enumerate(names)},
        }
    )
    private = {name: {"role": "sensitive", "values": answers} for name in names}
    town = {"role": "quasi", "values": ["Bonn", "Ulm"]}
    schema = sf.Schema.parse({"name": "survey", "rows_per_person": 1, "attribute": {"town": town, **private}})
    release = sf.publish(sf.read(data, schema), sf.Mondrian(sf.KAnonymity(11)), allow_fingerprints=True)
    assert asked_of(release) == {}
