"""Classes that hide nobody: those of one person, and those in which everybody has one sensitive value.

Source    Sweeney 2002 (a class of one person is that person); Machanavajjhala et al. 2006 (homogeneity).
Claim     The numbers are those of the published rows and, where people are declared, of the declared people.
Because   they are counted from the sizes of the classes and from the histograms of the release itself.
Checked   tests/surfaces/test_exposed_classes.py::test_a_value_that_everybody_of_a_class_has_is_said_though_rows_differ
          tests/surfaces/test_exposed_classes.py::test_a_count_of_rows_alone_would_not_see_it
          tests/surfaces/test_exposed_classes.py::test_the_library_and_the_verifier_name_classes_of_one_person
          tests/surfaces/test_exposed_classes.py::test_classes_that_nearly_agree_are_stated_with_true_numbers
          tests/surfaces/test_exposed_classes.py::test_a_value_that_one_person_has_is_named_where_it_is_spelt
          tests/surfaces/test_exposed_classes.py::test_the_verifier_says_where_missing_is_the_only_second_value
Silent on classes of two people, one of whom knows the other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.claims import LDiversity, Requirement
from sfumato.claims.requirement import Unit
from sfumato.errors import count_of
from sfumato.exact import plain
from sfumato.release.declared_people import known_values
from sfumato.schema import Attribute, Days, Values
from sfumato.schema.near_values import near_codes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from sfumato.release.release import Release

_PLURAL = {"class": "es", "group": "s"}
_EXACT = "practically exact"  # in the note of a mechanism whose noise is so small
_MANY = 20  # rows of a class from which nearly all having one value is not chance
_NEARLY = (19, 20)  # the share of its rows that have it, at least
_COMMON = (9, 10)  # a value that this share of all rows have is expected in a class
_NO_KEY = "the key of a person is not published"
_LEARNED = ". Whoever knows the class knows it of nearly all"
_ASK_BOTH = "Ask for l or t as well (--l, --t)"
_OTHER_METHOD = "This method does not take {them}; Mondrian does (publish mondrian {flags})"


@dataclass(frozen=True, slots=True)
class Exposed:
    """How many classes hold one person, and in how many everybody has one value of a sensitive attribute.

    Computed from what is published. `most` is how many rows one person may have where no key says whose they are.
    Where the people with each value are declared (`keyed`), a value that everybody of a class has counts also if some
    of them have others as well. `unseen` says that a person may have any number of rows and nobody says whose they are:
    then a class of several rows may be one person as well.
    """

    classes: int
    _: KW_ONLY
    single: int
    alike: Mapping[str, int]
    missing: Mapping[str, int] = field(default_factory=dict)  # of these, classes in which nobody has a value
    most: int = 1
    word: str = "class"
    keyed: bool = False
    unit: Unit = "person"
    unseen: bool = False

    def __bool__(self) -> bool:
        """Whether anybody can be singled out, or a value linked, by the class alone."""
        return bool(self.single or any(self.alike.values()))

    def among(self, number: int | str) -> str:
        """Say in how many of all classes something is so."""
        return _among(number, self.classes, self.word)

    def alone(self) -> str:
        """Say how many classes hold one person; nothing if none does."""
        if self.unseen and self.single < self.classes:
            if not self.single:
                return f"{self.among('how many')} there is one person only cannot be seen: {_NO_KEY}"
            least = f"{self.among(f'at least {self.single:,}')} there is one person only"
            return f"{least}; of the others it cannot be seen: {_NO_KEY}"
        if not self.single:
            return ""
        if self.most > 1:
            return f"{self.among(self.single)} there may be one person only: they have at most {self.most} rows"
        return f"{self.among(self.single)} there is one {self.unit} only"

    def one_value(self) -> list[str]:
        """Say for each sensitive attribute in how many classes all have one value; nothing if none does."""
        found = [(name, number) for name, number in self.alike.items() if number]
        what = "everybody has one value of {} in common" if self.keyed else "all rows have one value of {}"
        return [f"{self.among(number)} {what.format(name)}{self.valueless(name)}" for name, number in found]

    def valueless(self, name: str) -> str:
        """Say in how many of these classes the shared value is "missing"; return nothing if there are none."""
        return _valueless(self.missing.get(name, 0), self.alike.get(name, 0))

    def sentences(self) -> list[str]:
        """Return each of these statements as a sentence."""
        return [f"{text[0].upper()}{text[1:]}." for text in filter(None, (self.alone(), *self.one_value()))]


def _among(number: int | str, classes: int, word: str) -> str:
    """Say in how many of all classes, or groups, something is so."""
    many = number if isinstance(number, str) else f"{number:,}"
    return f"in {many} of {count_of(classes, word, f'{word}{_PLURAL[word]}')}"


def _valueless(missing: int, alike: int) -> str:
    """Say in how many of some classes that agree nobody has a value: none is learned there."""
    if not missing:
        return ""
    where = "in all of them" if missing >= alike else f"in {missing:,} of them"
    return f" ({where} nobody has a value, it is missing)"


def class_warnings(release: Release) -> tuple[str, ...]:
    """Warn of classes of one person or of one sensitive value, whatever was required.

    Of drawn rows, that hardly any noise is in them.
    """
    if release.claim.kind == "proved":
        return tuple(note for note in release.notes if _EXACT in note)
    if release.form not in ("generalized", "buckets"):
        return ()
    return (
        *_of_classes(release),
        *values_of_one_person(release),
        *_ends_of_one_person(release),
        *_carried_of_one_person(release),
    )


def _of_classes(release: Release) -> tuple[str, ...]:
    exposed, asked = release.exposed(), release.claim.promise
    warnings = list(release.few_missing.values())
    warnings += [alone] if (alone := alone_warning(release)) else []
    if isinstance(asked, Requirement) and not asked.reads_sensitive:
        seen = exposed if release.seen_by_key is None else release.seen_by_key
        what = "all rows have one value" if release.seen_by_key is None else "everybody has one value in common"
        of = {
            name: f"{exposed.among(number)} {what}{_valueless(seen.missing.get(name, 0), number)}"
            for name, number in seen.alike.items()
            if number
        }
        hint = _ASK_BOTH if _takes(release) else _OTHER_METHOD.format(them="l or t", flags="--l, --t")
        warnings += [f"nothing is promised of {name}, and {all_}. {hint}" for name, all_ in of.items()]
        return (*warnings, *_shared_unseen(release), *_alike_but_missing(release), *_nearly_alike(release))
    alike = [f"{text}. {_ask_for_l(release)}" for text in exposed.one_value()]
    return (*warnings, *alike, *_alike_but_missing(release), *_nearly_alike(release))


def _shared_unseen(release: Release) -> list[str]:
    """Say what the files of a release do not show: people have several rows, and their key is not published."""
    if release.people is None or release.seen_by_key is not None:
        return []
    return shared_unseen([attribute.name for attribute in release.schema.sensitive], release.people.values)


def shared_unseen(sensitive: Sequence[str], declared: Collection[str]) -> list[str]:
    """Say of which sensitive attributes nobody can see whether a class has a value in common: none is declared."""
    names = [name for name in sensitive if name not in declared]
    unseen = f"whether everybody of a class has one value of {', '.join(names)} in common cannot be seen here"
    return [f"{unseen}: {_NO_KEY}"] if names else []


def alone_warning(release: Release) -> str:
    """Say how many classes hold one person, and what to ask for; nothing if none does."""
    alone = release.exposed().alone()
    if not alone:
        return ""
    if release.form == "buckets":  # they cannot promise k, but a group of two values has two people
        most = release.exposed().most
        return f"{alone}. {_ask_for_l(release) if most == 1 else _ask_for_more_than(release, most)}"
    takes = _takes(release, "k")
    return f"{alone}. {'Ask for k as well (--k)' if takes else _OTHER_METHOD.format(them='k', flags='--k')}"


def _ask_for_more_than(release: Release, most: int) -> str:
    """Say what leaves no group that may be one person's: l above the rows of a person, or one row of each."""
    named = 'name the person and keep one row of each (person = "...", rows_per_person = 1)'
    best = min((_largest_l(release, attribute) for attribute in release.schema.sensitive), default=Fraction(1))
    if not _takes(release, "l") or best < most + 1:
        return named[0].upper() + named[1:]
    return f"Ask for l of at least {most + 1} (--l), or {named}"


