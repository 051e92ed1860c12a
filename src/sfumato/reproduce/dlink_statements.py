"""What the dLink paper prints and says, judged on our curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.reproduce.figures import Figure, Statement
from sfumato.reproduce.verdict import at_least, at_most, direction, inside, less, near, together, vanishes

__all__ = ["dlink_statements"]

_ERROR = {"0.1": 7.0, "0.05": 22.0, "0.01": 44.0}
_DISTANCE = {"0.1": 21.03, "0.05": 56.51, "0.01": 76.54}
_BOUND = 0.1  # epsilon
_FAR = 10.0  # a change of less than a tenth of the printed one is none: it is within what another seed gives
_FEW = "with the exact test almost nobody is left with one value for any d or alpha, so there is little to compare"


def dlink_statements(figures: tuple[Figure, ...], results: Mapping[str, Any]) -> tuple[Statement, ...]:
    """Return every statement whose curves are there."""
    known = {figure.name: figure for figure in figures}
    found = [*_by_k(known), *_unchanged(known)]
    if any(curve.name.endswith(", dLink") for curve in known["Figure 1"].curves):
        floor = _floor([held.get("victims", 0) for held in results.values()])
        found += [
            *_against_mondrian(known, floor),
            *_against_privacy(known),
            *_parameters(known, floor),
            *_times(known),
        ]
    return tuple(found)


def _pairs(figure: Figure, first: str, second: str) -> list[tuple[float, float]]:
    """(first's y, second's y) wherever both curves of a table have a point at one x."""
    found = []
    for curve in figure.curves:
        table, _, method = curve.name.partition(", ")
        other = next((one for one in figure.curves if one.name == f"{table}, {second}"), None)
        if method == first and other is not None:
            there = dict(other.points)
            found += [(y, there[x]) for x, y in curve.points if x in there]
    return found


def _floor(victims: list[int]) -> float:
    """The rule of three: where none of n people was found, up to 3 / n may be. In percent."""
    most = max(victims, default=0)
    return 300 / most if most else 0.0


def _ratio(numerator: float, denominator: float, floor: float = 0.0) -> float:
    """How many times larger; a denominator below the floor could not be told from it."""
    numerator, denominator = max(numerator, floor), max(denominator, floor)
    if denominator > 0:
        return numerator / denominator
    return math.inf if numerator > 0 else 1.0


def _by_k(known: Mapping[str, Figure]) -> Iterable[Statement]:
    rules = [vanishes(curve.points) for curve in known["Figure 2"].curves if any(y for _, y in curve.points)]
    if rules:
        yield Statement("Figure 2", says="attack accuracy falls towards 0 as k grows", judged=together(*rules))


def _unchanged(known: Mapping[str, Figure]) -> Iterable[Statement]:
    curves = [curve.points for curve in known["Figure 7"].curves]
    upto = [[(x, y) for x, y in points if x <= _BOUND] for points in curves]
    yield Statement(
        "Figure 7",
        says="more answers stay unchanged for a larger epsilon, up to the bound of 0.1 that is drawn from it",
        judged=together(*(direction(points, "rises") for points in upto)),
        why="beyond 0.1 the coarse cells of h = 10 decide, not the noise",
    )
    low, high = sorted(dict(points)[_BOUND] for points in curves)
    yield Statement(
        "Figure 7",
        says="about 30 % of answers stay unchanged at epsilon = 0.1",
        printed="30 %",
        ours=f"{low:.1f} to {high:.1f} %",
        judged=inside(30, low, high, of="points with people, any points"),
        why="the paper does not say how its 100,000 queries are drawn: most points of the domain hold nobody, before"
        " and after",
    )


def _against_mondrian(known: Mapping[str, Figure], floor: float) -> Iterable[Statement]:
    pairs = [*_pairs(known["Figure 1"], "Mondrian", "dLink"), *_pairs(known["Figure 2"], "Mondrian", "dLink")]
    drop = max((_ratio(plain, merged, floor) for plain, merged in pairs), default=1.0)
    best = max(pairs, key=lambda pair: _ratio(pair[0], pair[1], floor))
    yield Statement(
        "Figures 1, 2",
        says="dLink lowers the attack accuracy, in some cases to less than a tenth",
        printed="x 10",
        ours=f"x {drop:.3g} ({best[0]:.2f} to {best[1]:.2f} %)",
        judged=at_least(10, drop, zero=1.0),
        why="shares below 3 in the number of people tried are read as that",
    )
    yield Statement(
        "Figures 1, 2", says="and never raises it", judged=together(*(less(merged, plain) for plain, merged in pairs))
    )
    for where, limit, what in (("3, 4", 0.8, "classification accuracy"), ("5, 6", 5.0, "query error")):
        first, second = (known.get(f"Figure {number}") for number in where.split(", "))
        both = [pair for figure in (first, second) if figure for pair in _pairs(figure, "Mondrian", "dLink")]
        if both:
            most = max(100 * abs(merged - plain) / plain for plain, merged in both)
            yield Statement(
                f"Figures {where}",
                says=f"dLink changes the {what} by little",
                printed=f"at most {limit} %",
                ours=f"{most:.2f} %",
                judged=at_most(limit, most),
                why="on the generated data two of three classes are merged away at d = 4, alpha = 0.8",
            )


def _against_privacy(known: Mapping[str, Figure]) -> Iterable[Statement]:
    for epsilon, printed in _ERROR.items():
        pairs = _pairs(known["Figure 8"], "dLink", f"DP {epsilon}")
        if pairs:
            least = min(100 * (1 - ours / noisy) for ours, noisy in pairs)
            yield Statement(
                "Figure 8",
                says=f"query error below that of DP at epsilon = {epsilon}",
                printed=f"at least {printed:g} %",
                ours=f"{least:.1f} %",
                judged=at_least(printed, least),
                why="relative errors of point queries near 100 % leave little room between methods",
            )
    figure = known["Figure 9"]
    for epsilon, printed in _DISTANCE.items():
        found = []
        for curve in figure.curves:
            table, _, method = curve.name.partition(", ")
            own = next((one for one in figure.curves if one.name == f"{table}, dLink"), None)
            if method == "DP" and own is not None:
                noisy = dict(curve.points)[float(epsilon)]
                found.append(100 * (1 - own.points[0][1] / noisy) if noisy else 0.0)
        if found:
            yield Statement(
                "Figure 9",
                says=f"distance below that of DP at epsilon = {epsilon}",
                printed=f"at least {printed} %",
                ours=f"{min(found):.1f} %",
                judged=at_least(printed, min(found)),
            )


def _parameters(known: Mapping[str, Figure], floor: float) -> Iterable[Statement]:
    for axis, small, large, risk, accuracy, error in (
        ("d", 3.0, 6.0, 30.0, 5.0, 40.0),
        ("alpha", 0.6, 0.9, 18.0, 3.5, 70.0),
    ):
        words = f"{axis} of at most {small:g} and at least {large:g}"
        parts = {name: _ends(known.get(f"Figure {name}, {axis}"), small, large) for name in ("10", "11 and 13", "12")}
        if parts["10"]:
            ratio = max(_ratio(max(low), min(high), floor) for low, high in parts["10"])
            yield Statement(
                "Figure 10",
                says=f"risk for {words}: as high as",
                printed=f"x {risk:g}",
                ours=f"x {ratio:.3g}",
                judged=at_least(risk, ratio, zero=risk / _FAR),
                why=_FEW,
            )
        if parts["11 and 13"]:
            fall = _mean([100 * (1 - _mean(high) / _mean(low)) for low, high in parts["11 and 13"]])
            yield Statement(
                "Figures 11, 13",
                says=f"accuracy falls between {words}",
                printed=f"{accuracy:g} %",
                ours=f"{fall:.2f} %",
                judged=near(accuracy, fall, within=1.0, factor=_FAR),
                why="merged classes still tell the tree what it uses; k alone, from 5 to 80, takes nothing either",
            )
        if parts["12"]:
            rise = _mean([100 * (_mean(high) / _mean(low) - 1) for low, high in parts["12"]])
            yield Statement(
                "Figure 12",
                says=f"query error rises between {words}",
                printed=f"{error:g} %",
                ours=f"{rise:.1f} %",
                judged=near(error, rise, within=10.0, factor=_FAR),
            )


def _ends(figure: Figure | None, small: float, large: float) -> list[tuple[list[float], list[float]]]:
    """For each curve: its values at small and at large x, where it has both."""
    found = []
    for curve in figure.curves if figure else ():
        low, high = [y for x, y in curve.points if x <= small], [y for x, y in curve.points if x >= large]
        if low and high:
            found.append((low, high))
    return found


def _times(known: Mapping[str, Figure]) -> Iterable[Statement]:
    pairs = _pairs(known["Figure 14"], "Mondrian", "dLink")
    extra = max((_ratio(merged - plain, plain) for plain, merged in pairs), default=0.0)
    yield Statement(
        "Figure 14",
        says="dLink adds very little to the time of Mondrian (read: less than that time again)",
        printed="below 1",
        ours=f"x {extra:.2f}",
        judged=at_most(1.0, extra),
        why="our Mondrian takes a fraction of a second",
    )
    if "Figure 15" in known:
        yield Statement(
            "Figure 15", says="time rises with d", judged=direction(known["Figure 15"].curves[0].points, "rises")
        )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
