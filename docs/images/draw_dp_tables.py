# ruff: noqa: INP001, T201
"""Draws dp-tables.svg beside this file and prints the tables of docs/dp-tables.md, from benchmarks/results.

Run it after `benchmarks/bench_dp_tables.py --json benchmarks/results/dp_tables.json`.
The background is transparent and the writing mid-grey, so that one file serves light and dark pages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "benchmarks" / "results" / "dp_tables.json"
DRAWN = {"adult": (0.74, 0.88), "census income": (0.74, 0.96), "affairs": (0.64, 0.74)}
COLOURS = {
    "target-rows": "#3f88c5",
    "diffgen": "#2a9d76",
    "marginals": "#e07b1a",
    "floor": "#8a6bbf",
    "swift": "#c2334d",
    "mst": "#a08a2c",
}
RIVALS = ("swift", "mst")  # of google/dpsynth, with a delta; drawn with dashes
NAMES = {
    "target-rows": "TargetRows",
    "diffgen": "DiffGen.recommended",
    "marginals": "Marginals",
    "floor": "floor: noisy naive Bayes",
    "swift": "SWIFT, delta 1e-5",
    "mst": "MST, delta 1e-5",
}
EPSILONS = ("0.1", "0.25", "0.5", "1")
WIDTH, HEIGHT, LEFT, TOP, GAP = 200, 220, 56, 108, 62
STYLE = (
    'text { font: 14px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #7a7a7a } .axis { stroke: #7a7a7a }'
)


def figure(lines: list[dict[str, Any]], table: str, who: str, epsilon: str, kind: str) -> list[float] | None:
    """Return mean and half-width; the mean alone where there was one run."""
    held = next(of(lines, table, who, epsilon), None)
    return None if held is None else held["figures"].get(kind)


def of(lines: list[dict[str, Any]], table: str, who: str, epsilon: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the lines of a method on a table."""
    asked = (table, who)
    return (x for x in lines if (x["table"], x["who"]) == asked and epsilon in (None, x["epsilon"]))


def splits(lines: list[dict[str, Any]], table: str, who: str) -> str:
    """Say on how many splits a method was measured, the fewest and the most."""
    found = sorted({line["splits"] for line in of(lines, table, who)})
    numbers = "-".join(str(one) for one in dict.fromkeys((found[0], found[-1])))
    return f"{numbers} {'split' if found[-1] == 1 else 'splits'}"


def measured_on(lines: list[dict[str, Any]], who: str) -> str:
    """Say on which of the tables drawn, and on how many splits, a method was measured."""
    found = [f"{table}: {splits(lines, table, who)}" for table in DRAWN if any(of(lines, table, who))]
    return "; ".join(found)


def panel(lines: list[dict[str, Any]], table: str, left: int) -> list[str]:
    """Draw one table: accuracy by epsilon, with intervals; the ceiling is a dashed line."""
    low, high = DRAWN[table]

    def across(epsilon: str) -> float:
        return left + 12 + (WIDTH - 24) * math.log(float(epsilon) / 0.1) / math.log(10)

    def down(value: float) -> float:
        return TOP + HEIGHT * (high - value) / (high - low)

    drawn = [f'<text x="{left}" y="{TOP - 12}" font-weight="600">{table}</text>']
    drawn.append(f'<path class="axis" fill="none" d="M{left} {TOP}V{TOP + HEIGHT}H{left + WIDTH}"/>')
    drawn += [
        f'<text x="{left - 6}" y="{down(value) + 5:.1f}" text-anchor="end">{value:.3g}</text>'
        for value in (low, (low + high) / 2, high)
    ]
    drawn += [
        f'<text x="{across(epsilon):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{epsilon}</text>'
        for epsilon in EPSILONS
    ]
    top = figure(lines, table, "ceiling", "none", "accuracy")
    if top:
        y = down(top[0])
        drawn.append(f'<path class="axis" stroke-dasharray="5 4" d="M{left} {y:.1f}H{left + WIDTH}"/>')
    for who, colour in COLOURS.items():
        found = [(across(e), figure(lines, table, who, e, "accuracy")) for e in EPSILONS]
        points = [(x, one[0], one[1:]) for x, one in found if one]
        if not points:
            continue
        path = " ".join(f"{x:.1f},{down(mean):.1f}" for x, mean, _ in points)
        dashes = ' stroke-dasharray="3 3"' if who in RIVALS else ""
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        for x, mean, halves in points:
            for half in halves:
                ends = f"M{x:.1f} {down(min(mean + half, high)):.1f}V{down(max(mean - half, low)):.1f}"
                drawn.append(f'<path d="{ends}" stroke="{colour}"/>')
            drawn.append(f'<circle cx="{x:.1f}" cy="{down(mean):.1f}" r="3.5" fill="{colour}"/>')
    return drawn