def _takes(release: Release, parameter: str = "requirement") -> bool:
    """Whether the method of a release can be asked for any requirement, or takes this parameter."""
    parts = [part for part in (release.mechanism, release.mechanism.get("base")) if isinstance(part, Mapping)]
    return any(name in part for part in parts for name in ("requirement", parameter))


def _ask_for_l(release: Release) -> str:
    """Name an l above 1 that this table can reach: no class is more varied than the whole table."""
    if not _takes(release):
        return _OTHER_METHOD.format(them="l", flags="--l")
    best = {attribute.name: _largest_l(release, attribute) for attribute in release.schema.sensitive}
    name = min(best, key=lambda one: best[one], default="")
    if not name or best[name] >= 2:
        return "Ask for l of at least 2 as well (--l)"
    least = Fraction(math.floor(best[name] * 1000), 1000)
    if least <= 1:
        if release.people is not None:  # counted in people, a class may be more varied than the whole table
            return f"An l above 1 may be out of reach: all, or nearly all, people have one value of {name} in common"
        return f"No l above 1 can be reached: all, or nearly all, of the table has one value of {name}"
    return (
        f"Ask for l as well (--l), at most {plain(least)}: more than half of the table has one value of {name}. "
        "Or ask for 2 different values (--l 2 --l-kind distinct)"
    )


