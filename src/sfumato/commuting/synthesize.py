"""Synthesize: synthetic origins for every destination, drawn from a Dirichlet-multinomial urn with a public prior.

Source    Machanavajjhala, Kifer, Abowd, Gehrke & Vilhuber, "Privacy: theory meets practice on the map", ICDE 2008:
          Algorithms 1 and 2, sec. V-A (accept/reject), Theorem 5.1; repaired in docs/theory/commuting.md.
Claim     (epsilon, delta)-DP when one unit's origin is replaced; destinations, and how many go to each, are public.
          With Algorithm 2, epsilon grows by ln(1/keep) and a mass allowance, both in the trace of the claim.
Because   each destination's law is certified for its public n; a unit is at one destination, and the other
          destinations are drawn independently of it. Placing people inside a cell reads only the draw.
Checked   tests/claims/test_synthesize.py::test_the_true_delta_of_the_mechanism_never_exceeds_its_claim
          tests/claims/test_synthesize.py::test_what_is_drawn_follows_the_law_that_was_certified
Silent on who takes part and where they work; on a person with more destinations than declared; on timing.
Cost      O(people + pairs) and one integer for each origin and group of destinations; choosing the prior apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.arrays import Floats, Ints
from sfumato.claims import ApproxDP, Claim, Neighbours, ProbabilisticDP, PureDP, plain
from sfumato.commuting.bounds import Rule, Stratum, log_above
from sfumato.commuting.cells import Cells, Prior, Uniform
from sfumato.commuting.flows import Unit, counted
from sfumato.commuting.prior import (
    certified_delta,
    epsilon_parts,
    rejection_limit,
    scaled,
    shrunk_certificate,
    smallest_scale,
    union_delta,
)
from sfumato.commuting.urn import Commuters, UrnLaw, urn_sample
from sfumato.declare import Flag, MaybeRational, Rational, declare, hold, parameter, to_json
from sfumato.errors import Infeasible, ParameterError, Problem, SchemaError, count_of
from sfumato.exact import choice, fraction
from sfumato.mechanisms.base import REFUSED_INPUT, Gathered, Plan, Stage
from sfumato.randomness import Entropy
from sfumato.release import Release, assemble
from sfumato.schema import Labels, Schema

_ALLOWANCE = Fraction(1, 20)


class _PublicPrior:
    """A field that holds a prior and takes "uniform" for the plainest one."""

    def __get__(self, instance: object, owner: Any) -> Prior: ...  # type: ignore[empty-body]
    def __set__(self, instance: object, value: Prior | Literal["uniform"]) -> None: ...


def _read_prior(given: Any) -> Any:
    if isinstance(given, str):
        choice("prior", given, ("uniform",))
        return Uniform()
    return given


def _flows_of(schema: Schema, cap: int | str) -> str:
    """Name the call that reads rows of people with several jobs, and the unit that protects them."""
    key = schema.person_columns[0] if len(schema.person) == 1 else "..."
    return f'sf.commuting.read_flows(..., unit="person", cap={cap}, person="{key}") with Synthesize(..., unit="person")'


@declare
class Synthesize:
    """Draw as many synthetic origins for each destination as it has rows.

    `rule` certifies the prior; `prior` is its public shape. `unit` says what is protected: a job, which is one
    row, or a person, who has up to the schema's `rows_per_person` rows, each at another destination. `mass` is
    what shrinking the domain may add to epsilon beyond ln(1/keep). The default claim is about one job.

    >>> mechanism = sf.Synthesize("4.6", "1e-5")
    >>> mechanism.epsilon, mechanism.rule
    (Fraction(23, 5), 'hockey')
    """

    name: ClassVar[str] = "synthesize"
    plain: ClassVar[str] = "Made-up homes for known workplaces"
    bounds_people: ClassVar[bool] = True  # flows with a cap; a table keyed by person is refused by `_rows`

    epsilon: Rational = parameter(
        "Epsilon of the urn; shrinking the domain adds to it.", above=0, hint="try 4.6", example="4.6", encode=str
    )
    delta: Rational = parameter("Delta of the claim.", least=0, below=1, hint="try 1e-5", example="1e-5", encode=str)
    _: KW_ONLY
    rule: Rule = parameter("What certifies the prior.", default="hockey")
    prior: _PublicPrior = parameter("Public shape of the prior.", default="uniform", read=_read_prior)
    accept_reject: Flag = parameter("Draw unlikely samples anew (sec. V-A of the paper).", default=False)
    shrink: MaybeRational = parameter(
        "Chance that an empty origin takes part, with the uniform prior.",
        default=None,
        above=0,
        most=1,
        may_lack=True,
    )
    unit: Unit = parameter("What is protected.", default="job")
    mass: Rational = parameter(
        "What shrinking may add to epsilon beyond ln(1/keep).",
        default=_ALLOWANCE,
        above=0,
        hint="try 1/20",
        encode=str,
    )
    origin: str = parameter("Column of origins.", default="origin")
    destination: str = parameter("Column of destinations.", default="destination")

    to_json = to_json

    def __post_init__(self) -> None:
        if self.rule != "pure":  # Theorem 4.1 needs no delta
            fraction("delta", self.delta, above=0, hint="try 1e-5")
        if self.shrink is not None:
            if self.prior != Uniform():
                raise ParameterError("shrink", self.shrink, "is part of this prior", hint="give it to the prior")
            hold(self, prior=Uniform(self.shrink), shrink=None)

    # -- what is promised ------------------------------------------------------------------

    @property
    def asked(self) -> Asked:
        """What each destination's law must keep, for one row."""
        keep = self.prior.least_keep
        return Asked(
            self.epsilon,
            delta=self.delta,
            rule=self.rule,
            accept_reject=self.accept_reject,
            least_keep=keep,
            mass=self.mass if keep < 1 else Fraction(0),
        )

    @property
    def shrinks(self) -> bool:
        """Whether empty cells may be dropped: then less comes from the prior than before shrinking."""
        return self.prior.least_keep < 1

    def claim(self, schema: Schema) -> Claim:
        """Promise (epsilon, delta)-DP for one unit's origin; a person's rows compose over their destinations."""
        self._check(schema)
        times, asked = self._rows(schema), self.asked
        parts = [("synthesis", times * asked.epsilon), ("domain", times * asked.domain), ("mass", times * asked.mass)]
        total, delta = times * asked.total, times * self.delta
        exact = self.rule == "pure" and asked.least_keep == 1 and not self.accept_reject
        if delta >= 1:
            raise ParameterError("delta", plain(self.delta), f"times {times} rows of a person is 1 or more")
        return Claim(
            PureDP(total) if exact else ApproxDP(total, delta=delta),
            neighbours=Neighbours.ONE_ORIGIN,
            unit="person" if self.unit == "person" else "row",
            public_inputs=self._public(schema),
            silent_on=self._silent(times),
            trace=[(name, spent) for name, spent in parts if spent],
        )

    def _public(self, schema: Schema) -> tuple[str, ...]:
        places = schema[self.origin].size
        return (
            f"the list of all {places} {self.origin} codes, those without rows included",
            f"which {self.destination}s there are and how many {self._counted(schema)} each has",
            *self.prior.describe(),
            "epsilon, delta and the rule that certified the prior",
        )

    def _silent(self, times: int) -> tuple[str, ...]:
        unit = {
            "job": "a person with several jobs: the unit is one job, and losses add up over a person's jobs",
            "person": f"a person with more than {count_of(times, 'destination')}, or with two jobs at one destination",
        }[self.unit]
        return (
            unit,
            "who takes part, and where they go: both are public here",
            "other releases about the same people",
            REFUSED_INPUT,
        )

    def _counted(self, schema: Schema) -> str:
        """What rows are called: a person may have several jobs."""
        return counted(self.unit, schema.rows_per_person)

    def _rows(self, schema: Schema) -> int:
        if schema.several:  # rows that are left out, and two jobs at one place, are seen while flows are read
            rule = "the schema names the person of each row, who may have several, and only flows compose over them"
            raise ParameterError("unit", self.unit, rule, hint=_flows_of(schema, schema.rows_per_person))
        if self.unit == "job" and schema.rows_per_person > 1:
            rule = f"the schema says that a person has up to {schema.rows_per_person} rows"
            raise ParameterError("unit", self.unit, rule, hint='unit="person" composes over them')
        if self.unit == "person" and schema.unit != "person":
            hint = 'read_flows(..., unit="person", cap=1) for a file of primary jobs (--unit person --cap 1)'
            raise ParameterError("unit", self.unit, "nobody said how many rows a person has", hint=hint)
        return schema.rows_per_person

    def _check(self, schema: Schema) -> None:
        for name in (self.origin, self.destination):
            if name not in schema or schema[name].role != "quasi":
                hint = "sf.commuting.read_flows makes such a table"
                raise SchemaError(Problem(f"attribute.{name}", "must be an attribute in the role quasi", hint))
            if schema[name].missing is not None:
                hint = "give unknown places a code of their own, such as elsewhere"
                raise SchemaError(Problem(f"attribute.{name}", "must not have missing values", hint))
        if len(schema.published) != 2:
            more = ", ".join(a.name for a in schema.published if a.name not in (self.origin, self.destination))
            raise SchemaError(Problem("attribute", f"only origin and destination are published, not {more}"))
        schema.refuse_data_domains([self.origin, self.destination])
        self._rows(schema)

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        """Ask for the counts of destination and origin."""
        return [(self.destination, self.origin)]

    def plan(self, schema: Schema) -> Plan:
        """Say what is done and spent; nothing is read off the data."""
        self._check(schema)
        times, asked = self._rows(schema), self.asked
        shrunk = asked.least_keep < 1
        stages = [Stage("prior", does=f"finds the smallest prior certified by rule {self.rule} for each public n(d)")]
        if shrunk:
            does = "drops empty cells at random, by public chances"
            stages.append(Stage("domain", does=does, budget=times * (asked.domain + asked.mass)))
        again = ", and draws anew what is not gamma-good" if self.accept_reject else ""
        does = f"draws n(d) synthetic origins for each {self.destination}{again}"
        stages.append(Stage("synthesis", does=does, budget=times * asked.epsilon))
        stages.append(Stage("placing", does="places homes inside their cell by public density; free"))
        return Plan(tuple(stages), notes=self._public(schema))

    # -- what is done ----------------------------------------------------------------------

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Draw every destination by its certified law."""
        schema = counts.schema
        claim = self.claim(schema)
        if counts.left_out:
            raise ParameterError(self.origin, "missing", "leaves rows out, so totals would not be the public ones")
        if counts.surplus:  # which of a person's rows stay depends on where that person lives
            rule = "is more than `rows_per_person` for somebody, so totals would not be the public ones"
            hint = f"give a file of one row for each person, or {_flows_of(schema, 'M')}, M the most jobs of a person"
            raise ParameterError("rows", "of one person", rule, hint=hint)
        found = counts[self.destination, self.origin]
        where, origins = found.codes[:, 0].astype(np.int64), found.codes[:, 1].astype(np.int64)
        destinations, at = np.unique(where, return_inverse=True)
        n = np.bincount(at.reshape(-1), weights=found.weights, minlength=destinations.size).astype(np.int64)
        drawn: list[tuple[Ints, Ints, Ints]] = []
        laws: list[tuple[Certified, int]] = []
        groups = self.prior.groups(destinations)
        numbers = np.unique(groups)
        if self.accept_reject:  # a destination may have no such law: then nothing is drawn for the others either
            for group in numbers.tolist():
                laws_for(self.prior.cells(group, schema[self.origin].size), n[groups == group], self.asked)
        for done, group in enumerate(numbers.tolist()):
            if counts.progress is not None:
                counts.progress(done / len(numbers), f"group {done + 1} of {len(numbers)}")
            cells = self.prior.cells(group, schema[self.origin].size)
            members = np.flatnonzero(groups == group)
            rows = np.flatnonzero(np.isin(at.reshape(-1), members)) if len(numbers) > 1 else slice(None)
            inside = np.searchsorted(members, at.reshape(-1)[rows])
            streams = entropy.child(f"group {group}")
            pairs, used = _drawn(cells, (inside, origins[rows], found.weights[rows]), n[members], self.asked, streams)
            drawn.append((destinations[members[pairs[0]]], pairs[1], pairs[2]))
            laws += used
        columns = [np.concatenate(column) for column in zip(*drawn, strict=True)] if drawn else [_EMPTY] * 3
        return self._release(schema, columns, claim, self._notes(laws, schema))

    def _release(self, schema: Schema, columns: list[Ints], claim: Claim, notes: tuple[str, ...]) -> Release:
        where, origins, people = columns
        codes = {self.destination: where, self.origin: origins}
        tables, ids = [], []
        for attribute in schema.quasi:
            table, label = Labels.from_hulls(attribute, codes[attribute.name], codes[attribute.name] + 1)
            tables.append(table)
            ids.append(label)
        release, _ = assemble(
            schema,
            tables=tuple(tables),
            labels=np.column_stack(ids),
            weight=people,
            group=np.arange(len(people)),
            carried_group=_EMPTY,
            carried_codes=np.zeros((0, 0), np.int32),
            carried_weight=_EMPTY,
            claim=claim,
            mechanism=self.to_json(),
            form="synthetic",
            notes=notes,
        )
        return release

    def prior_shares(self, schema: Schema, destinations: Ints, n: Ints) -> Floats:
        """Return for each destination the expected share of its origins that come from the prior, not from its rows.

        A function of public numbers: n(d), the cells, epsilon and delta. Where the prior is shrunk it is the largest
        share there can be.
        """
        shares = np.zeros(destinations.size)
        groups = self.prior.groups(destinations)
        for group in np.unique(groups).tolist():
            inside = np.flatnonzero(groups == group)
            laws, kinds = laws_for(self.prior.cells(group, schema[self.origin].size), n[inside], self.asked)
            added = np.array([float(law.added) for law in laws])[kinds]
            shares[inside] = added / (added + n[inside])
        return shares

    def _notes(self, laws: list[tuple[Certified, int]], schema: Schema) -> tuple[str, ...]:
        """Figures beside the claim, all functions of public numbers: n(d), the cells, epsilon, delta."""
        if not laws:
            return ()
        rows, times = self._counted(schema), self._rows(schema)
        many = sum(times for _, times in laws)
        worst = max(law.disclosure for law, _ in laws)
        summed = union_delta(law.disclosure for law, times in laws for _ in range(times))
        sizes = [sum(s.blocks for s in law.law.strata) for law, _ in laws]
        alphas = [min(s.alpha for s in law.law.strata) for law, _ in laws]
        added = sum(float(law.added) * times for law, times in laws) / many
        after = sum(float(law.added_after) * times for law, times in laws) / many
        epsilon = max(law.epsilon for law, _ in laws)
        chance = f"the probability of a disclosing draw is at most {worst:.3g} at one destination and"
        disclosing = f"{chance} at most {summed:.3g} at any of the {many} (the sum)"
        if worst >= 1:
            disclosing = "nothing is promised about the probability of a disclosing draw (its bound is 1)"
        elif summed >= 1:
            disclosing = f"{chance} nothing is promised about it at any of the {many} (the sum is 1 or more)"
        of = f" of one of the up to {times} jobs of a person" if times > 1 else ""  # a law is certified for one row
        disclosing = f"{ProbabilisticDP.label}{of}, before placing: at epsilon {float(epsilon):.6g} {disclosing}"
        return (
            f"{count_of(many, 'destination')}; between {min(sizes)} and {max(sizes)} public cells of origins for each",
            f"least alpha between {float(min(alphas)):.6g} and {float(max(alphas)):.6g}",
            f"the prior adds {added:.1f} {rows} to a destination on average, {after:.1f} after shrinking",
            disclosing,
        )


_EMPTY = np.zeros(0, dtype=np.int64)


def laws_for(cells: Cells, n: Ints, asked: Asked) -> tuple[list[Certified], Ints]:
    """Return the certified laws of destinations with n people and the number of each one's law; n is public."""
    shape, _ = cells.strata()
    sizes, kinds = np.unique(n, return_inverse=True)
    return [law_of(int(size), shape, asked) for size in sizes], kinds.reshape(-1).astype(np.int64)


