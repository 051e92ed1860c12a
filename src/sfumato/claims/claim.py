"""What a release promises, to whom, and what it does not say. Frozen, exact, the same after JSON.

Source    The idea of a description apart from its accountant: DpEvent in Google's dp_accounting.
Claim     A claim read back from JSON equals the claim written; the steps of a budget sum to epsilon (or rho) exactly.
Because   numbers are int or Fraction, written as such; the sum is compared as Fractions.
Checked   tests/unit/claims/test_claim.py::test_round_trip_through_json
          tests/unit/claims/test_claim.py::test_trace_must_sum_to_epsilon_exactly
Silent on whether it is true: requirements are checked by `verify`, guarantees proved beside their mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Literal, get_args

from sfumato.claims.diversity import LDiversity
from sfumato.claims.guarantees import ApproxDP, ConcentratedDP, Linkable, Nothing, ProbabilisticDP, PureDP
from sfumato.claims.registry import Promise, promise_from_json
from sfumato.claims.requirement import Requirement, Unit
from sfumato.errors import ParameterError
from sfumato.exact import (
    Number,
    choice,
    fraction,
    mistyped,
    number_from_json,
    number_to_json,
    plain,
    unknown_keys,
)
from sfumato.visible import notebook, visible

# Which two tables a differential privacy guarantee cannot tell apart. The only spelling of it.


class Neighbours(Enum):
    """Neighbour relations; the value is what JSON holds and never changes its meaning.

    >>> sf.Neighbours.REPLACE_ONE.value
    'replace-one'
    """

    ADD_OR_REMOVE_ONE = "add-or-remove-one"
    REPLACE_ONE = "replace-one"
    ONE_ORIGIN = "one-origin"

    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what the two tables differ in; `unit` is what the claim protects."""
        return _ROWS.get(self, _SENTENCES[self]) if unit == "row" else _SENTENCES[self]

    def __str__(self) -> str:
        return self.value


_SENTENCES = {
    Neighbours.ADD_OR_REMOVE_ONE: (
        "The tables differ in the presence of one person: all rows of that person are there or are not. "
        "The number of rows is protected too; changing a person's rows is two such steps."
    ),
    Neighbours.REPLACE_ONE: (
        "The tables differ in what one person's rows say. The number of rows is public: "
        "whether somebody took part is not protected."
    ),
    Neighbours.ONE_ORIGIN: (
        "The tables differ in where one person lives: in the origin of each row of that person. Destinations, and how "
        "many rows each has, are public: who took part, and where they go, is not protected."
    ),
}
_ROWS = {
    Neighbours.ADD_OR_REMOVE_ONE: (
        "The tables differ in the presence of one row: it is there or it is not. "
        "The number of rows is protected too; changing a row is two such steps."
    ),
    Neighbours.REPLACE_ONE: (
        "The tables differ in what one row says. The number of rows is public: whether a row is there is not protected."
    ),
    Neighbours.ONE_ORIGIN: (
        "The tables differ in the origin of one row. Destinations, and how many rows each has, are public: "
        "which rows there are, and their destinations, is not protected."
    ),
}

_PRIVATE = (PureDP, ApproxDP, ConcentratedDP, ProbabilisticDP)