def _largest_l(release: Release, attribute: Attribute) -> Fraction:
    """Return the l of the whole table as one class, as the mechanisms compute it before they refuse an l."""
    people = release.people
    if people is not None and attribute.name in people.overall:
        return Fraction(people.everyone, max(1, int(people.overall[attribute.name].max(initial=0))))
    table = np.asarray(release.groups.overall[attribute.name], np.int64)[None, :]
    found = LDiversity(2).found(table, rows_per_person=release.schema.rows_per_person)
    return Fraction(found) if isinstance(found, int | float | Fraction) else Fraction(1)


def values_of_one_person(release: Release) -> list[str]:
    """Say how many values of a quasi-identifier that one person or row alone has, or may have, are published by name.

    In labels, or in the list of a manifest: it states the whole list unless this was read off the data or follows from
    a mask. Known only in the memory of whoever published; nothing of a list that is called public.
    """
    found = []
    for attribute, table, labels in zip(release.quasi, release.boxes.tables, release.boxes.labels.T, strict=True):
        alone = _alone(release, attribute)
        if not alone or attribute.source == "public" or not isinstance(attribute.domain, Values):
            continue
        spelt = {part for at in np.unique(labels).tolist() for part in table.name(at).split(" | ")}
        listed = attribute.source != "data" and attribute.mask is None  # a mask alone lists every code there may be
        where = "in labels or in the list of values in manifest.json" if listed else "in labels"
        named = len(alone) if listed else len(alone & spelt)
        if named:
            who = f"of {attribute.name} that {_of_one(release)}"
            has = count_of(named, f"value {who} stands", f"values {who} stand")
            grouped = attribute.declared_tree and not listed
            fix = "Gather them in groups (groups, hierarchy)"
            fix = "A method that publishes whole groups, without --tight, keeps them out" if grouped else fix
            fix += ', and write source = "data" if the list is that of the file' if listed else ""
            found.append(f"{has} {where}. {fix}")
    return found


def _alone(release: Release, attribute: Attribute) -> set[str]:
    """Return the values of an attribute that one person alone has, or may have; ranges name them by their code."""
    held = release.held_values.get(attribute.name)
    return set() if held is None else {text for text, people in held.people.items() if people == 1}


def _ends_of_one_person(release: Release) -> list[str]:
    """Say how many tight labels begin or end at the exact value of one person, of ranges: days, amounts.

    Days with declared levels are cut between units, so that no label ends at somebody's own day.
    """
    found = []
    for attribute, table, labels in zip(release.quasi, release.boxes.tables, release.boxes.labels.T, strict=True):
        days = isinstance(attribute.domain, Days)
        if not release.tight or isinstance(attribute.domain, Values) or (days and attribute.declared_tree):
            continue
        alone = np.array(sorted(int(code) for code in _alone(release, attribute)), np.int64)
        used = table.take(np.unique(labels))
        first, last = used.offsets[:-1], used.offsets[1:] - 1
        own = np.isin(used.starts[first], alone) | np.isin(used.ends[last] - 1, alone)
        if own.any():
            name = attribute.name
            label = count_of(int(own.sum()), f"label of {name} begins or ends", f"labels of {name} begin or end")
            fix = 'Declare levels (dates = ["month", "year"])' if days else "Declare a wider step"
            found.append(f"{label} at the value that {_of_one(release)}. {fix}")
    return found


def _carried_of_one_person(release: Release) -> list[str]:
    """Say how many values of one person stand as they are in a column that is not made coarser.

    Once for all columns of numbers and days, of which each may have many such values.
    """
    found, cells = [], []
    for attribute in release.carried:
        if not (named := len(_alone(release, attribute))):
            continue
        if not isinstance(attribute.domain, Values):
            cells.append((attribute, named))
            continue
        stands = count_of(named, f"value of {attribute.name} that", f"values of {attribute.name} that")
        are = "is" if named == 1 else "are"
        found.append(
            f"{stands} {_of_one(release)} {are} published unchanged: who knows of one may find the row, and read the "
            "rest of it. Read rare values as one (same), or give the column another role"
        )
    if cells:
        columns = [
            f"{count_of(many, 'value')} of {one.name}{f' in {one.intervals}' if one.intervals else ''}"
            for one, many in cells
        ]
        are = "is" if sum(many for _, many in cells) == 1 else "are"
        how = "as described" if any(one.intervals for one, _ in cells) else "unchanged"
        found.append(
            f"{', '.join(columns)} that {_of_one(release)} {are} published {how}: who knows of one may find the "
            "row, and read the rest of it. Declare a wider step, or give the column another role"
        )
    return found


