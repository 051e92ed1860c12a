"""What stands on an axis of the picture: any registered measure, or any function of a table and a release.

A name or one of the library's own functions is looked up in the registry. `HeldOut` puts classification and
`Composed` the composition attack into that shape. For most figures less is better; an `Axis` may say otherwise.

`inference`, `membership` and `identity` are attacks: what an attacker gains on people in the table over people who are
not. The frontier publishes one half of the people, attacks that release, and counts the successes on both halves. The
figure is that of the strongest attack that fits, which is named, among those whose success means the same.
`proved` is what a claim allows a membership attacker at most, whatever they know.
"""

from __future__ import annotations

import hashlib
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal

from sfumato.attacks import REGISTRY as ATTACKS, Attack, Gain, Knowledge, composition
from sfumato.attacks.case import whom
from sfumato.counts import Table
from sfumato.counts.encoded_columns import EncodedColumns
from sfumato.declare import says
from sfumato.errors import NotComparable, ParameterError
from sfumato.measures import REGISTRY, Measured, classification, membership_bound
from sfumato.measures.base import json_number
from sfumato.release import Release

# What tells two tables apart, and what a worker process needs of one.


def digest(data: Any) -> str:
    """Return a short hash of plain data."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:32]


def table_fingerprint(table: Table) -> str:
    """Return a hash of the published attributes, their public trees, and the counts. Confidential, as all counts."""
    counts = table.counts()
    schema = table.schema
    unit = f"{schema.rows_per_person} {table.left_out} {schema.unit} {schema.cap} {table.surplus} {schema.person}"
    said = hashlib.sha256(unit.encode())
    members = table.members() if schema.several else None
    for array in () if members is None else (members.person, members.line):
        said.update(array.tobytes())
    for attribute in table.schema.published:
        nodes = attribute.nodes
        known = [attribute.name, attribute.role, attribute.kind, attribute.size, list(nodes.names)]
        known += [nodes.low.tolist(), nodes.high.tolist(), attribute.ground]
        said.update(json.dumps(known, default=str).encode())
    for array in (counts.codes, counts.weights):
        said.update(array.tobytes())
    return said.hexdigest()[:32]


def compact(table: Table) -> Table:
    """Return the same table as one line for each combination, so that what is sent does not grow with the rows.

    Rows left out, and who rows are about, are known only to the table itself, so such a table is sent as it is.
    """
    if table.left_out or table.schema.person:
        return table
    counts = table.counts()
    columns = {name: counts.column(name) for name in counts.names}
    encoded = EncodedColumns.of_codes(columns, len(counts))
    encoded.weights = counts.weights
    return Table(table.schema, encoded)


_EXPOSED = 5  # kinds of people an attack names

Better = Literal["less", "more"]
_MORE_IS_BETTER = ("unchanged_answers", "classification", "precision")


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Accuracy of a learner trained on the release and asked about people who are not in it."""

    test: Table
    _: KW_ONLY
    model: Any = "tree"
    target: str | None = None
    name: str = "classification"

    @property
    def key(self) -> str:
        """What distinguishes two of them."""
        return f"{self.name} {self.model} {self.target} {table_fingerprint(self.test)}"

    def __call__(self, table: Table, release: Release) -> Any:
        """Train on the release, ask about the held-out rows."""
        return classification(table, self.test, release, model=self.model, target=self.target)


@dataclass(frozen=True, slots=True)
class Composed:
    """Share of victims whose value is left alone when the release meets another about the same people."""

    other: Release
    _: KW_ONLY
    victims: Table
    name: str = "composition"

    @property
    def key(self) -> str:
        """What distinguishes two of them."""
        other = hashlib.sha256(self.other.frames()["data"].write_csv().encode()).hexdigest()[:16]
        return f"{self.name} {other} {table_fingerprint(self.victims)}"

    def __call__(self, table: Table, release: Release) -> Any:
        """Attack both releases together."""
        return composition([release, self.other], self.victims)


@dataclass(frozen=True, slots=True)
class Risk:
    """A privacy axis that means the same on every kind of release: its words and what is counted.

    In an attack's formula `{one}` and `{many}` stand for what the table's rows are: people only where each is another.
    """

    words: str
    _: KW_ONLY
    formula: str


