"""How often values occur in the population people are drawn from, as someone declares it: public, and no data of ours.

Two forms: shares of each value of some attributes, each attribute by itself; or cells, a joint table of some
quasi-identifiers and one sensitive attribute. What is not declared is taken from the table that is published.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np

from sfumato.errors import Problem, SchemaError, count_of
from sfumato.schema.attribute import Attribute
from sfumato.schema.hierarchies import read_text
from sfumato.schema.labels import parse_label
from sfumato.schema.table_schema import Schema

_COUNT = ("count", "frequency", "weight")


@dataclass(frozen=True, eq=False)
class JointCells:
    """Counts of (cell, value): a cell is an interval of codes for each of `names`, `value` a code of `sensitive`.

    A cell given twice adds up. Inside a cell the quasi-identifiers are taken to be spread as the population's shares.
    """

    names: tuple[str, ...]
    _: KW_ONLY
    sensitive: str
    low: np.ndarray
    high: np.ndarray
    value: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class Population:
    """Declared frequencies. `one_way[attribute][code]` are counts or shares; `cells` is a joint table or None.

    >>> population = sf.Population("census 2021", one_way={"sex": (49, 51)})
    >>> str(sf.Linkability(4, "0.8", population=population))
    'linkability(4, 0.8)'
    """

    name: str
    _: KW_ONLY
    one_way: Mapping[str, np.ndarray] = field(default_factory=dict)
    cells: JointCells | None = None

    @classmethod
    def read(cls, path: str | PathLike[str], schema: Schema, *, name: str = "") -> Population:
        """Read a CSV: `attribute,value,count`, or a joint table with a column for each attribute and `count`.

        Values may be labels (`[20-40)`, `Professional`). Every line that cannot be understood is a problem.
        """
        place = Path(path)
        text, problems = read_text(place, place.name)
        if problems:
            raise SchemaError(problems)
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if row]
        header = [cell.lower() for cell in rows[0]] if rows else []
        count = next((at for at, cell in enumerate(header) if cell in _COUNT), None)
        if count is None:
            hint = "attribute,value,count or one column for each attribute and count"
            raise SchemaError(Problem(place.name, "has no column named count", hint))
        weights = [_weight(row, count) for row in rows[1:]]
        called = name or place.name
        if header[:2] == ["attribute", "value"]:
            return cls(called, one_way=_one_way(place.name, schema, rows[1:], weights))
        return cls(called, cells=_cells(place.name, schema, rows[0], rows[1:], weights, count))


def _weight(row: Sequence[str], at: int) -> float:
    try:
        return float(row[at])
    except (ValueError, IndexError):
        return float("nan")


def _refuse(where: str, bad: int, rule: str, hint: str = "") -> None:
    if bad:
        verb, _, what = rule.partition(" ")
        raise SchemaError(Problem(where, f"{count_of(bad, f'line {verb}s', f'lines {verb}')} {what}", hint, count=bad))


def _one_way(
    where: str, schema: Schema, rows: Sequence[Sequence[str]], weights: Sequence[float]
) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    unknown = unread = negative = 0
    for row, weight in zip(rows, weights, strict=True):
        if row[0] not in schema:
            unknown += 1
            continue
        attribute = schema[row[0]]
        intervals = parse_label(attribute, row[1], written=True) if len(row) > 1 else None
        if intervals is None:
            unread += 1
        elif not weight >= 0:
            negative += 1
        else:
            table = found.setdefault(attribute.name, np.zeros(attribute.size))
            codes = np.concatenate([np.arange(low, high) for low, high in intervals])
            table[codes] += weight / len(codes)
    _refuse(where, unknown, "name an attribute that the schema does not have")
    _refuse(where, unread, "hold a value that is not in the schema")
    _refuse(where, negative, "hold no count of 0 or more")
    return found


def _cells(
    where: str,
    schema: Schema,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    weights: Sequence[float],
    count: int,
) -> JointCells:
    columns = [at for at in range(len(header)) if at != count]
    unknown = [header[at] for at in columns if header[at] not in schema]
    if unknown:
        raise SchemaError(Problem(where, f"has columns that are not in the schema: {', '.join(unknown)}"))
    sensitive = [at for at in columns if schema[header[at]].role == "sensitive"]
    if len(sensitive) != 1:
        raise SchemaError(Problem(where, "must have one sensitive attribute", "one column beside quasi-identifiers"))
    quasi = [at for at in columns if at != sensitive[0]]
    read = {at: _intervals(schema[header[at]], [row[at] if at < len(row) else "" for row in rows]) for at in columns}
    bad = sum(any(read[at][i] is None for at in columns) for i in range(len(rows)))
    _refuse(where, bad, "hold a value that is not in the schema, or a set that is not an interval")
    _refuse(where, sum(not weight >= 0 for weight in weights), "hold no count of 0 or more")
    ends = np.array([[read[at][i] for at in quasi] for i in range(len(rows))], np.int64).reshape(-1, len(quasi), 2)
    values = np.array([read[sensitive[0]][i] for i in range(len(rows))], np.int64).reshape(-1, 2)
    _refuse(where, int((values[:, 1] - values[:, 0] != 1).sum()), "name a group of sensitive values, not one")
    return JointCells(
        tuple(header[at] for at in quasi),
        sensitive=header[sensitive[0]],
        low=ends[:, :, 0].copy(),
        high=ends[:, :, 1].copy(),
        value=values[:, 0].copy(),
        weight=np.asarray(weights),
    )


def _intervals(attribute: Attribute, texts: Sequence[str]) -> list[tuple[int, int] | None]:
    known: dict[str, tuple[int, int] | None] = {}
    for text in set(texts):
        found = parse_label(attribute, text, written=True)
        known[text] = found[0] if found is not None and len(found) == 1 else None
    return [known[text] for text in texts]
