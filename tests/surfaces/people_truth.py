"""What is true of the people in a messy table and in a release of it, counted from the rows the table was made of.

Nothing of it goes through the library but the labels of a release, which its mapping names.
"""

from __future__ import annotations

import csv
import math
import re
import statistics
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.surfaces.messy_tables import Messy, Row
from tests.surfaces.people_sentences import Form

import sfumato as sf

__all__ = ["Published", "forms", "forms_of_attacks", "forms_of_releases", "lines_of", "published", "shown"]

_N = r"([\d,]+)"
_PLAIN = "|".join(re.escape(kind.plain) for kind in (sf.Mondrian, sf.Bucketize, sf.Anatomy, sf.Suppress, sf.DiffGen))
_TAGS = rf"(?: recommended)?(?: breaks the policy| efficient)?(?: (?:{_PLAIN}))?"  # behind the name of a release
_CUT_BY = r"any of them can be cut by (\w+)"
_HAVE = r"have one value of (\w+)"
_ONCE = r"each counted once for each person who has it \(for each row, where no key says whose they are\)"
_JS = "Jensen-Shannon divergence"
_AS_WHOLE = "distributed as in the whole published table, up to a distance"
_TOO_FEW = "no value(?:, fewer than| in some of their rows, which weigh less than)"


def lines_of(file):
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def shown(value):
    """A truth as the mapping of a release writes it."""
    if value is None:
        return "(missing)"
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


class Published:
    """The rows of each published class, by the truth: who they are about and what they hold."""

    def __init__(
        self,
        messy: Messy,
        classes: dict[tuple[str, ...], list[Row]],
        k: int | None = None,
        *,
        t: float | None = None,
    ) -> None:
        self.messy, self.classes, self.k, self.t = messy, classes, k, t
        self.people = {label: {row.person for row in rows} for label, rows in classes.items()}

    @property
    def smallest(self) -> int:
        return min(map(len, self.people.values()))

    @property
    def sizes(self) -> list[int]:
        """How many rows each class has."""
        return [len(rows) for rows in self.classes.values()]

    def named(self, label: tuple[str, ...], *, stars: bool = False) -> str:
        """A class as a report names it, or with its `*` as the web app does."""
        answer = [f"{name} {one}" for name, one in zip(self.messy.quasi, label, strict=True) if stars or one != "*"]
        return ", ".join(answer) or "every label *"

    def below(self) -> str:
        """How many people have a class of fewer than 2, 5, 11 and 20 people, as a report says it."""
        least: dict[str, int] = {}
        for people in self.people.values():
            for person in people:
                least[person] = min(least.get(person, len(people)), len(people))
        answer = {k: sum(size < k for size in least.values()) for k in (2, 5, 11, 20)}
        return ", ".join(f"{n} {'person' if n == 1 else 'people'} in classes below {k}" for k, n in answer.items() if n)

    def alike_but_missing(self, name: str) -> int:
        """In how many classes not everybody has one value, but everyone of whom a value is known has the same one."""
        alike = 0
        for label, rows in self.classes.items():
            holders = defaultdict(set)
            for row in rows:
                holders[row.cells[name]].add(row.person)
            everybody, knowing = self.people[label], {row.person for row in rows if row.cells[name] is not None}
            shared = any(people == knowing for value, people in holders.items() if value is not None)
            alike += len(holders) > 1 and everybody not in holders.values() and (shared or not knowing)
        return alike

    def alike_in_rows(self, name: str) -> int:
        """In how many classes the rows show that: one known value, and rows without one."""
        values = [{row.cells[name] for row in rows} for rows in self.classes.values()]
        return sum(None in here and len(here) == 2 for here in values)

    def with_one_value(self, name: str) -> int:
        """In how many classes everybody has some value."""
        common = 0
        for label, rows in self.classes.items():
            holders = defaultdict(set)
            for row in rows:
                holders[row.cells[name]].add(row.person)
            common += max(map(len, holders.values())) == len(self.people[label])
        return common

    def nearly_one_value(self, name: str) -> tuple[int, int]:
        """In how many classes of 20 people nearly all have a value that is not nearly everybody's, and of how many."""
        large, nearly = [label for label, people in self.people.items() if len(people) >= 20], 0
        overall = Counter(value for _, value in {(row.person, row.cells[name]) for row in self.messy.rows})
        for label in large:
            people = len(self.people[label])
            holders = Counter(value for _, value in {(row.person, row.cells[name]) for row in self.classes[label]})
            without = sum(many for value, many in holders.items() if value is not None) <= 0.05 * people
            nearly += any(
                many >= 0.95 * people
                and overall[value] < 0.9 * len(self.messy.people)
                and (value is not None or without)
                for value, many in holders.items()
            )
        return nearly, len(large)

    @property
    def largest_share(self) -> float:
        """The largest share of the people of a class who have one value of a sensitive column."""
        found = []
        for label, rows in self.classes.items():
            for name in self.messy.sensitive:
                holders = Counter(value for _, value in {(row.person, shown(row.cells[name])) for row in rows})
                found.append(max(holders.values()) / len(self.people[label]))
        return max(found)

    @property
    def furthest(self) -> float:
        """The largest Jensen-Shannon divergence of a class from the whole, each value once for each person with it."""
        everyone = [row for rows in self.classes.values() for row in rows]
        return max(
            js(_once_each(rows, name), _once_each(everyone, name))
            for rows in self.classes.values()
            for name in self.messy.sensitive
        )

    def shares(self, label: tuple[str, ...], name: str) -> dict[str, str]:
        """The share of the rows of a class that have each value, in percent."""
        rows = self.classes[label]
        return {shown(v): f"{n / len(rows):.0%}"[:-1] for v, n in Counter(row.cells[name] for row in rows).items()}


