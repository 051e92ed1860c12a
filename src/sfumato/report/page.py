"""`report`: a frontier as one self-contained page, as markdown or as JSON."""

from __future__ import annotations

import json
import os
import tempfile
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.errors import Infeasible, ParameterError
from sfumato.frontier import Frontier, Recommendation
from sfumato.release import Release
from sfumato.report.charts import frontier_chart, javascript, query_chart, sizes_chart
from sfumato.report.story import Audience, public_story, steward_story

__all__ = ["LARGEST_PAGE", "report"]

LARGEST_PAGE = 1_500_000  # bytes; above it only efficient releases are shown in full


def report(
    front: Frontier,
    path: str | PathLike[str],
    *,
    audience: Audience = "steward",
    recommendation: Recommendation | None = None,
    release: Release | None = None,
    command: str = "",
    source: tuple[str, str] = ("data.csv", "schema.toml"),
) -> Path:
    """Write a report; the ending decides the form: .html, .md or .json. Returns the path.

    audience        "steward": all figures, confidential. "public": nothing computed from the original; with `release`
                    also what the published release itself shows.
    recommendation  what to mark; the knee unless given.
    command         the command that made the frontier, `source` the names of the data and schema files in commands.
    """
    if audience not in ("steward", "public"):
        raise ParameterError("audience", audience, 'must be "steward" or "public"')
    target = Path(path)
    writers = {".html": _html, ".htm": _html, ".md": _markdown, ".json": _json}
    if target.suffix.lower() not in writers:
        raise ParameterError("path", target.name, "must end with .html, .md or .json")
    if audience == "public":
        story = public_story(front, release)
    else:
        story = steward_story(front, recommendation or _knee(front), command=command, source=source)
    text = writers[target.suffix.lower()](story)
    if writers[target.suffix.lower()] is _html and len(text.encode()) > LARGEST_PAGE:
        text = _html({**story, "short": True})
    _write(target, text, mode=0o644 if audience == "public" else 0o600)
    return target


def _knee(front: Frontier) -> Recommendation | None:
    try:
        return front.recommend()
    except Infeasible:
        return None  # nothing could be made; the page says why


def _html(story: dict[str, Any]) -> str:
    steward = story["audience"] == "steward"
    shown = bool(story["plotted"]) if steward else story["release"] is not None
    charts: dict[str, Any] = {}
    rows: dict[str, Any] = {}
    if shown:
        charts["sizes"] = sizes_chart()
        rows["published"] = {} if steward else {"sizes": story["release"]["sizes"]}
    if shown and steward:
        charts["frontier"], charts["queries"] = frontier_chart(story), query_chart()
        full = [one for one in story["releases"] if one["efficient"] or one["recommended"] or not story["short"]]
        rows = {str(one["number"]): {"sizes": one["sizes"], "queries": one["queries"]} for one in full}
    return _render(
        "page.html.j2",
        story=story,
        version=__version__,
        bundle=javascript() if shown else "",
        style=_text("page.css"),
        script=_text("page.js") if shown else "",
        charts=_embedded({"charts": charts, "rows": rows}),
    )


def _embedded(data: Any) -> str:
    """Return JSON that can not end the script element it stands in."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _markdown(story: dict[str, Any]) -> str:
    return _render("page.md.j2", story=story, version=__version__)


def _json(story: dict[str, Any]) -> str:
    return json.dumps({"sfumato": __version__, **story}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _render(template: str, **values: Any) -> str:
    from jinja2 import DictLoader, Environment, StrictUndefined, select_autoescape

    texts = {name: _text(name) for name in ("page.html.j2", "page.md.j2", "parts.html.j2")}
    there = Environment(
        loader=DictLoader(texts),
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    there.filters["cell"] = lambda text: str(text).replace("|", "\\|").replace("\n", " ")
    return there.get_template(template).render(**values)


def _text(name: str) -> str:
    return (files("sfumato.report") / "templates" / name).read_text("utf-8")


def _write(target: Path, text: str, *, mode: int) -> None:
    """Write the whole file or none of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    Path(name).chmod(mode)
    Path(name).replace(target)