def _drawn(
    cells: Cells, pairs: tuple[Ints, Ints, Ints], n: Ints, asked: Asked, entropy: Entropy
) -> tuple[tuple[Ints, Ints, Ints], list[tuple[Certified, int]]]:
    """Draw one group; return (destination, origin, people), and each law with how often it is used."""
    certified, kinds = laws_for(cells, n, asked)
    _, slots = cells.strata()
    commuters = _commuters(pairs[0], slots[cells.cell[pairs[1]]], pairs[2], n.size, cells.k)
    where, slot, people = urn_sample(commuters, [known.law for known in certified], kinds, entropy.child("urn").words)
    of_slot = np.empty(cells.k, dtype=np.int64)
    of_slot[slots] = np.arange(cells.k)
    placed = _placed(cells, where, of_slot[slot], people, entropy.child("placing"))
    return placed, list(zip(certified, np.bincount(kinds, minlength=len(certified)).tolist(), strict=True))


def _commuters(where: Ints, slots: Ints, people: Ints, destinations: int, k: int) -> Commuters:
    """Add up the people of each cell; pairs sorted by destination and slot."""
    keys, at = np.unique(where * k + slots, return_inverse=True)
    total = np.bincount(at.reshape(-1), weights=people, minlength=keys.size).astype(np.int64)
    pairs = np.searchsorted(keys, np.arange(destinations + 1, dtype=np.int64) * k).astype(np.int64)
    return Commuters(pairs, slots=keys % k, people=total)