def _once_each(rows: Iterable[Row], name: str) -> dict[str, float]:
    """The share of each value among the pairs of a person and a value that the person has."""
    holders = Counter(value for _, value in {(row.person, shown(row.cells[name])) for row in rows})
    return {value: many / holders.total() for value, many in holders.items()}


def js(p: dict[str, float], q: dict[str, float]) -> float:
    """The Jensen-Shannon divergence, in nats."""
    middle = {value: (p.get(value, 0) + q.get(value, 0)) / 2 for value in {*p, *q}}
    return sum(share * math.log(share / middle[value]) / 2 for side in (p, q) for value, share in side.items())


def published(messy: Messy, mapping: str | Path, k: int | None = None, *, t: float | None = None) -> Published:
    """Put every row of the truth into its published class."""
    labels = {}
    for line in lines_of(Path(mapping)):
        key = tuple(line[name] for name in messy.quasi)
        labels[key] = tuple(line[f"{name} published"] for name in messy.quasi)
    found = defaultdict(list)
    for row in messy.rows:
        key = tuple(shown(row.cells[name]) for name in messy.quasi)
        if key not in labels:  # months are written without a day
            key = tuple(
                text[:7] if name == "Geburtsmonat" else text for name, text in zip(messy.quasi, key, strict=True)
            )
        found[labels[key]].append(row)
    return Published(messy, dict(found), k, t=t)


def alone_with(messy: Messy) -> int:
    """How many people have a combination of the columns published unchanged that nobody else has."""
    names = [attribute.name for attribute in sf.Schema.parse(tomllib.loads(messy.schema)).carried]
    whose = defaultdict(set)
    for row in messy.rows:
        whose[tuple(row.cells[name] for name in names)].add(row.person)
    return len({person for people in whose.values() if len(people) == 1 for person in people})


def alone_on_all(messy: Messy, classes: Mapping[tuple[str, ...], Sequence[Row]] | None = None) -> int:
    """How many people have a combination of all published columns that nobody else has: of the file, or of classes."""
    published = [one.name for one in sf.Schema.parse(tomllib.loads(messy.schema)).published]
    carried = [name for name in published if name not in messy.quasi]
    groups = {(): messy.rows} if classes is None else classes
    whose = defaultdict(set)
    for label, rows in groups.items():
        for row in rows:
            held = tuple(row.cells[name] for name in (published if classes is None else carried))
            whose[label, held].add(row.person)
    return len({person for people in whose.values() if len(people) == 1 for person in people})


def lacking(messy: Messy, name: str) -> int:
    """How many people have a row without a value of a column."""
    return len({row.person for row in messy.rows if row.cells[name] is None})


def surplus(messy: Messy) -> int:
    """How many rows are more than the cap of their person."""
    return sum(max(n - messy.cap, 0) for n in Counter(row.person for row in messy.rows).values())


def repeats(messy: Messy, name: str) -> tuple[int, int] | None:
    """How many values a part of the key has, and how many rows have the commonest."""
    place = {"MRN": 0, "Versichertennummer": 1}.get(name)
    if place is None:
        return None
    rows = Counter((row.person.split("/") if messy.name == "register" else ["", row.person])[-1] for row in messy.rows)
    return len(rows), max(rows.values())


