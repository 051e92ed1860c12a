"""Li & Li, KDD 2009: figures 2(a), 2(b), 3(a) to 3(c), and the numbers by which it explains its two losses.

Source    Li & Li, "On the tradeoff between privacy and utility in data publishing", KDD 2009, sections 3.1, 5.1, 5.2.
Claim     Same data (Adult, 45,222 rows, table 1), parameters and measures; every release is asked the same queries.
Because   releases are made by Mondrian and Bucketize, measured by privacy_loss, utility_loss and query_error.
Checked   tests/unit/reproduce/test_verdicts.py::test_every_paper_differs_from_wrong_curves
          tests/surfaces/test_reproduce_command.py::test_tiny_runs
Silent on the paper's hierarchies, age bins and Mondrian rule, which it does not name. The values of sel and qd in
          figures 3(b) and 3(c) are ours: the text does not print them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sfumato.claims import KAnonymity, LDiversity, Requirement, SemanticPrivacy, TCloseness
from sfumato.counts import Table
from sfumato.datasets import adult
from sfumato.measures import Workload, js_divergence, privacy_loss, query_error, utility_loss, workload
from sfumato.mechanisms import Bucketize, Mechanism, Mondrian, Suppress
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.reproduce.direct_comparison import direct_comparison
from sfumato.reproduce.figures import Curve, Figure, Paper, Settings, Step
from sfumato.reproduce.tradeoff_statements import DIMENSIONS, SELECTIVITIES, tradeoff_statements

__all__ = ["PAPER", "QUASI"]

QUASI = ("age", "workclass", "education", "marital-status", "race", "sex")
_VALUES: dict[str, tuple[str, ...]] = {
    "k": ("10", "50", "100", "200", "500", "1000", "2000", "5000"),
    "l": ("3", "3.5", "4", "4.25", "4.5", "4.75", "5", "5.5"),
    "t": ("0.075", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4"),
    "delta": ("1", "1.2", "1.4", "1.5", "1.7", "1.9", "2", "2.1"),
}
_NAMES = {
    "k": "k-anonymity",
    "l": "l-diversity",
    "t": "t-closeness",
    "delta": "semantic privacy, strict",
    "delta one-sided": "semantic privacy, one-sided",
    "delta absent ignored": "semantic privacy, absent ignored",
}
_FIRST, _LAST, _EVERY_OTHER = 0, -1, 2
_DEFAULT = ("0.05", 4)


def _requirement(kind: str, value: str) -> Requirement:
    name, _, reading = kind.partition(" ")
    if reading == "one-sided":  # absent values are then no failure, which is this reading's own default
        return SemanticPrivacy(value, sides="one")
    if name == "delta":
        return SemanticPrivacy(value, absent="ignore" if reading == "absent ignored" else "fail")
    kinds: dict[str, Callable[[str], Requirement]] = {
        "k": lambda k: KAnonymity(int(k)),
        "l": LDiversity,
        "t": TCloseness,
    }
    return kinds[name](value)


def _values(kind: str, settings: Settings) -> tuple[str, ...]:
    """All eight values; quick: every other one and both ends; tiny: the ends."""
    every = _VALUES[kind.partition(" ")[0]]
    half = tuple(dict.fromkeys([*every[::_EVERY_OTHER], every[_LAST]]))
    picked: tuple[str, ...] = settings.pick(full=every, quick=half, tiny=(every[_FIRST], every[_LAST]))
    return picked


@cache
def _table() -> Table:
    return adult().with_roles(quasi=QUASI, sensitive="occupation", target=())


@cache
def _work(selectivity: str, dimension: int, queries: int) -> Workload:
    return workload(_table(), dimension=dimension, selectivity=selectivity, queries=queries, seed=7)


def _measured(mechanism: Mechanism, asked: list[tuple[str, int]], queries: int) -> dict[str, Any]:
    table = _table()
    release = run(mechanism, gather(mechanism, table), Entropy.seeded(0))
    return {
        "privacy": privacy_loss(table, release).value,
        "utility": utility_loss(table, release).value,
        "classes": len(release.groups),
        "errors": {f"{sel} {qd}": query_error(table, release, _work(sel, qd, queries)).value for sel, qd in asked},
    }


def _steps(settings: Settings) -> list[Step]:
    queries = settings.pick(full=1000, quick=1000, tiny=30)

    def step(method: Any, kind: str, value: str, asked: list[tuple[str, int]]) -> Step:
        def work() -> dict[str, Any]:
            return _measured(method(_requirement(kind, value)), asked, queries)

        return Step(f"{method.__name__} {kind} {value}", run=work)

    steps = [step(Mondrian, kind, value, [_DEFAULT]) for kind in _NAMES for value in _values(kind, settings)]
    wide = [*((sel, 4) for sel in SELECTIVITIES), *(("0.05", qd) for qd in DIMENSIONS)]
    steps += [step(Bucketize, "l", value, [_DEFAULT]) for value in _values("l", settings)]
    steps += [step(Bucketize, "t", value, wide) for value in _values("t", settings)]
    steps.append(Step("Suppress", run=lambda: _measured(Suppress(), [_DEFAULT], queries)))
    steps.append(
        Step("one class below delta = 1", run=lambda: _measured(Mondrian(SemanticPrivacy("0.9")), [], queries))
    )
    steps.append(Step("one value revealed", run=_revealed))
    steps.append(Step("direct comparison", run=lambda: direct_comparison(settings)))
    return steps


def _revealed() -> dict[str, float]:
    """Loss of a person whose value is known for sure, rarest and most frequent value."""
    weights = _table().counts(("occupation",)).weights
    shares = sorted((weights / weights.sum()).tolist())
    size = len(shares)

    def lost(at: int) -> float:
        return float(js_divergence([float(place == at) for place in range(size)], shares))

    return {"rarest": lost(0), "most frequent": lost(size - 1)}


def _points(results: Mapping[str, Any], begins: str, y: str) -> tuple[tuple[float, float], ...]:
    """Points (privacy loss, y) of the releases whose step begins so, in order of privacy loss."""
    found = []
    for name, held in results.items():
        if name.rpartition(" ")[0] == begins:
            value = held["utility"] if y == "utility" else held["errors"].get(y)
            if value is not None:
                found.append((held["privacy"], value))
    return tuple(sorted(found))


def _figures(results: Mapping[str, Any], settings: Settings) -> tuple[Figure, ...]:
    loss, error = "privacy loss P_loss, nats", "average relative error, percent"

    def curves(y: str) -> tuple[Curve, ...]:
        return tuple(Curve(name, points=_points(results, f"Mondrian {kind}", y)) for kind, name in _NAMES.items())

    methods = (
        ("Mondrian l", "l-diversity, generalized"),
        ("Bucketize l", "l-diversity, buckets"),
        ("Mondrian t", "t-closeness, generalized"),
        ("Bucketize t", "t-closeness, buckets"),
    )
    readings = "Semantic privacy is drawn in three readings: the paper does not settle which one it means."
    ours = "The values of the legend are ours; the paper's text does not print them."
    return (
        Figure(
            "Figure 2(a)",
            about="privacy requirements",
            x=loss,
            y="utility loss U_loss, nats",
            curves=curves("utility"),
            note=readings,
        ),
        Figure(
            "Figure 2(b)",
            about="generalization and buckets",
            x=loss,
            y="utility loss U_loss, nats",
            curves=tuple(Curve(name, points=_points(results, begins, "utility")) for begins, name in methods),
        ),
        Figure(
            "Figure 3(a)",
            about="privacy requirements, by queries",
            x=loss,
            y=error,
            curves=curves("0.05 4"),
            note=readings,
        ),
        Figure(
            "Figure 3(b)",
            about="selectivity; t-closeness, buckets, qd = 4",
            x=loss,
            y=error,
            note=ours,
            curves=tuple(Curve(f"sel = {s}", points=_points(results, "Bucketize t", f"{s} 4")) for s in SELECTIVITIES),
        ),
        Figure(
            "Figure 3(c)",
            about="dimension; t-closeness, buckets, sel = 0.05",
            x=loss,
            y=error,
            note=ours,
            curves=tuple(
                Curve(f"qd = {qd}", points=_points(results, "Bucketize t", f"0.05 {qd}")) for qd in DIMENSIONS
            ),
        ),
    )


def _notes(settings: Settings) -> tuple[str, ...]:
    size = settings.pick(
        full="all eight parameters of each curve",
        quick="five of the eight parameters of each curve",
        tiny="two of the eight parameters of each curve and 30 queries: for tests only",
    )
    return (
        f"Bundled UCI Adult, 45,222 complete rows, the seven attributes of table 1; {size}.",
        "Workclass has 7 values among the complete rows; table 1 prints 8.",
        "sel is read as Anatomy reads it (the share of rows asked for), the only way figure 3(c) can fall.",
        "Queries whose true count is 0 are not asked: their relative error is undefined.",
    )


PAPER = Paper(
    "tradeoff",
    title="On the tradeoff between privacy and utility in data publishing (Li & Li, KDD 2009)",
    steps=_steps,
    figures=_figures,
    statements=tradeoff_statements,
    notes=_notes,
)
