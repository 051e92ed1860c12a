"""`sfumato decide`: the open questions of a drafted schema, one by one."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import json_option
from sfumato.cli.output import emit, say

if TYPE_CHECKING:
    from sfumato.drafting import Decision

_TRIES = 3  # answers that cannot be meant, after which a question is left open
_COPIES = "duplicates"  # topic of the question whether rows that are copies are different people
_MOVES = "? else move it to `values`"  # in a question about a single text
_PUBLIC = " public"  # behind a range or a list: it is publicly known, not read off the data


@click.command(short_help="Answer the open questions of a drafted schema, one by one.")
@click.argument("schema", type=click.Path())
@json_option
def decide(schema: str, as_json: bool) -> None:
    """Ask the open questions of a drafted schema one by one; each answer is written into the file at once.

    Enter keeps what the draft proposes, s skips the question, q stops. Any other answer is the value to write, as in
    the file: sensitive, [18, 95], %d.%m.%Y. A range that is publicly known is written as [18, 95] public. Who a row is
    about is never assumed: each such question says which answers it takes. Columns in which the same texts are proposed
    for no value are asked about together.

    Example: sfumato decide patients.toml
    """
    from sfumato.drafting import asked_alike, decisions
    from sfumato.errors import count_of

    path = Path(schema)
    text = _read(path)
    opened = decisions(text)
    if as_json:
        emit({"ok": True, "open": len(opened), "decisions": [one.to_json() for one in opened]})
        return
    together = {_key(one): group for group in asked_alike(text) for one in group}
    asked: set[tuple[str, str, str]] = set()  # together with others, whatever was answered
    for number, one in enumerate(opened, 1):
        still = [_key(found) for found in decisions(text)]
        if _key(one) not in still or _key(one) in asked:
            continue  # closed by an earlier answer: what is not published needs no range
        place = f"{number} of {len(opened)}"
        group = [found for found in together.get(_key(one), ()) if _key(found) in still]
        if len(group) > 1:
            after, each = _asked_together(text, group, place)
            if each:
                for found in group:
                    together.pop(_key(found), None)
                after = _asked(text, one, place)
            else:
                asked.update(map(_key, group))
        else:
            after = _asked(text, one, place)
        if after is None:
            break
        if after != text:
            text = after
            _write(path, text)
    open_now = len(decisions(text))
    message = f"{count_of(open_now, 'question is', 'questions are')} still open."
    say(message if open_now else "Every question is answered.")


def _key(one: Decision) -> tuple[str, str, str]:
    return one.attribute, one.topic, one.question


def _read(path: Path) -> str:
    from sfumato.errors import ParameterError

    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError("schema", path.name, "cannot be read", hint="sfumato draft data.csv -o s.toml") from None


def _write(path: Path, text: str) -> None:
    from sfumato.release.atomic import write_whole

    write_whole(path, text, mode=path.stat().st_mode & 0o777)


def _asked(text: str, one: Decision, place: str) -> str | None:
    """Ask one question until it is answered; return the file as it is then, None to stop."""
    from sfumato.drafting import keys_of, unit_answers, unit_question
    from sfumato.errors import SfumatoError

    held = keys_of(text, one.attribute)
    now = f"{one.topic} = {held[one.topic]!r}" if one.topic in held else ""
    say("")
    say(f"{place}  {one.attribute or 'the table'}: {one.topic}", style="bold")
    say(one.question, wrap=True)
    ways = "Enter keeps it, s skips, q stops, or type another value:"
    if kind := unit_question(one, held):
        ways = f"Type {unit_answers(kind)}; {'Enter keeps it, ' if kind == 'kept' else ''}s skips, q stops:"
    elif not _takes_a_value(one):
        ways = f"Enter if you have seen it, {'no, ' if one.topic == _COPIES else ''}s skips, q stops:"
    for _ in range(_TRIES):
        say(f"{now + '. ' if now else ''}{ways}")
        typed = sys.stdin.readline()
        if not typed or typed.strip() == "q":
            return None
        if typed.strip() == "s":
            return text
        try:
            return _answered(text, one, typed.strip())
        except SfumatoError as error:
            say(f"Error: {error}", error=True)
    say("Left open.")
    return text


def _asked_together(text: str, group: Sequence[Decision], place: str) -> tuple[str | None, bool]:
    """Ask once for several columns; return the file as it is then, None to stop, and whether each is asked instead."""
    from sfumato.drafting import answered_alike, decisions, keys_of, without_rows

    first = group[0]
    say("")
    say(f"{place}  {len(group)} columns: {first.topic}", style="bold")
    say(", ".join(one.attribute for one in group), wrap=True)
    say(without_rows(first.question), wrap=True)
    now = f"{first.topic} = {keys_of(text, first.attribute)[first.topic]!r}"
    for _ in range(_TRIES):
        say(f"{now}. Enter keeps it in all of them, e asks for each, s skips them, q stops:")
        typed = sys.stdin.readline()
        if not typed or typed.strip() == "q":
            return None, False
        if not typed.strip():
            keys = {_key(one) for one in group}
            return answered_alike(text, [one for one in decisions(text) if _key(one) in keys]), False
        if typed.strip() in ("e", "s"):
            return text, typed.strip() == "e"
    say("Left open.")
    return text, False


def _takes_a_value(one: Decision) -> bool:
    """Return whether a question is about a key of the file, so that an answer can be written there."""
    from sfumato.schema.toml_models import AttributeFile, SchemaFile

    return one.topic in (AttributeFile if one.attribute else SchemaFile).model_fields


def _answered(text: str, one: Decision, typed: str) -> str:
    """Return the file with an answer; one that cannot be meant raises."""
    from sfumato.drafting import answered, decisions, keys_of, unit_question, with_roles, with_unit
    from sfumato.errors import ParameterError

    decision = next(left for left in decisions(text) if _key(left) == _key(one))
    if unit_question(one, keys_of(text, one.attribute)):
        return with_unit(text, decision, typed)
    if not typed:
        return answered(text, decision)
    if one.topic == "role":
        return with_roles(text, [one.attribute], typed)  # type: ignore[arg-type]  # it checks the role
    if one.topic == _COPIES and typed == "no":
        return answered(text, decision, {"copies_are_people": True})
    if not _takes_a_value(one):
        hint = "no if they are different people; Enter, s or q" if one.topic == _COPIES else "Enter, s or q"
        raise ParameterError("answer", typed[:40], "cannot be written for this question", hint=hint)
    agrees = typed.casefold() if typed.casefold() in ("yes", "no") else ""
    if agrees and (after := _agreed(text, decision, agrees)):
        return after
    typed = re.sub(rf"^{one.topic}\s*=\s*", "", typed)
    public = typed.endswith(_PUBLIC)
    value = agrees == "yes" if agrees else _value(typed.removesuffix(_PUBLIC) if public else typed)
    after = answered(text, decision, {one.topic: value, **({"source": "public"} if public else {})})
    _require_form(after, decision, typed)
    return after


def _agreed(text: str, decision: Decision, typed: str) -> str | None:
    """Return the file where `yes` or `no` answers a question whether something is so, None if it takes a value.

    `yes` keeps what the file says; if the question goes on with what to write "then", `no` does. `no` removes a
    text from `missing` if the question asks about that.
    """
    from sfumato.drafting import answered, changed, keys_of

    held = keys_of(text, decision.attribute).get(decision.topic)
    if not re.match(r"(do|does|is|are|may) ", decision.question):
        return None
    to_write = "? then " in decision.question
    if typed == ("no" if to_write else "yes") and (to_write or held is not None):
        return answered(text, decision)
    if typed == "no" and decision.topic == "missing" and _MOVES in decision.question and isinstance(held, list):
        blank = [none for none in held if not none.strip()]  # the question is not about these
        after = answered(text, decision, {"missing": blank})
        return after if blank else changed(after, {"missing": None}, attribute=decision.attribute)
    return None


def _require_form(text: str, decision: Decision, typed: str) -> None:
    """Raise if the file would not be read because of an answer, and say what to type."""
    from sfumato.errors import ParameterError, SchemaError
    from sfumato.schema import Schema

    raw = tomllib.loads(text)
    where, table = decision.topic, raw
    if decision.attribute:
        where, table = f"attribute.{decision.attribute}.{where}", raw["attribute"][decision.attribute]
    if decision.topic == "values" and isinstance(table["values"], str | list):
        return  # the name of a file, which is in the schema's folder, or what the other keys are checked against
    try:
        Schema.parse(raw)
    except SchemaError as error:
        for one in error.problems:
            if one.path == where:
                hint = f"Enter keeps it as it is, or type {one.hint.replace(f'{decision.topic} = ', '')}"
                raise ParameterError(decision.topic, typed[:40], one.rule, hint=hint) from None


def _value(typed: str) -> Any:
    """Return what was typed as the file holds it; what is not TOML is text."""
    try:
        return tomllib.loads(f"value = {typed}")["value"]
    except tomllib.TOMLDecodeError:
        return typed