RISKS = {
    "inference": Risk(
        "inference gain",
        formula="share of {many} in the table whose sensitive value is guessed - share of {many} not in it, by the "
        "strongest attack",
    ),
    "membership": Risk(
        "membership gain",
        formula="share of {many} in the table taken for members - share of {many} not in it taken for members",
    ),
    "identity": Risk(
        "identity gain",
        formula="chance to point at a right row of a {one} in the table, on average - that of {many} not in it, who "
        "have none where rows are records",
    ),
    "proved": Risk(
        "proved bound", formula="(e^epsilon - 1 + 2 delta) / (e^epsilon + 1), 1 where nothing is proved of membership"
    ),
}
ATTACKED = ("inference", "membership", "identity")


def axis_words(name: str) -> str:
    """Return the name of an axis as people read it."""
    return RISKS[name].words if name in RISKS else name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Axis:
    """A measure by its name in the registry, an axis of `RISKS`, or a function of (table, release)."""

    measure: str | Callable[[Table, Release], Any]
    _: KW_ONLY
    name: str = ""
    better: Better = "less"

    def __post_init__(self) -> None:
        if isinstance(self.measure, str) and self.measure not in REGISTRY and self.measure not in RISKS:
            hint = f"one of {', '.join([*RISKS, *REGISTRY])}"
            raise ParameterError("measure", self.measure, "is not a measure", hint=hint)
        if not isinstance(self.measure, str) and not callable(self.measure):
            raise ParameterError("measure", type(self.measure).__name__, "is neither a measure nor a function")
        if self.better not in ("less", "more"):
            raise ParameterError("better", self.better, "must be less or more")
        object.__setattr__(self, "name", self.name or _name(self.measure))

    @property
    def key(self) -> str:
        """What is written into the name of a kept result: the measure and everything it was given."""
        tried = " ".join(attack.name for attack in attacks_of(str(self.measure))) if self.attacked else ""
        return f"{_key(self.measure)} {self.better} {tried}".strip()

    @property
    def attacked(self) -> bool:
        """Whether it is an attack, which needs people who are not in the release."""
        return self.measure in ATTACKED

    def __call__(self, table: Table, release: Release) -> Measured:
        """Measure one release."""
        if self.measure == "proved":
            return _proved(release)
        function = REGISTRY[self.measure] if isinstance(self.measure, str) else self.measure
        return _figure(function(table, release), self.name)

    def attack(self, release: Release, targets: Table, controls: Table, *, seed: int = 0) -> Measured:
        """Attack a release of the targets, who alone are in it; return the gain of the strongest attack that fits."""
        gains: list[Gain] = []
        why_not = "none is known"
        for attack in attacks_of(str(self.measure)):
            if reason := attack.fits(release).why_not:
                why_not = reason
                continue
            try:
                gains.append(attack.run([release], Knowledge(), targets, controls, seed=seed))
            except NotComparable as error:
                why_not = str(error).rstrip(".")
        if not gains:
            raise NotComparable(f"no {self.name} attack fits this release: {why_not}.")
        found = _gained(max(gains, key=_tried_first), targets, str(self.measure))
        tried = {gain.attack: json_number(gain.value) for gain in gains}
        return replace(found, details={**found.details, "tried": tried}) if len(tried) > 1 else found


def _tried_first(gain: Gain) -> tuple[bool, float]:
    """What ranks gains; one that was tried on nothing has no value and comes last."""
    return not math.isnan(gain.value), gain.value


def attacks_of(harm: str) -> list[Attack]:
    """Return the attacks that an axis compares, the one it is named after first."""
    kinds = [kind for kind in ATTACKS.values() if kind.axis == harm and says(kind, "compared")]
    return [kind() for kind in sorted(kinds, key=lambda kind: kind.name != harm)]


def _proved(release: Release) -> Measured:
    """What the claim allows a membership attacker at most; 1, which says nothing, without differential privacy."""
    return Measured(membership_bound(release.claim), unit="", formula=RISKS["proved"].formula)


