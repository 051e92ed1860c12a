# ruff: noqa: INP001
"""Draws frontier.svg beside this file: the releases of `sfumato demo` by privacy loss and utility loss.

Adult is public, so its figures may be shown; the figures of your own table are confidential.
Takes about a minute: `python docs/images/draw_frontier.py`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

import sfumato as sf
from sfumato.cli.demo import QUASI

HERE = Path(__file__).parent
NAMES = {"Mondrian": "Mondrian", "Bucketize": "Buckets", "DiffGen": "DiffGen (differential privacy)"}


def frontier() -> dict[str, Any]:
    """Compare the releases of the demo and return the picture's rows and marks."""
    table = sf.datasets.adult().with_roles(quasi=QUASI, sensitive="occupation", target=())
    private = sf.sweep(sf.DiffGen, epsilon=["0.5", 1, 2, 4])
    front = sf.frontier(table, sf.sweep("tradeoff", "tradeoff-buckets", private), repeats=3, panels=False)
    best = front.recommend().point.number
    return {
        "rows": [
            {
                "method": NAMES[type(point.mechanism).__name__],
                "privacy": round(point.privacy.mean, 4),
                "utility": round(point.utility.mean, 5),
                "efficient": point.efficient,
                "chosen": point.number == best,
            }
            for point in front.points
            if not point.failed
        ],
        "ends": {"raw": front.anchors.raw, "suppressed": front.anchors.suppressed},
    }


def chart(rows: list[dict[str, Any]], ends: dict[str, Any]) -> alt.LayerChart:
    """Draw points, the efficient line, the recommended release and the two ends of the table."""
    x = alt.X(
        "privacy:Q",
        title="privacy loss of the worst-placed person, nats (less is better)",
        scale=alt.Scale(domain=[0, 0.84]),
    )
    y = alt.Y("utility:Q", title="utility loss over large populations, nats (less is better)")
    colour = alt.Color("method:N", title=None, legend=alt.Legend(orient="top"), sort=list(NAMES.values()))
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    points = base.mark_point(filled=True, size=60).encode(
        color=colour, opacity=alt.condition("datum.efficient", alt.value(1), alt.value(0.45))
    )
    line = (
        base.transform_filter("datum.efficient")
        .mark_line(interpolate="step-after", color="#444444", strokeWidth=1.3)
        .encode(order="privacy:Q")
    )
    ring = base.transform_filter("datum.chosen")
    marks = [
        {"privacy": ends["suppressed"][0], "utility": ends["suppressed"][1], "name": "all quasi-identifiers removed"},
        {"privacy": ends["raw"][0], "utility": ends["raw"][1], "name": "the table as it is"},
    ]
    two = alt.Chart(alt.Data(values=marks)).encode(x=x, y=y)
    return (
        alt.layer(
            line,
            points,
            ring.mark_point(size=380, filled=False, color="#b3261e", strokeWidth=2, opacity=1),
            ring.mark_text(align="left", dx=14, dy=-12, color="#b3261e", fontWeight=600, fontSize=13).encode(
                text=alt.value("recommended")
            ),
            two.mark_point(shape="cross", filled=True, size=90, color="#222222", opacity=1),
            two.mark_text(align="left", dx=9, dy=-7).encode(text="name:N"),
        )
        .properties(width=620, height=330, background="white")
        .configure_axis(grid=False, labelFontSize=12, titleFontSize=12)
        .configure_legend(labelFontSize=12, symbolSize=90)
        .configure_text(fontSize=12)
    )


def main() -> None:
    """Write the picture."""
    drawn = frontier()
    svg: str = vl_convert.vegalite_to_svg(json.dumps(chart(drawn["rows"], drawn["ends"]).to_dict()))
    # Names for readers of the file only; without them it is half as large and the same in every run.
    svg = re.sub(r' (aria-[a-z]+|role)="[^"]*"', "", svg)
    title = "<title>Releases of Adult by privacy loss and utility loss, with the efficient ones joined</title>"
    svg = re.sub(r"(<svg [^>]*>)", rf"\1{title}", svg, count=1)
    (HERE / "frontier.svg").write_text(svg + "\n", "utf-8")


if __name__ == "__main__":
    main()