def _of_one(release: Release) -> str:
    """Say whose a value is that is counted once: as far as the schema tells who a row is about."""
    if release.schema.unit == "row":
        return "one row alone has"
    several = not release.schema.person and release.schema.rows_per_person > 1
    return "may be one person's" if several else "one person alone has"


@dataclass(frozen=True, slots=True)
class CountedPeople:
    """How many people each class holds, how many have each value of an attribute in all, and how many there are."""

    classes: np.ndarray
    overall: np.ndarray
    everyone: int


def nearly_one_value(
    name: str,
    table: Any,
    *,
    left_out: int | None = None,
    missing: Sequence[int] = (),
    learned: str = "",
    people: CountedPeople | None = None,
) -> list[str]:
    """Say in how many classes of 20 rows or more at least 95 % have one value, of a classes x values histogram.

    Rows, or people where `table` counts `people`. Values that nine of ten have anyway do not count. Nothing where there
    is no such class. A class in which that value is one of `missing`, and at most 5 % have another, tells nobody's
    value; it is counted, and that is said. `learned` is added else.
    """
    kept = np.ones(table.shape[0], bool)
    if left_out is not None:
        kept[left_out] = False
    if not kept.any():
        return []
    counts = table.tocsr()[kept]
    if people is None:
        unit, sizes, of_all = "rows", _flat(counts.sum(axis=1)), _flat(counts.sum(axis=0))
        everyone = int(sizes.sum())
    else:
        unit, sizes, of_all, everyone = "people", people.classes[kept], people.overall, people.everyone
    rare = counts.multiply((_COMMON[1] * of_all < _COMMON[0] * everyone)[None, :]).tocsr()
    known = _mostly(known_values(rare, missing).max(axis=1), sizes)
    few_known = (_NEARLY[1] - _NEARLY[0]) * sizes >= _NEARLY[1] * _flat(known_values(counts, missing).sum(axis=1))
    none = ~known & few_known & _mostly(rare.max(axis=1), sizes)
    nearly = known | none
    if not nearly.any():
        return []
    there = f"in {int(nearly.sum()):,} of {count_of(int((sizes >= _MANY).sum()), 'class', 'classes')}"
    said = f"{there} of {_MANY} {unit} or more at least 95 % of the {unit} have one value of {name}"
    if people is None:  # one person may be in several classes: theirs do not add up
        said += f": {int(sizes[nearly].sum()):,} of {everyone:,} rows"
    return [f"{said}{_mostly_missing(int(none.sum()), int(nearly.sum()))}{learned if known.any() else ''}"]


def _flat(column: Any) -> np.ndarray:
    """Return a row or column of a sparse matrix, or of its sums, as plain numbers."""
    found: np.ndarray = np.asarray(column.todense() if hasattr(column, "todense") else column).ravel()
    return found


def _mostly(most: Any, sizes: np.ndarray) -> np.ndarray:
    """Say which classes are large, and nearly all of them have what most of them have."""
    found: np.ndarray = (sizes >= _MANY) & (_NEARLY[1] * _flat(most) >= _NEARLY[0] * sizes)
    return found


def _mostly_missing(none: int, nearly: int) -> str:
    """Say in how many of the classes that nearly agree the common value is "missing"; some members may have a value."""
    if not none:
        return ""
    where = "in all of them" if none == nearly else f"in {none:,} of them"
    return f" ({where} that value is: missing)"


def _nearly_alike(release: Release) -> list[str]:
    if release.form != "generalized":
        return []
    return [text for attribute in release.carried for text in _nearly_alike_on(release, attribute)]


