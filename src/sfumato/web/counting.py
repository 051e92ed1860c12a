"""A COUNT asked of a release before it is published: what a reader would expect, beside the true count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import ParameterError
from sfumato.web.edits import Fields, one
from sfumato.web.screens import Screens
from sfumato.web.workspace import Project

__all__ = ["counted", "where_of"]

_COLUMNS = 4  # that one question may name: the table over all their values is held
_CELLS = 2_000_000


def where_of(form: Fields) -> dict[str, int]:
    """Return which bin of which column is asked for: fields `where-NAME` of a form, the others any."""
    found = {}
    for name in form:
        text = one(form, name)
        if name.startswith("where-") and text.isdigit() and len(text) < 8:
            found[name.removeprefix("where-")] = int(text)
    if len(found) > _COLUMNS:
        raise ParameterError("columns", len(found), f"must be at most {_COLUMNS} in one question", hint="ask for fewer")
    return found


def counted(screens: Screens, project: Project, point: Mapping[str, Any], seed: int, where: Mapping[str, int]) -> Any:
    """Return the columns with their bins, and the count in the table and in the release; None while it is made."""
    key = f"{project.digest()} {point['number']}"

    def tables() -> Any:
        import sfumato as sf
        from sfumato.attacks import mechanism_of
        from sfumato.estimate import exact_tables, read_tables

        table = screens.tables.table(project)
        # A draw of the comparison: it is shown to the steward alone and never saved.
        release = sf.publish(
            table, mechanism_of(point["mechanism"]), seed=seed, allow_noise=True, allow_undecided=True, allow_void=True
        )
        return exact_tables(table), read_tables(release)

    def work() -> dict[str, Any]:
        exact, read = screens.tables.held(key, tables)
        named = [name for name in exact.bins if name in read.bins]
        return {"columns": [{"name": name, "bins": list(exact.bins[name].names)} for name in named]}

    known = screens.background.result(project, "counting", f"{project.digest()}-{point['number']}", work)
    if known is None or not known["ok"]:
        return known
    sizes = {column["name"]: len(column["bins"]) for column in known["columns"]}
    wanted = {name: at for name, at in where.items() if at < sizes.get(name, 0)}
    cells = 1
    for name in wanted:
        cells *= sizes[name]
    if cells > _CELLS:
        return {**known, "message": "These columns have too many values together. Ask for fewer."}
    exact, read = screens.tables.held(key, tables)
    places = tuple(wanted.values())
    truth = float(exact.counts(*wanted)[places]) if wanted else float(exact.weight.sum())
    released = float(read.counts(*wanted)[places]) if wanted else float(read.weight.sum())
    off = abs(released - truth)
    return {
        **known,
        "where": wanted,
        "truth": truth,
        "released": released,
        "off": off,
        "share": off / truth if truth else None,
    }
