"""What the dLink paper prints and says, judged on our curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.reproduce.figures import Figure, Statement
from sfumato.reproduce.verdict import Judged, at_least, at_most, direction, less, near, together

__all__ = ["dlink_statements"]

_ERROR = {"0.1": 7.0, "0.05": 22.0, "0.01": 44.0}
_DISTANCE = {"0.1": 21.03, "0.05": 56.51, "0.01": 76.54}
_NONE_LEFT = "no overlapping person was left with one value: the ratio has no upper end"


def dlink_statements(figures: tuple[Figure, ...], results: Mapping[str, Any]) -> tuple[Statement, ...]:
    """Return every statement whose curves are there."""
    known = {figure.name: figure for figure in figures}
    found = [*_by_k(known), *_unchanged(known)]
    if any(curve.name.endswith(", dLink") for curve in known["Figure 1"].curves):
        found += [*_against_mondrian(known), *_against_privacy(known), *_parameters(known), *_times(known)]
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


def _ratio(numerator: float, denominator: float) -> float:
    if denominator > 0:
        return numerator / denominator
    return math.inf if numerator > 0 else 1.0


def _by_k(known: Mapping[str, Figure]) -> Iterable[Statement]:
    rules = [direction(curve.points, "falls") for curve in known["Figure 2"].curves if any(y for _, y in curve.points)]
    if rules:
        yield Statement("Figure 2", says="attack accuracy falls towards 0 as k grows", judged=together(*rules))


def _unchanged(known: Mapping[str, Figure]) -> Iterable[Statement]:
    points = known["Figure 7"].curves[0].points
    at = dict(points)[0.1]
    yield Statement(
        "Figure 7", says="more answers stay unchanged for a larger epsilon", judged=direction(points, "rises")
    )
    yield Statement(
        "Figure 7",
        says="about 30 % of answers stay unchanged at epsilon = 0.1",
        printed="30 %",
        ours=f"{at:.1f} %",
        judged=near(30, at, within=5),
        why="queries of points with at least one person are asked; the paper does not say how its queries are drawn",
    )


def _against_mondrian(known: Mapping[str, Figure]) -> Iterable[Statement]:
    pairs = [*_pairs(known["Figure 1"], "Mondrian", "dLink"), *_pairs(known["Figure 2"], "Mondrian", "dLink")]
    drop = max((_ratio(plain, merged) for plain, merged in pairs), default=1.0)
    shown = ", ".join(f"{plain:.2f} -> {merged:.2f}" for plain, merged in pairs[:3])
    yield Statement(
        "Figures 1, 2",
        says="dLink lowers the attack accuracy, in some cases to less than a tenth",
        printed="x 10",
        ours=f"x {drop:.3g} ({shown})",
        judged=at_least(10, drop, zero=1.0),
        why=_NONE_LEFT if math.isinf(drop) else "",
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
                why="at k = 10 nearly every class fails d = 4, alpha = 0.8 on these data, so many are merged",
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


def _parameters(known: Mapping[str, Figure]) -> Iterable[Statement]:
    for axis, small, large, risk, accuracy, error in (
        ("d", 3.0, 6.0, 30.0, 5.0, 40.0),
        ("alpha", 0.6, 0.9, 18.0, 3.5, 70.0),
    ):
        parts = {}
        for name in ("10", "11 and 13", "12"):
            figure = known.get(f"Figure {name}, {axis}")
            points = figure.curves[0].points if figure else ()
            low, high = [y for x, y in points if x <= small], [y for x, y in points if x >= large]
            if low and high:
                parts[name] = (low, high)
        words = f"{axis} of at most {small:g} and at least {large:g}"
        if "10" in parts:
            ratio = _ratio(max(parts["10"][0]), min(parts["10"][1]))
            yield Statement(
                "Figure 10",
                says=f"risk for {words}: as high as",
                printed=f"x {risk:g}",
                ours=f"x {ratio:.3g}",
                judged=at_least(risk, ratio, zero=1.0),
                why=_NONE_LEFT if math.isinf(ratio) else "",
            )
        if "11 and 13" in parts:
            fall = 100 * (1 - _mean(parts["11 and 13"][1]) / _mean(parts["11 and 13"][0]))
            yield Statement(
                "Figures 11, 13",
                says=f"accuracy falls between {words}",
                printed=f"{accuracy:g} %",
                ours=f"{fall:.2f} %",
                judged=_either(accuracy, fall, 1.0),
            )
        if "12" in parts:
            rise = 100 * (_mean(parts["12"][1]) / _mean(parts["12"][0]) - 1)
            yield Statement(
                "Figure 12",
                says=f"query error rises between {words}",
                printed=f"{error:g} %",
                ours=f"{rise:.1f} %",
                judged=_either(error, rise, 10.0),
            )


def _either(printed: float, ours: float, within: float) -> Judged:
    """A printed change: agrees within a tolerance, same shape if it goes the same way."""
    told = near(printed, ours, within=within)
    return told if told.word == "agrees" else less(0.0, ours)


def _times(known: Mapping[str, Figure]) -> Iterable[Statement]:
    pairs = _pairs(known["Figure 14"], "Mondrian", "dLink")
    extra = max((_ratio(merged - plain, plain) for plain, merged in pairs), default=0.0)
    yield Statement(
        "Figure 14",
        says="dLink adds very little to the time of Mondrian (read: less than that time again)",
        printed="below 1",
        ours=f"x {extra:.2f}",
        judged=at_most(1.0, extra),
        why="our Mondrian is compiled and takes a fraction of a second, so the same merging weighs more",
    )
    if "Figure 15" in known:
        yield Statement(
            "Figure 15", says="time rises with d", judged=direction(known["Figure 15"].curves[0].points, "rises")
        )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