def _nearly_alike_on(release: Release, attribute: Attribute) -> list[str]:
    """Say it of people where they are known, else of rows; what is learned of people only where rows are people."""
    name, schema = attribute.name, release.schema
    counted = release.people if release.seen_by_key is None else release.seen_by_key.counted
    given: dict[str, Any] = {"left_out": release.suppressed_group, "missing": attribute.no_value_codes}
    if schema.unit == "person" and counted is not None and name in counted.values:
        people = CountedPeople(counted.classes, counted.overall[name], counted.everyone)
        return nearly_one_value(name, counted.histogram(name, attribute.size), learned=_LEARNED, people=people, **given)
    rows_are_people = schema.unit == "person" and not schema.several and schema.rows_per_person == 1
    learned = _LEARNED if rows_are_people else ""
    return nearly_one_value(name, release.groups.histogram(name), learned=learned, **given)


def _alike_but_missing(release: Release) -> list[str]:
    """Warn of classes in which all known values are one, missing ones and other spellings aside."""
    word = "group" if release.form == "buckets" else "class"
    kept, seen = np.ones(len(release.groups), bool), release.seen_by_key
    if release.suppressed_group is not None:
        kept[release.suppressed_group] = False
    found = []
    for attribute in release.carried:
        if attribute.role != "sensitive":
            continue
        rows = counts = release.groups.histogram(attribute.name)[kept]
        given: dict[str, Any] = {"word": word, "unit": release.schema.unit, "several": release.schema.several}
        if seen is not None:
            counts = seen.counted.histogram(attribute.name, attribute.size)[kept]
            knowing = [people[kept] for people in seen.knowing[attribute.name]]
            given |= {"people": seen.counted.classes[kept], "knowing": knowing}
        none, unsure = attribute.no_value_codes, attribute.unsure_codes
        found += known_alike(attribute.name, counts, none, unsure=unsure, **given)
        if isinstance(attribute.domain, Values):
            found.append(spelt_alike(attribute.name, rows, near_codes(attribute.texts()), word=word))
    return list(filter(None, found))


def spelt_alike(name: str, counts: csr_matrix, first: Sequence[int], *, word: str) -> str:
    """Say in how many classes all values may be spellings of one; `first` of each value, as `near_codes` returns it."""
    from scipy.sparse import csr_matrix as matrix

    width = counts.shape[1]
    if list(first) == list(range(width)):
        return ""
    counts = (counts > 0).astype(np.int64)
    joined = (counts @ matrix((np.ones(width, np.int64), (np.arange(width), first)), shape=(width, width))).tocsr()
    alike = int(((np.diff(counts.indptr) > 1) & (np.diff(joined.indptr) == 1)).sum())
    if not alike:
        return ""
    of = f"{_among(alike, counts.shape[0], word)} all values of {name}"
    return f"{of} may be spellings of one; each counts as a value of its own"


def known_alike(
    name: str,
    counts: csr_matrix,
    missing: Sequence[int],
    *,
    unsure: Sequence[int],
    word: str,
    unit: Unit,
    several: bool,
    people: np.ndarray | None = None,
    knowing: Sequence[np.ndarray | None] = (None, None),
) -> list[str]:
    """Say in how many classes everyone whose value is known has the same, and the others are `missing`, if in any.

    Also in how many it would be so if `unsure` values were missing, where these are more.

    `counts` has a line for each class and a column for each value: rows, or people where `people` of each class and
    those who have a value (`knowing`), or surely one, are given. Where people have `several` rows, rows show only some
    such classes.
    """
    least = "at least " if several and people is None else ""
    known = _known_alike(counts, missing, people=people, knowing=knowing[0])
    sure = _known_alike(counts, [*missing, *unsure], people=people, knowing=knowing[1]) if unsure else 0
    found = []
    if known:
        among = _among(f"{least}{known:,}", counts.shape[0], word)
        found.append(f"{among} {_all_known(name, unit)}; a missing value counts as a value of its own")
    if sure > known:
        unsaid = f"if the values of {name} that may mean no answer, as 9 above 1 to 3 or a refusal may, do mean that"
        among = _among(f"{least}{sure:,}", counts.shape[0], word)
        found.append(f"{unsaid}, {_all_known(name, unit)} {among}")
    return found


def _known_alike(
    counts: csr_matrix, missing: Sequence[int], *, people: np.ndarray | None, knowing: np.ndarray | None
) -> int:
    known = known_values(counts, missing)
    several = _flat((counts > 0).sum(axis=1)) >= 2
    if people is None or knowing is None:
        return int((several & (_flat((known > 0).sum(axis=1)) <= 1)).sum())
    return int((several & (_flat(counts.max(axis=1)) < people) & (_flat(known.max(axis=1)) == knowing)).sum())


def _all_known(name: str, unit: Unit) -> str:
    """Say that all known values are the same: of people only where the rows are people."""
    if unit == "row":
        return f"all rows in which {name} is known have the same value"
    return f"everyone whose {name} is known has the same"