def _placed(cells: Cells, where: Ints, cell: Ints, people: Ints, entropy: Entropy) -> tuple[Ints, Ints, Ints]:
    """Give every synthetic person an origin of the cell, and count again."""
    everyone = np.repeat(np.arange(people.size), people)
    origins = cells.place(cell[everyone], entropy.words)
    size = np.int64(cells.cell.size)
    keys, many = np.unique(where[everyone] * size + origins, return_counts=True)
    return keys // size, keys % size, many.astype(np.int64)


# Which law each destination is drawn by: the smallest certified prior, chosen from public numbers alone.
#
# Source    Machanavajjhala et al., ICDE 2008, sec. IV-V, as repaired in docs/theory/commuting.md.
# Claim     Every law returned by `law_of` was certified as it stands: strata, keep and gamma as they are drawn with,
#           for this n, at the epsilon and delta asked for; its delta is at most the delta asked for.
# Because   whatever the search returned is certified once more; where a quick guess fails, the full search is made,
#           and Theorem 4.1's prior exists always.
# Checked   tests/claims/test_synthesize.py::test_every_law_is_certified_as_it_is_drawn
#           tests/claims/test_synthesize.py::test_the_true_delta_of_the_mechanism_never_exceeds_its_claim
# Silent on the smallest scale of a prior with several strata: n and the prior mass are first rounded to a coarse
#           grid, so a scale may be a few percent above the least one certified.
# Cost      about 3 ms for each n of a uniform prior; a shaped prior one search for each point of the grid.

