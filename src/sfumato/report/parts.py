"""What every page is made of: the drawing library, and texts that come with the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from sfumato.errors import count_of
from sfumato.visible import code_span, markdown, visible

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


class _Written(str):
    """A piece of Markdown that is written already."""

    __slots__ = ()


def _markdown(value: Any) -> Any:
    """What a Markdown template prints means itself, unless a filter has written it."""
    return value if isinstance(value, _Written) else markdown(value)


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
        finalize=_markdown if template.endswith(".md.j2") else None,
    )
    there.globals["count_of"] = count_of
    there.filters["code"] = lambda text: _Written(code_span(text))
    there.filters["block"] = lambda text: _Written("\n".join(f"    {visible(line)}" for line in str(text).split("\n")))
    return there.get_template(template).render(**values)
