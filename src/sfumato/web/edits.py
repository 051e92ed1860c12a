"""What a form asks for, as an edit of the schema file: each function takes the file's text and returns the new one."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sfumato.drafting import (
    Decision,
    answered,
    answered_alike,
    as_proposed,
    asked_alike,
    changed,
    decisions,
    keys_of,
    unit_question,
    with_attributes,
    with_roles,
    with_unit,
    without_unit_questions,
)
from sfumato.drafting.roles import newly_published, public_looking
from sfumato.errors import NOTHING, ParameterError
from sfumato.exact import number_fault
from sfumato.schema.attribute import Role
from sfumato.schema.formats import PLAIN_NUMBERS
from sfumato.schema.hierarchies import CALENDAR_STEPS
from sfumato.schema.near_values import near_pairs
from sfumato.web.questions import alike, asks_of_pairs, groups_of, none_texts, not_numbers

Fields = Mapping[str, Sequence[str]]  # every field of a form with the texts it holds
Edit = Callable[[str], str]

_PUBLISHED = ("quasi", "sensitive", "target")
_DATES = ("week", "month", "quarter", "year", "decade")


def one(form: Fields, name: str) -> str:
    """Return a field that holds one text."""
    held = form.get(name, ())
    return held[0].strip() if held else ""


def entered(form: Fields) -> dict[str, list[str]]:
    """Return what was entered in a form: two clicks on its button enter the same."""
    return {name: list(texts) for name, texts in form.items() if name != "back"}


def number(form: Fields, name: str) -> int | str | None:
    """Return a number as the schema file writes it: whole as a number, a decimal as text; None for an empty field."""
    text = one(form, name)
    if not text:
        return None
    fault = number_fault(text)
    try:
        float(text)
    except ValueError:
        fault = fault or "is not a number"
    if fault:
        raise ParameterError(name, text[:40], fault, hint="write 18 or 0.5")
    return int(text) if text.lstrip("-").isdigit() else text


def whole(form: Fields, name: str, *, least: int = 1) -> int | None:
    """Return a whole number, None for an empty field."""
    text = one(form, name)
    if not text:
        return None
    if not text.isdigit() or len(text) > 15 or int(text) < least:
        raise ParameterError(name, text[:40], f"must be a whole number of at least {least}")
    return int(text)


def answer(form: Fields) -> Edit:
    """Close one question by accepting the proposal. Who a row is about is never proposed: the form states it."""
    attribute, topic, question = one(form, "attribute"), one(form, "topic"), one(form, "question")

    def edit(text: str) -> str:
        for found in decisions(text):
            if (found.attribute, found.topic, found.question) == (attribute, topic, question):
                of_unit = unit_question(found, keys_of(text))
                return with_unit(text, found, one(form, "answer")) if of_unit else answered(text, found)
        raise ParameterError(
            "question", topic or "question", "was answered already", hint="the page shows what is open"
        )

    return edit


def answers(form: Fields) -> Edit:
    """Close every question about some columns: the proposals stand."""
    names = list(form.get("column", ()))
    if not names:
        raise ParameterError("column", NOTHING, "none is selected", hint="select at least one column")
    return lambda text: as_proposed(text, names)


def answer_same(form: Fields) -> Edit:
    """Close one and the same question of several columns that propose the same: the proposals stand."""
    names, topic = set(form.get("column", ())), one(form, "topic")

    def edit(text: str) -> str:
        for group in asked_alike(text):
            if group[0].topic == topic and {found.attribute for found in group} == names:
                return answered_alike(text, group)
        raise ParameterError(
            "question", topic or "question", "was answered already", hint="the page shows what is open"
        )

    return edit


def roles(form: Fields, described: Callable[[str, Role], str]) -> Edit:
    """Give columns a role; one that has no values or range yet is described anew in that role."""
    role: Role = one(form, "role")  # type: ignore[assignment]  # `with_roles` checks it
    names = list(form.get("column", ()))
    if not names:
        raise ParameterError("column", NOTHING, "none is selected", hint="select at least one column")

    def edit(text: str) -> str:
        held = tomllib.loads(text).get("attribute", {})
        made: dict[str, str] = {}
        for name in names if role in _PUBLISHED else ():
            keys = held.get(name, {})
            if any(key in keys for key in ("range", "values", "hierarchy", "groups", "edges", "mask")):
                continue
            made[name] = described(str(keys.get("column", name)), role)
            (found,) = tomllib.loads(made[name])["attribute"].values()
            if found.get("role") != role:
                rule = "has too many values to list, or is free text"
                raise ParameterError("column", name, rule, hint="give it a range, a mask or a hierarchy file first")
        after = with_roles(with_attributes(text, made), names, role)
        if role not in _PUBLISHED:
            return after
        for name in names:
            keys = held.get(name, {})
            if name not in made and keys.get("role", "other") not in _PUBLISHED:
                more, asks = newly_published(keys, role)
                after = changed(after, more, attribute=name, asks=asks)
        return after

    return edit


def person(form: Fields) -> Edit:
    """Say who a row is about, how many rows of a person are kept, and for whom the ledger keeps account."""
    names = [name for name in form.get("person", ()) if name]
    rows, most = one(form, "rows"), whole(form, "most")
    population = one(form, "population")
    if rows == "most" and most is None:
        raise ParameterError("Keep at most", NOTHING, "no number of rows is given", hint="such as 1")
    keys: dict[str, Any] = {}
    if population:
        keys["population"] = population
    if names:
        keys |= {"person": names[0] if len(names) == 1 else names, "rows_per_person": most if rows == "most" else None}
    elif one(form, "unit") == "person":
        keys |= {"person": None, "rows_per_person": most or 1}
    elif one(form, "unit") == "row":
        keys |= {"person": None, "rows_per_person": None}
    else:
        hint = "choose the column by which a person is known, or one of the two answers where no column says it"
        raise ParameterError("Who is a row about", NOTHING, "not answered yet", hint=hint)
    public = whole(form, "public_rows")
    keys["rows"] = public
    closed = ["population"] if population else []
    if one(form, "copies"):
        closed.append("duplicates")
        keys["copies_are_people"] = True if one(form, "copies") == "people" else None

    def edit(text: str) -> str:
        for name in names:
            if name in keys_all(text) and keys_of(text, name).get("role") != "identifier":
                text = with_roles(text, [name], "identifier")
        for found in decisions(text):  # a person's key always predicts what is said of the person
            if found.topic == "related" and any(
                found.question.startswith((f"{key} determines ", f"{key} and ")) for key in names
            ):
                text = answered(text, next(one for one in decisions(text) if _same(one, found)))
        return changed(without_unit_questions(text, rows=not names and one(form, "unit") == "row"), keys, closes=closed)

    return edit


def not_person(form: Fields) -> Edit:
    """Say that a column identifies something other than people, such as a household."""
    return _listing(one(form, "column"), "not_person")


def not_count(form: Fields) -> Edit:
    """Say that a column does not say how many people a row stands for."""
    return _listing(one(form, "column"), "not_count")


def _listing(name: str, key: str) -> Edit:
    def edit(text: str) -> str:
        if name not in keys_all(text):
            raise ParameterError("column", name[:60], "is not described", hint="reload the page")
        held = [str(known) for known in keys_of(text).get(key, [])]
        return changed(text, {key: list(dict.fromkeys([*held, name]))})

    return edit


def _same(one: Decision, other: Decision) -> bool:
    return (one.attribute, one.topic, one.question) == (other.attribute, other.topic, other.question)


def keys_all(text: str) -> list[str]:
    """Return the names of the columns the file describes."""
    return list(tomllib.loads(text).get("attribute", {}))


def _group_edit(name: str, groups: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    single = all(list(held) == [group] for group, held in groups.items())
    if single:  # nothing is grouped any more
        return {"values": [value for held in groups.values() for value in held], "groups": None}
    return {"groups": {group: list(held) for group, held in groups.items() if held}, "values": None}


def group(name: str, form: Fields) -> Edit:
    """Move values into a group, a new one where nobody has that name."""
    values, target = list(form.get("value", ())), one(form, "new") or one(form, "group")
    if not values or not target:
        raise ParameterError("group", target or "none", "needs values and a name", hint="select values, then a group")

    def edit(text: str) -> str:
        groups = groups_of(keys_of(text, name))
        known = {value for held in groups.values() for value in held}
        if not set(values) <= known:
            raise ParameterError("value", "one of them", "is not a value of the column", hint="reload the page")
        if target in known and groups.get(target) == [target] and target not in values:
            raise ParameterError("group", target, "is the name of a value", hint="give the group a name of its own")
        rest = {at: [value for value in held if value not in values] for at, held in groups.items()}
        rest[target] = [*rest.get(target, []), *values]
        kept = {at: held for at, held in rest.items() if held}
        return changed(text, _group_edit(name, kept), attribute=name, closes=["groups"])

    return edit


def ungroup(name: str, form: Fields) -> Edit:
    """Remove values from their group, or all values of a group; each is then alone."""
    values, gone = set(form.get("value", ())), one(form, "group")

    def edit(text: str) -> str:
        groups = groups_of(keys_of(text, name))
        leaving = values or set(groups.get(gone, ()))
        kept: dict[str, list[str]] = {}
        for at, held in groups.items():
            stay = [value for value in held if value not in leaving]
            if stay:
                kept[at] = stay
            for value in held:
                if value in leaving:
                    kept[value] = [value]
        return changed(text, _group_edit(name, kept), attribute=name)

    return edit


def merge(name: str, form: Fields) -> Edit:
    """Read the selected spellings as one value, which need not be selected itself."""
    target = one(form, "into")
    gone = [value for value in form.get("value", ()) if value != target]
    if not gone or not target:
        hint = "select the spellings to replace, then choose the one to keep"
        raise ParameterError("spelling", NOTHING, "none is selected to be replaced", hint=hint)

    def edit(text: str) -> str:
        keys = keys_of(text, name)
        groups = groups_of(keys)
        if not {target, *gone} <= {value for held in groups.values() for value in held}:
            raise ParameterError("value", "one of them", "is not a value of the column", hint="reload the page")
        kept = {at: [value for value in held if value not in gone] for at, held in groups.items()}
        same = {str(key): list(held) for key, held in dict(keys.get("same", {})).items()}
        moved = [spelling for value in gone for spelling in same.pop(value, [])]
        same[target] = [*same.get(target, []), *gone, *moved]
        edited = {**_group_edit(name, {at: held for at, held in kept.items() if held}), "same": same}
        return _still_asked(changed(text, edited, attribute=name), name)

    return edit


def _still_asked(text: str, name: str) -> str:
    """Close a question about spellings once no values are left that it asks about; any other stays open."""
    left = [value for held in groups_of(keys_of(text, name)).values() for value in held]
    for asks_pairs, found in ((False, alike(left)), (True, near_pairs(left))):
        for one in () if found else decisions(text):
            if one.attribute == name and one.topic == "same" and asks_of_pairs(one) is asks_pairs:
                text = answered(text, next(now for now in decisions(text) if _same(now, one)))
    return text


def merge_alike(name: str, _form: Fields, rows: Mapping[str, int] | None = None) -> Edit:
    """Read spellings that differ only in case or blanks as one value, each in the spelling most rows have."""

    def edit(text: str) -> str:
        values = [value for held in groups_of(keys_of(text, name)).values() for value in held]
        for spellings in alike(values, rows):
            text = merge(name, {"value": spellings, "into": spellings[:1]})(text)
        return _still_asked(text, name)

    return edit


def as_numbers(name: str, _form: Fields) -> Edit:
    """Read a column as numbers; the few words among them mean no value."""

    def edit(text: str) -> str:
        keys = keys_of(text, name)
        odd = not_numbers(keys)
        if not odd:
            raise ParameterError("column", name, "has no words among numbers", hint="reload the page")
        held = [found for value in keys["values"] if (found := PLAIN_NUMBERS.number(str(value))) is not None]
        whole_ones = all(value == value.to_integral_value() for value in held)
        low, high, step = public_looking(min(held), max(held), whole=whole_ones)
        ends = [int(end) if end == end.to_integral_value() else str(end) for end in (low, high, step)]
        known = keys.get("missing")
        missing = list(dict.fromkeys([*(known if isinstance(known, list) else []), *odd]))
        made = {"kind": "numeric", "range": ends[:2], "step": ends[2], "missing": missing, "source": "data"}
        return changed(
            text, {**made, "values": None, "groups": None}, attribute=name, closes=["kind", "groups", "same"]
        )

    return edit


def own_keys(name: str, form: Fields, described: Callable[[str, Role], str] | None = None) -> Edit:
    """Set what the form of one column holds: range, steps, intervals, levels, texts for no value, formats.

    What the form shows unchanged stays as the file writes it, with whatever the form does not show.

    described   gives the table of a column as it would be drafted in a role, for one that is a code no longer.
    """
    fields = set(form.get("fields", ()))
    parts = [part for field, part in _PARTS.items() if field in fields]
    closes = [topic for field, topics in _CLOSES.items() if field in fields for topic in topics]

    def edit(text: str) -> str:
        held = keys_of(text, name)
        keys: dict[str, Any] = {}
        for part in parts:
            keys |= part(form, held, text)
        closed = list(closes)
        if "mask" in fields and (keys.get("mask") or ("mask" in held and "mask" not in keys)):
            closed += ["groups", "kind"]  # a code is no number, and its digits say which codes are alike
        least = CALENDAR_STEPS.get(str(keys.get("step")), 0)
        if least and (levels := keys.get("dates", held.get("dates"))):  # levels finer than the new step are gone
            keys["dates"] = [level for level in levels if CALENDAR_STEPS.get(level, 0) >= least] or None
        if "mask" in keys and keys["mask"] is None and described is not None and not _has_domain({**held, **keys}):
            (fresh,) = tomllib.loads(described(str(held.get("column", name)), held.get("role", "other")))[
                "attribute"
            ].values()
            drafted = ("kind", "range", "step", "intervals", "dates", "values", "groups", "source", "format")
            keys |= {key: fresh[key] for key in drafted if key in fresh}
            keys |= _without(none_texts({**held, **keys}), keys)
        return changed(text, keys, attribute=name, closes=closed)

    return edit


def ranges(form: Fields) -> Edit:
    """Give several columns of numbers the same ends and steps; a part of the form that is empty changes nothing."""
    names = list(form.get("column", ()))
    if not names:
        raise ParameterError("column", NOTHING, "none is selected", hint="select at least one column")
    low, high, step = number(form, "low"), number(form, "high"), number(form, "step")
    if (low is None) != (high is None):
        raise ParameterError("range", NOTHING, "one end is empty", hint="fill in both; the upper one is not included")
    widths = {} if not one(form, "intervals") else _intervals(form, {}, "")
    ends = {} if low is None else {"range": [low, high]}
    keys = {**ends, **({} if step is None else {"step": step}), **widths}
    if not keys:
        raise ParameterError("range", NOTHING, "nothing is filled in", hint="from 1 up to 6 in steps of 1")

    def edit(text: str) -> str:
        others = [name for name in names if keys_of(text, name).get("kind") != "numeric"]
        if others:
            listed = ", ".join(others[:5]) + (" and more" if len(others) > 5 else "")
            raise ParameterError("column", listed, "is not read as numbers", hint="select columns of numbers only")
        for name in names:
            text = changed(text, keys, attribute=name, closes=_CLOSES["range"] if ends else ())
        return text

    return edit


def is_public(text: str, keys: Mapping[str, Any]) -> bool:
    """Say whether a column's values are declared public, by itself or by the whole file."""
    return str(keys.get("source") or tomllib.loads(text).get("source", "")) == "public"


