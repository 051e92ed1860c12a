"""What tells two tables apart, and what a worker process needs of one."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sfumato.counts import Table
from sfumato.counts.store import Store

__all__ = ["compact", "digest", "table_fingerprint"]


def digest(data: Any) -> str:
    """Return a short hash of plain data."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:32]


def table_fingerprint(table: Table) -> str:
    """Return a hash of the published attributes, their public trees, and the counts. Confidential, as all counts."""
    counts = table.counts()
    schema = table.schema
    unit = f"{schema.rows_per_person} {table.left_out} {schema.unit} {schema.cap} {table.surplus} {schema.person}"
    said = hashlib.sha256(unit.encode())
    members = table.members() if schema.several else None
    for array in () if members is None else (members.person, members.line):
        said.update(array.tobytes())
    for attribute in table.schema.published:
        nodes = attribute.nodes
        known = [attribute.name, attribute.role, attribute.kind, attribute.size, list(nodes.names)]
        known += [nodes.low.tolist(), nodes.high.tolist(), attribute.ground]
        said.update(json.dumps(known, default=str).encode())
    for array in (counts.codes, counts.weights):
        said.update(array.tobytes())
    return said.hexdigest()[:32]


def compact(table: Table) -> Table:
    """Return the same table as one line for each combination, so that what is sent does not grow with the rows.

    Rows left out, and who rows are about, are known only to the table itself, so such a table is sent as it is.
    """
    if table.left_out or table.schema.person:
        return table
    counts = table.counts()
    columns = {name: counts.column(name) for name in counts.names}
    store = Store.of_codes(columns, len(counts))
    store.weights = counts.weights
    return Table(table.schema, store)
