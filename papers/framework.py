"""`reproduce`: the steps of a paper, each kept when it is done, then figures and verdicts.

A folder given as `keep` holds one JSON file for each step; a run that was stopped goes on from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from importlib import import_module
from itertools import combinations, pairwise
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

import sfumato
from sfumato.errors import ParameterError
from sfumato.mechanisms import Progress
from sfumato.release.atomic import write_whole
from sfumato.version import __version__

__all__ = [
    "PAPERS",
    "SIZES",
    "Curve",
    "Figure",
    "Judged",
    "Paper",
    "Points",
    "Reproduction",
    "Settings",
    "Size",
    "Statement",
    "Step",
    "Word",
    "at_least",
    "at_most",
    "below",
    "direction",
    "figure_of",
    "hump",
    "inside",
    "less",
    "near",
    "paper_of",
    "related",
    "reproduce",
    "together",
    "trend",
    "vanishes",
]


# The rules by which a printed number or a described curve is judged. Pure functions of numbers.
#
# Source    own rules; what the papers say is in the files named after them.
# Claim     `agrees`: a printed number is met within the tolerance named beside it. `same shape`: there is no number,
# or
#           it is missed by no more than the factor named, and the direction or order that the paper describes is that
# of
#           our curves. `differs`: anything else, with the figures that show it.
# Because   each rule compares numbers only: it sees curves, never the name of a paper or a method.
# Checked   tests/unit/papers/test_verdicts.py::test_a_wrong_curve_differs
#           tests/unit/papers/test_verdicts.py::test_every_paper_differs_from_wrong_curves
# Silent on the papers' curves between the numbers they print: the figures themselves were not measured.

Word = Literal["agrees", "same shape", "differs"]
Points = Sequence[tuple[float, float]]
_ORDER: tuple[Word, ...] = ("agrees", "same shape", "differs")
_CLEAR = 0.5  # least rank correlation that counts as a direction
_LITTLE = 0.1  # of its start: where a curve counts as gone


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and the figures behind it."""

    word: Word
    _: KW_ONLY
    because: str


def near(printed: float, ours: float, *, within: float, factor: float = 2.0) -> Judged:
    """A printed number: agrees within an absolute tolerance, same shape within a factor, else differs."""
    off = abs(ours - printed)
    because = f"{_text(off)} from the printed {_text(printed)}; agrees within {_text(within)}"
    if off <= within * (1 + 1e-9):
        return Judged("agrees", because=because)
    ratio = ours / printed if printed else float("inf")
    if ratio > 0 and max(ratio, 1 / ratio) <= factor:
        return Judged("same shape", because=f"{because}, same shape within a factor {_text(factor)}")
    return Judged("differs", because=f"{because}; ours is {_text(ratio)} times the printed number")


def at_least(printed: float, ours: float, *, zero: float = 0.0) -> Judged:
    """The paper says "at least": agrees from the printed number on, same shape above `zero`, else differs."""
    because = f"ours {_text(ours)}, the paper at least {_text(printed)}"
    if ours >= printed:
        return Judged("agrees", because=because)
    return Judged(
        "same shape" if ours > zero else "differs", because=f"{because}; the direction needs above {_text(zero)}"
    )


def at_most(printed: float, ours: float, *, factor: float = 1.25) -> Judged:
    """The paper says "at most": agrees up to the printed number, same shape up to a factor, else differs."""
    because = f"ours {_text(ours)}, the paper at most {_text(printed)}"
    if ours <= printed:
        return Judged("agrees", because=because)
    word: Word = "same shape" if ours <= factor * printed else "differs"
    return Judged(word, because=f"{because}; same shape up to {_text(factor * printed)}")


def less(smaller: float, larger: float, *, factor: float = 1.0) -> Judged:
    """The paper says that one of our numbers is below another (up to a factor); no number is printed."""
    because = f"{_text(smaller)} against {_text(larger)}"
    because += f", up to a factor {_text(factor)}" if factor != 1 else ""
    return Judged("same shape" if smaller <= factor * larger else "differs", because=because)


def trend(points: Points) -> float:
    """Return Kendall's tau-a of y along x: pairs that rise less pairs that fall, over pairs with different x."""
    pairs = [(a, b) for a, b in combinations(points, 2) if a[0] != b[0]]
    signs = [np.sign((b[1] - a[1]) * (b[0] - a[0])) for a, b in pairs]
    return float(np.mean(signs)) if signs else 0.0