def _has_domain(keys: Mapping[str, Any]) -> bool:
    return any(keys.get(key) is not None for key in ("range", "edges", "values", "groups", "hierarchy", "mask"))


def _source(form: Fields, held: Mapping[str, Any], text: str) -> dict[str, Any]:
    ticked = bool(one(form, "public"))
    return {} if ticked == is_public(text, held) else {"source": "public" if ticked else "data"}


def _range(form: Fields, held: Mapping[str, Any], text: str) -> dict[str, Any]:
    keys = _source(form, held, text)
    typed = [one(form, "low"), one(form, "high")]
    if not all(typed):
        raise ParameterError("range", NOTHING, "one end is empty", hint="fill in both; the upper one is not included")
    date = one(form, "kind") == "date"
    if typed != [str(end) for end in held.get("range", ())]:
        keys["range"] = typed if date else [number(form, "low"), number(form, "high")]
    step = one(form, "step")
    if step and step != str(held.get("step", "")):
        keys["step"] = step if date and step in CALENDAR_STEPS else number(form, "step")
    return keys


def _intervals(form: Fields, held: Mapping[str, Any], _text: str) -> dict[str, Any]:
    widths = [part.strip() for part in one(form, "intervals").replace(";", ",").split(",") if part.strip()]
    if widths == [str(width) for width in held.get("intervals", ())]:
        return {}
    return {"intervals": [number({"intervals": [part]}, "intervals") for part in widths] or None}


