"""Singling out: conditions, read off the release, that hold for exactly one person of the table.

Source    Article 29 Working Party, Opinion 05/2014; protocol: Giomi et al., PoPETs 2023, section 4.1.
Claim     A condition names a value of a nominal column, or one side of a value of an ordered one, in `columns` columns
          of a published row (of a single column also an ordered value itself). It is used where about one published
          row is expected to meet it (est between 1/2 and 3/2), and succeeds on a table where exactly one row (or the
          rows of one person) meets it.
          The same conditions are tried on as many controls, drawn where there are more; conditions about values drawn
          evenly from the domain are the baseline.
Because   a condition of weight 1 / n meets exactly one of N people with chance (N / n) e^(-N / n) or so without any
          release, at most 37 % and that where N = n, so that only the gap to as many people who are not in it counts.
          Within a tenth of n it differs by less than half a point. Fewer controls show nothing of n people.
Checked   tests/claims/test_singling_out.py::test_planted_tables
          tests/claims/test_singling_out.py::test_conditions_are_counted_as_defined
          tests/claims/test_singling_out.py::test_wrong_mutants_are_caught
          tests/claims/test_singling_out.py::test_the_control_is_as_many_people
Silent on cleverer conditions.
Cost      conditions x (distinct rows + distinct boxes) x columns.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import FITS, PEOPLE, ROWS, Exposure, Fit, Gain, Harm, Whom
from sfumato.attacks.case import Case, how_many, run, whom
from sfumato.counts import Counts, Table
from sfumato.declare import Whole, declare, parameter
from sfumato.errors import count_of
from sfumato.estimate import Regions, View, align, align_boxes, distinct_boxes, estimate
from sfumato.measures.proportions import Share
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Attribute, Schema

_CELLS = 30_000_000  # conditions x rows held at a time
_TRIES = 4  # published rows looked at for one condition wanted, at a time
_ROUNDS = 8
_ALIKE = 0.9  # one side has at least this share of the other's number
_MANY = 20_000  # boxes from which on each condition looks up those it may hold


@dataclass(frozen=True)
class Predicates:
    """Condition i holds for rows with low[i, j] <= code < high[i, j] in every column j."""

    names: tuple[str, ...]
    _: KW_ONLY
    low: np.ndarray = field(repr=False)
    high: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.low)

    def met_by(self, counts: Counts) -> np.ndarray:
        """Return how many rows meet each condition."""
        found = np.zeros(len(self), np.int64)
        sizes = np.array([counts.schema[name].size for name in self.names])
        columns = [np.ascontiguousarray(counts.column(name)) for name in self.names]
        step = max(1, _CELLS // max(1, len(counts)))
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            low, high = self.low[part], self.high[part]
            holds = np.ones((len(low), len(counts)), bool)
            for at, column in enumerate(columns):
                bound = np.flatnonzero((low[:, at] > 0) | (high[:, at] < sizes[at]))
                holds[bound] &= (column >= low[bound, at, None]) & (column < high[bound, at, None])
            found[part] = holds @ counts.weights
        return found

    def met_by_one(self, table: Table) -> np.ndarray:
        """Return whether exactly one person meets each condition, by one row or several."""
        persons = table.persons() if table.schema.several and whom(table) is PEOPLE else None
        if persons is None:
            return np.asarray(self.met_by(table.counts(self.names)) == 1)
        codes, sizes = table.codes(self.names), [table.schema[name].size for name in self.names]
        found = np.zeros(len(self), bool)
        for at in range(len(self)):
            holds = np.ones(len(codes), bool)
            for column, size in enumerate(sizes):
                low, high = self.low[at, column], self.high[at, column]
                if low > 0 or high < size:
                    holds &= (codes[:, column] >= low) & (codes[:, column] < high)
            who = persons[holds]
            found[at] = len(who) > 0 and who.min() == who.max()
        return found

    def take(self, which: np.ndarray) -> Predicates:
        """Return some of them."""
        return Predicates(self.names, low=self.low[which], high=self.high[which])


@declare
class SinglingOut:
    """Write conditions that hold for exactly one person. `columns` = 1 looks for rare values of single columns."""

    name: ClassVar[str] = "singling-out"
    axis: ClassVar[Harm] = "identity"

    _: KW_ONLY
    columns: Whole = parameter("Columns that a condition is about.", default=4, least=1, grid=(1, 2, 4), unit="columns")
    attempts: Whole = parameter("Conditions that are tried.", default=500, least=1)

    run = run

    def fits(self, release: Release) -> Fit:
        """Anything with a column to put a condition on."""
        return FITS if release.quasi else Fit("it publishes no quasi-identifier")

    def attempt(self, case: Case) -> Gain:
        """Write conditions from the release; count whom they single out among targets and controls."""
        release, names, targets, controls = case.release, case.known, case.targets, case.controls
        generator = np.random.Generator(np.random.PCG64(case.entropy(self.name).below(2**63)))
        carried = [a.name for a in release.carried if a.name in targets.schema and a.name not in names]
        linked = [name for name in carried if targets.schema[name].role in ("sensitive", "target")][:1]
        schema = targets.schema.with_roles(quasi=names, sensitive=linked or None)
        view = align(release, schema, linked[0]) if linked else align_boxes(release, schema)
        if linked and not view.one_box_each:  # in buckets the values are not linked to rows
            linked = []
        if not linked:
            view = distinct_boxes(view)
        columns = (*names, *linked)
        case.same_codes(columns)
        kept = self._found(view, columns, schema, linked=bool(linked), generator=generator)
        blind = _blind(columns, schema, self.columns, len(kept), generator)
        success, counted = kept.met_by_one(targets), whom(targets)
        controls, notes = _as_many(targets, controls, counted, case.entropy(self.name).child("controls"))
        among = "one column" if self.columns == 1 else f"up to {self.columns} columns"
        return Gain(
            self.name,
            axis="identity",
            targets=Share(int(success.sum()), trials=len(kept)),
            controls=None if controls is None else Share(int(kept.met_by_one(controls).sum()), trials=len(kept)),
            baseline=Share(int(blind.met_by_one(targets).sum()), trials=len(blind)),
            records=Exposure(
                columns,
                codes=kept.low,
                weight=np.ones(len(kept), np.int64),
                success=success,
                chance=np.full(len(kept), np.nan),  # a condition is no target that is more exposed, or less
            ),
            holds=f"has the release and writes {len(kept):,} conditions on {among}",
            hit=f"singles out one {counted.one} of the table by {{}} of them",
            miss=f"one of {counted.others} by {{}}",
            stops=f"coarser values where few {counted.many} are (rare values, extremes), or differential privacy",
            whom=Whom("condition", many="conditions", others=counted.others),
            notes=notes,
        )

    def _found(
        self, view: View, columns: tuple[str, ...], schema: Schema, *, linked: bool, generator: np.random.Generator
    ) -> Predicates:
        """Look at published rows until there are conditions enough, or most of them were looked at in vain."""
        low = high = np.zeros((0, len(columns)), np.int64)
        for _ in range(_ROUNDS):
            tried = _conditions(view, columns, schema, self.columns, _TRIES * self.attempts, generator)
            expected = _expected(view, tried, linked)
            alone = tried.take(np.flatnonzero((expected > 0.5) & (expected < 1.5)))
            both = np.unique(np.vstack([np.hstack([low, high]), np.hstack([alone.low, alone.high])]), axis=0)
            low, high = both[:, : len(columns)], both[:, len(columns) :]
            if len(low) >= self.attempts:
                break
        kept = generator.permutation(len(low))[: self.attempts]
        return Predicates(columns, low=low[kept], high=high[kept])


def _as_many(
    targets: Table, controls: Table | None, counted: Whom, entropy: Entropy
) -> tuple[Table | None, tuple[str, ...]]:
    """Return about as many controls as there are targets, and say where some are drawn or there are too few."""
    if controls is None:
        return None, ()
    inside, outside = (how_many(table, counted) for table in (targets, controls))
    if _ALIKE * inside <= outside <= inside / _ALIKE:
        return controls, ()
    control = count_of(outside, counted.one, counted.many)
    if outside < inside:
        few = "too few to show how often a condition holds for exactly one of so many"
        return None, (f"The control has {control}, the table {inside:,}: {few}.",)
    persons = controls.persons() if counted is not ROWS and controls.people is not None else None
    who = np.arange(controls.rows) if persons is None else np.unique(persons, return_inverse=True)[1].reshape(-1)
    rows = np.flatnonzero(entropy.subset(outside, inside)[who])
    which = "of which" if counted is ROWS else "of whom"
    return controls.take(rows), (f"The control has {control}, {which} {inside:,} are drawn: as many as in the table.",)


def _conditions(
    view: View, columns: tuple[str, ...], schema: Schema, width: int, tries: int, generator: np.random.Generator
) -> Predicates:
    """Take published rows at random, a value inside each label, and a condition on some of the columns."""
    weight = view.weight.astype(np.float64)
    if not weight.sum():
        none = np.zeros((0, len(columns)), np.int64)
        return Predicates(columns, low=none, high=none)
    box = generator.choice(len(weight), tries, p=weight / weight.sum())
    codes = np.empty((tries, len(columns)), np.int64)
    for at, table in enumerate(view.tables):
        codes[:, at] = _inside(table.offsets, table.starts, table.ends, view.labels[box, at], generator)
    if len(columns) > len(view.tables):
        codes[:, -1] = _carried(view, view.group[box], generator)
    middles = [_middle(view, at) for at in range(len(view.tables))]
    if len(columns) > len(view.tables):
        running = np.cumsum(view.overall)
        middles.append(int(np.searchsorted(running, running[-1] / 2)))
    return _written(columns, schema, codes, width, np.array(middles), generator)


def _blind(
    columns: tuple[str, ...], schema: Schema, width: int, tries: int, generator: np.random.Generator
) -> Predicates:
    sizes = np.array([schema[name].size for name in columns])
    codes = generator.integers(0, sizes, (tries, len(columns)))
    return _written(columns, schema, codes, width, sizes // 2, generator)


def _written(
    columns: tuple[str, ...],
    schema: Schema,
    codes: np.ndarray,
    width: int,
    middles: np.ndarray,
    generator: np.random.Generator,
) -> Predicates:
    """One condition a row of codes, on `width` columns chosen at random; ordered columns by the side of the value."""
    many, total = codes.shape
    order = np.argsort(generator.random((many, total)), axis=1)
    chosen = np.zeros((many, total), bool)
    np.put_along_axis(chosen, order[:, : min(width, total)], values=True, axis=1)
    sided = generator.random(many) < 0.5 if width == 1 else np.ones(many, bool)  # rare values, and extremes
    low, high = np.zeros_like(codes), np.zeros_like(codes)
    for at, name in enumerate(columns):
        attribute: Attribute = schema[name]
        code, top = codes[:, at], attribute.size
        low[:, at], high[:, at] = code, code + 1
        if attribute.ordered:
            line = (code < attribute.values.size) & sided
            above = line & (code > middles[at])
            low[:, at] = np.where(line & ~above, 0, code)
            high[:, at] = np.where(above, attribute.values.size, code + 1)
        low[:, at] = np.where(chosen[:, at], low[:, at], 0)
        high[:, at] = np.where(chosen[:, at], high[:, at], top)
    both = np.unique(np.hstack([low, high]), axis=0)
    both = both[generator.permutation(len(both))]
    return Predicates(columns, low=both[:, :total], high=both[:, total:])


def _inside(
    offsets: np.ndarray, starts: np.ndarray, ends: np.ndarray, labels: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """A code of each label, all equally likely."""
    lengths = ends - starts
    before = np.concatenate([[0], np.cumsum(lengths)])
    first, last = before[offsets[labels]], before[offsets[labels + 1]]
    at = generator.integers(first, last)
    piece = np.searchsorted(before, at, side="right") - 1
    return np.asarray(starts[piece] + at - before[piece])


def _carried(view: View, groups: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A carried value of each group, as likely as it is there."""
    histogram = view.histogram.tocsr()
    before = np.concatenate([[0.0], np.cumsum(histogram.data.astype(np.float64))])
    first, last = before[histogram.indptr[groups]], before[histogram.indptr[groups + 1]]
    at = first + generator.random(len(groups)) * (last - first)
    place = np.clip(np.searchsorted(before, at, side="right") - 1, 0, max(0, len(histogram.data) - 1))
    return np.asarray(histogram.indices[place]) if len(histogram.indices) else np.zeros(len(groups), np.int64)