_GRID = 1.06  # ratio of the numbers of people for which a shaped prior is searched
_MASS_BITS = 3  # leading bits kept of the prior mass in that search
_DECIMALS = 10**6


def domain_part(keep: Fraction) -> Fraction:
    """Return ln(1 / keep), rounded up to six decimals: what shrinking adds to epsilon, whoever is in the data."""
    return Fraction(math.ceil(log_above(1 / keep) * _DECIMALS), _DECIMALS) if keep < 1 else Fraction(0)


@dataclass(frozen=True, slots=True)
class Asked:
    """What every destination must keep. `mass` is the allowance for the mass part of epsilon', where shrunk."""

    epsilon: Fraction
    _: KW_ONLY
    delta: Fraction
    rule: Rule
    accept_reject: bool
    least_keep: Fraction
    mass: Fraction

    @property
    def domain(self) -> Fraction:
        """What dropping empty cells adds to epsilon."""
        return domain_part(self.least_keep)

    @property
    def total(self) -> Fraction:
        """The epsilon of the claim, for one unit."""
        return self.epsilon + self.domain + (self.mass if self.least_keep < 1 else 0)


@dataclass(frozen=True, slots=True)
class Certified:
    """A law with what it was certified for: (epsilon, delta)-DP by `rule`, and P(Disc) by rule pdp."""

    law: UrnLaw
    _: KW_ONLY
    rule: Rule
    epsilon: Fraction
    delta: float
    disclosure: float

    @property
    def added(self) -> Fraction:
        """How many people the prior adds before shrinking: |alpha|."""
        return sum((s.alpha * s.blocks for s in self.law.strata), Fraction(0))

    @property
    def added_after(self) -> Fraction:
        """How many it adds on average after shrinking, if all cells are empty."""
        return sum((s.alpha * s.blocks * s.keep for s in self.law.strata), Fraction(0))