def forms(messy: Messy, truth: Published | None = None, people_lines: int | None = None) -> list[Form]:
    """What the texts about a table and one release of it may say with a number about people, and when it is true."""
    people = len(messy.people)
    said: list[Form] = [
        (rf"^The rows are about {_N} people\.$", lambda n: n == people),
        (rf"The data are about {_N} people, who may have several rows", lambda n: n == people and messy.most_rows > 1),
        (rf"^people {_N}$", lambda n: n == people),
        (
            rf"or at most how many\? (\w+) repeats: {_N} values, up to {_N} rows",
            lambda name, n, most: (n, most) == repeats(messy, name),
        ),
        (  # `check` says it for classes of 10, a release for its own k
            rf"{_N} (?:person has|people have) {_TOO_FEW} {_N}(?: people)?, so no class of {_N} that holds {_CUT_BY}",
            lambda n, least, again, name: (
                n == lacking(messy, name) and least == again and least in (10, None if truth is None else truth.k)
            ),
        ),
        (rf"^{_N} of {_N} people (?:is|are) unique on", lambda n, of: (n, of) == (alone_with(messy), people)),
        (
            rf"^{_N} of {_N} people (?:has|have) a combination of all published columns that nobody else has",
            lambda n, of: (
                of == people
                and n in {alone_on_all(messy), None if truth is None else alone_on_all(messy, truth.classes)}
            ),
        ),
        # What a draft proposes: the line is a comment, and its number is the one its words explain.
        (r"rows_per_person = (\d+) # says that each row is a different person", lambda n: n == 1),
        (r"rows_per_person = (\d+) # keeps at most that many rows of each person", lambda n: n == 1),
        (r"who is a row about\? (\d+) if each row is a different person", lambda n: n == 1),
        # What a differentially private release says of its cap.
        (
            rf"{_N} rows are left out: at most (\d+) rows? of each person (?:is|are) kept",
            lambda n, cap: (n, cap) == (surplus(messy), messy.cap),
        ),
        (r"at most (\d+) rows? of each person (?:is|are) kept", lambda n: n == messy.cap),
        (r"at most (\d+) rows? of each person went into it", lambda n: n == messy.cap),
        (r"left out because their person has more than (\d+)", lambda n: n == messy.cap),
        (r"^spent, epsilon (\d+), add-or-remove-one, one person$", lambda n: n == 1),
    ]
    if truth is not None:
        number = len(truth.classes)
        said += [
            (rf"fewest people in a class {_N}$", lambda n: n == truth.smallest),
            (
                rf"[Ee]very class holds at least {_N} people(?:, as the publisher counts them: n >= {_N})?",
                lambda n, again=None: n == truth.k <= truth.smallest and again in (None, n),
            ),
            (
                r"no sensitive value is that of more than (\d+\.\d) % of the people \(.*\): max p <= 1/(\d+\.\d+)",
                lambda percent, l: (
                    truth.largest_share <= 1 / float(l) and math.ceil(1000 / float(l)) == round(10 * float(percent))
                ),
            ),
            (
                rf"[Ii]n every class the sensitive values, {_ONCE}, are {_AS_WHOLE}: {_JS} at most ([\d.]+)",
                lambda t: truth.t is not None and truth.furthest <= float(t) + 1e-9 and float(t) == truth.t,
            ),
            (
                rf"in {_N} of {_N} classes everyone whose (\w+) is known has the same",
                lambda n, of, name: (n, of) == (truth.alike_but_missing(name), number),
            ),
            (
                rf"in at least {_N} of {_N} classes everyone whose (\w+) is known has the same",
                lambda n, of, name: (
                    (n, of) == (truth.alike_in_rows(name), number)
                    and n <= truth.alike_but_missing(name) + truth.with_one_value(name)
                ),
            ),
            (
                rf"[Ii]n {_N} of {_N} classes everybody has one value of (\w+) in common",
                lambda n, of, name: (n, of) == (truth.with_one_value(name), number),
            ),
            (
                rf"in {_N} of {_N} class(?:es)? of 20 people or more at least 95 % of the people {_HAVE}",
                lambda n, of, name: (n, of) == truth.nearly_one_value(name),
            ),
            (
                rf"`people\.csv`: {_N} rows, {_N} columns",
                lambda n, wide: (n, wide) == (people_lines, len(messy.quasi) + 4),
            ),
        ]
    return said


