"""What a release must keep: the policy as words of a command, and each of its lines judged by what was measured."""

from __future__ import annotations

import hashlib
import json
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from sfumato.claims import AlphaK, KAnonymity, Requirement
from sfumato.errors import ParameterError, count_of
from sfumato.frontiers.axes import attacks_of
from sfumato.frontiers.policy import DEFAULT_K, WantedTable
from sfumato.web.runs import Run, runs_of
from sfumato.web.wording import attack_tried, axis_plainly
from sfumato.web.workspace import Project


def policy_words(held: Mapping[str, Any]) -> list[str]:
    """Return a policy as `sfumato frontier` is given it."""
    words = ["--at-least", f"k={held.get('k') or DEFAULT_K}"]
    words += [word for name, value in held.get("limits", {}).items() for word in ("--at-most", f"{name}={value}")]
    words += [word for text in held.get("answers", []) for word in ("--answer", text)]
    return words + (["--membership-public"] if held.get("membership_public") else [])


def policy_of_words(words: Sequence[str]) -> dict[str, Any]:
    """Return the policy that the words of a comparison state.

    >>> policy_of_words(policy_words({"k": 7, "limits": {"inference": "0.1"}, "answers": ["a x b within 10 %"]}))
    {'k': 7, 'limits': {'inference': '0.1'}, 'answers': ['a x b within 10 %'], 'membership_public': False}
    """
    limits: dict[str, str] = {}
    answers: list[str] = []
    found: dict[str, Any] = {"k": DEFAULT_K, "limits": limits, "answers": answers}
    for flag, text in pairwise(words):
        name, _, value = text.partition("=")
        if flag == "--at-least":
            found["k"] = int(value)
        elif flag == "--at-most":
            limits[name] = value
        elif flag == "--answer":
            answers.append(text)
    return {**found, "membership_public": "--membership-public" in words}


def same_policy(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether two policies ask for the same."""
    return policy_of_words(policy_words(one)) == policy_of_words(policy_words(other))


def policy_lines(held: Mapping[str, Any], counted: str = "people") -> list[str]:
    """Return each line of a policy as people read it."""
    limits = [f"{axis_plainly(name)} at most {value}" for name, value in held.get("limits", {}).items()]
    return [f"at least {held.get('k') or DEFAULT_K} {counted} in every group", *limits, *held.get("answers", [])]


def basis_of(project: Project) -> str:
    """Return a name for the table as it is described: figures of a comparison are about that table alone.

    A question that was answered by keeping the proposal changes the file, not what it says.
    """
    described = _without_questions(tomllib.loads(project.schema_text() or ""))
    files = [project.data, *sorted((project.folder / "hierarchies").glob("*"))]
    held = [(path.name, stat.st_size, stat.st_mtime_ns) for path in files if (stat := path.stat())]
    text = json.dumps([described, project.options, held], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _without_questions(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_questions(held) if isinstance(held, Mapping) else held
        for name, held in keys.items()
        if name != "decide"
    }


def _line(text: str, state: str, found: str = "") -> dict[str, str]:
    return {"line": text, "state": state, "found": found}


def judged(held: Mapping[str, Any], point: Mapping[str, Any]) -> list[dict[str, str]]:
    """Judge a measured release line by line: kept, broken, not measured, or none where a line says nothing about it."""
    counted = str(point.get("counted", "people"))
    floor, *rest = policy_lines(held, counted)
    people = point.get("people")
    lines = []
    if not isinstance(people, int):
        lines.append(_line(floor, "none", "it publishes no groups of records"))
    else:
        many = count_of(people, counted.removesuffix("s") if counted == "rows" else "person", counted)
        kept = people >= int(held.get("k") or DEFAULT_K)
        least = "at least " if point.get("at_least") else ""
        lines.append(_line(floor, "kept" if kept else "broken", f"the smallest group has {least}{many}"))
    texts = iter(rest)
    for name, limit in held.get("limits", {}).items():
        value = (point.get("risks", {}).get(name) or {}).get("mean")
        lines.append(_measured(next(texts), value, float(limit), percent=False))
    for text in held.get("answers", []):
        try:
            wanted = WantedTable.read(text)
        except ParameterError:
            lines.append(_line(next(texts), "not measured", "it is not a table and a limit"))
            continue
        value = (point.get("answers", {}).get(wanted.name) or {}).get("mean")
        lines.append(_measured(next(texts), value, float(wanted.within), percent=True))
    return lines


def _measured(text: str, value: Any, limit: float, *, percent: bool) -> dict[str, str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _line(text, "not measured")
    return _line(text, "kept" if value <= limit else "broken", f"{100 * value:.3g} %" if percent else f"{value:.3g}")


def judged_unmeasured(
    held: Mapping[str, Any], promise: Any, *, proved: bool, counted: str = "people"
) -> list[dict[str, str]]:
    """Judge a method that was not compared: its own promise may keep the floor, and nothing else is known."""
    floor, *rest = policy_lines(held, counted)
    parts = promise.parts if isinstance(promise, Requirement) else ()
    promised = max((part.k for part in parts if isinstance(part, KAnonymity | AlphaK)), default=0)
    if proved:
        first = _line(floor, "none", "it publishes no groups of records")
    elif promised >= int(held.get("k") or DEFAULT_K):
        first = _line(floor, "kept", f"it promises at least {promised}")
    else:
        first = _line(floor, "not measured", f"it promises at least {promised} only" if promised else "")
    return [first, *(_line(text, "not measured") for text in rest)]


def judged_by_attacks(held: Mapping[str, Any], answer: Mapping[str, Any]) -> list[dict[str, str]]:
    """Judge the limits of a policy on attackers' gains, each by the strongest of the attacks that a comparison tries.

    Without a control a rate is no gain, and a limit is not measured. An interval that reaches beyond the limit is told.
    """
    limits = held.get("limits", {})
    texts = policy_lines(held)[1:]
    lines = []
    for text, (name, limit) in zip(texts, limits.items(), strict=False):
        compared = {attack.name for attack in attacks_of(name)}
        tried = [
            one
            for one in answer.get("attacks", ())
            if one["attack"] in compared and isinstance(one.get("gain"), int | float) and attack_tried(one)
        ]
        if not tried:
            lines.append(_line(text, "not measured"))
            continue
        worst = max(tried, key=lambda one: float(one["gain"]))
        line = _measured(text, worst["gain"], float(limit), percent=False)
        high = float(worst["interval"][1])
        unsure = f", and may be as large as {high:.3g}" if line["state"] == "kept" and high > float(limit) else ""
        lines.append({**line, "found": f"{line['found']} by {worst['attack']}{unsure}"})
    return lines


def broken(lines: Iterable[Mapping[str, str]]) -> str:
    """Return the lines that are broken, with what the release has; nothing if none is."""
    return "; ".join(f"{one['line']}: {one['found']}" for one in lines if one["state"] == "broken")


def earlier_policies(project: Project, held: Mapping[str, Any], counted: str = "people") -> list[dict[str, Any]]:
    """Return the policies of comparisons whose results were seen, where they asked for something else, oldest first."""
    seen: list[dict[str, Any]] = []
    for run in reversed(runs_of(project.folder, "compare")):
        stated = policy_of_words(run.words)
        if run.state != "done" or same_policy(stated, held):
            continue
        lines = policy_lines(stated, counted)
        if not seen or seen[-1]["lines"] != lines:
            seen.append({"when": _when(run), "lines": lines})
    return seen


def _when(run: Run) -> str:
    ended = (run.folder / "code").stat().st_mtime
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(ended))
