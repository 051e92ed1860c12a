"""`sfumato explain`."""

from __future__ import annotations

import click

from sfumato.cli.options import completed_by, json_option
from sfumato.cli.output import emit, say_lines


def _names() -> list[str]:
    from sfumato.pages.explain import explainable

    return explainable()


@click.command(short_help="What a name means, with its formula.")
@click.argument("name", required=False, shell_complete=completed_by(_names))
@json_option
def explain(name: str | None, as_json: bool) -> None:
    """Say in plain words what a requirement, guarantee, mechanism, measure or attack means, or list the names.

    `schema` lists every key of a schema file.

    Example: sfumato explain t-closeness

    Example: sfumato explain schema
    """
    import sfumato as sf

    text = sf.explain(name) if name is not None else sf.explain()
    if as_json:
        emit({"ok": True, "name": name, "text": text})
    else:
        say_lines(text)
