"""What a paper's figure is here: curves of ours, and what the paper prints or says about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, Literal

from sfumato.errors import ParameterError
from sfumato.reproduce.verdict import Judged

__all__ = ["SIZES", "Curve", "Figure", "Paper", "Settings", "Size", "Statement", "Step", "figure_of"]

Size = Literal["full", "quick", "tiny"]
SIZES: tuple[Size, ...] = ("full", "quick", "tiny")


@dataclass(frozen=True, slots=True)
class Curve:
    """Named points (x, y). `dots` are not joined; `level` is a dotted reference line."""

    name: str
    _: KW_ONLY
    points: tuple[tuple[float, float], ...]
    kind: Literal["line", "dots", "level"] = "line"

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {"name": self.name, "kind": self.kind, "points": [list(point) for point in self.points]}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a paper, recomputed."""

    name: str
    _: KW_ONLY
    about: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    note: str = ""
    log_x: bool = False
    log_y: bool = False

    def curve(self, name: str) -> Curve:
        """Return a curve by name."""
        return next(one for one in self.curves if one.name == name)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        named = ("name", "about", "x", "y", "note", "log_x", "log_y")
        return {**{name: getattr(self, name) for name in named}, "curves": [one.to_json() for one in self.curves]}


def figure_of(figures: tuple[Figure, ...], name: str) -> Figure:
    """Return a figure by its name in the paper."""
    return next(one for one in figures if one.name == name)


@dataclass(frozen=True, slots=True)
class Statement:
    """What the paper prints or says, what we find, and the verdict. `why` is our account of a difference."""

    where: str
    _: KW_ONLY
    says: str
    printed: str = ""
    ours: str = ""
    judged: Judged
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        named = {name: getattr(self, name) for name in ("where", "says", "printed", "ours", "why")}
        return {**named, "verdict": self.judged.word, "because": self.judged.because}


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of the computation: its name decides where its result is kept; it returns plain JSON."""

    name: str
    _: KW_ONLY
    run: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is computed, on which data, from which seed."""

    size: Size = "full"
    _: KW_ONLY
    data: str | PathLike[str] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise ParameterError("size", self.size, f"must be one of {', '.join(SIZES)}")

    def pick(self, *, full: Any, quick: Any, tiny: Any) -> Any:
        """Return what is for this size."""
        return {"full": full, "quick": quick, "tiny": tiny}[self.size]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: steps to compute, figures and statements from their results, what could not be done."""

    name: str
    _: KW_ONLY
    title: str
    steps: Callable[[Settings], list[Step]]
    figures: Callable[[Mapping[str, Any], Settings], tuple[Figure, ...]]
    statements: Callable[[tuple[Figure, ...], Mapping[str, Any]], tuple[Statement, ...]]
    notes: Callable[[Settings], tuple[str, ...]]
