"""How numbers and kinds of releases are written for people, the same in every report."""

from __future__ import annotations

import math
from typing import Any

from sfumato.frontier import MEMBERSHIP, Spread

__all__ = ["FORMS", "MEMBERSHIP", "NOISY", "around", "figure", "membership", "published_as", "spread", "times"]

FORMS = {
    "generalized": "generalized rows",
    "buckets": "groups of exact rows",
    "cells": "noisy cells",
    "synthetic": "synthetic rows",
}
NOISY = "measured figure includes noise; see its proved bound"


def membership(form: str) -> str:
    """Say that anyone can tell who is in the table, for a form of which that is true; nothing for others."""
    return f"{MEMBERSHIP[0].upper()}{MEMBERSHIP[1:]}. Anyone can tell who is in the table." if form == "buckets" else ""


def published_as(form: str, *, noisy: bool, bound: bool) -> str:
    """Say what a release consists of, and what to mind when its mark is read."""
    said = [FORMS.get(form, form)]
    if form == "buckets":
        said.append(MEMBERSHIP)
    if noisy:  # a claim of approximate differential privacy proves no bound of this kind
        said.append(NOISY if bound else NOISY.partition(";")[0])
    return "; ".join(said)


def figure(value: float) -> str:
    """Write a number for people: four significant digits, no false zeros."""
    if math.isnan(value) or math.isinf(value):
        return str(value)
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return f"{value:.4g}"
    return f"{value:.2e}"


def spread(values: Spread) -> str:
    """Write a mean with the range of its runs."""
    return figure(values.mean) + (f" ({around(values)})" if around(values) else "")


def around(values: Spread) -> str:
    """Write the range of several runs, nothing for one."""
    runs = len(values.values)
    return f"{figure(values.low)} to {figure(values.high)}, {runs} runs" if runs > 1 else ""


def times(value: Any) -> str:
    """Write a ratio; nothing where there is none."""
    if value is None:
        return ""
    number = float(value)
    return "infinitely" if math.isinf(number) else f"{number:.3g} times"
