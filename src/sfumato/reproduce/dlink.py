"""Sattar et al., the dLink paper: figures 1 to 15, and the reductions it prints.

Source    "A probabilistic approach to mitigate composition attacks on privacy in non-coordinated environments", sec. 6.
Claim     Disjoint samples that share an overlap of 1 to 5 %, all pairs attacked, attack accuracy as in definition 2
          (the class in which the record resides); d = 4, alpha = 0.8, k = 10 unless varied; the same queries for all.
Because   one experiment (`overlap_experiment`) makes, attacks and measures every release.
Checked   tests/unit/reproduce/test_verdicts.py::test_every_paper_differs_from_wrong_curves
          tests/surfaces/test_reproduce_command.py::test_tiny_runs
Silent on the paper's IPUMS extract, which is not named further; k, d and alpha on its axes are not printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.mechanisms import REGISTRY
from sfumato.reproduce.dlink_samples import distances, measured, tables, timed, unchanged
from sfumato.reproduce.dlink_statements import dlink_statements
from sfumato.reproduce.figures import Curve, Figure, Paper, Settings, Step

__all__ = ["PAPER"]

_EPSILONS = ("0.1", "0.05", "0.01")
_ASKED = ("0.01", "0.05", "0.1", "0.5", "1")
_KS, _DS, _ALPHAS = (5, 10, 20, 40, 80), (2, 3, 4, 5, 6, 7), ("0.5", "0.6", "0.7", "0.8", "0.9", "0.95")
_CAPTION = "The paper prints figures 11 and 13 with one caption; both are this one."
_FEW = "With k = 10 almost nobody is left with one value, whatever d and alpha: k = 5 is drawn beside it."
_RISK, _ERROR, _CORRECT = "attack accuracy, percent", "average query error, percent", "classification accuracy, percent"


def _methods() -> tuple[str, ...]:
    return ("Mondrian", "dLink") if "dlink" in REGISTRY else ("Mondrian",)


def _steps(settings: Settings) -> list[Step]:
    shares = settings.pick(full=(1, 2, 3, 4, 5), quick=(1, 3, 5), tiny=(2, 5))
    ks = settings.pick(full=_KS, quick=_KS[::2], tiny=(10, 40))
    ds = settings.pick(full=_DS, quick=(2, 4, 6), tiny=(2, 6))
    alphas = settings.pick(full=_ALPHAS, quick=("0.6", "0.8", "0.95"), tiny=("0.6", "0.95"))
    steps: list[Step] = []

    def add(name: str, work: Any) -> None:
        steps.append(Step(name, run=work))

    for table in tables(settings):
        for method in _methods():
            for share in shares:
                add(
                    f"{table}|{method}|share|{share}",
                    lambda t=table, m=method, s=share: measured(settings, t, m, share=s),
                )
            for k in ks:
                add(f"{table}|{method}|k|{k}", lambda t=table, m=method, k=k: measured(settings, t, m, share=5, k=k))
            add(f"{table}|{method}|distance|0", lambda t=table, m=method: distances(settings, t, m))
        for epsilon in _EPSILONS:
            for share in shares:
                add(
                    f"{table}|DP {epsilon}|share|{share}",
                    lambda t=table, e=epsilon, s=share: measured(settings, t, f"DP {e}", share=s),
                )
            add(f"{table}|DP {epsilon}|distance|0", lambda t=table, e=epsilon: distances(settings, t, f"DP {e}"))
        for name, k in (("dLink", 10), ("dLink, k = 5", 5)) if "dlink" in REGISTRY else ():
            for d in ds:
                add(
                    f"{table}|{name}|d|{d}", lambda t=table, k=k, d=d: measured(settings, t, "dLink", share=5, k=k, d=d)
                )
            for alpha in alphas:
                add(
                    f"{table}|{name}|alpha|{alpha}",
                    lambda t=table, k=k, a=alpha: measured(settings, t, "dLink", share=5, k=k, alpha=a),
                )
    first = tables(settings)[0]
    for method in _methods():
        for share in shares:
            add(f"{first}|{method}|time|{share}", lambda m=method, s=share: timed(settings, first, m, share=s))
    if "dlink" in REGISTRY:
        for d in ds:
            add(f"{first}|dLink|time d|{d}", lambda d=d: timed(settings, first, "dLink", d=d))
    for epsilon in _ASKED:
        for points in _POINTS:
            add(
                f"{first}|{points}|epsilon|{epsilon}",
                lambda e=epsilon, p=points: unchanged(settings, first, e, people=p == _POINTS[0]),
            )
    return steps


def _points(results: Mapping[str, Any], table: str, method: str, axis: str, y: str) -> tuple[tuple[float, float], ...]:
    found = []
    for name, held in results.items():
        parts = name.split("|")
        if parts[:3] == [table, method, axis] and held.get(y) is not None:
            found.append((float(parts[3]), float(held[y])))
    return tuple(sorted(found))


_OVERLAP, _LEVEL, _SECONDS = "overlapping records, percent of a sample", "k of the k-anonymization", "seconds"
# number, about, x, y, axis of the steps, measure, methods compared
_DRAWN = (
    ("1", "composition attack by overlap", _OVERLAP, _RISK, "share", "risk", "both"),
    ("2", "composition attack by k", _LEVEL, _RISK, "k", "risk", "both"),
    ("3", "classification by overlap", _OVERLAP, _CORRECT, "share", "accuracy", "both"),
    ("4", "classification by k", _LEVEL, _CORRECT, "k", "accuracy", "both"),
    ("5", "query error by overlap", _OVERLAP, _ERROR, "share", "error", "both"),
    ("6", "query error by k", _LEVEL, _ERROR, "k", "error", "both"),
    ("7", "answers left unchanged by DP", "epsilon", "unchanged, percent", "epsilon", "unchanged", "points"),
    ("8", "query error, dLink and differential privacy", _OVERLAP, _ERROR, "share", "error", "private"),
    ("10, d", "dLink by d", "d", _RISK, "d", "risk", "dLink, two k"),
    ("10, alpha", "dLink by alpha", "alpha", _RISK, "alpha", "risk", "dLink, two k"),
    ("11 and 13, d", "dLink by d", "d", _CORRECT, "d", "accuracy", "dLink"),
    ("11 and 13, alpha", "dLink by alpha", "alpha", _CORRECT, "alpha", "accuracy", "dLink"),
    ("12, d", "dLink by d", "d", _ERROR, "d", "error", "dLink"),
    ("12, alpha", "dLink by alpha", "alpha", _ERROR, "alpha", "error", "dLink"),
    ("14", "time", _OVERLAP, _SECONDS, "time", "seconds", "both"),
    ("15", "time by d", "d", _SECONDS, "time d", "seconds", "dLink"),
)
_NOTES = {"10": _FEW, "11 and 13": _CAPTION}
_POINTS = ("points with people", "any points")


def _figures(results: Mapping[str, Any], settings: Settings) -> tuple[Figure, ...]:
    every = list(dict.fromkeys(name.split("|")[0] for name in results))
    known = [method for method in ("Mondrian", "dLink") if any(f"|{method}|" in name for name in results)]
    private = [f"DP {epsilon}" for epsilon in _EPSILONS]
    compared = {
        "both": known,
        "points": list(_POINTS),
        "private": [*known[-1:], *private],
        "dLink": ["dLink"],
        "dLink, two k": ["dLink", "dLink, k = 5"],
    }
    found = []
    for number, about, x, y, axis, measure, methods in _DRAWN:
        made = [
            Curve(f"{table}, {method}", points=_points(results, table, method, axis, measure))
            for table in every
            for method in compared[methods]
        ]
        found.append(
            Figure(
                f"Figure {number}",
                about=about,
                x=x,
                y=y,
                curves=tuple(curve for curve in made if curve.points),
                log_x=axis in ("k", "epsilon"),
                note=_NOTES.get(number.split(",")[0], ""),
            )
        )
    found.insert(8, _distance_figure(results, every, private))
    return tuple(figure for figure in found if figure.curves)


def _distance_figure(results: Mapping[str, Any], every: list[str], private: list[str]) -> Figure:
    return Figure(
        "Figure 9",
        about="distance of the histogram of the confidential attribute",
        x="epsilon",
        y="city block distance",
        curves=_distance_curves(results, every, private),
        log_x=True,
        note="dLink and Mondrian publish every confidential value as it is: their distance is 0.",
    )


def _distance_curves(results: Mapping[str, Any], every: list[str], private: list[str]) -> tuple[Curve, ...]:
    curves = []
    for table in every:
        known = {m: results.get(f"{table}|{m}|distance|0") for m in (*private, "dLink", "Mondrian")}
        by_epsilon = tuple(
            sorted(
                (float(m.split(" ")[1]), float(held["city block"]))
                for m, held in known.items()
                if held and m in private
            )
        )
        own = known["dLink"] or known["Mondrian"]
        curves.append(Curve(f"{table}, DP", points=by_epsilon))
        if own is not None:
            level = tuple((x, float(own["city block"])) for x, _ in by_epsilon)
            curves.append(Curve(f"{table}, dLink", points=level, kind="level"))
    return tuple(curve for curve in curves if curve.points)


def _notes(settings: Settings) -> tuple[str, ...]:
    size = settings.pick(
        full="five samples of 100,000", quick="three samples of 40,000", tiny="two samples of 1,500: for tests only"
    )
    source = "UCI Census-Income (KDD) as given, people with an occupation, samples of at most a third of the rows"
    found = [
        f"Data: {source}."
        if settings.data is not None
        else f"Data: generated census-like rows, domains of table 7; {size}.",
        "Differential privacy is DiffGen as printed (h = 10), the implementation the paper used.",
        "Attack accuracy is the share of overlapping people with one common value, in the class of their row.",
        "Classification: our pruned tree in the place of J48; salary is cut at 17,500, near the median.",
        "The paper cuts at 25 of 50 classes; on the generated rows 94 % of people would be in one class.",
        "k, d and alpha on the axes are ours; the paper's text does not print them.",
    ]
    if "dlink" not in REGISTRY:
        found.append(
            "dLink itself is not in this version, so its curves and verdicts are left out; none is drawn from memory."
        )
    return tuple(found)


PAPER = Paper(
    "dlink",
    title="A probabilistic approach to mitigate composition attacks on privacy in non-coordinated environments (dLink)",
    steps=_steps,
    figures=_figures,
    statements=dlink_statements,
    notes=_notes,
)
