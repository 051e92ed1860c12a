"""What every page is made of: the drawing library, and texts that come with the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from sfumato.errors import count_of

__all__ = ["embedded", "javascript", "rendered", "template_text"]

_TEMPLATES = ("page.html.j2", "page.md.j2", "parts.html.j2", "map.html.j2")


@cache
def javascript() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, taken from the installed vl-convert."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub knows no default
    return bundle.replace("</script", "<\\/script")


def template_text(name: str) -> str:
    """Return a style, script or template by its file name."""
    return (files("sfumato.report") / "templates" / name).read_text("utf-8")


def embedded(data: Any) -> str:
    """Return JSON that can not end the script element it stands in."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def rendered(template: str, **values: Any) -> str:
    """Fill in a template; in HTML everything given is escaped."""
    from jinja2 import DictLoader, Environment, StrictUndefined, select_autoescape

    texts = {name: template_text(name) for name in _TEMPLATES}
    there = Environment(
        loader=DictLoader(texts),
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    there.globals["count_of"] = count_of
    there.filters["cell"] = lambda text: str(text).replace("|", "\\|").replace("\n", " ")
    return there.get_template(template).render(**values)