def direction(points: Points, wanted: Literal["rises", "falls"]) -> Judged:
    """The paper says that a curve rises or falls."""
    tau = trend(points)
    right = tau if wanted == "rises" else -tau
    because = f"rank correlation of y with x {tau:+.2f} over {len(points)} points; {wanted} needs {_CLEAR} that way"
    return Judged("same shape" if right >= _CLEAR else "differs", because=because)


def vanishes(points: Points) -> Judged:
    """The paper says that a curve falls towards 0: it ends at a tenth of its start or less and hardly rises between.

    Ranks would not do: a curve that has reached 0 stays there.
    """
    values = [y for _, y in sorted(points)]
    end, rises = values[-1], sum(max(b - a, 0.0) for a, b in pairwise(values))
    because = f"from {_text(values[0])} to {_text(end)}, rising by {_text(rises)} in all"
    gone = values[0] > 0 and max(end, rises) <= _LITTLE * values[0]
    return Judged("same shape" if gone else "differs", because=f"{because}; needs a tenth of the start for both")


def inside(printed: float, low: float, high: float, *, of: str) -> Judged:
    """A number that depends on what is not printed: it must lie where some reading of that could put it."""
    because = f"{_text(printed)} must lie between {_text(low)} and {_text(high)} ({of})"
    return Judged("same shape" if low <= printed <= high else "differs", because=because)


def hump(points: Points) -> Judged:
    """The paper says that a curve first rises and then falls: its maximum is inside, both ends are lower."""
    ordered = sorted(points)
    values = [y for _, y in ordered]
    top = int(np.argmax(values))
    inside = 0 < top < len(values) - 1
    because = f"largest at x = {_text(ordered[top][0])}, ends {_text(values[0])} and {_text(values[-1])}"
    return Judged("same shape" if inside else "differs", because=because)


def below(lower: Points, upper: Points, *, share: float = 0.75, slack: float = 0.0) -> Judged:
    """The paper says that one curve lies below another: at `share` of the places where both are known.

    Places are the points of either curve inside the range of x both cover; between points curves are straight lines.
    """
    places, low, high = _paired(lower, upper)
    if not places:
        return Judged("differs", because="the curves cover no common range of x")
    right = int(np.sum(low <= high + slack))
    because = f"below at {right} of {len(places)} places; needs {share:.0%}"
    return Judged("same shape" if right >= share * len(places) else "differs", because=because)


def related(pairs: Points, *, least: float = _CLEAR) -> Judged:
    """The paper says that two figures show one pattern: rank correlation (Spearman) of the paired numbers."""
    first, second = (np.argsort(np.argsort([pair[at] for pair in pairs])) for at in (0, 1))
    found = float(np.corrcoef(first, second)[0, 1]) if len(pairs) > 1 else 0.0
    because = f"rank correlation {found:+.2f} over {len(pairs)} releases; needs {least}"
    return Judged("same shape" if found >= least else "differs", because=because)


def together(*judged: Judged) -> Judged:
    """Several rules of one statement: the worst verdict, and every reason."""
    worst = max(judged, key=lambda one: _ORDER.index(one.word))
    return Judged(worst.word, because="; ".join(one.because for one in judged))


def _paired(lower: Points, upper: Points) -> tuple[list[float], np.ndarray, np.ndarray]:
    first, second = np.array(sorted(lower)), np.array(sorted(upper))
    if not len(first) or not len(second):
        return [], np.array([]), np.array([])
    start, end = max(first[0, 0], second[0, 0]), min(first[-1, 0], second[-1, 0])
    places = sorted({float(x) for x in [*first[:, 0], *second[:, 0]] if start <= x <= end})
    return places, np.interp(places, first[:, 0], first[:, 1]), np.interp(places, second[:, 0], second[:, 1])


def _text(number: float) -> str:
    return f"{number:.4g}"


# What a paper's figure is here: curves of ours, and what the paper prints or says about them.

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


# The four papers, by the names of their pages.

# name -> module with PAPER; imported when asked for
PAPERS = {
    "diffgen": "papers.diffgen",
    "dlink": "papers.dlink",
    "tradeoff": "papers.tradeoff",
    "onthemap": "papers.onthemap",
}


