"""Calibration of dLink's estimate: simulate other organisations, publish them, count how many values people share.

Source    docs/theory/composition.md: what the dLink paper assumes and does not test.
Claim     `same_region`: the share of people for whom d values of their class occur in the same box of a simulated table
          that they are not in; this is what the model promises to be alpha. `released`: the share with at least d
          values left when the simulated table, with them in it, is published by `other` and both releases are put
          together. The second may fall below alpha: the other publisher's region of a person may be smaller.
Because   rows are drawn from the population model itself, so the first differs from the model's figure by chance only
          (and by what the model neglects); the second is the composition attack on true residences.
Checked   tests/claims/test_calibration.py::test_rate_reaches_alpha_where_the_model_is_true
          tests/claims/test_calibration.py::test_a_model_with_wrong_frequencies_is_caught
          tests/claims/test_calibration.py::test_a_smaller_region_lowers_the_released_rate
          tests/claims/test_calibration.py::test_a_key_of_people_with_one_row_each_changes_nothing
Silent on people other than those drawn, and on populations other than the simulated one.
Cost      one release for each repetition.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sfumato.attacks.composing.composition import composition
from sfumato.claims import Linkability, Linkable, plain, split_linkability
from sfumato.counts import Table
from sfumato.errors import ParameterError
from sfumato.exact import choice, whole
from sfumato.measures.proportions import Share
from sfumato.mechanisms import DLink, Mechanism, Mondrian
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Attribute, Population, Schema

Model = Literal["population", "resampled"]
_CLASSES = 200  # classes whose box is looked at in each repetition


@dataclass(frozen=True, slots=True)
class Calibration:
    """What simulation says about a stated alpha. Computed from the original: confidential."""

    promise: Linkable
    _: KW_ONLY
    same_region: Share
    released: Share
    model: str
    repeats: int
    confidential: bool = True

    @property
    def holds(self) -> bool:
        """True where neither rate is clearly below alpha: the upper ends of their intervals reach it."""
        alpha = float(self.promise.alpha)
        return self.same_region.interval[1] >= alpha and self.released.interval[1] >= alpha

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {
            "promise": self.promise.to_json(),
            "same_region": self.same_region.to_json(),
            "released": self.released.to_json(),
            "model": self.model,
            "repeats": self.repeats,
            "holds": self.holds,
            "confidential": self.confidential,
        }

    def describe(self) -> str:
        """Say in plain words what was found."""
        d, alpha = self.promise.d, plain(Fraction(self.promise.alpha))
        drawn = "the population model" if self.model == "population" else "the table's own rows, drawn with replacement"
        return (
            f"Calibration of {self.promise}: {self.repeats} other organisations were drawn from {drawn}. "
            f"At least {d} values of the class occur in the same region of the other table for {self.same_region}; "
            f"stated: {alpha}. Once the other table is published too, at least {d} values are left to {self.released}. "
            "Confidential: computed from the original. A simulation, no guarantee."
        )


def calibrate(
    table: Table,
    mechanism: Mechanism,
    *,
    other: Mechanism | None = None,
    model: Model = "population",
    repeats: int = 5,
    victims: int = 1000,
    seed: int = 0,
) -> Calibration:
    """Simulate other organisations and measure how often d values are shared, against the stated alpha.

    `other` is what they publish by; by default the same base without linkability, since nobody coordinates.
    """
    choice("model", model, ("population", "resampled"))
    many, people = whole("repeats", repeats, least=1), whole("victims", victims, least=1)
    asked = _asked(mechanism)
    entropy = Entropy.seeded(seed)
    ours = run(mechanism, gather(mechanism, table), entropy.child("ours"))
    promise = ours.claim.promise
    if not isinstance(promise, Linkable):
        raise ParameterError("mechanism", str(promise), "states no linkability", hint="sf.DLink(base)")
    theirs, rows = other or _without(mechanism), min(promise.other_rows or (table.rows,))
    names = tuple(attribute.name for attribute in table.schema.published)
    codes = table.codes(names)
    region, left = [], []
    for turn in range(many):
        stream = entropy.child(f"organisation {turn}")
        chosen = stream.child("victims").permutation(len(codes))[: min(people, rows, len(codes))]
        drawn = _draw(table, asked, codes, rows, model, stream.child("rows"))
        region.append(_same_region(ours, table, codes[chosen], drawn, promise.d, stream.child("classes")))
        held = np.concatenate([drawn[len(chosen) :], codes[chosen]])
        made = run(theirs, gather(theirs, _one_each(table.schema, held, names)), stream.child("theirs"))
        who = _one_each(table.schema, codes[chosen], names)
        found = composition([ours, made], who, d=promise.d, reading="residence")
        kept = np.min([one.records.left for one in found.by_attribute.values()], axis=0)
        left.append(Share(int((kept >= promise.d).sum()), trials=len(chosen)))
    return Calibration(promise, same_region=_sum(region), released=_sum(left), model=model, repeats=many)


def _one_each(schema: Schema, codes: np.ndarray, names: tuple[str, ...]) -> Table:
    """Return a table in which each row is another person's: nobody knows how many rows people have elsewhere."""
    return Table.from_codes(schema, codes, names, people=range(len(codes)) if schema.person else None)


