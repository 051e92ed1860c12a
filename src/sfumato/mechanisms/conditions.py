"""Requirements as the compiled conditions Mondrian's loops check, one for each sensitive attribute.

Source    claims/ for what each requirement means; kernels/conditions.py for how a loop decides it.
Claim     A part that the compiled conditions accept is accepted by `Requirement.check`, so by the verifier.
Because   integer definitions are decided by the same cross-multiplication on both sides; js, entropy and delta
          keep a margin of 1e-9 here, and the verifier accepts within 1e-12.
Checked   tests/claims/test_mondrian_releases.py::test_compiled_conditions_agree_with_the_requirement
Silent on several sensitive attributes together: each is checked separately.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.claims import (
    AlphaK,
    BetaLikeness,
    KAnonymity,
    LDiversity,
    Requirement,
    SemanticPrivacy,
    TCloseness,
    plain,
    rows_for,
)
from sfumato.errors import Infeasible, ParameterError, count_of
from sfumato.kernels import conditions as compiled
from sfumato.kernels.conditions import Condition
from sfumato.release import ground_of
from sfumato.schema import Attribute, Schema

_LEAST_K = 2  # a k of 1 holds of every table
_HALVED = 3  # the best l from which half of it still promises something: l = 1 holds of every table


def compile_requirement(
    requirement: Requirement,
    sensitive: Sequence[Attribute],
    overall: Sequence[np.ndarray],
    rows_per_person: int,
) -> list[Condition]:
    """Return the conditions of a conjunction, bound to the table's overall counts where a distance needs them."""
    found: list[Condition] = []
    for part in requirement.parts:
        if not part.reads_sensitive:
            found += _on_attribute(part, 0, None, None, rows_per_person)
            continue
        if not sensitive:
            hint = 'give a column role = "sensitive", or ask for k-anonymity only'
            raise ParameterError("requirement", str(part), "needs a sensitive attribute", hint=hint)
        for at, attribute in enumerate(sensitive):
            found += _on_attribute(part, at, attribute, overall[at], rows_per_person)
    return found


def _on_attribute(
    part: Requirement, at: int, attribute: Attribute | None, overall: np.ndarray | None, rows_per_person: int
) -> list[Condition]:
    match part:
        case KAnonymity():
            return [compiled.size(rows_for(part.k, rows_per_person))]
        case AlphaK():
            return [
                compiled.size(rows_for(part.k, rows_per_person)),
                compiled.frequency(Fraction(part.alpha), sensitive=at),
            ]
        case LDiversity():
            return [_diversity(part, at)]
        case TCloseness(distance="js"):
            return [compiled.js(Fraction(part.t), sensitive=at)]
        case TCloseness():
            assert attribute is not None
            assert overall is not None
            return [compiled.emd(Fraction(part.t), _ground(attribute, overall), sensitive=at)]
        case SemanticPrivacy():
            absent = part.absent == "fail"
            two = part.sides == "two"
            return [compiled.delta_disclosure(Fraction(part.delta), two_sided=two, absent_fails=absent, sensitive=at)]
        case BetaLikeness():
            return [compiled.ratio(1 + Fraction(part.beta), sensitive=at)]
    raise ParameterError("requirement", str(part), "cannot be enforced by cutting")


def _diversity(part: LDiversity, at: int) -> Condition:
    match part.kind:
        case "probability":
            return compiled.frequency(1 / Fraction(part.l), sensitive=at)
        case "distinct":
            return compiled.distinct(int(part.l), sensitive=at)
        case "entropy":
            return compiled.entropy(Fraction(part.l), sensitive=at)
        case _:
            assert part.c is not None
            return compiled.recursive(Fraction(part.c), int(part.l), sensitive=at)


def _ground(attribute: Attribute, overall: np.ndarray) -> compiled.GroundEdges:
    """Return the ground distance in the kernel's terms: over the values that occur, as the requirement has it."""
    kind = ground_of(attribute).kind
    if kind == "ordered":
        return compiled.GroundEdges.ordered(overall)
    if kind == "hierarchical":
        return compiled.GroundEdges.hierarchical(attribute.nodes.low, attribute.nodes.high, attribute.nodes.parent)
    return compiled.GroundEdges.equal(attribute.size)


def refuse_no_requirement(given: object, hint: str) -> None:
    """Raise when something else was given in a requirement's place (`Mondrian(10)`)."""
    if not isinstance(given, Requirement):
        raise ParameterError("requirement", type(given).__name__, "must be a requirement", hint=hint)


def refuse_spellings(requirement: Requirement, schema: Schema, *, linkability: bool = False) -> None:
    """Raise when a promise would count two spellings of one sensitive value as two; linkability counts values too."""
    if linkability or any(part.reads_sensitive for part in requirement.parts):
        schema.refuse_spellings([attribute.name for attribute in schema.sensitive])


