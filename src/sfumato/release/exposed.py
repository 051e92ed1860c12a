"""Classes that hide nobody: those of one person, and those in which everybody has one sensitive value.

Source    Sweeney 2002 (a class of one person is that person); Machanavajjhala et al. 2006 (homogeneity).
Claim     The numbers are those of the published rows and, where people are declared, of the declared people.
Because   they are counted from the sizes of the classes and from the histograms of the release itself.
Checked   tests/surfaces/test_exposed_classes.py::test_a_value_that_everybody_of_a_class_has_is_said_though_rows_differ
          tests/surfaces/test_exposed_classes.py::test_a_count_of_rows_alone_would_not_see_it
          tests/surfaces/test_exposed_classes.py::test_the_library_and_the_verifier_name_classes_of_one_person
Silent on classes of two people, one of whom knows the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.claims import Requirement
from sfumato.claims.requirement import Unit
from sfumato.errors import count_of

if TYPE_CHECKING:
    from sfumato.release.release import Release

__all__ = ["Exposed", "class_warnings"]

_PLURAL = {"class": "es", "group": "s"}
_ASK_BOTH = "Ask for l or t as well (--l, --t)"


@dataclass(frozen=True, slots=True)
class Exposed:
    """How many classes hold one person, and in how many everybody has one value of a sensitive attribute.

    Computed from what is published. `most` is how many rows one person may have where no key says whose they are.
    Where the people with each value are declared (`keyed`), a value that everybody of a class has counts also if some
    of them have others as well.
    """

    classes: int
    _: KW_ONLY
    single: int
    alike: Mapping[str, int]
    most: int = 1
    word: str = "class"
    keyed: bool = False
    unit: Unit = "person"

    def __bool__(self) -> bool:
        """Whether anybody can be singled out, or a value linked, by the class alone."""
        return bool(self.single or any(self.alike.values()))

    def among(self, number: int) -> str:
        """Say in how many of all classes something is so."""
        return f"in {number:,} of {count_of(self.classes, self.word, f'{self.word}{_PLURAL[self.word]}')}"

    def alone(self) -> str:
        """Say how many classes hold one person; nothing where none does."""
        if not self.single:
            return ""
        if self.most > 1:
            return f"{self.among(self.single)} there may be one person only: they have at most {self.most} rows"
        return f"{self.among(self.single)} there is one {self.unit} only"

    def one_value(self) -> list[str]:
        """Say for each sensitive attribute in how many classes all have one value; nothing where none does."""
        what = "everybody has one value" if self.keyed else "all rows have one value"
        return [f"{self.among(number)} {what} of {name}" for name, number in self.alike.items() if number]

    def sentences(self) -> list[str]:
        """Say all of it, one sentence each."""
        return [f"{text[0].upper()}{text[1:]}." for text in filter(None, (self.alone(), *self.one_value()))]


def class_warnings(release: Release) -> tuple[str, ...]:
    """Warn of classes of one person or of one sensitive value, whatever was required; nothing for drawn rows."""
    if release.form not in ("generalized", "buckets") or release.claim.kind == "proved":
        return ()
    exposed, asked = release.exposed(), release.claim.promise
    warnings = [f"{alone}. Ask for k as well (--k)"] if (alone := exposed.alone()) else []
    if isinstance(asked, Requirement) and not asked.reads_sensitive:
        seen = exposed.alike if release.seen_by_key is None else release.seen_by_key.alike
        what = "all rows have one value" if release.seen_by_key is None else "everybody has one value in common"
        of = {name: f"{exposed.among(number)} {what}" for name, number in seen.items()}
        return (*warnings, *(f"nothing is promised of {name}, and {all_}. {_ASK_BOTH}" for name, all_ in of.items()))
    alike = [f"{text}. Ask for l of at least 2 as well (--l)" for text in exposed.one_value()]
    return (*warnings, *alike, *_alike_but_missing(release))


def _alike_but_missing(release: Release) -> list[str]:
    """Warn of classes in which everyone whose value is known has the same one, and missing is the second value."""
    asked = release.claim.promise
    if not isinstance(asked, Requirement) or not asked.reads_sensitive or release.form != "generalized":
        return []
    warnings = []
    for attribute in (one for one in release.carried if one.role == "sensitive" and one.missing_code is not None):
        counts = release.groups.histogram(attribute.name)
        values = np.diff(counts.indptr)
        without = np.diff(counts[:, np.arange(attribute.size) != attribute.missing_code].indptr)
        alike = int(((values == 2) & (without == 1)).sum())
        if alike:
            of = (
                f"in {alike:,} of {len(release.groups):,} classes everyone whose {attribute.name} is known has the same"
            )
            warnings.append(f"{of}; a missing value counts as a value of its own")
    return warnings
