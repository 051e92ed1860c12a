"""`reproduce`: the steps of a paper, each kept when it is done, then figures and verdicts.

A folder given as `keep` holds one JSON file for each step; a run that was stopped goes on from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.errors import ParameterError
from sfumato.mechanisms import Progress
from sfumato.release.whole_file import write_whole
from sfumato.reproduce.figures import Figure, Paper, Settings, Size, Statement
from sfumato.reproduce.registry import paper_of

__all__ = ["Reproduction", "reproduce"]

_README = """Results of `sfumato reproduce`, one file for each step. Computed from the data it was given:
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
    """Of all source files: a result of other code must not be taken for one of this."""
    held = hashlib.sha256()
    for path in sorted(Path(__file__).resolve().parents[1].rglob("*.py")):
        held.update(path.read_bytes())
    return held.hexdigest()


def _kept(file: Path, step: str) -> Any:
    try:
        held = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return held.get("found") if isinstance(held, dict) and held.get("step") == step else None