def refuse_infeasible(
    requirement: Requirement,
    sensitive: Sequence[Attribute],
    overall: Sequence[np.ndarray],
    rows: int,
    rows_per_person: int,
) -> None:
    """Raise `Infeasible` with the best attainable parameter when the whole table as one class does not satisfy it.

    Requirements are closed under union (docs/theory/partition.md), so then no partition of all rows satisfies it.
    Of several sensitive columns the one that attains least is named, since what the others attain is out of reach.
    """
    for part in requirement.parts:
        columns = list(zip(sensitive, overall, strict=True)) if part.reads_sensitive else [(None, np.array([rows]))]
        failing = []
        for attribute, counts in columns:
            table = np.asarray(counts, np.int64)[None, :]
            ground = None if attribute is None else ground_of(attribute)
            if part.holds(table[0], table[0], ground=ground, rows_per_person=rows_per_person):
                continue
            if _too_few(part, int(table.sum()), rows_per_person):
                raise _too_few_rows(part, int(table.sum()), rows_per_person)
            best = part.found(table, table[0], ground=ground, rows_per_person=rows_per_person)
            failing.append((best, attribute, table, ground))
        if failing:
            best, attribute, table, ground = _least_attained(part, failing)
            about = f" of {attribute.name}" if attribute is not None else ""
            has = f"{part.label}{about} {_shown(best)}"
            why = f"the whole table as one class has {has}, and no partition can do better"
            more = "a larger alpha" if isinstance(part, AlphaK) else "more"
            hint = f"ask for at most {_reachable(best)}" if part.at_least else f"ask for {more}"
            if attribute is not None:
                fewer = np.where(np.arange(len(table[0])) == table[0].argmax(), 0, table[0])  # without that value
                enough = part.holds(fewer, fewer, ground=ground, rows_per_person=rows_per_person)
                hint = _hint(part, attribute.name, best, hint, table[0], enough=enough)
            raise Infeasible(part, best, why, hint=hint)


def _least_attained(part: Requirement, failing: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the line that attains least; each begins with the figure it attains."""

    def figure(line: tuple[Any, ...]) -> Any:
        return line[0][0] if isinstance(line[0], tuple) else line[0]  # of alpha and k it is alpha that differs

    return min(failing, key=figure) if part.at_least else max(failing, key=figure)


def _too_few(part: Requirement, rows: int, rows_per_person: int) -> bool:
    """Whether it is k that all rows together do not reach."""
    return isinstance(part, KAnonymity | AlphaK) and rows < rows_for(part.k, rows_per_person)


def _too_few_rows(part: Requirement, rows: int, rows_per_person: int) -> Infeasible:
    """Say that the whole table has too few rows for a k."""
    best, has = max(1, rows // rows_per_person), count_of(rows, "row")  # any row is somebody's
    why = f"the whole table as one class has {has}, and no partition can do better"
    if rows_per_person > 1:  # who has how many is not known
        why = f"the table has {has}, and one person may have {rows_per_person}"
    return Infeasible(part, best, why, hint=hint_for_k(best))


def hint_for_k(best: int) -> str:
    """Name the largest k that can be reached; 1 promises nothing, so it is never named."""
    return (
        f"ask for a k of at most {best}"
        if best >= _LEAST_K
        else f"the table is too small for any k of at least {_LEAST_K}"
    )


def instead_of_l(name: str, values: int) -> str:
    """Say what to ask of an attribute of which no l above 1 can be reached; `values` is how many occur."""
    unpublished = f'give {name} the role "other", which is not published'
    if values < 2:
        return f"all rows have one value of {name}, so publishing it tells everybody's: {unpublished}"
    near = "which keeps each class near the whole table"
    return f"ask for t in the place of l (Mondrian or Bucketize with --t), {near}, or {unpublished}"


def _hint(part: Requirement, name: str, best: object, ask: str, counts: np.ndarray, *, enough: bool) -> str:
    """Say what to ask for, what to expect near that figure, and what alone would raise it. Grouping values never does.

    `enough` says whether the requirement could be met without the rows of the most frequent value.
    """
    values = int((counts > 0).sum())
    if isinstance(part, LDiversity) and isinstance(best, int | float | Fraction) and _floor(best) <= 1:
        return instead_of_l(name, values)
    near = f"{ask}. Near that figure only a few large classes are left, since each must be as mixed as the whole table"
    start = _easier(part, best) if isinstance(part, LDiversity) else ""
    if isinstance(part, LDiversity) and part.kind == "distinct":
        return f"{near}{start}"
    ways = ["split it into finer values"] if values > 2 else []
    if enough and values > 2:
        ways.append(
            'leave its rows out (missing = { values = ["..."], action = "suppress" }; readers then know that nobody in '
            "the release has it)"
        )
    limit = f"{near}{start}. The most frequent value of {name} sets the limit"
    if ways:
        return f"{limit}: to go beyond, {' or '.join(ways)}"
    return f"{limit}: beyond it, {instead_of_l(name, values)}" if isinstance(part, LDiversity) else limit


def _easier(part: LDiversity, best: object) -> str:
    """Name an l that leaves more classes: half of the best; where that promises next to nothing, midway to 1."""
    if not isinstance(best, int | float | Fraction) or not math.isfinite(best) or part.kind == "recursive":
        return ""
    if best >= _HALVED:
        return "; half of it leaves many more"
    middle = Fraction(math.floor((Fraction(best) + 1) * 50), 100)
    return f"; {plain(middle)} leaves more" if part.kind != "distinct" and middle > 1 else ""


def _reachable(best: object) -> str:
    """Round down, so that the suggested value is feasible."""
    return plain(_floor(best)) if isinstance(best, int | float | Fraction) and math.isfinite(best) else _shown(best)


def _floor(best: float | Fraction) -> Fraction:
    return Fraction(math.floor(Fraction(best) * 1000), 1000) if math.isfinite(best) else Fraction(0)


def _shown(best: object) -> str:
    if isinstance(best, tuple):
        return ", ".join(_shown(part) for part in best)
    if isinstance(best, Fraction) and best.denominator != 1:
        return f"{float(best):.4g}"
    return f"{best:.4g}" if isinstance(best, float) else plain(best)  # type: ignore[arg-type]