@dataclass(frozen=True, slots=True, init=False)
class Claim:
    """A promise with its unit, its neighbour relation, the inputs taken as public, and its silences.

    `unit` is what is counted and protected: "person" where the schema decides who a row is about, else "row".
    `trace` lists (stage, epsilon) in the order in which a mechanism spends its budget; (stage, rho) where privacy is
    concentrated.

    >>> schema = sf.datasets.adult("test").schema
    >>> claim = sf.Mondrian(sf.KAnonymity(10)).claim(schema)
    >>> claim.kind, str(claim.promise)
    ('checked', 'k-anonymity(10)')
    """

    promise: Promise
    neighbours: Neighbours | None
    public_inputs: tuple[str, ...]
    silent_on: tuple[str, ...]
    rehearsal: bool
    accounted: bool
    trace: tuple[tuple[str, Fraction], ...]
    unit: Unit

    def __init__(
        self,
        promise: Promise,
        *,
        neighbours: Neighbours | None = None,
        public_inputs: Iterable[str] = (),
        silent_on: Iterable[str] = (),
        rehearsal: bool = False,
        accounted: bool = False,
        trace: Iterable[tuple[str, Number]] = (),
        unit: Unit = "row",
    ) -> None:
        steps = tuple((str(stage), fraction(f"trace[{stage}]", spent, least=0)) for stage, spent in trace)
        object.__setattr__(self, "promise", promise)
        object.__setattr__(self, "neighbours", neighbours)
        object.__setattr__(self, "public_inputs", _texts("public_inputs", public_inputs))
        object.__setattr__(self, "silent_on", _texts("silent_on", silent_on))
        object.__setattr__(self, "rehearsal", bool(rehearsal))
        object.__setattr__(self, "accounted", bool(accounted))
        object.__setattr__(self, "trace", steps)
        choice("unit", unit, get_args(Unit))
        object.__setattr__(self, "unit", unit)
        self._check()

    def _check(self) -> None:
        if not isinstance(self.promise, (Requirement, *_PRIVATE, Linkable, Nothing)):
            raise ParameterError("promise", type(self.promise).__name__, "must be a requirement or a guarantee")
        kept = self.requirement
        if kept is not None and not all(part.checkable for part in kept.parts):
            rule = "is an estimate under a model, not a requirement that a file can show"
            raise ParameterError("promise", str(kept), rule, hint="state it as Linkable")
        if not isinstance(self.promise, _PRIVATE):
            if self.neighbours is not None or self.trace:
                raise ParameterError(
                    "neighbours" if self.neighbours is not None else "trace",
                    str(self.promise),
                    "belongs to differential privacy only",
                )
            return
        if not isinstance(self.neighbours, Neighbours):
            rule = "a differentially private claim must name its neighbours"
            raise ParameterError("neighbours", self.neighbours, rule, hint="try Neighbours.ADD_OR_REMOVE_ONE")
        total = sum((spent for _, spent in self.trace), Fraction())
        name, whole = self.currency
        if self.trace and total != whole:
            raise ParameterError("trace", total, f"must sum to {name} = {whole} exactly")

    @property
    def currency(self) -> tuple[str, Fraction]:
        """What the steps of the trace are parts of: rho where privacy is concentrated, else epsilon (0: none)."""
        if isinstance(self.promise, ConcentratedDP):
            return "rho", self.promise.rho
        return "epsilon", self.promise.epsilon if isinstance(self.promise, _PRIVATE) else Fraction()

    @property
    def kind(self) -> Literal["checked", "proved", "estimate", "none"]:
        """How the promise is known: checked on the file, proved, estimated, or there is none."""
        if isinstance(self.promise, Requirement):
            return "checked"
        if isinstance(self.promise, _PRIVATE):
            return "proved"
        return "estimate" if isinstance(self.promise, Linkable) else "none"

    @property
    def requirement(self) -> Requirement | None:
        """What a verifier can check in the file: the promise itself, or the part an estimate depends on.

        For (d, alpha)-linkability that is what it kept from its base, and d different values in every class.
        """
        if not isinstance(self.promise, Linkable):
            return self.promise if isinstance(self.promise, Requirement) else None
        varied = LDiversity(self.promise.d, kind="distinct")
        return varied if self.promise.base is None else self.promise.base & varied

    def refuse_veto(self, name: str) -> None:
        """Raise where a release under this claim would be withheld because of what the data say.

        Differential privacy is proved for what is drawn, all of it. To publish only the draws that pass a test
        on the confidential rows is to reveal, by each release, that the test was passed, and no budget covers
        that. The answer depends on the claim alone, so it can and should be asked before anything is drawn.
        """
        if self.kind == "proved":
            rule = "cannot withhold a differentially private release: a veto that depends on the data leaks information"
            hint = f"omit {name} and read the comparison as a warning, or compare before you choose the method"
            raise ParameterError(name, "given", rule, hint=hint)

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; `Claim.from_json` reads it back."""
        return {
            "promise": self.promise.to_json(),
            "kind": self.kind,
            "unit": self.unit,
            "neighbours": None if self.neighbours is None else self.neighbours.value,
            "public_inputs": list(self.public_inputs),
            "silent_on": list(self.silent_on),
            "rehearsal": self.rehearsal,
            "accounted": self.accounted,
            "trace": [[stage, number_to_json(spent)] for stage, spent in self.trace],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Claim:
        """Return the claim that `to_json` wrote.

        A `kind` that does not follow from the promise is refused, and so is a key that no claim has.
        """
        missing = [name for name in ("promise", "kind") if name not in data]
        if missing:
            raise ParameterError(missing[0], "nothing", "a claim needs it")
        claim = cls(
            promise_from_json(data["promise"]),
            neighbours=_neighbours(data.get("neighbours")),
            public_inputs=data.get("public_inputs", ()),
            silent_on=data.get("silent_on", ()),
            rehearsal=_flag("rehearsal", data.get("rehearsal", False)),
            accounted=_flag("accounted", data.get("accounted", False)),
            unit=data.get("unit", "row"),  # older claims do not say what they count
            trace=[(stage, number_from_json("trace", spent)) for stage, spent in data.get("trace", ())],
        )
        if data["kind"] != claim.kind:
            raise ParameterError("kind", data["kind"], f"this promise can only be {claim.kind!r}")
        for key in unknown_keys(data, claim.to_json()):
            raise ParameterError(key, "given", "is not a part of this claim")
        if mistyped(data, claim.to_json()):
            raise ParameterError("promise", "given", "holds a number that is not a whole number")
        return claim

    def describe(self) -> str:
        """Say in plain words what is promised, under which relation, on which assumptions, and what is not said."""
        how = {
            "checked": "Anyone can check it on the published file."
            if self.unit == "row"
            else "Anyone can check it on the published file, with the people as the publisher counts them.",
            "proved": "It is proved for the mechanism; a file cannot show it.",
            "estimate": "It is an estimate, and can be wrong.",
            "none": "Not for publication.",
        }
        lines = [described(self.promise, self.unit), how[self.kind]]
        if self.neighbours is not None:
            lines.append(f"Neighbours: {self.neighbours.describe(self.unit)}")
            lines.append("It is entered in a ledger." if self.accounted else "It is not accounted in any ledger.")
        if self.public_inputs:
            lines.append(f"Taken as public: {', '.join(self.public_inputs)}.")
        lines += [f"It does not cover: {silence}." for silence in self.silent_on]
        if self.trace:
            steps = ", ".join(f"{stage} {plain(spent)}" for stage, spent in self.trace)
            of = " of rho" if isinstance(self.promise, ConcentratedDP) else ""
            lines.append(f"Budget{of}, step by step: {steps}.")
        if self.rehearsal:
            lines.append("This is a rehearsal: it was made with a known seed and protects nobody.")
        return "\n".join(map(visible, lines))

    def _repr_html_(self) -> str:
        """Show the claim in a notebook: what is promised, and what is not covered."""
        return notebook(str(self), lines=self.describe().splitlines())

    def __str__(self) -> str:
        return f"{self.promise} [{self.kind}{', rehearsal' if self.rehearsal else ''}]"


def described(promise: Promise, unit: Unit) -> str:
    """Say a promise in the unit of its claim."""
    return promise.describe(unit) if isinstance(promise, Requirement | Linkable) else promise.describe()


def _texts(name: str, values: Iterable[str]) -> tuple[str, ...]:
    # A lone string would silently become its letters.
    if isinstance(values, str):
        raise ParameterError(name, "one text", "must be a sequence of texts")
    texts = tuple(values)
    if not all(isinstance(text, str) for text in texts):
        raise ParameterError(name, "something else", "must hold texts")
    return texts


def _flag(name: str, value: object) -> bool:
    # bool("false") is True: only real booleans count.
    if not isinstance(value, bool):
        raise ParameterError(name, value, "must be true or false")
    return value


def _neighbours(value: object) -> Neighbours | None:
    if value is None:
        return None
    try:
        return Neighbours(value)
    except ValueError:
        options = ", ".join(str(option) for option in Neighbours)
        raise ParameterError("neighbours", value, f"must be one of {options}") from None
