"""One line of the ledger."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from difflib import SequenceMatcher
from typing import Any, Literal, TypeAlias

from sfumato.claims import Neighbours, Promise
from sfumato.errors import ParameterError
from sfumato.ledger.cost import Cost
from sfumato.visible import one_form, visible

State: TypeAlias = Literal["reserved", "spent", "refunded"]
# Blanks, full stops, and every dash and connector of Unicode (categories Pd and Pc, and the minus signs).
_APART = re.compile(
    r"[\s_.\-\u02d7\u058a\u05be\u1400\u1806\u2010-\u2015\u203f\u2040\u2043\u2054\u207b\u208b\u2212\u2796\u2e17\u2e1a\u2e3a\u2e3b"
    r"\u2e40\u2e5d\u301c\u3030\u30a0\U00010d6e\U00010ead]+"
)
# Small letters that look like a Latin one, themselves or as capitals: Cyrillic, then Greek.
_LOOKS = str.maketrans(
    dict(
        zip(
            "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u04cf\u051b\u051d",
            "abekmhopctyxijsdhlqw",
            strict=True,
        )
    )
    | dict(
        zip(
            "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
            "abezhikmnoptyx",
            strict=True,
        )
    )
)
_PART = re.compile(r"[^\W\d_]+|\d+")
_NEARLY = 0.85  # of the letters of two names: `smal` and `small`
_YEAR = re.compile(r"(?:19|20)(\d\d)")


def population_key(name: str) -> str:
    """Return the one name under which a population is accounted, however it is written.

    Case, blanks, hyphens, underscores, forms of one letter and characters nobody sees do not make another population:
    a second name would be a second budget for the same people.

    >>> population_key(" Adult 1994") == population_key("adult-1994")
    True
    """
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise ParameterError("population", visible(name), "is not text in UTF-8", hint="write its name in UTF-8")
    key, before = name, None
    while key != before:  # a key is its own key
        before, key = key, _APART.sub("-", one_form(key)).strip("-")
    return key


def looks_like(one: str, other: str) -> bool:
    """Whether two names look the same on a screen although letters of them are of different scripts."""
    return one != other and one.translate(_LOOKS) == other.translate(_LOOKS)


def _words(name: str) -> list[str]:
    """Return the words of a name, sorted; a year by its last two digits."""
    parts = _PART.findall(population_key(name).translate(_LOOKS))
    return sorted(year[1] if (year := _YEAR.fullmatch(part)) else part for part in parts)


def same_words(one: str, other: str) -> bool:
    """Whether two names have the same words in any order; a year may be written with two digits.

    >>> same_words("Clinic Delft 2025", "delft-clinic-25"), same_words("clinic-2024", "clinic-2025")
    (True, False)
    """
    return _words(one) == _words(other)


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the other names that may stand for the same people, and no name that is merely another one.

    They have the same words, or all words of the shorter name, or differ in numbers alone, as names of files of two
    months do, or have the same numbers and nearly the same letters.

    >>> near_names("delft-clinic", ["clinic-delft-2025", "labpeople", "delft-clinik"])
    ['clinic-delft-2025', 'delft-clinik']
    >>> near_names("claims_2024_01", ["claims-2024-02", "claims-2024", "labpeople-2024-01"])
    ['claims-2024-02', 'claims-2024']
    """
    own, key = _words(name), population_key(name)
    return [other for other in known if population_key(other) != key and _near(own, _words(other))]


def _near(one: list[str], other: list[str]) -> bool:
    if one and other and (set(one) <= set(other) or set(other) <= set(one)):
        return True
    if [part for part in one if not part.isdigit()] == [part for part in other if not part.isdigit()]:
        return True
    if [part for part in one if part.isdigit()] != [part for part in other if part.isdigit()]:
        return False
    return SequenceMatcher(None, " ".join(one), " ".join(other), autojunk=False).ratio() >= _NEARLY


@dataclass(frozen=True, slots=True)
class LimitSet:
    """One time that a limit was set; `before` is None where there was none."""

    population: str
    _: KW_ONLY
    cost: Cost
    before: Cost | None
    at: str

    @property
    def raised(self) -> bool:
        """Whether more may be spent than before."""
        return self.before is not None and not self.cost.within(self.before)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping; exact numbers as text."""
        before = None if self.before is None else self.before.to_json()
        return {
            "population": self.population,
            "limit": self.cost.to_json(),
            "before": before,
            "raised": self.raised,
            "at": self.at,
        }


@dataclass(frozen=True, slots=True)
class Entry:
    """What was published, under which promise, what it cost; `cost` is None where no epsilon is promised.

    `unit` is what the promise protects: a person, a row or a job. `reserved` counts as spent: nobody knows whether the
    process that reserved has drawn. `saved` holds the folders, as seen from the one the ledger lies in; `meant` those
    that were about to be named when the process was last heard of; `unsaved` says why no folder will ever hold it.
    `manifests` has the SHA-256 of the manifest that a folder must hold to be the release of this entry.
    """

    number: int
    _: KW_ONLY
    population: str
    mechanism: Mapping[str, Any]
    promise: Promise
    neighbours: Neighbours | None
    cost: Cost | None
    state: State
    reserved_at: str
    settled_at: str | None = None
    saved: tuple[str, ...] = ()
    meant: tuple[str, ...] = ()
    unsaved: str = ""
    rehearsal: bool = False
    note: str = ""
    unit: str = "person"
    manifests: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Whether it takes from the budget."""
        return self.cost is not None and self.state != "refunded"

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping; exact numbers as text."""
        return {
            "entry": self.number,
            "population": self.population,
            "mechanism": dict(self.mechanism),
            "promise": self.promise.to_json(),
            "neighbours": None if self.neighbours is None else self.neighbours.value,
            "epsilon": None if self.cost is None else str(self.cost.epsilon),
            "delta": None if self.cost is None else str(self.cost.delta),
            "state": self.state,
            "reserved_at": self.reserved_at,
            "settled_at": self.settled_at,
            "saved": list(self.saved),
            "meant": list(self.meant),
            "unsaved": self.unsaved,
            "rehearsal": self.rehearsal,
            "note": self.note,
            "unit": self.unit,
        }
