"""From a checked `[attribute.NAME]` table to an `Attribute`: domain and tree, with every problem named."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.errors import Problem, count_of
from sfumato.exact import number_fault
from sfumato.limits import EDGES
from sfumato.schema import hierarchies as builders
from sfumato.schema.attribute import MISSING, Attribute, Kind, Missing
from sfumato.schema.checks import doubled_names, leaf_problems, read_same, rising_problems, same_problems
from sfumato.schema.domain import (
    CODES_LIMIT,
    DIGITS_LIMIT,
    Days,
    Domain,
    Edges,
    Grid,
    Values,
    decimal_or_none,
    value_text,
)
from sfumato.schema.formats import NumberForm, format_problem
from sfumato.schema.hierarchies import CALENDAR_STEPS, Mask, read_hierarchy, read_text
from sfumato.schema.toml_models import AttributeFile, MissingFile
from sfumato.schema.tree import ROOT, Branch, Tree, branch_from_inline, grow

_NEEDS_DOMAIN = {"quasi", "sensitive", "target"}
_SHOWN = 100_000  # offending values kept behind `reveal()`
_FITS: dict[str, tuple[Kind, ...]] = {
    "range": ("numeric", "date"),
    "step": ("numeric", "date"),
    "edges": ("numeric",),
    "intervals": ("numeric",),
    "dates": ("date",),
    "values": ("numeric", "ordered", "nominal"),
    "hierarchy": ("numeric", "ordered", "nominal"),
    "mask": ("numeric", "ordered", "nominal"),
    "groups": ("numeric", "ordered", "nominal"),
    "same": ("numeric", "ordered", "nominal"),
    "format": ("date",),
    "decimal": ("numeric",),
    "thousands": ("numeric",),
    "units": ("numeric",),
}


def default_tree(domain: Domain, kind: Kind, missing: str | None) -> Tree:
    """Return the public tree where none is declared: dyadic for ordered kinds, else leaves below a root."""
    if kind == "nominal" and isinstance(domain, Values):
        return builders.flat(domain.size, domain.names, missing)
    return builders.dyadic(domain, missing)


def build_attribute(name: str, file: AttributeFile, folder: Path) -> tuple[Attribute, list[Problem]]:
    """Build one attribute; on problems the attribute comes without a domain."""
    return _Builder(name, file, folder).attribute()


class _Builder:
    """Collects the problems of one attribute while its parts are read."""

    def __init__(self, name: str, file: AttributeFile, folder: Path) -> None:
        self.name, self.file, self.folder = name, file, folder
        self.where = f"attribute.{name}"
        self.problems: list[Problem] = []

    def problem(self, key: str, rule: str, hint: str = "", values: Sequence[str] = ()) -> None:
        path = f"{self.where}.{key}" if key else self.where
        self.problems.append(Problem(path, rule, hint, count=len(values) or None, values=tuple(values)))

    def attribute(self) -> tuple[Attribute, list[Problem]]:
        file, missing = self.file, self._missing()
        if not self.name.strip():
            self.problem("", "has no name", "[attribute.age]")
        self._check_keys()
        domain, tree, declared = self._parts(MISSING if missing and missing.action == "category" else None)
        if domain is None and not self.problems and file.role in _NEEDS_DOMAIN:
            self.problem("", f"a {file.kind} attribute in the role {file.role} has no domain", self._domain_hint())
        if domain is not None and domain.size + 1 > CODES_LIMIT:
            self.problem("", f"has {domain.size} values or grid cells, more than 2^31", "use a larger step")
        if file.clamp and file.kind not in ("numeric", "date"):
            self.problem("clamp", "is for numeric and date attributes", 'other = "Other" collects unknown categories')
        if file.other is not None and not isinstance(domain, Values | None):
            self.problem("other", "is for attributes with listed values", "clamp = true keeps numbers in range")
        self._check_spelling(domain)
        if file.same is not None and domain is not None:
            self.problems += same_problems(file.same, domain, tree, self._missing_texts(), f"{self.where}.same")
        attribute = Attribute(
            self.name,
            role=file.role,
            kind=file.kind,
            domain=None if self.problems else domain,
            tree=None if self.problems else tree,
            declared_tree=declared,
            missing=missing,
            source=file.source or "unstated",
            column=file.column or self.name,
            hierarchy=file.hierarchy if isinstance(file.hierarchy, str) else "",
            clamp=file.clamp,
            other=None if file.other is None else file.other.strip(),
            same=read_same(file.same),
            mask=self._mask_alone(),
            masked=file.mask is not None,
            format=file.format,
            numbers=self._number_form(),
            ground=file.ground,
            decide=tuple(file.decide),
        )
        return attribute, self.problems

    def _check_keys(self) -> None:
        """Name the keys that the attribute's kind does not take, rather than ignore them."""
        given = [key for key in _FITS if getattr(self.file, key) is not None]
        for key in given:
            if self.file.kind not in _FITS[key]:
                self.problem(key, f"is for {' and '.join(_FITS[key])} attributes, not {self.file.kind} ones", "drop it")
        domains = [key for key in ("range", "edges", "values") if key in given]
        if len(domains) > 1:
            self.problem("", f"declares {' and '.join(domains)}", "keep one of them")

    def _check_spelling(self, domain: Domain | None) -> None:
        """Refuse a way to write days or numbers that cannot be read, or that nothing needs."""
        wrong = format_problem(self.file.format) if self.file.format is not None else ""
        if wrong:
            self.problem("format", wrong, 'format = "%d.%m.%Y" for 31.12.2024, "%m/%Y" for 03/1994')
        elif self.file.format is not None and "%d" not in self.file.format and self.file.step not in CALENDAR_STEPS:
            rule = "has no %d, so a cell names a month, but the range has cells of days"
            self.problem("format", rule, 'step = "month"')
        for key in ("decimal", "thousands", "units"):
            if getattr(self.file, key) is not None and isinstance(domain, Values):
                rule = "is for a range or edges, not for listed values"
                self.problem(key, rule, "list them as they are written")
        unclear = self._number_form().problem()
        if unclear is not None:
            self.problem(*unclear)

    def _number_form(self) -> NumberForm:
        """Return how numbers are written; with a point for thousands the comma marks decimals unless it is given."""
        decimal = self.file.decimal or ("," if self.file.thousands == "." else ".")
        units = tuple(unit.strip() for unit in self.file.units or ())
        return NumberForm(decimal, thousands=self.file.thousands or "", units=units)

    def _domain_hint(self) -> str:
        return {
            "numeric": "range = [0, 100] and step = 1",
            "date": 'range = ["2020-01-01", "2021-01-01"]',
        }.get(self.file.kind, "give values, a hierarchy, a mask or groups")

    def _missing_texts(self) -> Sequence[str]:
        rule = self.file.missing
        if isinstance(rule, MissingFile):
            return rule.values
        return rule if isinstance(rule, list) else ()

    def _missing(self) -> Missing | None:
        rule = self.file.missing
        if rule is None:
            return None
        action = rule.action if isinstance(rule, MissingFile) else "suppress" if rule == "suppress" else "category"
        return Missing(tuple(text.strip() for text in self._missing_texts()), action=action)

    def _parts(self, missing: str | None) -> tuple[Domain | None, Tree | None, bool]:
        file = self.file
        trees = [key for key in ("hierarchy", "intervals", "mask", "dates", "groups") if getattr(file, key) is not None]
        if len(trees) > 1:
            self.problem("", f"declares {' and '.join(trees)}", "keep one of them")
            return None, None, False
        if file.kind == "date":
            return self._dates(missing)
        if file.kind == "numeric" and file.values is None and not (file.hierarchy is not None and file.range is None):
            return self._numeric(missing)
        return self._listed(missing)

    # -- numbers ---------------------------------------------------------------------------

    def _decimal(self, key: str, value: Any) -> Decimal | None:
        number = None if isinstance(value, bool | dt.date) else decimal_or_none(value_text(value))
        if number is None:
            self.problem(key, "is not a number", 'write it as 0.1 or "0.1"')
        elif (
            number_fault(value_text(value))
            or number.adjusted() >= DIGITS_LIMIT
            or (Fraction(number) * 10**DIGITS_LIMIT).denominator != 1
        ):
            self.problem(key, f"has more than {DIGITS_LIMIT} digits before or after the point", "choose another unit")
            return None
        return number

    def _numeric(self, missing: str | None) -> tuple[Domain | None, Tree | None, bool]:
        file = self.file
        domain: Domain | None = None
        if file.edges is not None:
            domain = self._edges(file.edges)
        elif file.range is not None:
            domain = self._grid(file.range)
        if domain is None:
            if file.edges is None and file.range is None and (file.intervals or file.groups or file.mask):
                self.problem("range", "is missing", "range = [low, high)")
            return None, None, False
        if file.intervals is not None:
            return self._widths(domain, file.intervals, missing)
        if file.hierarchy is not None:
            return self._numeric_hierarchy(domain, missing)
        if file.mask or file.groups or file.dates:
            self.problem("", "a numeric attribute takes intervals or a hierarchy", "intervals = [5, 10, 20]")
        return domain, default_tree(domain, "numeric", missing), False

    def _edges(self, points: Sequence[Any]) -> Edges | None:
        if len(points) > EDGES:
            self.problem("edges", f"lists {len(points):,} points, more than {EDGES:,}", "use a range with a step")
            return None
        numbers = [self._decimal("edges", point) for point in points]
        if any(number is None for number in numbers):
            return None
        rising = [number for number in numbers if number is not None]
        if len(rising) < 2 or any(a >= b for a, b in itertools.pairwise(rising)):
            self.problem("edges", "must rise, at least two points", "edges = [0, 1, 10, 100]")
            return None
        return Edges(tuple(rising))

    def _grid(self, ends: tuple[Any, Any]) -> Grid | None:
        low, high = (self._decimal("range", end) for end in ends)
        step = self._decimal("step", 1 if self.file.step is None else self.file.step)
        if low is None or high is None or step is None:
            return None
        if step <= 0:
            self.problem("step", "must be above 0", "step = 1")
            return None
        if high <= low:
            self.problem(
                "range",
                "is empty: the high end must be above the low end",
                "range = [low, high), high not included",
            )
            return None
        size = math.ceil((Fraction(high) - Fraction(low)) / Fraction(step))
        if size > CODES_LIMIT:
            self.problem("range", f"has {size} grid cells, more than 2^31", "use a larger step")
            return None
        return Grid(low, step=step, size=size)

    def _widths(
        self, domain: Domain, given: Sequence[Any], missing: str | None
    ) -> tuple[Domain | None, Tree | None, bool]:
        if not isinstance(domain, Grid):
            self.problem("intervals", "need a range with a step", "give range and step instead of edges")
            return None, None, False
        steps = [number for width in given if (number := self._decimal("intervals", width)) is not None]
        if not steps or len(steps) < len(given):
            return None, None, False
        tree, problems = builders.widths(domain, steps, f"{self.where}.intervals", missing)
        self.problems += problems
        return domain, tree, True

    def _numeric_hierarchy(self, domain: Domain, missing: str | None) -> tuple[Domain | None, Tree | None, bool]:
        """A hierarchy over a grid: its leaves must be the grid's cells, in rising order."""
        branch = self._branch()
        if branch is None:
            return None, None, False
        tree, leaves = grow(branch, missing=missing)
        codes = [domain.code(leaf) for leaf in leaves]
        known = {code for code in codes if code is not None}
        outside = [leaf for leaf, code in zip(leaves, codes, strict=True) if code is None]
        hint = "list every cell once, or omit the range and let the hierarchy be the domain"
        if len(known) < domain.size:
            shown = [domain.text(code) for code in range(min(domain.size, _SHOWN)) if code not in known]
            self.problem("hierarchy", f"lacks {count_of(domain.size - len(known), 'cell')} of the range", hint, shown)
        if outside:
            self.problem("hierarchy", f"lists {count_of(len(outside), 'value')} outside the range", hint, outside)
        if not self.problems and codes != list(range(domain.size)):
            self.problem("hierarchy", "does not list the cells of the range once each, in rising order", hint)
        if self.problems:
            return None, None, False
        return domain, tree, True

    # -- dates -----------------------------------------------------------------------------

    def _dates(self, missing: str | None) -> tuple[Domain | None, Tree | None, bool]:
        file = self.file
        if file.range is None:
            if file.dates is not None or file.role in _NEEDS_DOMAIN:
                self.problem("range", "is missing", self._domain_hint())
            return None, None, False
        first, after = (self._day(end) for end in file.range)
        months = CALENDAR_STEPS.get(file.step) if isinstance(file.step, str) else None
        step = 1 if file.step is None or months else file.step
        if first is None or after is None:
            return None, None, False
        if months and any(end.day != 1 or (end.year * 12 + end.month - 1) % months for end in (first, after)):
            rule = f"must begin and end on the first day of a {file.step} where the cells are {file.step}s"
            self.problem("range", rule, 'range = ["1990-01-01", "2030-01-01"]')
            return None, None, False
        if not isinstance(step, int) or not 1 <= step <= dt.date.max.toordinal():
            hint = 'step = 1, or step = "month"'
            self.problem("step", "must be a whole number of days, or month, quarter, year or decade", hint)
            return None, None, False
        finer = [level for level in file.dates or () if (months or 1) > max(1, CALENDAR_STEPS.get(level, 0))]
        if finer:
            rule = f"holds {finer[0]}, which is finer than the step"
            self.problem("dates", rule, f'dates = ["{file.step}"], or a finer step')
            return None, None, False
        if after <= first:
            self.problem(
                "range",
                "is empty: the last day must come after the first",
                "range = [first, day after the last]",
            )
            return None, None, False
        if months:
            size = ((after.year - first.year) * 12 + after.month - first.month) // months
            days = Days(first, step=months, size=size, months=True)
        else:
            days = Days(first, step=step, size=-((first - after).days // step))
        if file.dates is not None:
            return days, builders.calendar(days, file.dates, missing), True
        return days, default_tree(days, "date", missing), False

    def _day(self, value: Any) -> dt.date | None:
        if isinstance(value, dt.datetime):
            return value.date()
        if isinstance(value, dt.date):
            return value
        try:
            return dt.date.fromisoformat(str(value))
        except ValueError:
            self.problem("range", "is not a pair of ISO dates", self._domain_hint())
            return None

    # -- listed values ---------------------------------------------------------------------

    def _listed(self, missing: str | None) -> tuple[Domain | None, Tree | None, bool]:
        file, before = self.file, len(self.problems)
        values = self._values()
        branch: Branch | None
        if file.mask is not None:
            branch, problems = builders.masked(
                values, file.mask.length, file.mask.side, file.mask.alphabet, f"{self.where}.mask"
            )
            self.problems += problems
        elif file.hierarchy is not None or file.groups is not None:
            branch = self._branch()
        elif values is not None:
            branch = Branch(ROOT, [Branch(value, []) for value in values])
        else:
            return None, None, False
        if len(self.problems) > before or branch is None:
            return None, None, False
        declared = any(child.children for child in branch.children)
        leaves = list(branch.leaves())
        other = (file.other or "").strip()
        if file.other is not None and other not in leaves:
            branch.children.append(Branch(other, []))
            leaves.append(other)
        self.problems += leaf_problems(file, leaves, values, missing=self._missing_texts(), where=self.where)
        if self.problems:
            return None, None, False
        tree, names = grow(branch, missing=missing)
        domain = Values(names)
        if file.groups and (doubled := doubled_names(tree, names)):  # hierarchies may have them: `check` remarks on it
            named = count_of(len(doubled), "group is named like a value", "groups are named like values")
            self.problem(
                "groups", f"{named}, and would never stand in a release", "give the group another name", doubled
            )
        if file.kind == "numeric":
            self.problems += rising_problems(names, self.where)
        if not declared and file.kind != "nominal":
            tree = default_tree(domain, file.kind, missing)
        return domain, tree, declared

    def _mask_alone(self) -> Mask | None:
        """Return the rule of a mask where it alone says which values there are."""
        given = self.file.mask
        if given is None or self.problems or self.file.values is not None or self.file.other is not None:
            return None
        return Mask(given.length, side=given.side, alphabet=given.alphabet)

    def _branch(self) -> Branch | None:
        file = self.file
        if file.groups is not None:
            branch, problems = branch_from_inline(file.groups, f"{self.where}.groups")
        elif isinstance(file.hierarchy, str):
            branch, problems = read_hierarchy(self.folder / file.hierarchy, f"{self.where}.hierarchy")
        else:
            branch, problems = branch_from_inline(file.hierarchy, f"{self.where}.hierarchy")
        self.problems += problems
        return None if problems else branch

    def _values(self) -> list[str] | None:
        given = self.file.values
        if given is None:
            return None
        if isinstance(given, str):
            text, problems = read_text(self.folder / given, f"{self.where}.values")
            self.problems += problems
            if problems:
                return None
            values = [line.strip() for line in text.split("\n") if line.strip()]
        else:
            values = [value_text(value) for value in given]
        if not values:
            self.problem("values", "is empty", 'values = ["low", "mid", "high"]')
        return values
