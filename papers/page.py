"""One self-contained page for each paper: verdicts first, then every figure with what was said about it."""

# ruff: noqa: E501  (the markup of the page)

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from papers.framework import Curve, Figure, Reproduction
from sfumato.errors import ParameterError
from sfumato.pages.charts import COLOURS
from sfumato.pages.page import embedded, javascript, page_style, template_text
from sfumato.release.atomic import write_whole
from sfumato.version import __version__

__all__ = ["curve_colours", "figure_chart", "reproduction_page"]

_STYLE = """
.agrees { color: var(--good); font-weight: 600; } .same { color: var(--soft); font-weight: 600; }
.differs { color: var(--accent); font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .8rem .45rem 0; border-top: 1px solid var(--faint); }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.because { color: var(--soft); font-size: .86rem; } .wide { overflow-x: auto; } figure { margin: 1rem 0 0; }
.plot, .plot.vega-embed { display: block; width: 100%; }
@media (max-width: 37.5rem) {
  .stacked, .stacked tbody, .stacked tr, .stacked td { display: block; }
  .stacked thead { position: absolute; left: -99rem; }
  .stacked tr { border-top: 1px solid var(--faint); padding: .7rem 0; }
  .stacked td { border: 0; padding: .1rem 0; white-space: normal; }
  .stacked td:empty { display: none; }
  .stacked td[data-name]::before { content: attr(data-name) ": "; color: var(--soft); font-size: .84rem; }
}
"""

_TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ paper.title }}: reproduced by Sfumato</title><style>{{ style | safe }}</style></head><body>
<header><p class="kind">Sfumato {{ version }}, python -m papers {{ paper.paper }}{{ how }}</p>
<h1>{{ paper.title }}</h1>
<p class="facts">{% for word, many in tally.items() %}<span class="{{ word.split(" ")[0] }}">{{ many }} {{ word }}</span>{{ ", " if not loop.last }}{% endfor %}.
Verdicts are computed by rules, not written by hand. <em>Agrees</em>: a printed number is met within the tolerance shown.
<em>Same shape</em>: no number is printed, or it is missed by no more than the factor shown, and order or direction are as the paper
says. <em>Differs</em>: neither.</p></header>
<main>
{% if paper.size == "tiny" %}<p class="seal">A test run on very little data: no verdict here means anything.</p>{% endif %}
<h2>Printed numbers and statements</h2>
<div class="wide" tabindex="0"><table class="stacked"><thead><tr><th>Where</th><th>What the paper says</th><th>Printed</th><th>Ours</th><th>Verdict</th></tr></thead><tbody>
{% for one in paper.statements %}<tr><td class="soft">{{ one.where }}</td><td>{{ one.says }}</td><td class="number" data-name="Printed">{{ one.printed }}</td>
<td class="number" data-name="Ours">{{ one.ours }}</td><td><span class="{{ one.judged.word.split(" ")[0] }}">{{ one.judged.word }}</span>
<div class="because">{{ "because " if one.judged.word == "differs" }}{{ one.judged.because }}.{% if one.why and one.judged.word != "agrees" %} {{ one.why[0] | upper }}{{ one.why[1:] }}.{% endif %}</div></td></tr>
{% endfor %}</tbody></table></div>
{% for figure in paper.figures %}<h2>{{ figure.name }}: {{ figure.about }}</h2>
<figure class="card"><div class="plot" data-chart="{{ loop.index0 }}" data-release="" role="img" aria-label="{{ figure.name }}, {{ figure.about }}"></div></figure>
{% if figure.note %}<p class="soft">{{ figure.note }}</p>{% endif %}
<details><summary>Numbers</summary><div class="wide" tabindex="0"><table><thead><tr><th>Curve</th><th>{{ figure.x }}</th><th>{{ figure.y }}</th></tr></thead><tbody>
{% for curve in figure.curves %}{% for x, y in curve.points[:60] %}<tr><td>{{ curve.name }}</td><td class="number">{{ "%.5g" | format(x) }}</td><td class="number">{{ "%.5g" | format(y) }}</td></tr>
{% endfor %}{% endfor %}</tbody></table></div></details>
{% endfor %}
<h2>How this was made</h2><ul>{% for note in paper.notes %}<li>{{ note }}</li>{% endfor %}
{% if paper.data %}<li>Data given: {{ paper.data }}. Every figure is a statistic of it: where it is confidential, so is this page.</li>{% endif %}</ul>
</main>
<script type="application/json" id="held">{{ held | safe }}</script>
<script>{{ bundle | safe }}</script><script>{{ script | safe }}</script></body></html>
"""


def reproduction_page(found: Reproduction, path: str | PathLike[str]) -> Path:
    """Write the page of a reproduction: .html, or .json for the same figures as data. Returns the path."""
    from jinja2 import Environment, StrictUndefined

    target = Path(path)
    if target.suffix == ".json":
        write_whole(
            target,
            json.dumps({"sfumato": __version__, **found.to_json()}, indent=2) + "\n",
            mode=0o600 if found.data else 0o644,
        )
        return target
    if target.suffix not in (".html", ".htm"):
        raise ParameterError("path", target.name, "must end with .html or .json")
    colours = curve_colours(found.figures)
    charts = {
        str(at): figure_chart(figure, colours=colours, along=_along(figure, found.figures))
        for at, figure in enumerate(found.figures)
    }
    there = Environment(autoescape=True, undefined=StrictUndefined)
    text = there.from_string(_TEMPLATE).render(
        paper=found,
        tally=found.tally(),
        how="" if found.size == "full" else f" --{found.size}",
        version=__version__,
        style=page_style() + _STYLE,
        held=embedded({"charts": charts, "rows": {}}),
        bundle=javascript(),
        script=template_text("page.js"),
    )
    write_whole(target, text, mode=0o600 if found.data else 0o644)
    return target


def curve_colours(figures: Sequence[Figure]) -> dict[str, str]:
    """Return one colour for each name over the whole page, so that a colour does not change its meaning.

    `l-diversity, generalized` has the colour of `l-diversity` where both do not stand in one figure. Curves of one
    figure share a colour only when all are taken.
    """
    found: dict[str, int] = {}
    for name in dict.fromkeys(curve.name for figure in figures for curve in figure.curves):
        together = [[curve.name for curve in figure.curves] for figure in figures]
        taken = {found[one] for names in together if name in names for one in names if one in found}
        kin = [found[stem] for stem in [name.partition(", ")[0]] if stem in found]
        unused = [at for at in range(COLOURS) if at not in found.values()]
        free = [at for at in (*kin, *unused, *range(COLOURS)) if at not in taken]
        found[name] = free[0] if free else len(found) % COLOURS
    return {name: f"@c{at}" for name, at in found.items()}


def _along(figure: Figure, figures: Sequence[Figure]) -> tuple[float, float] | None:
    """Return the ends of the x axis: the same for all figures that have the same thing on it."""
    alike = [one for one in figures if (one.x, one.log_x) == (figure.x, figure.log_x)]
    places = [row["x"] for one in alike for curve in one.curves for row in _rows(curve, one)]
    return (min(places), max(places)) if places and min(places) < max(places) else None


def figure_chart(
    figure: Figure, *, colours: Mapping[str, str], along: tuple[float, float] | None = None
) -> dict[str, Any]:
    """Return the specification of one figure: lines with points, dots alone, dotted reference lines."""
    import altair as alt

    names = [curve.name for curve in figure.curves]
    ends = {} if along is None else {"domain": list(along)}
    x = alt.X("x:Q", title=figure.x, scale=_scale(alt, log=figure.log_x, **ends))
    y = alt.Y("y:Q", title=figure.y, scale=_scale(alt, log=figure.log_y))
    colour = alt.Color(
        "curve:N", title=None, sort=names, scale=alt.Scale(domain=names, range=[colours[name] for name in names])
    )
    tooltips = [alt.Tooltip("curve:N"), alt.Tooltip("x:Q", format=".4~g"), alt.Tooltip("y:Q", format=".4~g")]
    layers = []
    for kind in ("level", "line", "dots"):
        rows = [row for curve in figure.curves if curve.kind == kind for row in _rows(curve, figure)]
        if not rows:
            continue
        base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, color=colour, tooltip=tooltips)
        if kind == "level":
            layers.append(base.mark_line(strokeDash=[4, 4], strokeWidth=1.4))
            continue
        if kind == "line":
            layers.append(base.mark_line(strokeWidth=1.8).encode(order=alt.Order("place:Q")))
        layers.append(base.mark_point(filled=True, size=45 if kind == "line" else 30, opacity=0.85))
    spec: dict[str, Any] = alt.layer(*layers).properties(width="container", height=340).to_dict()
    spec.pop("config", None)
    return spec


def _scale(alt: Any, *, log: bool, **ends: Any) -> Any:
    """An axis that need not begin at 0; a logarithmic one cannot."""
    return alt.Scale(type="log", **ends) if log else alt.Scale(zero=False, nice=True, **ends)


def _rows(curve: Curve, figure: Figure) -> list[dict[str, Any]]:
    """Points that can be drawn: a logarithmic axis has no place for 0."""
    return [
        {"curve": curve.name, "x": x, "y": y, "place": at}
        for at, (x, y) in enumerate(curve.points)
        if not (figure.log_x and x <= 0) and not (figure.log_y and y <= 0)
    ]
