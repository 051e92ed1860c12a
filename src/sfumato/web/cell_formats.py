"""How the cells of a column are read, as a switch: dates, decimals, and codes that keep the zeros at their front."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sfumato.drafting import changed, decisions, keys_of, with_attributes
from sfumato.drafting.infer_formats import Spelling, spoken
from sfumato.errors import ParameterError
from sfumato.schema.attribute import Role
from sfumato.schema.formats import NumberForm
from sfumato.web.edits import Edit, Fields, one
from sfumato.web.questions import nearly_dates, none_texts

_DATES = ("", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m/%Y", "%m.%Y", "%Y-%m", "%Y%m%d")
_NUMBERS = (".", ",", ",.", ".,", ", ", ". ", ".'")  # the mark of decimals, then that of thousands
_CODE, _NUMBER = "code", "number"
_EXAMPLES = 3


def read_as(text: str | None, rows: Sequence[Sequence[str | None]], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return for each column with dates, numbers or codes how it is read now, how else it could be, and examples."""
    found = []
    for name, keys in (tomllib.loads(text).get("attribute", {}) if text is not None else {}).items():
        now, choices = _choices(keys)
        if not choices:
            continue
        at = columns.index(held) if (held := str(keys.get("column", name))) in columns else None
        cells = [cell for row in rows if at is not None and (cell := row[at])]
        none, units = none_texts(keys), tuple(keys.get("units", ()))
        examples = [
            {"cell": cell, "read": "no value" if cell.strip() in none else _read(cell, now, units)}
            for cell in list(dict.fromkeys(cells))[:_EXAMPLES]
        ]
        offered = [{"value": value, "words": _words(value)} for value in dict.fromkeys((now, *choices))]
        plain = now in ("date ", "number .") and all(example["read"] for example in examples)
        found.append({"name": name, "now": now, "choices": offered, "examples": examples, "plain": plain})
    return found


def reading_of(keys: Mapping[str, Any]) -> str:
    """Return how a column is read, as the switch calls it; nothing if its cells are plain texts."""
    return _choices(keys)[0]


def spelling_of_keys(keys: Mapping[str, Any]) -> Spelling:
    """Return how the description of a column says that its days and numbers are written."""
    marks = f"{keys.get('decimal', '.')}{keys.get('thousands', '')}"
    form = str(keys["format"]) if "format" in keys else None
    numbers = _form(marks, tuple(keys.get("units", ())))
    return Spelling(form, numbers=numbers, strays=tuple(none_texts(keys)))


def _choices(keys: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return how a column is read, and the readings that can be chosen; none where its cells are plain texts."""
    if keys.get("kind") == "date":
        return f"date {keys.get('format', '')}", [f"date {form}" for form in _DATES]
    if isinstance(mask := keys.get("mask"), Mapping) and "length" in mask:
        return _CODE, [_NUMBER] if mask["length"] <= 9 else []
    if keys.get("kind") == "numeric":
        now = f"number {keys.get('decimal', '.')}{keys.get('thousands', '')}"
        whole = now == "number ." and _digits(keys) is not None
        return now, [*(f"number {marks}" for marks in _NUMBERS), *([_CODE] if whole else [])]
    return "", []


def _digits(keys: Mapping[str, Any]) -> int | None:
    """Return how many digits the numbers of a range of whole numbers have at most."""
    ends = keys.get("range")
    if not isinstance(ends, list) or not all(isinstance(end, int) for end in ends) or ends[0] < 0:
        return None
    return len(str(max(ends[1] - 1, 0)))


def _words(value: str) -> str:
    kind, _, form = value.partition(" ")
    if kind == "date":
        return f"dates, {spoken(form)}" if form else "dates, year-month-day"
    if kind == _CODE:
        return "codes: zeros at the front stay"
    return f"numbers, {_form(form).example}" if form else "numbers: zeros at the front mean nothing"


def _form(marks: str, units: tuple[str, ...] = ()) -> NumberForm:
    return NumberForm(marks[:1] or ".", thousands=marks[1:], units=units)


def _read(cell: str, value: str, units: tuple[str, ...] = ()) -> str:
    """Return what a cell is read as, nothing if it is not read."""
    kind, _, form = value.partition(" ")
    if kind == "date":
        day = Spelling(form or None).day(cell.strip())
        return "" if day is None else f"{day:%B %Y}" if form and "%d" not in form else f"{day.day} {day:%B %Y}"
    if kind == _CODE:
        return cell.strip()
    number = _form(form, units).number(cell.strip())
    return "" if number is None else f"{number:f}"


def reading(form: Fields, described: Callable[[str, Spelling, Role], str]) -> Edit:
    """Read the cells of a column another way: other numbers and days have another range, unless a person stated it.

    described   gives the table of a column, by its name in the file, as it would be drafted under another reading.
    """
    name, value = one(form, "column"), form.get("as", ("",))[0]

    def edit(text: str) -> str:
        keys = keys_of(text, name)
        now, choices = _choices(keys)
        if value not in (now, *choices):
            raise ParameterError("reading", value[:40], "is not a way to read this column", hint="reload the page")
        found = _keys(value, keys)
        edited = {key: held for key, held in {**keys, **found}.items() if held is not None}
        if value != now and "range" in keys and "mask" not in edited and keys.get("source") != "public":
            table = described(str(keys.get("column", name)), spelling_of_keys(edited), keys.get("role", "other"))
            (fresh,) = tomllib.loads(table)["attribute"].values()
            if fresh.get("kind") == keys.get("kind"):  # every cell is read
                found |= {key: fresh.get(key) for key in ("range", "step", "intervals", "dates")}
        return changed(text, found, attribute=name, closes=["format", "decimal", "thousands", "units", "mask"])

    return edit


def as_dates(name: str, described: Callable[[str, str], str]) -> Edit:
    """Read a column as dates, except a few cells that are not dates, such as 31.02.1980: these mean no value.

    described   gives the table of a column, by its name in the file, as it would be drafted with days of a format.
    """

    def edit(text: str) -> str:
        keys = keys_of(text, name)
        asked = [found for one in decisions(text) if one.attribute == name and (found := nearly_dates(one))]
        form = next((form for form in _DATES for _, said in asked if spoken(form or "%Y-%m-%d") == said), None)
        if form is None:
            raise ParameterError(
                "column", name, "is not a column of dates with a few other values", hint="reload the page"
            )
        made = described(str(keys.get("column", name)), form)
        (fresh,) = tomllib.loads(made)["attribute"].values()
        if fresh.get("kind") != "date":
            raise ParameterError("column", name, "cannot be read as dates", hint="correct the file")
        return changed(with_attributes(text, {name: made}), {}, attribute=name, closes=["missing", "kind"])

    return edit


def _keys(value: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the description of a column says under another reading."""
    kind, _, form = value.partition(" ")
    if kind == "date":
        return {"format": form or None}
    if kind == _CODE:
        if "mask" in keys:
            return {}
        gone = dict.fromkeys(("range", "step", "intervals", "edges", "kind"))
        return {**gone, "mask": {"length": _digits(keys) or 1, "from": "right"}}
    if "mask" in keys:  # all numbers of so many digits; how many was read off the file
        return {"mask": None, "kind": "numeric", "range": [0, 10 ** int(keys["mask"]["length"])], "source": "data"}
    marks = _form(form)
    return {"decimal": None if marks.decimal == "." else marks.decimal, "thousands": marks.thousands or None}
