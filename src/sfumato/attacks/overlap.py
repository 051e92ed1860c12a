"""The overlap experiment: disjoint samples, some people inserted into all of them, every pair attacked.

Source    the dLink paper, section 6: five disjoint data sets of 100,000 records, 1,000 to 5,000 records of an overlap
          pool inserted into each, composition attacks between all pairs with the same overlapping records.
Claim     The samples are disjoint but for the pool; only people of the pool are victims; the control is people of the
          first sample of a pair who are not in the second. All mechanisms see the same samples, victims and queries.
Because   one permutation of the people (rows, where no key says whose they are) is cut into samples and pool, each
          with all their rows, and one workload is drawn for each sample.
Checked   tests/claims/test_overlap_experiment.py::test_samples_share_the_pool_and_nothing_else
          tests/claims/test_overlap_experiment.py::test_victims_are_the_pool_only
          tests/claims/test_overlap_experiment.py::test_same_queries_for_every_mechanism
Silent on the ledger: releases made here are rehearsals that are never published. Pairs that share a sample are not
          independent, so the pooled intervals are somewhat narrow.
Cost      one release for each mechanism, sample and size of the overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.attacks.composing.composition import Composition, Reading, composition
from sfumato.counts import Table
from sfumato.errors import ParameterError
from sfumato.estimate import measured_attributes
from sfumato.exact import whole
from sfumato.measures import Workload, query_error, workload
from sfumato.measures.proportions import Share
from sfumato.measures.queries import QueryKind
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.base import run_on_part
from sfumato.randomness import Entropy
from sfumato.release import Release


@dataclass(frozen=True)
class Samples:
    """Tables of different people, each with the same people of the pool at its end. Confidential."""

    tables: tuple[Table, ...]
    _: KW_ONLY
    shared: Table
    only: tuple[Table, ...] = field(repr=False)
    rest: Table = field(repr=False)


@dataclass(frozen=True, slots=True)
class OverlapRow:
    """One mechanism at one size of the overlap, over all pairs. `errors` are percent, by kind of query.

    Of several sensitive attributes `attribute` is the one that the attack gives away most, over all pairs.
    """

    mechanism: str
    _: KW_ONLY
    size: int
    overlap: int
    pairs: int
    classes: float
    one: Share
    below_d: Share
    exposed: Share
    guessed: Share
    right: Share
    control_right: Share
    baseline: Share
    alone: Share
    confidence: float
    errors: Mapping[str, float]
    medians: Mapping[str, float]
    accuracy: float | None = None
    attribute: str = ""
    confidential: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        found: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        for name, value in found.items():
            if isinstance(value, Share):
                found[name] = value.to_json()
            elif isinstance(value, Mapping):
                found[name] = dict(value)
        return found


def draw_samples(table: Table, *, size: int, overlap: int, samples: int = 2, seed: int = 0) -> Samples:
    """Cut the people at random into disjoint samples of `size` and a pool; insert `overlap` of the pool into each.

    People with all their rows; rows, where no key says whose they are.
    """
    many = whole("samples", samples, least=2)
    size, overlap = whole("size", size, least=1), whole("overlap", overlap, least=1)
    rows_of = _rows_of_each(table)
    if many * size + overlap > len(rows_of):
        counted = "rows" if table.persons() is None else "people"
        rule = f"{many} samples of {size} and {overlap} shared people need {many * size + overlap} {counted}"
        raise ParameterError("table", f"{len(rows_of)} {counted}", rule, hint="smaller samples")
    order = Entropy.seeded(seed).child("samples").permutation(len(rows_of))

    def rows(start: int, end: int | None) -> np.ndarray:
        return np.concatenate([np.zeros(0, np.int64), *(rows_of[one] for one in order[start:end])])

    pool = rows(many * size, many * size + overlap)
    parts = [rows(at * size, (at + 1) * size) for at in range(many)]
    return Samples(
        tuple(table.take(np.concatenate([part, pool])) for part in parts),
        shared=table.take(pool),
        only=tuple(table.take(part) for part in parts),
        rest=table.take(rows(many * size + overlap, None)),
    )


def _rows_of_each(table: Table) -> list[np.ndarray]:
    """Return the rows of each person; of each row itself, where no key says whose they are."""
    persons = table.persons()
    if persons is None:
        return list(np.arange(table.rows)[:, None])
    _, many = np.unique(persons, return_counts=True)
    return np.split(np.argsort(persons, kind="stable"), np.cumsum(many)[:-1])


def overlap_experiment(
    table: Table,
    mechanisms: Mechanism | Mapping[str, Mechanism],
    *,
    size: int = 100_000,
    overlap: int | Sequence[int] = 1000,
    samples: int = 2,
    d: int = 4,
    seed: int = 0,
    reading: Reading = "label",
    queries: int = 1000,
    kinds: Sequence[QueryKind] = ("equality", "range"),
    controls: int = 5000,
    classify: Mapping[str, Any] | None = None,
) -> list[OverlapRow]:
    """Return a row for each mechanism and overlap: what pairs of releases give away, and how useful they are.

    `classify` holds parameters of `sf.classification` ({} for none, None not to classify): learners trained on each
    release are asked about rows outside all samples.
    """
    named = dict(mechanisms) if isinstance(mechanisms, Mapping) else {type(mechanisms).__name__: mechanisms}
    rows = []
    for many in [overlap] if isinstance(overlap, int) else overlap:
        drawn = draw_samples(table, size=size, overlap=many, samples=samples, seed=seed)
        work = [_queries(part, kinds, queries, seed + at) for at, part in enumerate(drawn.tables)]
        for name, mechanism in named.items():
            entropy = Entropy.seeded(seed).child(f"{name} {many}")
            made = [
                run_on_part(mechanism, part, entropy.child(str(at)), which=f"a sample of {part.rows:,} rows")
                for at, part in enumerate(drawn.tables)
            ]
            found = _worst_attribute(_attacks(drawn, made, d, reading, controls))
            rows.append(_row(name, size, drawn, made, found, work, classify=classify))
    return rows


def _queries(table: Table, kinds: Sequence[QueryKind], queries: int, seed: int) -> dict[str, list[Workload]]:
    """Draw, for each kind of query, a workload about each sensitive attribute."""
    options: dict[str, Any] = {"dimension": min(4, len(table.schema.quasi)), "queries": queries, "seed": seed}
    names = [known.name for known in measured_attributes(table.schema)]
    return {kind: [workload(table, kind=kind, attribute=name, **options) for name in names] for kind in kinds}


def _attacks(drawn: Samples, made: Sequence[Release], d: int, reading: Reading, controls: int) -> list[Composition]:
    """Attack every pair on the people both hold; the control is in the first release only."""
    found = []
    for first, second in combinations(range(len(made)), 2):
        others = drawn.only[first]
        control = others.take(np.arange(min(controls, others.rows)))
        pair = [made[first], made[second]]
        found.append(composition(pair, drawn.shared, d=d, reading=reading, control=control))
    return found


def _worst_attribute(found: Sequence[Composition]) -> list[Composition]:
    """The attacks of all pairs on one attribute: the one that they give away most together."""

    def given_away(name: str) -> tuple[float, ...]:
        own = [each.by_attribute[name].tally for each in found]
        return tuple(_pooled(shares).rate for shares in ([one.one for one in own], [one.below_d for one in own]))

    worst = max(found[0].by_attribute, key=given_away)
    return [each.by_attribute[worst] for each in found]


def _row(
    name: str,
    size: int,
    drawn: Samples,
    made: Sequence[Release],
    found: Sequence[Composition],
    work: Sequence[Mapping[str, Sequence[Workload]]],
    *,
    classify: Mapping[str, Any] | None,
) -> OverlapRow:
    errors = [
        {kind: query_error(part, release, asked[kind]) for kind in asked}
        for part, release, asked in zip(drawn.tables, made, work, strict=True)
    ]
    return OverlapRow(
        name,
        size=size,
        overlap=drawn.shared.rows if drawn.shared.people is None else drawn.shared.people,
        pairs=len(found),
        classes=float(np.mean([len(release.groups) for release in made])),
        one=_pooled([each.tally.one for each in found]),
        below_d=_pooled([each.tally.below_d for each in found]),
        exposed=_pooled([each.tally.exposed for each in found]),
        guessed=_pooled([each.tally.guessed for each in found]),
        right=_pooled([each.tally.right for each in found]),
        control_right=_pooled([each.control.right for each in found if each.control is not None]),
        baseline=_pooled([each.baseline for each in found]),
        alone=_pooled([part.one for each in found for part in each.alone]),
        confidence=float(np.mean([each.confidence for each in found])),
        errors={kind: float(np.mean([each[kind].value for each in errors])) for kind in work[0]},
        medians={kind: float(np.mean([each[kind].median for each in errors])) for kind in work[0]},
        accuracy=None if classify is None else _accuracy(drawn, made, classify),
        attribute=found[0].attribute,
    )


def _pooled(shares: Sequence[Share | None]) -> Share:
    """Add up over pairs."""
    known = [share for share in shares if share is not None]
    return Share(sum(share.successes for share in known), trials=sum(share.trials for share in known))


def _accuracy(drawn: Samples, made: Sequence[Release], options: Mapping[str, Any]) -> float | None:
    """Mean accuracy of learners trained on the releases, on people in none of them."""
    from sfumato.measures.classification import classification

    if not drawn.rest.rows:
        return None
    test = drawn.rest.take(np.arange(min(10_000, drawn.rest.rows)))
    pairs = zip(drawn.tables, made, strict=True)
    return float(np.mean([classification(part, test, release, **options).accuracy for part, release in pairs]))
