# ruff: noqa: INP001
"""Draws frontier.svg beside this file: the releases of `sfumato demo` by inference gain and utility loss.

Adult is public, so its figures may be shown; the figures of your own table are confidential.
Takes two minutes: `python docs/images/draw_frontier.py`. The background is transparent and the writing mid-grey, so
that one file serves light and dark pages; the letters are large enough for a telephone. As in the report, hollow marks
are differentially private, squares are buckets (membership is public), the dashed line is the efficient one without
buckets, and releases far beyond the others are left out of the picture.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.cli.demo import AXES

HERE = Path(__file__).parent
# Li & Li 2009, table 1: six quasi-identifiers and the occupation.
QUASI = ("age", "workclass", "education", "marital-status", "race", "sex")
NAMES = {"Mondrian": "Mondrian", "Bucketize": "Buckets", "DiffGen": "DiffGen"}
LEGEND = {
    "Mondrian": "Mondrian",
    "Buckets": "Buckets: membership is public, so left out",
    "DiffGen": "Differentially private",
}
LEFT, TOP, WIDTH, HEIGHT = 66, 112, 480, 300
MOST = (0.128, 0.0136)
COLOURS = {"Mondrian": "#3f88c5", "Buckets": "#e07b1a", "DiffGen": "#2a9d76"}
STYLE = """\
text { font: 17px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #7a7a7a }
.axis, .front, .lead { fill: none; stroke: #7a7a7a }
.axis { stroke-width: 1 }
.front { stroke-width: 1.6 }
.without { stroke-dasharray: 6 4 }
.lead { stroke: #d64a3b; stroke-width: 1.4 }
.ring { fill: none; stroke: #d64a3b; stroke-width: 2.4 }
.chosen { fill: #d64a3b; font-weight: 600 }
.beaten { opacity: .42 }
.end { stroke: #7a7a7a; stroke-width: 3 }"""


def frontier() -> dict[str, Any]:
    """Compare the releases of the demo and return the picture's rows and ends."""
    table = sf.datasets.adult().with_roles(quasi=QUASI, sensitive="occupation", target=())
    policy = sf.Policy()
    points = policy.strengthened(sf.sweep("standard"))
    return rows_of(sf.frontier(table, points, privacy=AXES, policy=policy, repeats=2, panels=False))


def rows_of(front: Any) -> dict[str, Any]:
    """Return the picture's rows."""
    best = front.recommend().point
    without = {point.number for point in front.efficient_without_buckets}
    return {
        "rows": [
            {
                "method": NAMES.get(type(point.mechanism).__name__, "Mondrian"),
                "privacy": round(point.privacy.mean, 4),
                "utility": round(point.utility.mean, 5),
                "efficient": point.efficient,
                "without": point.number in without,
                "chosen": point.number == best.number,
            }
            for point in front.points
            if not point.failed and point.utility.mean <= MOST[1]
        ],
        "left_out": sum(point.utility.mean > MOST[1] for point in front.points if not point.failed),
    }


def at(privacy: float, utility: float) -> tuple[float, float]:
    """Return where a release stands in the picture."""
    return round(LEFT + WIDTH * privacy / MOST[0], 1), round(TOP + HEIGHT * (1 - utility / MOST[1]), 1)


def mark(method: str, x: float, y: float, kind: str = "") -> str:
    """Return one mark: a shape for each method, so that colour is not needed to tell them apart; noisy ones hollow."""
    filled = f'fill="{COLOURS[method]}"'
    if method == "DiffGen":
        filled = f'fill="none" stroke="{COLOURS[method]}" stroke-width="2"'
    style = filled + (f' class="{kind}"' if kind else "")
    if method == "Mondrian":
        return f'<circle cx="{x}" cy="{y}" r="5" {style}/>'
    if method == "Buckets":
        return f'<rect x="{x - 4.6:.1f}" y="{y - 4.6:.1f}" width="9.2" height="9.2" {style}/>'
    return f'<path d="M{x},{y - 6.4:.1f}l5.4,6.4l-5.4,6.4l-5.4,-6.4z" {style}/>'


def words(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    """Return a piece of writing."""
    where = f'x="{x}" y="{y}"' + (f' text-anchor="{anchor}"' if anchor != "start" else "")
    return f"<text {where}" + (f' class="{kind}"' if kind else "") + f">{text}</text>"


def axes() -> list[str]:
    """Return both axes with a few ticks, and their names."""
    x, y = at(0, 0)
    parts = [f'<path class="axis" d="M{x},{TOP}V{y}H{LEFT + WIDTH}"/>']
    for privacy in (0, 0.04, 0.08, 0.12):
        here = at(privacy, 0)[0]
        parts += [f'<path class="axis" d="M{here},{y}v5"/>', words(here, y + 22, f"{privacy:g}", anchor="middle")]
    for utility in (0, 0.005, 0.01):
        here = at(0, utility)[1]
        parts += [f'<path class="axis" d="M{x},{here}h-5"/>', words(x - 9, here + 5, f"{utility:g}", anchor="end")]
    parts.append(
        words(LEFT + WIDTH, y + 46, "what an attacker gains on people in the table &#8594; worse", anchor="end")
    )
    parts.append(words(4, TOP - 12, "&#8593; worse: utility loss over large populations"))
    return parts


def stepped(rows: list[dict[str, Any]], chosen: str, kind: str) -> str:
    """Return the stepped line through the rows that are marked so."""
    line = sorted((at(row["privacy"], row["utility"]) for row in rows if row[chosen]), key=lambda one: one[0])
    steps = "".join(f"H{x}V{y}" for x, y in line[1:])
    return f'<path class="{kind}" d="M{line[0][0]},{line[0][1]}{steps}"/>'


def picture(rows: list[dict[str, Any]], left_out: int) -> str:
    """Return the whole picture."""
    parts = axes()
    parts += [stepped(rows, "efficient", "front"), stepped(rows, "without", "front without")]
    # What is drawn last lies on top: the recommended release, then what buckets would cover.
    for row in sorted(rows, key=lambda row: (row["chosen"], row["without"], row["efficient"])):
        pale = not (row["efficient"] or row["without"])
        parts.append(mark(row["method"], *at(row["privacy"], row["utility"]), "beaten" if pale else ""))
    chosen = next(row for row in rows if row["chosen"])
    x, y = at(chosen["privacy"], chosen["utility"])
    there = at(0.028, 0.0062)
    parts += [
        f'<circle class="ring" cx="{x}" cy="{y}" r="10"/>',
        f'<path class="lead" d="M{x + 7.5},{y - 6.6}L{there[0]},{there[1]}"/>',
        words(there[0] + 4, there[1] - 2, "recommended", kind="chosen"),
    ]
    if left_out:
        parts.append(words(LEFT + WIDTH, TOP + 6, f"{left_out} releases lie higher", anchor="end"))
    for method, (x, y) in zip(LEGEND, ((LEFT + 6, 16), (LEFT + 6, 41), (LEFT + 6, 66)), strict=True):
        parts += [mark(method, x, y), words(x + 12, y + 5, LEGEND[method])]
    parts += [
        f'<path class="front without" d="M{LEFT + 225},16h24"/>',
        words(LEFT + 256, 21, "efficient without buckets"),
    ]
    parts += [f'<path class="front" d="M{LEFT + 110},16h24"/>', words(LEFT + 141, 21, "efficient")]
    return "\n".join(parts)


def main() -> None:
    """Write the picture."""
    drawn = frontier()
    size = f"{LEFT + WIDTH + 14} {TOP + HEIGHT + 56}"
    title = "Releases of Adult by what an attacker gains and by utility loss, with the efficient ones joined"
    wide, high = size.split()
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{wide}" height="{high}" role="img">'
    body = picture(drawn["rows"], drawn["left_out"])
    svg = f"{head}\n<title>{title}</title>\n<style>\n{STYLE}\n</style>\n{body}\n</svg>\n"
    (HERE / "frontier.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
