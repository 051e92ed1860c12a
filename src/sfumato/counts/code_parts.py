"""Parts of the cells of a column that may name a person: a run of letters or digits, what stands before a sign.

Most parts of most codes hardly repeat, and are dropped by their number of values alone. The others are numbered in no
order; few need one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

import numpy as np
import polars as pl

SURNAME_FIRST = r"^\s*([\p{L}\p{M}'. -]+?)\s*,\s*([\p{L}\p{M}'. -]+?)\s*$"  # Peterson, Anna
INITIAL = "its initial and surname"
REPEATED_ROWS = 20  # at least one row in 20 has a value that repeats

_PREFIX = r"^(.*[\p{L}\p{N}].*)[/\-_.\s]+[\p{L}\p{N}]+$"
_SUFFIX = r"^[\p{L}\p{N}]+[/\-_.\s]+(.*[\p{L}\p{N}].*)$"
_NAME = r"^\p{L}[\p{L}\p{M}'.-]*\s+\p{L}[\p{L}\p{M}'. -]+$"  # of a person, the surname last
_MAILBOX = r"^([^@]*[\p{L}\p{N}][^@]*)@[^@]+$"
_INITIALS = r"\b\p{L}\.\s*"
_CUTS = (1, 2, 3, 4, 6, 8)  # characters at either end of a key that number the rows of a person, or are a date
_TOKENS = (r"\p{L}+|\p{N}+", r"[\p{L}\p{N}]+")  # runs of letters or digits in a code, and runs of both
_PLACES = 6  # runs counted from the left, and as many from the right
_FEW = 4  # times as many cells as texts, from which the texts are sorted and not the cells


@dataclass(frozen=True, slots=True)
class CodePart:
    """A part of the cells of a column that may name a person: one run of signs, or two together; also as numbers.

    With `neighbours` parts next to each other in order may agree; without, they would be those of a sorted list. Of
    equal `runs` of letters or digits the first one alone is judged.
    """

    what: str
    _: KW_ONLY
    pieces: tuple[pl.Series, ...]
    codes: np.ndarray  # equal for equal parts, in no order; -1 if there is none
    neighbours: bool = False
    run: bool = False

    @property
    def pair(self) -> bool:
        """Whether it is two runs together."""
        return len(self.pieces) > 1

    def ordered(self) -> np.ndarray:
        """Return the numbers of the parts in their order, which few parts need."""
        numbers = [numbered(piece) for piece in self.pieces]
        return _pairs_of(*numbers) if self.pair else numbers[0]

    def alone(self) -> list[np.ndarray]:
        """Return its runs of letters or digits; none where one of them says as much as all together."""
        text = self.pieces[0] if not self.pair else self.pieces[0] + " " + self.pieces[1]
        tokens = text.str.extract_all(_TOKENS[0])
        found = [numbered(tokens.list.get(place, null_on_oob=True)) for place in range(_PLACES)]
        return [] if any(run.max(initial=-1) == _distinct(text) - 1 for run in found) else found


def _distinct(text: pl.Series) -> int:
    """Return how many values a column has; no value is none."""
    return text.n_unique() - (text.null_count() > 0)


def _may_repeat(filled: int, values: int, height: int) -> bool:
    """Whether enough of the cells that are filled may share their value to judge by them. Most parts fail this bound.

    Of n cells with v values at most 2 (n - v) share theirs: n - v is the sum of size - 1, at least half of each size
    from 2 on. The bound of a finer part, or one of fewer cells, is no larger.
    """
    return 2 * (filled - values) * REPEATED_ROWS >= height


def _repeating(text: pl.Series, least: int) -> bool:
    """Whether a part has enough values and may repeat often enough."""
    values = _distinct(text)
    return values >= least and _may_repeat(len(text) - text.null_count(), values, len(text))


def parts(text: pl.Series, least: int) -> Iterator[CodePart]:
    """Yield parts of the cells that may name a person; none that hardly repeats or has fewer than `least` values.

    Of a name the initial and the surname, wherever the surname stands; of an address what stands before the @. The part
    before the last sign or after the first, and all but a few characters at the end or at the beginning; then each run
    of letters or digits by its place. A cell without a sign is its own part.
    """
    for what, whole, neighbours in _wholes_of(text):
        if _repeating(whole, least):
            yield CodePart(what, pieces=(whole,), codes=grouped(whole), neighbours=neighbours)
    for part in _runs_of(text):
        times = np.bincount(part.codes[part.codes >= 0])
        values, filled = int(np.count_nonzero(times)), int(times.sum())
        if values >= max(least, 2) and _may_repeat(filled, values, len(text)):  # a constant says nothing of anybody
            yield part


def _wholes_of(text: pl.Series) -> Iterator[tuple[str, pl.Series, bool]]:
    """Yield the names and addresses that cells are, and what is left of cells without their beginning or end."""
    if text.str.contains(r"[\s,]").any():
        yield INITIAL, initial_and_surname(text), True
    if text.str.contains("@", literal=True).any():
        yield "the part of it before the @", text.str.to_lowercase().str.extract(_MAILBOX, 1), True
    signs = text.str.contains(r"[/\-_.\s]").any()
    for pattern, what in ((_PREFIX, "before its last sign"), (_SUFFIX, "after its first sign")):
        yield f"the part of it {what}", text.str.extract(pattern, 1).fill_null(text) if signs else text, True
    lines = text.set(text.str.contains("\n", literal=True), None)
    for cut in _CUTS:
        what = "character" if cut == 1 else f"{cut} characters"
        for end, rest in (("last", lines.str.head(-cut)), ("first", lines.str.slice(cut))):
            yield f"all but its {end} {what}", rest.set(rest == "", None), False


def initial_and_surname(text: pl.Series) -> pl.Series:
    """Return names as they are shortest written: "a jansen" for Anna Jansen, A. Jansen and JANSEN, A.; else null."""
    names = text.str.replace(SURNAME_FIRST, "$2 $1").str.to_lowercase().str.extract(f"({_NAME})", 1)
    surname = (
        names.str.extract(r"^\S+\s+(.*)$", 1).str.replace_all(_INITIALS, "").str.replace_all(r"[^\p{L}\p{M}]+", " ")
    )
    return names.str.slice(0, 1) + " " + surname.str.strip_chars()


def _runs_of(text: pl.Series) -> Iterator[CodePart]:
    """Yield the runs of letters or digits of the cells by their place from either end, and pairs of neighbours.

    Also the first, the last and the longest number, which stand in different places of a sentence. A run that hardly
    repeats is not numbered, nor is a pair of which one is.
    """
    before = None
    for pattern in _TOKENS:
        tokens = text.str.to_lowercase().str.extract_all(pattern)
        times = tokens.list.len()
        if before is not None and times.equals(before):  # no letters stand beside digits: the same runs again
            continue
        before, longest = times, times.max()
        places = min(_PLACES, longest if isinstance(longest, int) else 0)
        alike = places == longest == times.min()  # then those from the right are those from the left
        runs: list[pl.Series] = []
        codes: list[np.ndarray | None] = []
        for end, step in (("first", 1), ("last", -1)):
            if runs and alike:
                runs, codes = runs[::-1], codes[::-1]
            else:
                runs = [tokens.list.get(step * at - (step < 0), null_on_oob=True) for at in range(places)]
                codes = [grouped(run) if _repeating(run, 1) else None for run in runs]
            for at, (run, number) in enumerate(zip(runs, codes, strict=True)):
                if number is not None:
                    yield CodePart(_place_of(at, end), pieces=(run,), codes=number, run=True)
            for at, (one, other) in enumerate(itertools.pairwise(codes)):
                if one is not None and other is not None:
                    what, two = f"{_place_of(at, end)}, and the next", (runs[at], runs[at + 1])
                    yield CodePart(what, pieces=two, codes=_pairs_of(one, other), run=True)
    numbers = text.str.extract_all(r"\p{N}+")
    most = numbers.list.len().max()
    found = {"the first number in it": numbers.list.first()}
    if isinstance(most, int) and most > 1:
        by_width = pl.element().sort_by(pl.element().str.len_chars(), descending=True, maintain_order=True)
        found["the last number in it"] = numbers.list.last()
        found["the longest number in it"] = numbers.list.eval(by_width).list.first()
    for what, run in found.items():
        if _repeating(run, 1):
            yield CodePart(what, pieces=(run,), codes=grouped(run), run=True)


def _pairs_of(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Number pairs of runs from 0 by the number of the first and then the second; -1 where one is missing.

    Numbers in order give the order of the texts with a blank between them: no letter or digit comes before a blank.
    """
    known = (one >= 0) & (other >= 0)
    found = np.full(len(one), -1, np.int64)
    keys = one[known] * (int(other.max(initial=0)) + 1) + other[known]
    found[known] = np.unique(keys, return_inverse=True)[1].reshape(-1)
    return found


def _place_of(number: int, end: str) -> str:
    place = "" if number == 0 else f", {number} further " + ("on" if end == "first" else "to the left")
    return f"the {end} run of letters or digits{place}"


def grouped(text: pl.Series) -> np.ndarray:
    """Number the texts of a column, equal ones alike and in no order; -1 if there is none."""
    kinds, found = np.unique(text.hash().to_numpy(), return_inverse=True)
    if len(kinds) != text.n_unique():  # two texts with one hash
        return numbered(text)
    codes: np.ndarray = found.reshape(-1).astype(np.int64)
    codes[text.is_null().to_numpy()] = -1
    return codes


def numbered(text: pl.Series) -> np.ndarray:
    """Number the texts of a column from 0 in their order; -1 if there is none."""
    if _FEW * text.n_unique() < len(text):
        values = text.drop_nulls().unique().sort()
        places = pl.Series(np.arange(len(values)), dtype=pl.Int64)
        few: np.ndarray = text.replace_strict(values, places, default=-1, return_dtype=pl.Int64).to_numpy()
        return few
    found: np.ndarray = text.rank("dense").cast(pl.Int64).fill_null(0).to_numpy().astype(np.int64) - 1
    return found
