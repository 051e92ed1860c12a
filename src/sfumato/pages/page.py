"""`report`: a frontier as one self-contained page, as markdown or as JSON."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from sfumato.errors import Infeasible, ParameterError, count_of
from sfumato.frontiers import Frontier, Recommendation
from sfumato.pages.charts import legend_of
from sfumato.pages.contents import Audience, public_contents, steward_contents
from sfumato.release import Release
from sfumato.release.atomic import write_whole
from sfumato.release.store import Allowed, refuse_unsavable
from sfumato.version import __version__
from sfumato.visible import code_span, markdown, visible

# What every page is made of: the drawing library, and texts that come with the package.

_TEMPLATES = ("page.html.j2", "page.md.j2", "parts.html.j2", "map.html.j2")
_PERCENT = re.compile(r"(\d) %")


@cache
def javascript() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, taken from the installed vl-convert."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub knows no default
    return bundle.replace("</script", "<\\/script")


def template_text(name: str) -> str:
    """Return a style, script or template by its file name."""
    return (files("sfumato.pages") / "templates" / name).read_text("utf-8")


def page_style() -> str:
    """Return the style of a page that stands alone; its colours and typefaces are those of the web app, too."""
    return template_text("colors.css") + template_text("page.css")


def embedded(data: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


class _Written(str):
    """A piece of Markdown, or a command in a page, that is written already."""

    __slots__ = ()


def _markdown(value: Any) -> Any:
    """Text printed by a Markdown template is escaped unless a filter produced it."""
    return value if isinstance(value, _Written) else markdown(value)


def _unbroken(value: Any) -> Any:
    """What an HTML template prints keeps a number and its percent sign in one line; commands stay as they are typed."""
    plain = isinstance(value, str) and not isinstance(value, _Written) and not hasattr(value, "__html__")
    return _PERCENT.sub("\\1\N{NO-BREAK SPACE}%", value) if plain else value


def rendered(template: str, **values: Any) -> str:
    """Fill in a template; everything given is escaped, in HTML and in Markdown."""
    from jinja2 import DictLoader, Environment, StrictUndefined, select_autoescape

    texts = {name: template_text(name) for name in _TEMPLATES}
    there = Environment(
        loader=DictLoader(texts),
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_markdown if template.endswith(".md.j2") else _unbroken,
    )
    there.globals["count_of"] = count_of
    there.filters["typed"] = _Written
    there.filters["code"] = lambda text: _Written(code_span(text))
    there.filters["block"] = lambda text: _Written("\n".join(f"    {visible(line)}" for line in str(text).split("\n")))
    return there.get_template(template).render(**values)


REPORT_ENDINGS = (".html", ".htm", ".md", ".json")
LARGEST_PAGE = 1_500_000  # bytes; above it only efficient releases and those of the card are shown in full


def report(
    front: Frontier | None,
    path: str | PathLike[str],
    *,
    audience: Audience = "steward",
    recommendation: Recommendation | Infeasible | None = None,
    release: Release | None = None,
    command: str = "",
    source: tuple[str, str] = ("data.csv", "schema.toml"),
    folder: str = "out/",
    membership_public: bool = False,
    contact: str = "",
    **allowed: Unpack[Allowed],
) -> Path:
    """Write a report; the ending decides the form: .html, .md or .json. Returns the path.

    audience        "steward": all figures, confidential. "public": nothing computed from the original; with `release`
                    also what the published release itself shows.
    front           None for the public page of a release that was made without a comparison.
    recommendation  what to mark; the error of `Frontier.recommend` where it found nothing; the knee unless given.
    command         the command that made the frontier, `source` the names of the data and schema files in commands.
    membership_public  whether buckets took part in the choice; for the knee, and stated in the public report.
    contact         whom to ask, on the public page.
    folder          the name of the folder that holds the published release, in the command that checks it.
    allowed         `allow_text` and the like, as `Release.save` takes them: the public page shows values and rows, and
                    a release that `save` refuses is refused here, too.

    >>> table = sf.datasets.adult("test")
    >>> front = sf.frontier(table, sf.sweep(sf.Mondrian, k=[50, 500]), workers=0, progress=False)
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     sf.report(front, f"{folder}/report.json").name
    'report.json'
    """
    if audience not in ("steward", "public"):
        raise ParameterError("audience", audience, 'must be "steward" or "public"')
    target = Path(path)
    writers = {".html": _html, ".htm": _html, ".md": _markdown_page, ".json": _json}
    if target.suffix.lower() not in writers:
        raise ParameterError("path", target.name, "must end with .html, .md or .json")
    if audience == "public" and (front is not None or release is not None):
        if release is not None:
            refuse_unsavable(release, **allowed)  # the page shows values and rows, as a folder does
        contents = public_contents(front, release, folder=folder, membership_public=membership_public, contact=contact)
    elif front is not None:
        best = recommendation or _knee(front, membership_public)
        chosen, without = (None, str(best)) if isinstance(best, Infeasible) else (best, "")
        contents = steward_contents(
            front,
            chosen,
            command=command,
            source=source,
            without=without,
            membership_public=membership_public,
        )
    else:
        rule = "is needed, but for the public page of a release"
        raise ParameterError("front", "None", rule, hint='report(None, path, audience="public", release=release)')
    text = writers[target.suffix.lower()](contents)
    if writers[target.suffix.lower()] is _html and len(text.encode()) > LARGEST_PAGE:
        text = _html({**contents, "short": True})
    write_whole(target, text, mode=0o644 if audience == "public" else 0o600)
    return target


def _knee(front: Frontier, membership_public: bool) -> Recommendation | Infeasible:
    try:
        return front.recommend(membership_public=membership_public)
    except Infeasible as error:
        return error


def _html(contents: dict[str, Any]) -> str:
    steward = contents["audience"] == "steward"
    shown = bool(contents["plotted"]) if steward else contents["release"] is not None
    held = _held(contents) if steward else {"asked": (contents["release"] or {}).get("asked")}
    return rendered(
        "page.html.j2",
        contents=contents,
        version=__version__,
        legend=legend_of(contents) if shown and steward else [],
        style=page_style(),
        script=template_text("report.js") if shown else "",
        held=embedded(held),
    )


def _held(contents: dict[str, Any]) -> dict[str, Any]:
    """What the steward's script draws and counts with."""
    names = (
        "number",
        "label",
        "colour",
        "path",
        "risks",
        "utility",
        "people",
        "typical",
        "published",
        "breaks",
        "attacked",
    )
    marks = [mark for mark in contents["references"] if mark["axis"] == "utility" and mark["number"] is not None]
    return {
        "points": [{**{name: row[name] for name in names}, "hollow": row["noisy"]} for row in contents["plotted"]],
        "axes": contents["axes"],
        "utility": {**contents["utility"], "domain": contents["reach"], "marks": marks},
        "best": next((row["number"] for row in contents["plotted"] if row["recommended"]), None),
        "asked": contents["asked"] or None,
        "truth": contents["truth"] or None,
    }


def _markdown_page(contents: dict[str, Any]) -> str:
    return rendered("page.md.j2", contents=contents, version=__version__)


def _json(contents: dict[str, Any]) -> str:
    kept = {name: part for name, part in contents.items() if name not in ("truth", "asked")}
    if kept.get("recommendation"):  # the method's name in plain words is for readers of the page
        kept["recommendation"] = {name: part for name, part in kept["recommendation"].items() if name != "plain"}
    if kept.get("release"):
        kept["release"] = {name: part for name, part in kept["release"].items() if name not in ("asked", "linked")}
    return json.dumps({"sfumato": __version__, **kept}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
