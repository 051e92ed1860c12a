"""The account of a population: its limit, what is spent, and what a planned release would add."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.exact import plain
from sfumato.web.background import schema_of
from sfumato.web.workspace import Project

__all__ = ["budget", "over", "population", "refusal", "totals"]

_WIDTH = 400  # of the bar


def population(project: Project) -> str:
    """Return whose account a release is on."""
    schema = schema_of(project)
    return str(schema.population or schema.name)


def totals(project: Project) -> Any:
    """Return what was spent about the project's population, None where there is no account yet."""
    import sfumato as sf

    if not project.ledger.is_file():
        return None
    with contextlib.suppress(SfumatoError, OSError):
        return sf.Ledger(project.ledger).totals(population(project))
    return None


def refusal(project: Project, claim: Any) -> Any:
    """Return how the ledger would refuse a release with this claim, None where it fits."""
    import sfumato as sf

    return sf.Ledger(project.ledger).refusal(population(project), claim)


def over(error: Any) -> str:
    """Say how much is left and how much a refused release needs."""
    if not isinstance(error.spent, Fraction):  # only delta is over
        return str(error.why)
    left = max(error.limit - error.spent, Fraction(0))
    return f"epsilon {plain(left)} left, {plain(error.asked)} needed"


def budget(project: Project, planned: str | None = None) -> dict[str, Any]:
    """Return how much of the limit is used and planned, for the bar and in words."""
    found = totals(project)
    spent = Fraction(0) if found is None else found.combined.epsilon
    shown: dict[str, Any] = {"limited": False, "spent": plain(spent) if spent else ""}
    if found is None or found.limit is None or found.left is None or not found.limit.epsilon:
        return shown
    limit, left = found.limit.epsilon, found.left.epsilon
    wanted = _fraction(planned)
    words = f"epsilon {plain(left)} of {plain(limit)} is left"
    if wanted:
        words += f"; {plain(wanted)} {'fits' if wanted <= left else 'is more than that'}"
    used = min(max(1 - left / limit, Fraction(0)), Fraction(1))
    more = min(wanted / limit, 1 - used)
    bar = {"used": round(float(_WIDTH * used), 1), "planned": round(float(_WIDTH * more), 1)}
    return {**shown, "limited": True, "words": words, "fits": wanted <= left, **bar}


def _fraction(text: str | None) -> Fraction:
    with contextlib.suppress(ValueError, ZeroDivisionError):
        return Fraction(text or 0)
    return Fraction(0)