def _asked(mechanism: Mechanism) -> Linkability | None:
    if isinstance(mechanism, DLink):
        return mechanism.linkability
    return split_linkability(mechanism.requirement)[1] if isinstance(mechanism, Mondrian) else None


def _without(mechanism: Mechanism) -> Mechanism:
    """The same anonymizer without linkability."""
    if isinstance(mechanism, DLink):
        return mechanism.base
    if isinstance(mechanism, Mondrian) and (kept := split_linkability(mechanism.requirement)[0]) is not None:
        return replace(mechanism, requirement=kept)
    raise ParameterError("other", "none", "what the others publish by must be given", hint="other=sf.Mondrian(...)")


def _sum(shares: list[Share]) -> Share:
    return Share(sum(share.successes for share in shares), trials=sum(share.trials for share in shares))


def _draw(
    table: Table, asked: Linkability | None, codes: np.ndarray, rows: int, model: Model, entropy: Entropy
) -> np.ndarray:
    """Rows of another organisation: each attribute by its population shares, or whole rows of the table again."""
    population = asked.population if asked is not None else None
    if model == "resampled" or population == "joint":
        return codes[np.asarray(entropy.below_many(len(codes), rows), np.int64)]
    if isinstance(population, Population) and population.cells is not None:
        raise ParameterError("model", model, "declared cells are not drawn from", hint='model="resampled"')
    declared = population.one_way if isinstance(population, Population) else {}
    drawn = np.empty((rows, codes.shape[1]), np.int32)
    for at, attribute in enumerate(table.schema.published):
        share = np.asarray(declared.get(attribute.name, np.bincount(codes[:, at], minlength=attribute.size)), float)
        drawn[:, at] = _values(share, entropy.child(attribute.name), rows)
    return drawn


def _values(share: np.ndarray, entropy: Entropy, rows: int) -> np.ndarray:
    edges = np.cumsum(share) / share.sum()
    uniform = entropy.words(rows) / 2.0**64
    found = np.searchsorted(edges, uniform, side="right")
    return np.asarray(np.minimum(found, np.flatnonzero(share)[-1]))


def _same_region(ours: Release, table: Table, people: np.ndarray, drawn: np.ndarray, d: int, entropy: Entropy) -> Share:
    """How many of the people have a class of which d values occur among the drawn rows in the class's box.

    Of many classes some are looked at, drawn at random: their numbers follow their labels.
    """
    schema, home = ours.schema, ours.residence
    if home is None:
        raise ParameterError("mechanism", "release", "does not know where rows landed")
    names = tuple(attribute.name for attribute in table.schema.published)
    columns = [names.index(name) for name in home.names]
    group = _homes(people[:, columns], home.codes, home.group)
    group = group[group >= 0]
    some = np.unique(group)
    if len(some) > _CLASSES:
        some = some[np.sort(entropy.permutation(len(some))[:_CLASSES])]
    successes = trials = 0
    for one in some:
        inside = np.ones(len(drawn), bool)
        for at, labels in enumerate(ours.boxes.tables):
            held = labels.holds(np.arange(labels.attribute.size))[ours.boxes.labels[one, at]]
            inside &= held[drawn[:, names.index(labels.attribute.name)]]
        shared = min(_shared(ours, attribute, int(one), drawn[inside, names.index(attribute.name)])
                     for attribute in schema.sensitive)  # fmt: skip
        many = int((group == one).sum())
        trials += many
        successes += many if shared >= d else 0
    return Share(successes, trials=trials)


def _shared(ours: Release, attribute: Attribute, group: int, values: np.ndarray) -> int:
    held = ours.groups.histogram(attribute.name)[group].indices
    return len(np.intersect1d(held, values))


def _homes(people: np.ndarray, codes: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The group of each row of codes, found among the distinct original rows."""
    from sfumato.counts.recoding import row_ids

    ids = row_ids(np.concatenate([codes, people]).astype(np.int64))
    place = np.full(int(ids.max()) + 1, -1, np.int64)
    place[ids[: len(codes)]] = group
    return np.asarray(place[ids[len(codes) :]])