def _gained(gain: Gain, targets: Table, name: str) -> Measured:
    """An attack's result as a figure, with its sentence and the kinds of rows it exposes most."""
    records = gain.records
    known = [targets.schema[column] for column in records.names]
    who = [
        {
            "who": {one.name: one.text(int(code)) for one, code in zip(known, records.codes[at], strict=True)},
            "number": int(records.weight[at]),
            "chance": float(records.chance[at]),
        }
        for at in [at for at in records.worst(len(records)).tolist() if records.weight[at] > 0][:_EXPOSED]
    ]
    details: dict[str, Any] = {
        "attack": gain.attack,
        "sentence": gain.sentence,
        "beside": gain.beside,
        "counted": gain.whom.many,
        "stops": gain.stops,
        "interval": [float(end) for end in gain.interval],
        "most_exposed": json_number(gain.most_exposed),
        "better_than_baseline": gain.better_than_baseline,
        "attribute": gain.attribute or "",
        "notes": list(gain.notes),
        "who": who,
    }
    if len(gain.by_attribute) > 1:
        details["less"] = gain.less
        details["by_attribute"] = {column: json_number(float(one.value)) for column, one in gain.by_attribute.items()}
    else:
        details.pop("attribute")
    counted = whom(targets)
    formula = RISKS[name].formula.format(one=counted.one, many=counted.many)
    return Measured(gain.value, unit="", formula=formula, interval=gain.interval, details=details)


def axis_of(given: Any) -> Axis:
    """Read what a caller put on an axis."""
    if isinstance(given, Axis):
        return given
    name = getattr(given, "__name__", "")
    own = name in REGISTRY and str(getattr(given, "__module__", "")).startswith("sfumato.measures")
    measure = name if own else given
    better: Better = "more" if (measure if isinstance(measure, str) else _name(measure)) in _MORE_IS_BETTER else "less"
    return Axis(measure, better=better)


def can_be_sent(axis: Axis) -> bool:
    """Whether the measure can be sent to another process: functions of a notebook or a script cannot."""
    inner = axis.measure
    while isinstance(inner, partial):
        inner = inner.func
    if not isinstance(inner, str) and "__main__" in (getattr(inner, "__module__", ""), type(inner).__module__):
        return False
    try:
        pickle.dumps(axis)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _name(measure: Any) -> str:
    if isinstance(measure, str):
        return measure
    if isinstance(measure, partial):
        return _name(measure.func)
    return str(getattr(measure, "name", "") or getattr(measure, "__name__", "") or type(measure).__name__)


def _key(measure: Any) -> str:
    if isinstance(measure, str):
        return measure
    if isinstance(measure, partial):
        given = [repr(one) for one in measure.args] + [f"{k}={v!r}" for k, v in sorted(measure.keywords.items())]
        return f"{_key(measure.func)}({', '.join(given)})"
    if hasattr(measure, "key"):
        return str(measure.key)
    code = getattr(measure, "__code__", None)
    written = "" if code is None else hashlib.sha256(code.co_code + repr(code.co_names).encode()).hexdigest()[:12]
    kind = type(measure)
    where = getattr(measure, "__module__", kind.__module__), getattr(measure, "__qualname__", kind.__qualname__)
    return " ".join([*where, written])


def _figure(result: Any, name: str) -> Measured:
    """Read a measure's answer: a `Measured`, a result that has one, an attack's estimate, or a number."""
    if isinstance(result, Measured):
        return result
    if hasattr(result, "measured"):
        found: Measured = result.measured()
        return found
    if hasattr(result, "rate"):
        formula = "share of the victims on whom the attack succeeds"
        details = _attacked(result)
        return Measured(
            float(result.rate), unit="share of victims", formula=formula, interval=result.interval, details=details
        )
    value = getattr(result, "value", result)
    try:
        return Measured(float(value), unit=getattr(result, "unit", ""), formula=getattr(result, "formula", name))
    except (TypeError, ValueError):
        rule = "must return a number, a Measured or a result with one"
        raise ParameterError("measure", name, rule) from None


def _attacked(result: Any) -> dict[str, Any]:
    """Name the attribute that an attack gives away most, and what it does to each."""
    if not getattr(result, "by_attribute", None):
        return {}
    rates = {name: json_number(float(one.rate)) for name, one in result.by_attribute.items()}
    return {"attribute": result.attribute, "by_attribute": rates}