def _levels(form: Fields, held: Mapping[str, Any], _text: str) -> dict[str, Any]:
    levels = [level for level in _DATES if level in form.get("dates", ())]
    return {} if set(levels) == set(held.get("dates", ())) else {"dates": levels or None}


def _missing(form: Fields, held: Mapping[str, Any], _text: str) -> dict[str, Any]:
    texts = [part.strip() for part in one(form, "missing").splitlines() if part.strip()]
    texts += [""] if one(form, "empty") else []
    now, suppress = held.get("missing"), bool(one(form, "suppress"))
    if set(texts) == set(none_texts(held)) and suppress == leaves_out(held):
        return {}
    if suppress:
        keys: dict[str, Any] = {"missing": {"values": texts, "action": "suppress"} if texts else "suppress"}
    else:
        keys = {"missing": texts or ("category" if now == "category" else None)}
    return keys | _without(texts, held)


def leaves_out(keys: Mapping[str, Any]) -> bool:
    """Say whether rows without a value in this column are left out."""
    held = keys.get("missing")
    return held == "suppress" or (isinstance(held, Mapping) and held.get("action") == "suppress")


def _without(texts: Sequence[str], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the listed values without those that mean no value: a text is one or the other."""
    gone = set(texts)
    edited: dict[str, Any] = {}
    if isinstance(values := keys.get("values"), list) and gone & set(map(str, values)):
        edited["values"] = [value for value in values if str(value) not in gone]
    if isinstance(groups := keys.get("groups"), Mapping):
        kept = {at: [value for value in held if str(value) not in gone] for at, held in groups.items()}
        if kept != {at: list(held) for at, held in groups.items()}:
            edited["groups"] = {at: held for at, held in kept.items() if held}
    if isinstance(same := keys.get("same"), Mapping):
        spellings = {
            at: [text for text in held if str(text) not in gone] for at, held in same.items() if at not in gone
        }
        if spellings != {at: list(held) for at, held in same.items()}:
            edited["same"] = {at: held for at, held in spellings.items() if held} or None
    return edited


def _formats(form: Fields, held: Mapping[str, Any], _text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, usual in (("format", ""), ("decimal", "."), ("thousands", "")):
        if key not in form:  # a date has no decimals, a number no format
            continue
        given = form[key][0] if key == "thousands" else one(form, key)  # a blank is a mark
        if given != ("" if held.get(key, usual) == usual else held[key]):
            found[key] = given or None
    return found


def _mask(form: Fields, held: Mapping[str, Any], _text: str) -> dict[str, Any]:
    digits, now = whole(form, "digits"), held.get("mask")
    if digits == (now.get("length") if isinstance(now, Mapping) else None):
        return {}
    if digits is None:
        return {"mask": None}
    return {"mask": {**now, "length": digits} if isinstance(now, Mapping) else {"length": digits, "from": "right"}}


_PARTS = {
    "range": _range,
    "intervals": _intervals,
    "dates": _levels,
    "missing": _missing,
    "formats": _formats,
    "source": _source,
    "mask": _mask,
}
_CLOSES = {
    "range": ("range",),
    "missing": ("missing", "values"),
    "formats": ("format", "decimal", "thousands"),
    "source": ("range",),
    "mask": ("mask",),
}