def picture(lines: list[dict[str, Any]]) -> str:
    """Return the whole drawing."""
    wide = LEFT + len(DRAWN) * (WIDTH + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {TOP + HEIGHT + 46}" role="img">',
        "<title>Accuracy by epsilon on three tables</title>",
        f"<style>{STYLE}</style>",
    ]
    for y, group in (
        (20, [who for who in COLOURS if who not in RIVALS]),
        (44, [who for who in RIVALS if any(any(of(lines, table, who)) for table in DRAWN)]),
    ):
        x = LEFT
        for who in group:
            name = f"{NAMES[who]} ({measured_on(lines, who)})" if who in RIVALS else NAMES[who]
            parts.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{COLOURS[who]}"/>')
            parts.append(f'<text x="{x + 10}" y="{y + 5}">{name}</text>')
            x += 40 + 8 * len(name)
    parts.append(f'<text x="{LEFT}" y="72">Accuracy by epsilon; bars: 95 % intervals; dashed: without privacy</text>')
    for at, table in enumerate(DRAWN):
        parts += panel(lines, table, LEFT + at * (WIDTH + GAP))
    return "\n".join([*parts, "</svg>", ""])


def rows(lines: list[dict[str, Any]], kind: str, methods: tuple[str, ...]) -> list[str]:
    """Return a table in Markdown: one line for each table and method."""
    told = [f"| table (rows, predictors; splits) | {kind} | 0.1 | 0.25 | 0.5 | 1 |", "|---|---|---:|---:|---:|---:|"]
    for table in dict.fromkeys(line["table"] for line in lines):
        about = next(of(lines, table, "target-rows"))
        mark = {"held out": "*", "new": "**"}.get(about["held"], "").replace("*", "\\*")
        name = f"{table}{mark} ({about['rows']:,}, {about['predictors']}; {about['splits']})"
        for who in methods:
            found = [figure(lines, table, who, epsilon, kind) for epsilon in EPSILONS]
            if any(found):
                cells = " | ".join(cell(one) for one in found)
                more = f" ({splits(lines, table, who)})" if who in RIVALS else ""
                told.append(f"| {name} | {NAMES[who].split(':')[0]}{more} | {cells} |")
                name = ""
        top = figure(lines, table, "ceiling", "none", kind)
        told.append(f"| | ceiling | {top[0]:.3f} | | | |" if top else "")
    return told


def cell(found: list[float] | None) -> str:
    """Write mean and half-width; one run has none."""
    if not found:
        return "-"
    return " ± ".join(f"{one:.3f}" for one in found)


def main() -> None:
    """Draw, and print."""
    lines = json.loads(RESULTS.read_text("utf-8"))
    (HERE / "dp-tables.svg").write_text(picture(lines), "utf-8")
    print("\n".join(rows(lines, "accuracy", ("target-rows", "floor"))))
    some = [line for line in lines if line["table"] in DRAWN]
    for kind in ("accuracy", "balanced", "auc"):
        print("\n".join(["", *rows(some, kind, tuple(COLOURS))]))


if __name__ == "__main__":
    main()
