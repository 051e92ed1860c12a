"""Rows in a database that speaks SQL, DuckDB or PostgreSQL: coded by dictionaries, counted by GROUP BY there.

Source    Ours.
Claim     Every cell has the code that it has in a file, and what comes back is counts: distinct values of one column,
          pairs of codes, lines of codes, each with a number of rows.
Because   the distinct values of each column are coded here, by the rules for files, and sent back as a list of (text of
          the value, code) that the server joins, each text once; a text that stands for cells of two codes is refused,
          and the joined rows are as many as the table has.
Checked   tests/claims/test_engines_agree.py::test_every_engine_gives_the_release_of_the_table_in_memory
          tests/claims/test_engines_agree.py::test_nothing_but_counts_leaves_the_server
          tests/claims/test_engines_agree.py::test_values_of_one_text_are_counted_once
Silent on rows that change between two statements: PostgreSQL answers those of one release from one snapshot; for
          other servers the mechanism compares what it fetched with the summaries (`mechanisms.mondrian.two_phases`).
Cost      one GROUP BY for each column, one with GROUPING SETS for each level of cuts, one for each set of parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial

import numpy as np
import polars as pl

from sfumato.engines.batches import code_frame
from sfumato.engines.engine import Finish, Lines, PairCounts, finish_here
from sfumato.engines.parts import Parts
from sfumato.errors import Problem
from sfumato.io.decode_cell import LEFT_OUT
from sfumato.io.encode import with_decimal_marks
from sfumato.io.read_errors import cell_problems, refused
from sfumato.schema import Attribute

MOST_VALUES = 200_000
"""Distinct values of one column that are sent to a server as a list."""

RunStatement = Callable[[str], pl.DataFrame]


@dataclass(frozen=True, slots=True)
class SqlEngine:
    """An engine whose rows are the SELECT `coded`, with a column c0, c1, ... of codes for each attribute."""

    names: tuple[str, ...]
    _: KW_ONLY
    sizes: tuple[int, ...]
    rows: int
    coded: str = field(repr=False)
    run: RunStatement = field(repr=False)

    def counts(self, names: Sequence[str], limit: int, parts: Parts | None = None) -> Lines | None:
        """Group by some columns; one line more than the limit is asked for, to know whether there are more."""
        places = [self.names.index(name) for name in names]
        found = self._lines(places, Parts.whole(self.rows) if parts is None else parts, limit)
        return None if len(found.weight) > limit else found

    def pairs(self, parts: Parts, wanted: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], PairCounts]:
        """Group by every pair at once, with GROUPING SETS; tables of many columns in several statements."""
        used = sorted({place for pair in wanted for place in pair})
        block = {place: at // (_GROUPED // 2) for at, place in enumerate(used)} if len(used) > _GROUPED else {}
        statements: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for pair in wanted:
            statements.setdefault(tuple(sorted(block.get(place, 0) for place in pair)), []).append(pair)
        return {pair: found for some in statements.values() for pair, found in self._pairs(parts, some).items()}

    def _pairs(self, parts: Parts, wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], PairCounts]:
        used = sorted({place for pair in wanted for place in pair})
        sets = [f"(part, {', '.join(f'c{at}' for at in sorted({*pair}))})" for pair in wanted]
        chosen = ", ".join(f"c{at}" for at in used)
        query = (
            f"SELECT part, GROUPING({chosen}) AS g, {chosen}, COUNT(*) AS n FROM ({self._parted(parts)}) AS parted "
            f"WHERE part >= 0 GROUP BY GROUPING SETS ({', '.join(sets)})"
        )
        found = self.run(query)
        self._refuse_unknown(found, used)
        column = {at: found[f"c{at}"].fill_null(-1).to_numpy().astype(np.int64) for at in used}
        kind, part = found["g"].to_numpy(), found["part"].to_numpy().astype(np.int64)
        weight = found["n"].cast(pl.Int64).to_numpy()
        answer = {}
        for pair in wanted:
            mask = sum(1 << (len(used) - 1 - place) for place, at in enumerate(used) if at not in pair)
            mine = kind == mask
            first, second = column[pair[0]][mine], column[pair[1]][mine]
            answer[pair] = PairCounts(part[mine], first=first, second=second, weight=weight[mine])
        return answer

    def lines(self, parts: Parts) -> Lines:
        """Group the rows of the parts asked for by all columns."""
        return self._lines(range(len(self.names)), parts, None)

    def finish(self, parts: Parts, work: Finish, limit: int) -> Iterator[tuple[int, Mapping[str, np.ndarray]]]:
        """Fetch the lines of parts and finish them in this process."""
        return finish_here(self, parts, work, limit)

    def _lines(self, places: Sequence[int], parts: Parts, limit: int | None) -> Lines:
        chosen = ", ".join(["part", *(f"c{at}" for at in places)])
        query = (
            f"SELECT {chosen}, COUNT(*) AS n FROM ({self._parted(parts)}) AS parted WHERE part >= 0 GROUP BY {chosen}"
        )
        found = self.run(query if limit is None else f"{query} LIMIT {limit + 1}")
        self._refuse_unknown(found, places)
        codes = np.zeros((found.height, len(places)), np.int32)
        for at, place in enumerate(places):
            codes[:, at] = found[f"c{place}"].to_numpy()
        weight = found["n"].cast(pl.Int64).to_numpy()
        return Lines(codes, weight=weight, part=found["part"].to_numpy().astype(np.int32))

    def _parted(self, parts: Parts) -> str:
        part = parts.sql([f"c{at}" for at in range(len(self.names))])
        return f"SELECT {part} AS part, coded.* FROM ({self.coded}) AS coded"

    def _refuse_unknown(self, found: pl.DataFrame, places: Sequence[int]) -> None:
        """Raise where a cell has a value that was not there when the dictionaries were made."""
        if found.height and any((found[f"c{at}"] < 0).any() for at in places):
            raise refused("the table", "has changed since it was first read", "read it again")


@dataclass(frozen=True, slots=True)
class Dictionary:
    """What coding a table by dictionaries found: the engine, rows left out, and problems by attribute."""

    engine: SqlEngine
    _: KW_ONLY
    left_out: int
    problems: dict[str, list[Problem]]


def coded_by_dictionary(
    attributes: Sequence[Attribute],
    *,
    name: str,
    table: str,
    cells: Mapping[str, str],
    run: RunStatement,
    exact: Collection[str] = (),
) -> Dictionary:
    """Return an engine over a table: `cells` has the SQL of each attribute's column, `run` runs a statement.

    `exact` are the attributes whose cells are exact numbers as texts, with a decimal point.
    """
    selected, chosen, joins, problems, leaving, totals = [], [], [], {}, [], set[int]()
    for at, attribute in enumerate(attributes):
        cell = cells[attribute.name]
        found = run(
            f"SELECT value, CAST(value AS TEXT) AS text, COUNT(*) AS n "
            f"FROM (SELECT {cell} AS value FROM {table}) AS one GROUP BY 1, 2 LIMIT {MOST_VALUES + 1}"
        )
        if found.height > MOST_VALUES:
            rule = f"the column {attribute.column_name} has more than {MOST_VALUES} distinct values"
            raise refused(name, f"{rule}, and the table more combinations than driver_cells", _ROUND)
        weights = found["n"].cast(pl.Int64).to_numpy()
        values = found["value"].alias(attribute.column_name).to_frame()
        values = values.with_columns(with_decimal_marks([attribute])) if attribute.name in exact else values
        (coded,) = code_frame([attribute], values)
        problems[attribute.name] = cell_problems(attribute, coded.codes, weights, coded.offending)
        known, missing = _codes_of_texts(found["text"].to_list(), coded.codes, name, attribute)
        listed = ", ".join(f"({_text(text)}, {code})" for text, code in known.items()) or "(NULL, 0)"
        selected.append(f"{cell} AS k{at}")  # names of ours alone: the table may have a column of any name
        joins.append(f"LEFT JOIN (VALUES {listed}) AS d{at}(v{at}, i{at}) ON CAST(k{at} AS TEXT) = CAST(v{at} AS TEXT)")
        chosen.append(f"CASE WHEN k{at} IS NULL THEN {missing} ELSE COALESCE(i{at}, {_UNKNOWN}) END AS c{at}")
        totals.add(int(weights.sum()))
        leaving += [f"c{at} = {LEFT_OUT}"] if (coded.codes == LEFT_OUT).any() else []
    named = f"SELECT {', '.join(selected)} FROM {table}"
    coded_rows = f"SELECT {', '.join(chosen)} FROM ({named}) AS named {' '.join(joins)}"
    rows = partial(_counted, run)
    every = rows(coded_rows)
    if {*totals, every} != {rows(f"SELECT 1 AS one FROM {table}")}:
        raise refused(name, "has changed since it was first read, or its rows cannot be distinguished", "read it again")
    if leaving:
        coded_rows = f"SELECT * FROM ({coded_rows}) AS kept WHERE NOT ({' OR '.join(leaving)})"
    stay = rows(coded_rows) if leaving else every
    engine = SqlEngine(
        tuple(attribute.name for attribute in attributes),
        sizes=tuple(attribute.size for attribute in attributes),
        rows=stay,
        coded=coded_rows,
        run=run,
    )
    return Dictionary(engine, left_out=every - stay, problems=problems)


_GROUPED = 30  # columns of one statement: GROUPING of PostgreSQL has at most 31 bits
_UNKNOWN = -99  # the code of a cell that no dictionary has
_ROUND = "read a view that rounds it, or raise driver_cells"


def _codes_of_texts(
    texts: Sequence[str | None], codes: np.ndarray, name: str, attribute: Attribute
) -> tuple[dict[str, int], int]:
    """Return the code of each text and that of no value; raise where one text stands for values of two codes."""
    found: dict[str, int] = {}
    missing = _UNKNOWN
    for text, code in zip(texts, codes.tolist(), strict=True):
        if text is None:
            missing = code
        elif found.setdefault(text, code) != code:
            rule = f"writes different values of {attribute.column_name} as one text"
            raise refused(name, rule, "read a view that rounds the column, or raise driver_cells")
    return found, missing


def _counted(run: RunStatement, query: str) -> int:
    return int(run(f"SELECT COUNT(*) AS n FROM ({query}) AS counted")["n"].item())


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