def paper_of(name: str) -> Paper:
    """Return a paper by name."""
    if name not in PAPERS:
        raise ParameterError("paper", name, "is not known", hint=f"one of {', '.join(PAPERS)}")
    found: Paper = import_module(PAPERS[name]).PAPER
    return found


_README = """Results of `python -m papers`, one file for each step. Computed from the data it was given:
where those are confidential, so is this folder. Deleting a file only means that it is computed again.
"""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A paper's figures recomputed, with a verdict on each thing it prints or says."""

    paper: str
    _: KW_ONLY
    title: str
    size: Size
    data: str
    figures: tuple[Figure, ...]
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]
    results: Mapping[str, Any] = field(repr=False)

    def tally(self) -> dict[str, int]:
        """Return how many statements have each verdict."""
        words = [one.judged.word for one in self.statements]
        return {word: words.count(word) for word in ("agrees", "same shape", "differs")}

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {
            "paper": self.paper,
            "title": self.title,
            "size": self.size,
            "data": self.data,
            "tally": self.tally(),
            "statements": [one.to_json() for one in self.statements],
            "figures": [one.to_json() for one in self.figures],
            "notes": list(self.notes),
        }


def reproduce(
    name: str,
    *,
    size: Size = "full",
    data: str | PathLike[str] | None = None,
    keep: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> Reproduction:
    """Recompute the figures of a paper: "diffgen", "dlink", "tradeoff" or "onthemap".

    `size` "quick" keeps every curve and at least half of the x values, with fewer repeats and rows. `data` replaces
    the bundled or generated data where the paper used others (see the page's notes).
    """
    paper, settings = paper_of(name), Settings(size, data=data, seed=seed)
    if data is not None and not Path(data).exists():
        raise ParameterError("data", Path(data).name, "does not exist")
    return _judged(paper, settings, _computed(paper, settings, keep, progress))


def _computed(
    paper: Paper, settings: Settings, keep: str | PathLike[str] | None, progress: Progress | None
) -> dict[str, Any]:
    folder = None if keep is None else _folder(keep)
    steps = paper.steps(settings)
    results: dict[str, Any] = {}
    for done, step in enumerate(steps):
        if progress is not None:
            progress(done / len(steps), step.name)
        file = None if folder is None else folder / f"{paper.name}-{_digest(paper, settings, step.name)}.json"
        found = None if file is None else _kept(file, step.name)
        if found is None:
            # Through JSON and back, so that a run that was kept and one that was not see the same numbers.
            found = json.loads(json.dumps(step.run()))
            if file is not None:
                write_whole(file, json.dumps({"step": step.name, "found": found}), mode=0o600)
        results[step.name] = found
    if progress is not None:
        progress(1.0, "done")
    return results


def _judged(paper: Paper, settings: Settings, results: dict[str, Any]) -> Reproduction:
    figures = paper.figures(results, settings)
    return Reproduction(
        paper.name,
        title=paper.title,
        size=settings.size,
        data="" if settings.data is None else Path(settings.data).name,
        figures=figures,
        statements=paper.statements(figures, results),
        notes=paper.notes(settings),
        results=results,
    )


def _folder(keep: str | PathLike[str]) -> Path:
    folder = Path(keep)
    if folder.exists() and not folder.is_dir():
        raise ParameterError("keep", folder.name, "is a file", hint="name a folder")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in (("README.txt", _README), (".gitignore", "*\n")):
        if not (folder / name).exists():
            (folder / name).write_text(text, "utf-8")
    return folder


def _digest(paper: Paper, settings: Settings, step: str) -> str:
    """Name everything a result depends on, the code included; given data by name, size and time of change."""
    about: list[Any] = [__version__, _code(), paper.name, settings.size, settings.seed, step]
    if settings.data is not None:
        path = Path(settings.data)
        parts = [path] if path.is_file() else sorted(path.iterdir())
        about += [[part.name, part.stat().st_size, part.stat().st_mtime_ns] for part in parts]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:20]


@cache
def _code() -> str:
    """Return a hash of all source files: a result of other code must not be taken for one of this."""
    held = hashlib.sha256()
    for folder in (sfumato.__path__[0], Path(__file__).parent):
        for path in sorted(Path(folder).rglob("*.py")):
            held.update(path.read_bytes())
    return held.hexdigest()


def _kept(file: Path, step: str) -> Any:
    try:
        held = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return held.get("found") if isinstance(held, dict) and held.get("step") == step else None