def forms_of_releases(releases: dict[str, Published], recommended: str) -> list[Form]:
    """What a comparison may say of its releases, by name; `recommended` is the one it recommends."""
    best = releases[recommended]
    by_k = {held.k: held for held in releases.values() if held.k is not None}
    named = [(held.named(label), held, label) for held in releases.values() for label in held.classes]
    cells = [(" ¦ ".join(label), len(held.people[label])) for held in releases.values() for label in held.classes]

    def class_said(n: int, name: str, value: object, column: str, share: int) -> bool:
        return any(
            name == answer and n == len(held.people[label]) and held.shares(label, column).get(str(value)) == str(share)
            for answer, held, label in named
        )

    return [
        (
            rf"[Ee]very class holds at least {_N} people(?:, as the publisher counts them: n >= {_N})?",
            lambda n, again=None: n in by_k and n <= by_k[n].smallest and again in (None, n),
        ),
        (
            rf"In every class the sensitive values, {_ONCE}, are {_AS_WHOLE}: {_JS} at most ([\d.]+)",
            lambda t: any(
                held.furthest <= float(t) + 1e-9
                for name, held in releases.items()
                if f"t-closeness({t})" in name or (name, float(t)) == ("Suppress", 0)
            ),
        ),
        (rf"^The smallest class holds {_N} people\.$", lambda n: n == best.smallest),
        (
            rf"^{_N} rows of {_N} people\.$",
            lambda rows, n: (rows, n) == (len(best.messy.rows), len(best.messy.people)),
        ),
        (
            r"^((?:[\d,]+ (?:people|person) in classes below \d+(?:, )?)+)\.$",
            lambda said: said in {held.below() for held in releases.values()},
        ),
        (
            rf"^[Ss]mallest class = {_N}(?: people)? ¦ (?:[●○]? ?¦ )?(.+?){_TAGS} ¦ .*$",
            lambda n, name: name in releases and n == releases[name].smallest,
        ),
        (rf"^people = {_N} ¦ (.+) ¦ (.+) \((\w+)\), (\d+) %$", class_said),
        (rf"^people alike = {_N} ¦ (?:released ¦ )?(.+)$", lambda n, label: (label, n) in cells),
        (
            rf"^{_N} people: (.+)$",
            lambda n, name: any(
                n == len(held.people[label]) and name.rstrip(";") == held.named(label, stars=True)
                for _, held, label in named
            ),
        ),
        (rf"^people {_N}$", lambda n: n == len(best.messy.people)),
        (rf"^fewest people in a class {_N}$", lambda n: n in {held.smallest for held in releases.values()}),
        *(
            (rf"^rows in the {which} class {_N}$", lambda n, of=of: n in {of(held.sizes) for held in releases.values()})
            for which, of in {"smallest": min, "median": statistics.median, "largest": max}.items()
        ),
        (
            rf"^{_N} of {_N} people (?:is|are) unique on",
            lambda n, of: (n, of) == (alone_with(best.messy), len(best.messy.people)),
        ),
        (rf"[Ee]very group has at least {_N} people", lambda n: n in {held.smallest for held in releases.values()}),
    ]


def forms_of_attacks(found: Sequence[dict], truth: Published, others: int) -> list[Form]:
    """What attacks may say of people: rates of those they tried, who are the people of the table and the others."""
    people = len(truth.messy.people)
    vouched = set()
    for one in found:
        if one["counted"] != ("conditions" if one["attack"] == "singling-out" else "people"):
            continue
        targets, controls = one["targets"], one["controls"]
        many = {
            "membership": targets["trials"] <= people and controls["trials"] <= others,  # the rest sets the threshold
            "downcoding": targets["trials"] <= people and controls["trials"] <= others,  # those with a general label
            "linkage": (targets["trials"], controls["trials"]) == (min(people, 1000), min(others, 1000)),
            "singling-out": targets["trials"] == controls["trials"],  # conditions, of which it says how many
        }.get(one["attack"], (targets["trials"], controls["trials"]) == (people, others))
        rates = [f"{100 * side['successes'] / side['trials']:.1f}".removesuffix(".0") for side in (targets, controls)]
        answer = all(f"{rate} %" in one["sentence"] for rate in rates)
        if one["attack"] == "identity" and truth.messy.most_rows == 1:
            many = many and targets["successes"] == len(truth.classes)  # one right row of each class
        if one["attack"] == "inference" and truth.messy.most_rows == 1:
            commonest = [Counter(row.cells[one["attribute"]] for row in rows) for rows in truth.classes.values()]
            many = many and targets["successes"] <= sum(max(here.values()) for here in commonest)
        if one["attack"] == "singling-out":
            many = many and f"writes {targets['trials']} conditions" in one["sentence"]
        if many and answer:
            vouched.add(one["sentence"])
    guesses = {
        f"{100 * one['baseline']['successes'] / one['baseline']['trials']:.1f}".removesuffix(".0")
        for one in found
        if one["baseline"]["trials"] and one["counted"] == "people"
    }
    return [
        (r"^(?:[\w-]+: )?(An attacker who .*)$", lambda said: said in vouched),
        (r"The guess it is compared with, .*, is right for ([\d.]+) %", lambda percent: str(percent) in guesses),
    ]