@lru_cache(maxsize=65536)
def law_of(n: int, shape: tuple[Stratum, ...], asked: Asked) -> Certified:
    """Return the law of a destination with n people whose cells have this shape (weights, keep)."""
    if any(s.keep < 1 for s in shape):
        found = _shrunk(n, shape, asked)
        if found is not None:
            return found
    # not shrunk: the whole epsilon of the claim is there for the urn
    whole = tuple(Stratum(s.alpha, blocks=s.blocks) for s in shape)
    joined = _joined(whole)
    rules: tuple[Rule, ...] = ("pure",) if asked.rule == "pure" else (asked.rule, "pure")
    scales = [(scale, rule) for rule in rules if (scale := _scale(n, joined, asked, rule)) is not None]
    for scale, rule in sorted(scales):
        strata = scaled(whole, scale)  # in the order of the shape, so that slots stay what they are
        gamma = rejection_limit(n, strata, asked.total, asked.delta, rule=rule) if asked.accept_reject else None
        found = _certified(n, UrnLaw(strata, m=n, gamma=gamma), rule, asked)
        if found is not None:
            return found
    why = f"no prior keeps epsilon {float(asked.epsilon):.4g} with accept_reject by rule {asked.rule}"
    raise Infeasible("synthesis", "none", why, hint='rule="hockey", or accept_reject=False')


