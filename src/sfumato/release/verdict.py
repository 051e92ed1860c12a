"""What a verifier says: does the claim hold, what was asked, what was found, how many classes offend."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Any, Literal

from sfumato.claims import Found, Promise, Requirement, number_to_json, plain
from sfumato.errors import Problem, count_of
from sfumato.schema.fingerprints import Fingerprints
from sfumato.visible import notebook, visible

VerdictKind = Literal["checked", "proved", "estimate", "none"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One requirement on one sensitive attribute: what all classes attain, and how many fall short."""

    requirement: Requirement
    _: KW_ONLY
    attribute: str | None
    found: Found
    holds: bool
    offending: int

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {
            "asked": str(self.requirement),
            "attribute": self.attribute,
            "found": found_json(self.found),
            "holds": self.holds,
            "offending": self.offending,
        }

    def __str__(self) -> str:
        about = f" of {self.attribute}" if self.attribute else ""
        state = "holds" if self.holds else f"fails in {count_of(self.offending, 'class', 'classes')}"
        return f"{self.requirement}{about}: found {_plain(self.found)}, {state}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`holds` only when nothing fails. For a proved or estimated claim the notes say what a file cannot show.

    Where it is not `checkable`, as where nothing in a file says how many people a class holds, it does not hold either.

    >>> table = sf.datasets.adult("test")
    >>> from tempfile import TemporaryDirectory
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> with TemporaryDirectory() as folder:
    ...     saved = release.save(f"{folder}/out")
    ...     verdict = sf.verify(f"{folder}/out")
    >>> verdict.holds, verdict.kind
    (True, 'checked')
    """

    kind: VerdictKind
    _: KW_ONLY
    holds: bool
    asked: Promise | None
    findings: tuple[Finding, ...] = ()
    classes: int | None = None
    rows: int | None = None
    offending: int = 0
    offending_rows: int = 0
    problems: tuple[Problem, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())
    fingerprints: Fingerprints | None = None
    checkable: bool = True

    @property
    def found(self) -> dict[str, Found]:
        """What is attained, by the name of the requirement; of several sensitive attributes the worst."""
        labels = [finding.requirement.label for finding in self.findings]
        several = {
            label
            for label in labels
            if len({str(f.requirement) for f in self.findings if f.requirement.label == label}) > 1
        }
        found: dict[str, Found] = {}
        for finding, label in zip(self.findings, labels, strict=True):
            name = str(finding.requirement) if label in several else label
            found[name] = _worst(finding, found[name]) if name in found else finding.found
        return found

    def _repr_html_(self) -> str:
        """Show the verdict in a notebook."""
        first, *rest = str(self).splitlines() or [""]
        return notebook(first, lines=rest)

    @property
    def exit_code(self) -> int:
        """0 when the claim holds, 3 when it does not or cannot be checked."""
        return 0 if self.holds else 3

    def to_json(self) -> dict[str, Any]:
        """Return what `--json` prints: names and numbers, no cell value."""
        return {
            "kind": self.kind,
            "holds": self.holds,
            **({} if self.checkable else {"checkable": False}),
            "asked": None if self.asked is None else str(self.asked),
            "promise": None if self.asked is None else self.asked.to_json(),
            "found": {name: found_json(value) for name, value in self.found.items()},
            "findings": [finding.to_json() for finding in self.findings],
            "classes": self.classes,
            "rows": self.rows,
            "offending": self.offending,
            "offending_rows": self.offending_rows,
            "problems": [problem.as_json() for problem in self.problems],
            "notes": list(self.notes),
            "fingerprints": None if self.fingerprints is None else self.fingerprints.to_json(),
        }

    def __str__(self) -> str:
        state = "holds" if self.holds else "FAILS" if self.checkable else "cannot be checked"
        if self.holds and self.kind == "estimate":
            state = "an estimate, not checked; what a file can show of it holds"
        lines = [f"{self.asked if self.asked is not None else 'the claim'}: {state}"]
        lines += [str(finding) for finding in self.findings]
        if self.offending:
            classes = count_of(self.classes or 0, "class", "classes")
            offend = "offends" if self.offending == 1 else "offend"
            lines.append(f"{self.offending} of {classes} {offend} ({count_of(self.offending_rows, 'row')})")
        lines += [str(problem) for problem in self.problems]
        if (seen := self.fingerprints) is not None and (seen.alone or seen.alone_on_all or seen.alone_on_exact):
            lines.append(f"{'Warning: ' if seen.above else ''}{seen.describe()}")
        return "\n".join(map(visible, [*lines, *self.notes]))


def _worst(finding: Finding, other: Found) -> Found:
    pair = [value for value in (finding.found, other) if value is not None]
    pick = min if finding.requirement.at_least else max
    worst: Found = pick(pair, key=_first) if pair else None
    return worst


def _first(value: Any) -> Any:
    return _first(value[0]) if isinstance(value, tuple) else value


def found_json(found: Found) -> Any:
    """Return a figure, or a list of them, for JSON."""
    if isinstance(found, tuple):
        return [found_json(part) for part in found]
    return None if found is None else number_to_json(found)


def _plain(found: Found) -> str:
    if found is None:
        return "no classes"
    if isinstance(found, tuple):
        return ", ".join(_plain(part) for part in found)
    if isinstance(found, Fraction) and len(str(found)) > 12:
        return plain(float(found))
    return "infinite" if isinstance(found, float) and math.isinf(found) else plain(found)
