"""Mondrian on dates with declared levels: no label may end on somebody's own day."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.mechanisms.mondrian import cutting as partition, cutting as partition_levels
from sfumato.schema import Schema

FIRST, LAST = dt.date(1990, 3, 17), dt.date(2001, 2, 5)


def schema(levels=("month", "year"), missing=True):
    born = {"role": "quasi", "kind": "date", "range": [FIRST.isoformat(), LAST.isoformat()]}
    born |= {"dates": list(levels)} if levels else {}
    born |= {"missing": [""]} if missing else {}
    town = {"role": "quasi", "kind": "nominal", "values": ["a", "b", "c"]}
    ill = {"role": "sensitive", "kind": "nominal", "values": ["x", "y", "z"]}
    return Schema.parse({"name": "t", "attribute": {"born": born, "town": town, "ill": ill}})


def people(known, rows=900, seed=1):
    rng = np.random.default_rng(seed)
    born = rng.integers(0, known["born"].size, rows)
    return Table.from_codes(known, np.column_stack([born, rng.integers(0, 3, rows), rng.integers(0, 3, rows)]))


def ends_of(release, known):
    """Every first day of a label, as a date; the whole domain and missing are no intervals of days."""
    place = next(at for at, attribute in enumerate(release.quasi) if attribute.name == "born")
    labels, domain = release.boxes.tables[place], known["born"].domain
    used = np.unique(release.boxes.labels[:, place])
    for label in used.tolist():
        for low, high in labels.intervals(label):
            if high - low < domain.size and low < domain.size:
                yield domain.edge(int(low))
                yield domain.edge(int(high))


def whole_months(days):
    return all(day.day == 1 or day in (FIRST, LAST) for day in days)


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("cut", ["best", "widest"])
@pytest.mark.parametrize("missing", [False, True])
def test_no_label_ends_inside_a_declared_unit(tight, cut, missing, tmp_path):
    known = schema(missing=missing)
    table = people(known)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2), cut=cut, tight=tight))
    days = list(ends_of(release, known))
    assert len(set(days)) > 20
    assert whole_months(days)
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds
    # Every row lies in its own box, and a row is put where the cuts say.
    codes, home = release.residence.codes, release.residence.group
    place, labels = 0, release.boxes.tables[0]
    box_of = np.empty(len(release.groups), int)
    box_of[release.boxes.group] = np.arange(len(release.boxes))
    for row in range(0, len(codes), 7):
        parts = labels.intervals(int(release.boxes.labels[box_of[home[row]], place]))
        assert any(low <= codes[row, 0] < high for low, high in parts)
    again = sf.apply(release, table)
    assert again.height == table.rows


def test_days_without_levels_are_caught(monkeypatch):
    monkeypatch.setattr(partition, "unit_edges", lambda _: None)
    known = schema()
    release = sf.publish(people(known), sf.Mondrian(sf.KAnonymity(5)))
    assert not whole_months(ends_of(release, known))


def test_dates_without_declared_levels_are_cut_at_days():
    known = schema(levels=())
    assert partition_levels.unit_edges(known["born"]) is None
    assert not whole_months(ends_of(sf.publish(people(known), sf.Mondrian(sf.KAnonymity(5))), known))


def test_units_there_and_back():
    known = schema()["born"]
    edges = partition_levels.unit_edges(known)
    assert edges[0] == 0
    assert edges[-1] == known.domain.size
    assert [known.domain.edge(int(code)).day for code in edges[1:-1]] == [1] * (len(edges) - 2)
    codes = np.arange(known.size)[:, None]
    units = partition_levels.in_units(codes, [edges])[:, 0]
    assert units[-1] == len(edges) - 1  # missing
    assert all(edges[unit] <= code < edges[unit + 1] for code, unit in zip(codes[:-1, 0], units[:-1], strict=True))
