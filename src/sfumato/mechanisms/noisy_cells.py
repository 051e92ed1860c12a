"""Noise on every cell of a generalized table, and the release that comes of it. Shared by DiffGen and NoisyTable.

Source    Dwork, McSherry, Nissim & Smith, TCC 2006; sparse form: Cormode et al., ICDT 2012 (randomness/sparse.py).
Claim     Given cuts that are public, releasing the noisy cells is epsilon-DP when one row is added or removed; what
          leaves is a function of the noisy counts alone.
Because   one row is in one cell, whose count moves by one; every cell of the cross product gets the same law, the
          empty ones too; the threshold follows from the number of cells; cells leave in the order of their number.
Checked   tests/claims/test_noisy_table.py::test_no_output_is_e_to_the_epsilon_times_as_likely
          tests/claims/test_noisy_table.py::test_a_small_copy_of_a_huge_table_has_the_exact_law
          tests/claims/test_audit.py::test_every_trap_has_a_mutant_that_is_caught
Silent on who chose the cuts and what that cost; on time, which follows the number of cells reported.
Cost      O(rows) for the group-by, O(cells reported) after it, however many cells there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.claims import Claim
from sfumato.counts import Counts, Cuts
from sfumato.engines.grouping import group_codes
from sfumato.errors import ParameterError, count_of
from sfumato.exact import whole
from sfumato.mechanisms.base import REFUSED_INPUT
from sfumato.randomness import Entropy, sparse_noise
from sfumato.randomness.geometric import PRACTICALLY_EXACT
from sfumato.randomness.parameters import read_epsilon
from sfumato.randomness.sparse import (
    FALSE_CELLS,
    LARGEST_POWER,
    LARGEST_TABLE,
    MOST_HITS,
    RARELY,
    Threshold,
    expected_noise,
    threshold_for,
)
from sfumato.release import Release, assemble
from sfumato.schema import Labels, Schema

MANY_ROWS = 20  # a threshold above it is worth a warning: smaller groups of people vanish
ASSUMED_ROWS = 1000  # of a table whose schema does not declare `rows`
NOISE_SHARE = 10  # noise may be expected to add one row for every 10 of the table


@dataclass(frozen=True)
class DomainCells:
    """The cells of a generalized table: how many there are, and (confidential) which hold rows.

    Cell number = labels in mixed radix, first attribute highest, then the codes of what is carried.
    """

    schema: Schema
    _: KW_ONLY
    tables: tuple[Labels, ...]
    recoding: Cuts
    where: np.ndarray
    counts: np.ndarray

    @classmethod
    def counted(cls, schema: Schema, table: Counts, tables: tuple[Labels, ...], recoding: Cuts) -> DomainCells:
        """Group rows of codes (quasi-identifiers first, then what is carried) by their cells."""
        radix = radices(schema, tables)
        columns = [lookup[table.codes[:, at]] for at, lookup in enumerate(recoding.labels)]
        columns += [table.codes[:, at] for at in range(len(columns), table.codes.shape[1])]
        split = [at for at, size in enumerate(radix) if size > 1]  # an attribute of one label tells no cells apart
        rows, counts = group_codes(
            [columns[at] for at in split], [radix[at] for at in split], rows=table.rows, weights=table.weights
        )
        kind = np.int64 if math.prod(radix) < 1 << 62 else object
        where = np.zeros(len(rows), kind)
        for at, size in enumerate(radix[i] for i in split):
            where = where * size + rows[:, at].astype(kind)
        return cls(schema, tables=tables, recoding=recoding, where=where, counts=counts)

    @property
    def number(self) -> int:
        """How many cells there are, empty ones included. Public, as the cuts are."""
        return math.prod(radices(self.schema, self.tables))


@dataclass(frozen=True)
class Decided:
    """What is fixed before the counts are drawn: the cells, what a row's count gets, and who drew how much.

    All but the cells' counts is public once it is decided.
    """

    cells: DomainCells
    _: KW_ONLY
    epsilon: Fraction
    threshold: int
    trace: tuple[tuple[str, Fraction], ...]

    @property
    def said(self) -> tuple[Any, ...]:
        """What a reader sees of it: the labels of each attribute, the threshold and the trace of the budget."""
        labels = tuple(tuple(zip(t.starts.tolist(), t.ends.tolist(), strict=True)) for t in self.cells.tables)
        return labels, self.threshold, self.trace


def radices(schema: Schema, tables: Sequence[Labels]) -> list[int]:
    """How many labels each quasi-identifier has, then how many codes each carried attribute has."""
    return [*(len(labels) for labels in tables), *(attribute.size for attribute in schema.carried)]


def cells_schema(schema: Schema) -> Schema:
    """Return the schema of what a differentially private table publishes: quasi-identifiers and the class.

    The class is the target attributes; without one, the sensitive attributes jointly. Nothing else is paid for,
    so nothing else is published. Domains not stated to be public are refused.
    """
    if not schema.carried:
        hint = 'give a column role = "target"'
        raise ParameterError("target", "none", "the cells need a class to count", hint=hint)
    kept = schema.with_roles(sensitive=()) if schema.role("target") else schema
    schema.refuse_data_domains([attribute.name for attribute in kept.published])
    return replace(kept, attributes=kept.published)


def needs_cells(_: object, schema: Schema) -> list[tuple[str, ...]]:
    """Ask for one group-by over `cells_schema`: the method `needs` of mechanisms that count its cells."""
    return [tuple(attribute.name for attribute in cells_schema(schema).published)]


def least_drawable(cells: int, epsilon: Fraction) -> int:
    """Return a threshold at which noise alone reports no more cells than are drawn: a public function of both."""
    surplus = Decimal(cells) / MOST_HITS
    return 1 if surplus <= 1 else max(1, math.ceil(Fraction(surplus.ln()) / epsilon))


def refuse_hits(cells: int, epsilon: Fraction, asked: Threshold) -> None:
    """Refuse a threshold at which noise alone would report more cells than are drawn."""
    if (least := least_drawable(cells, epsilon)) > threshold_for(cells, epsilon, asked):
        rule = f"would let noise alone report more than {MOST_HITS:,} of {large(cells)} cells"
        raise ParameterError("threshold", asked, rule, hint=f'{least} is enough, or "auto"; or ask for fewer cells')


def read_threshold(value: object) -> Threshold:
    """Return a threshold as written: a whole number of at least 1, or "auto"."""
    return "auto" if value == "auto" else whole("threshold", value, least=1, hint='1, or "auto"')  # type: ignore[arg-type]


def expected_error(epsilon: Fraction) -> str:
    """Say how far a noisy count is off: mean and standard deviation of the discrete Laplace law."""
    rate = min(float(epsilon), 700.0)
    p = math.exp(-rate)
    mean, deviation = 2 * p / -math.expm1(-2 * rate), math.sqrt(2 * p) / -math.expm1(-rate)
    return f"{mean:.3g} rows a cell on average, standard deviation {deviation:.3g}"


def exact_counts(trace: Sequence[tuple[str, Fraction]], rows_per_person: int, threshold: int) -> str:
    """Say that counts are practically exact, where an error below 1/20 is expected; of public numbers only.

    `trace` is what each stage of the release gets, of which the counts of a person's rows share theirs.
    """
    counts = dict(trace)["counts"]
    if counts / rows_per_person < PRACTICALLY_EXACT:
        return ""
    which = "rare combinations" if threshold == 1 else f"combinations of {threshold:,} rows or more"
    given = f"epsilon {_short(counts)}"
    if counts < sum(amount for _, amount in trace):
        given += " for the counts"
    if rows_per_person > 1:
        given += f", which is {_short(counts / rows_per_person)} for each of {rows_per_person} rows,"
    return f"at {given} counts are practically exact: {which} are published as they are"


def noise_alone(cells: int, epsilon: Fraction, threshold: int) -> str:
    """Say how many cells without anybody are expected to be reported, and with how many rows. Public figures only."""
    found, rows = expected_noise(cells, epsilon, threshold)
    return f"up to {found:,.3g} reported cells with {rows:,.3g} rows in all are expected to hold nobody: noise alone"


def most_noise(cells: int, epsilon: Fraction, asked: Threshold) -> tuple[float, float]:
    """Return bounds of `expected_noise` for tables of at most so many cells whose counts get this epsilon or more.

    Where the threshold rises with the cells, such a table expects at most as many false cells as that allows, and most
    rows where the number of cells is the largest for its threshold: there the threshold needs no rounding.
    """
    least, false = (1, FALSE_CELLS) if asked == "auto" else (asked, MOST_HITS)
    surplus = Decimal(cells) / false
    rising = Fraction(surplus.ln()) / epsilon if surplus > 1 else Fraction(0)
    found, rows = expected_noise(cells, epsilon, max(Fraction(least), rising))
    return (false if rising > least else found), rows


def mostly_noise(
    schema: Schema, epsilon: Fraction, cells: int, rate: Fraction, threshold: int, *, when: str = ""
) -> ParameterError | None:
    """Return why such a table is not worth drawing: its noise would pass for people. Of public numbers only.

    `rate` is what the count of a row gets of the epsilon that was asked for.

    The rule: noise alone is expected to add at least a tenth of the rows there are; or there are more than ten cells
    for a row, so that few hold many people, and noise is expected to report one or more. Rows are those the schema
    declares (`rows`), else 1,000. People in cells below the threshold are not reported, so that what noise adds weighs
    more than its share of the rows tells. `when` says of what moment the number of cells is, where it changes.
    """
    table = schema.rows or ASSUMED_ROWS
    if not _noisy(cells, rate, threshold, table):
        return None
    found, rows = expected_noise(cells, rate, threshold)
    each = "" if rate == epsilon else f", epsilon {_short(rate)} for the count of a row"
    known = "declared in the schema" if schema.rows else "assumed, since the schema does not declare `rows`"
    rule = (
        f"noise alone would report about {found:,.3g} cells with {rows:,.3g} rows that belong to nobody, in a table of "
        f"{table:,} rows ({known}): {large(cells)} cells{when}, counts from {threshold:,} on{each}"
    )
    ways = ["ask for fewer cells (cut columns, coarser values, fewer columns)", "a larger epsilon"]
    quiet = max(threshold, math.ceil(Fraction((Decimal(cells) * RARELY).ln()) / rate))
    if not _noisy(cells, rate, quiet, table):
        ways.append(f"threshold {quiet} (a false cell in one of {RARELY} releases)")
    ways += ["a public `rows` in the schema where the table is larger"] if not schema.rows else []
    hint = f"{', '.join(ways)}; allow_noise=True (--allow-noise) publishes it anyway{carried_words(schema)}"
    return ParameterError("epsilon", _short(epsilon), rule, hint=hint)


def too_much_noise(
    schema: Schema,
    epsilon: Fraction,
    rows: float,
    *,
    said: str,
    ways: Sequence[str],
    more: str = "",
    share: int = NOISE_SHARE,
) -> tuple[ParameterError | None, tuple[str, ...]]:
    """Judge noise that is expected to add or move at most so many rows, of public numbers only.

    Where that is one in `share` of the rows that the schema declares, return a refusal. Without declared rows return a
    warning instead, with the number, where it would be refused for 1,000 rows. `said` is the sentence, `ways` what
    helps, `more` what the hint adds.
    """
    if rows * share < (schema.rows or ASSUMED_ROWS):
        return None, ()
    if schema.rows is None:
        refused = "Declare a public `rows` in the schema to have that refused for a table that is too small."
        return None, (f"Warning: {said}. {refused}",)
    rule = f"{said}, in a table of {schema.rows:,} rows (declared in the schema)"
    hint = f"{', '.join(ways)}; allow_noise=True (--allow-noise) publishes it anyway{more}"
    return ParameterError("epsilon", _short(epsilon), rule, hint=hint), ()


def too_much_noise_after(
    schema: Schema, epsilon: Fraction, cells: int, rate: Fraction, asked: Threshold
) -> tuple[ParameterError | None, tuple[str, ...]]:
    """Judge a table whose cuts are drawn later, by the most that noise can be expected to add after any of them.

    `cells` is the largest number of cells the cuts can lead to, `rate` the least epsilon the counts of a row get. The
    number after a run depends on the data, so that a refusal can only go by the bound.
    """
    found, rows = most_noise(cells, rate, asked)
    said = (
        f"after the specializations, noise alone could report up to about {found:,.3g} cells "
        f"with {rows:,.3g} rows that belong to nobody: at most {large(cells)} cells"
    )
    ways = ["a larger epsilon", "fewer specializations", "fewer or coarser columns"]
    quiet = math.ceil(Fraction((Decimal(cells) * RARELY).ln()) / rate)
    if schema.rows and most_noise(cells, rate, quiet)[1] * NOISE_SHARE < schema.rows:
        ways.append(f"threshold {quiet} (a false cell in at most one of {RARELY} releases)")
    return too_much_noise(schema, epsilon, rows, said=said, ways=ways, more=carried_words(schema))


def _noisy(cells: int, epsilon: Fraction, threshold: int, table: int) -> bool:
    found, rows = expected_noise(cells, epsilon, threshold)
    return rows * NOISE_SHARE >= table or (cells > NOISE_SHARE * table and found >= 1)


def carried_words(schema: Schema) -> str:
    """Say how many combinations several carried columns have together, and which one to give up first."""
    sizes = {attribute.name: attribute.size for attribute in schema.carried}
    if len(sizes) < 2:
        return ""
    product, largest = math.prod(sizes.values()), max(sizes, key=sizes.__getitem__)
    named = ", ".join(sizes) if len(sizes) <= 6 else f"{', '.join([*sizes][:5])} and {len(sizes) - 5} more"
    rest = product // sizes[largest]
    return (
        f". The carried columns ({named}) have {large(product)} combinations, and every one is a cell; "
        f'with role = "other" for {largest} there are {large(rest)}'
    )


def refuse_size(schema: Schema, cells: int, epsilon: Fraction, threshold: Threshold) -> None:
    """Refuse, by public numbers, what the samplers could not draw. Asked before anything is reserved or drawn."""
    read_epsilon(epsilon)
    if cells > LARGEST_TABLE:
        hint = f"fewer columns, or coarser values{carried_words(schema)}"
        raise ParameterError("cells", large(cells), f"must be at most {large(LARGEST_TABLE)}", hint=hint)
    if threshold != "auto" and threshold * epsilon > LARGEST_POWER:
        raise ParameterError("threshold", threshold, "times epsilon must be at most 10^15", hint='try "auto"')


def large(number: int) -> str:
    """Write a whole number; one of more than 18 digits as a power of two."""
    return f"{number:,}" if number < 10**18 else f"about 2^{number.bit_length() - 1}"


def _short(number: Fraction) -> str:
    return f"{float(number):.6g}"


def public_inputs(schema: Schema) -> tuple[str, ...]:
    """What the claim takes as public: how the input is written, the domains and hierarchies by attribute."""
    # A property guessed from rows is refused before (`refuse_guesses`): one row could change how the others are read.
    written = "delimiter, encoding and header of the input, stated or fixed by its first line"
    found = (*(f"domain and hierarchy of {attribute.name}" for attribute in schema.published), written)
    if schema.trusted:
        rows = count_of(schema.rows_per_person, "row")
        return (*found, f"that nobody has more than {rows}, which is declared and not enforced")
    if schema.cap is None:
        return found
    rows = count_of(schema.cap, "row of each person is", "rows of each person are")
    return (*found, f"that at most {rows} kept, by a fixed rule that reads that person's rows alone")


def silences(schema: Schema, *, concentrated: bool = False) -> tuple[str, ...]:
    """What the claim of noisy cells does not cover; of a concentrated one rho is what grows.

    `schema` is that of the table: a row is left out for a value that is not published, too.
    """
    whose = "a row by another"
    if schema.unit == "person":
        whose = "a person's row by another" if schema.rows_per_person == 1 else "all rows of a person by others"
    costs = "costs four times the rho" if concentrated else "costs twice as much"
    found = [f"replacing {whose}, which {costs}", "how long it took to make", REFUSED_INPUT]
    if schema.unit == "row":
        found.append("people with several rows: it is not stated how many rows one person has, so a row is protected")
    elif schema.trusted:
        found.append(f"people with {schema.trusted}, and nothing enforces it")
    if any(a.missing is not None and a.missing.action == "suppress" for a in schema.published):
        found.append("rows left out because a value is missing: not even their number is published")
    return tuple(found)


def release_cells(decided: Decided, *, entropy: Entropy, claim: Claim, mechanism: Mapping[str, Any]) -> Release:
    """Noise every cell, keep what reaches the threshold, and assemble the release."""
    cells, stream = decided.cells, entropy.child("counts")
    occupied = (cells.where, cells.counts)
    where, noisy = sparse_noise(cells.number, occupied, decided.epsilon, decided.threshold, stream)
    schema, width = cells.schema, len(cells.tables)
    columns = decoded(where, radices(schema, cells.tables))
    labels = np.column_stack([*columns[:width], np.zeros(len(where), np.int64)])[:, :width]
    fresh = np.ones(len(where), bool)  # cells of one combination of labels stand together
    fresh[1:] = (labels[1:] != labels[:-1]).any(axis=1)
    group = np.cumsum(fresh) - 1
    release, _ = assemble(
        schema,
        tables=cells.tables,
        labels=labels[fresh],
        weight=np.add.reduceat(noisy, np.flatnonzero(fresh)) if len(noisy) else noisy,
        group=np.arange(int(fresh.sum())),
        carried_group=group,
        carried_codes=np.column_stack(columns[width:]) if len(where) else np.zeros((0, len(schema.carried)), np.int32),
        carried_weight=noisy,
        claim=claim,
        mechanism=dict(mechanism),
        form="cells",
        left_out=None,
        notes=_noise_notes(cells.number, decided, int(noisy.sum())),
        recoding=cells.recoding,
    )
    return release


def _noise_notes(cells: int, decided: Decided, drawn: int) -> tuple[str, ...]:
    """Say what is not reported and how much is noise. Of the drawn rows and of public numbers, so that it is free."""
    _, rows = expected_noise(cells, decided.epsilon, decided.threshold)
    note = f"counts below {decided.threshold} are not reported; "
    exact = exact_counts(decided.trace, decided.cells.schema.rows_per_person, decided.threshold)
    notes = (*([exact] if exact else []), note + noise_alone(cells, decided.epsilon, decided.threshold))
    if NOISE_SHARE * rows < drawn:
        return notes
    mostly = "most" if 2 * rows >= drawn else f"up to {100 * rows / drawn:.0f} %"
    told = f"{mostly} of these rows are expected to be noise and not records: {drawn:,} rows, where noise alone"
    return (f"{told} gives about {rows:,.3g}; ask for fewer cells, or a larger epsilon", *notes)


def decoded(where: np.ndarray, radix: Sequence[int]) -> list[np.ndarray]:
    """Cell numbers back to a column for each place of the mixed radix."""
    columns = []
    for size in reversed(radix):
        where, digit = where // size, where % size
        columns.append(digit.astype(np.int64))
    return columns[::-1]