def _middle(view: View, at: int) -> int:
    """The median code of a column, a label counting as the middle of its hull."""
    table = view.tables[at]
    place = (table.low + table.high) // 2
    order = np.argsort(place, kind="stable")
    weight = np.bincount(view.labels[:, at], weights=view.weight, minlength=len(table))[order]
    running = np.cumsum(weight)
    return int(place[order[int(np.searchsorted(running, running[-1] / 2))]])


def _expected(view: View, tried: Predicates, linked: bool) -> np.ndarray:
    """How many published rows are expected to meet each condition."""
    if not len(tried):
        return np.zeros(0)
    if len(view.weight) > _MANY:
        return expected_by_index(view, tried, linked=linked)
    width = len(view.tables)
    sizes = [table.attribute.size for table in view.tables]
    regions = Regions.of(
        view.quasi,
        [
            {
                table.attribute.name: ((int(tried.low[at, j]), int(tried.high[at, j])),)
                for j, table in enumerate(view.tables)
                if tried.low[at, j] > 0 or tried.high[at, j] < sizes[j]
            }
            for at in range(len(tried))
        ],
    )
    found = estimate(view, regions)
    if not linked:
        return np.asarray(found.sum(axis=1))
    running = np.hstack([np.zeros((len(found), 1)), np.cumsum(found, axis=1)])
    lines = np.arange(len(found))
    return np.asarray(running[lines, tried.high[:, width]] - running[lines, tried.low[:, width]])


