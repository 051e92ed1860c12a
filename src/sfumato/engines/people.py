"""Shares of people: weights of lines when every person has the same whole, divided among their lines."""

from __future__ import annotations

import numpy as np

from sfumato.errors import ParameterError

__all__ = ["MOST_SHARES", "shares_of", "whole_of"]

MOST_SHARES = 2**31 - 1
"""What a cut can count in all, `kernels.conditions.MOST_ROWS`: said again, because a verifier imports no kernel."""

_WHOLE = 60  # parts of a vote, where there is room: 1 to 6 rows share it evenly


def whole_of(people: int, most: int) -> int:
    """Return the whole that each of these people has, where none has more than `most` different rows."""
    room = MOST_SHARES // people
    if most > room:
        rule = f"has up to {most} different rows, too many for {people} people"
        raise ParameterError("person", "a person", rule, hint="rows_per_person = m keeps at most m rows of each person")
    return min(max(most, _WHOLE), room)


def shares_of(person: np.ndarray, line: np.ndarray, lines: int) -> tuple[np.ndarray, int]:
    """Return the weight of each line when every person has the same whole, and that whole.

    A person's whole is divided evenly among the person's lines, the remainder to the first of them.
    """
    if not len(person):
        return np.zeros(lines, np.int64), 1
    _, number, many = np.unique(person, return_inverse=True, return_counts=True)
    number = number.reshape(-1)
    whole = whole_of(len(many), int(many.max()))
    order = np.lexsort((line, number))
    first = np.ones(len(order), bool)
    first[1:] = number[order][1:] != number[order][:-1]
    share = whole // many[number]
    share[order[first]] += whole % many
    weights = np.zeros(lines, np.int64)
    np.add.at(weights, line, share)
    return weights, whole