def _joined(shape: Sequence[Stratum]) -> tuple[Stratum, ...]:
    """Join strata that differ in nothing: what is left of a shape whose keep was taken away."""
    sizes: dict[Fraction, int] = {}
    for s in shape:
        sizes[s.alpha] = sizes.get(s.alpha, 0) + s.blocks
    return tuple(Stratum(alpha, blocks=blocks) for alpha, blocks in sorted(sizes.items()))


def _scale(n: int, shape: tuple[Stratum, ...], asked: Asked, rule: Rule) -> Fraction | None:
    if len(shape) > 1 and not asked.accept_reject and rule in {"hockey", "tails"}:
        quick = _quick(n, shape, asked, rule)
        if quick is not None:
            return quick
    return smallest_scale(n, shape, asked.total, asked.delta, rule=rule, accept_reject=asked.accept_reject)


def _certified(n: int, law: UrnLaw, rule: Rule, asked: Asked) -> Certified | None:
    """Certify a law as it stands; None where its delta is above the one asked for."""
    k = sum(s.blocks for s in law.strata)
    found = certified_delta(n, k, asked.total, law.strata, m=law.m, rule=rule, gamma=law.gamma)
    if Fraction(found) > asked.delta:
        return None
    disclosure = certified_delta(n, k, asked.total, law.strata, m=law.m, rule="pdp", gamma=law.gamma)
    return Certified(law, rule=rule, epsilon=asked.total, delta=found, disclosure=disclosure)


def _shrunk(n: int, shape: tuple[Stratum, ...], asked: Asked) -> Certified | None:
    """Return the law on the shrunk domain, certified after shrinking; None where epsilon' would be above the claim."""
    reject = asked.accept_reject
    scale = smallest_scale(n, shape, asked.epsilon, asked.delta, rule=asked.rule, accept_reject=reject)
    if scale is None:
        return None
    strata = scaled(shape, scale)
    domain, mass = epsilon_parts(n, n, strata)
    if mass > asked.mass or domain > asked.domain:
        return None
    gamma = rejection_limit(n, strata, asked.epsilon, asked.delta, rule=asked.rule) if reject else None
    proof = shrunk_certificate(n, strata, asked.epsilon, rule=asked.rule, gamma=gamma)
    if Fraction(proof.delta) > asked.delta or proof.epsilon > asked.total:
        return None
    disclosure = shrunk_certificate(n, strata, asked.epsilon, rule="pdp", gamma=gamma).delta
    law = UrnLaw(strata, m=n, gamma=gamma)
    return Certified(law, rule=asked.rule, epsilon=proof.epsilon, delta=proof.delta, disclosure=disclosure)


def _quick(n: int, shape: tuple[Stratum, ...], asked: Asked, rule: Rule) -> Fraction | None:
    """Guess a scale from a coarse grid of n and of prior mass; None where the guess is not certified for this n."""
    grid = math.ceil(_GRID ** math.ceil(math.log(n) / math.log(_GRID) - 1e-9)) if n > 16 else n
    scale = smallest_scale(grid, _coarse(shape), asked.total, asked.delta, rule=rule)
    if scale is None:
        return None
    k = sum(s.blocks for s in shape)
    proof = certified_delta(n, k, asked.total, scaled(shape, scale), rule=rule)
    return scale if Fraction(proof) <= asked.delta else None


def _coarse(shape: Sequence[Stratum]) -> tuple[Stratum, ...]:
    """Return a shape with the same weights and a rounded-down mass: rules hockey and tails read nothing else."""
    least, *more = sorted(s.alpha for s in shape)
    mass = int(sum((s.alpha * s.blocks for s in shape), Fraction(0)))
    cut = max(mass.bit_length() - _MASS_BITS, 0)
    left = Fraction((mass >> cut) << cut) - sum(more, Fraction(0))
    first = Stratum(least, blocks=max(1, int(left / least)))
    return (first, *(Stratum(weight, blocks=1) for weight in more))