def expected_by_index(view: View, tried: Predicates, *, linked: bool) -> np.ndarray:
    """The same for many boxes: for each condition, only the boxes that match its rarest column are examined."""
    width = len(view.tables)
    sizes = [table.attribute.size for table in view.tables]
    order = [np.argsort(view.labels[:, at], kind="stable") for at in range(width)]
    many = [np.bincount(view.labels[:, at], minlength=len(table)) for at, table in enumerate(view.tables)]
    first = [np.concatenate([[0], np.cumsum(counts)]) for counts in many]
    found = np.zeros(len(tried))
    weight, said = view.weight.astype(np.float64), (-1, -1)
    lines = np.lexsort((tried.high[:, -1], tried.low[:, -1])) if linked else np.arange(len(tried))
    for line in lines:
        if linked and said != (said := (int(tried.low[line, width]), int(tried.high[line, width]))):
            weight = np.asarray(view.histogram[:, said[0] : said[1]].sum(axis=1), np.float64).reshape(-1)
        covers = {}
        for at, table in enumerate(view.tables):
            low, high = tried.low[line, at : at + 1], tried.high[line, at : at + 1]
            if low[0] > 0 or high[0] < sizes[at]:
                covers[at] = table.overlap(low, high)[:, 0] / table.size
        if not covers:
            found[line] = weight.sum()
            continue
        rarest = min(covers, key=lambda at: int(many[at][covers[at] > 0].sum()))
        some = [
            order[rarest][first[rarest][label] : first[rarest][label + 1]] for label in np.flatnonzero(covers[rarest])
        ]
        inside = np.concatenate(some) if some else np.zeros(0, np.int64)
        share = weight[inside]
        for at, cover in covers.items():
            share = share * cover[view.labels[inside, at]]
        found[line] = share.sum()
    return found
