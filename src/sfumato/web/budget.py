"""The account of a population: its limit, what is spent, and what a planned release would add."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any

from sfumato.errors import BudgetExceeded, SfumatoError
from sfumato.exact import plain
from sfumato.visible import visible
from sfumato.web.background import schema_of
from sfumato.web.workspace import Project

_WIDTH = 400  # of the bar


def population(project: Project) -> str:
    """Return whose account a release is on."""
    schema = schema_of(project)
    return str(schema.population or schema.name)


def unread(project: Project) -> str:
    """Say why the ledger cannot be read; nothing where it can, or where there is none yet."""
    import sfumato as sf

    if project.ledger.is_file():
        try:
            sf.Ledger(project.ledger).populations()
        except SfumatoError as error:
            return str(error)
        except OSError as error:
            return f"the ledger cannot be read ({error.strerror})."
    return ""


def totals(project: Project) -> Any:
    """Return what was spent about the project's population, None if there is no account yet or it is `unread`."""
    import sfumato as sf

    if not project.ledger.is_file():
        return None
    with contextlib.suppress(SfumatoError, OSError):
        return sf.Ledger(project.ledger).totals(population(project))
    return None


def refusal(project: Project, claim: Any, mechanism: Any) -> Any:
    """Return how the ledger would refuse a release of a mechanism with this claim, None if it would not."""
    import sfumato as sf

    return sf.Ledger(project.ledger).refusal(population(project), claim, mechanism)


def over(error: Any) -> str:
    """Say how much is left, by whose limit, and how much a refused release needs; or what else prevents it."""
    if not isinstance(error, BudgetExceeded):
        return str(error).partition(" Hint:")[0].rstrip(".")
    whose = "".join(f". {note}" for note in getattr(error, "__notes__", ())).rstrip(".")
    if not isinstance(error.spent, Fraction):  # only delta is over
        return f"{error.why}{whose}"
    assert isinstance(error.limit, Fraction)
    assert isinstance(error.asked, Fraction)
    left = max(error.limit - error.spent, Fraction(0))
    return f"epsilon {plain(left)} left, {plain(error.asked)} needed{whose}"


def budget(project: Project, planned: str | None = None) -> dict[str, Any]:
    """Return how much of the limit is used and planned, for the bar and in words.

    The limit is the one that leaves least: that of the population, or of a whole or part of it. Whether a release fits
    is not said here, for that depends on its neighbour relation, its delta and its unit: `refusal` says it.
    """
    found = totals(project)
    spent = "" if found is None or not found.combined.epsilon else str(found.combined)
    shown: dict[str, Any] = {"limited": False, "spent": spent, "unread": unread(project)}
    if found is None or not found.leaves:
        return shown
    whose = min(found.leaves, key=lambda name: (found.leaves[name].epsilon, name != found.population))
    most = _limit_of(project, whose)
    limit, left = most.epsilon, found.leaves[whose].epsilon
    wanted = _fraction(planned)
    words = f"epsilon {plain(left)} of {plain(limit)} is left"
    if most.delta:
        words += f", and delta {plain(found.leaves[whose].delta)} of {plain(most.delta)}"
    if whose != found.population:
        words += f", by the limit of {visible(whose)}"
    if said := found.exceeded.get(whose):
        words += f"; {said}"
    if found.left_for:
        words += f", counted for {found.left_for}"
    if wanted:
        words += f"; {plain(wanted)} {'is planned' if wanted <= left else 'is more than that'}"
    used = min(max(1 - left / limit, Fraction(0)), Fraction(1))
    more = min(wanted / limit, 1 - used)
    bar = {"used": round(float(_WIDTH * used), 1), "planned": round(float(_WIDTH * more), 1)}
    return {**shown, "limited": True, "words": words, "fits": wanted <= left and not said, **bar}


def _limit_of(project: Project, name: str) -> Any:
    import sfumato as sf

    return sf.Ledger(project.ledger).totals(name).limit


def _fraction(text: str | None) -> Fraction:
    with contextlib.suppress(ValueError, ZeroDivisionError):
        return Fraction(text or 0)
    return Fraction(0)
