"""Every attack that fits, on one release or several, ranked by what the attacker gains.

Source    Ours; the protocol is that of base.py.
Claim     Every registered attack is run that fits the releases, or is listed with the reason why not; one that fails is
          listed too. Of several releases each is attacked alone, and named; attacks on several take them all. The gains
          are ranked, the largest first. Without controls nothing is called a gain, unless the mechanism is given: then
          half of the people are published anew, and the other half are the controls of that release.
Because   what is true of everybody is found out about people in no release, too, and only they can show it.
Checked   tests/claims/test_attack_suite.py::test_every_attack_is_run_or_says_why_not
          tests/claims/test_attack_suite.py::test_each_of_several_releases_is_attacked
          tests/claims/test_attack_suite.py::test_without_a_control_nothing_is_called_a_gain
          tests/claims/test_attack_suite.py::test_a_rehearsal_makes_its_own_controls
          tests/claims/test_attack_suite.py::test_one_attack_that_fails_takes_no_other_along
Silent on attacks that are not registered. A rehearsal is another release than the one asked about, of half the people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from sfumato.attacks.base import NOT_BETTER, PEOPLE, Attack, Fit, Gain, Knowledge, percent
from sfumato.attacks.case import known_names, no_others, refuse_unspeakable, victims, whom
from sfumato.counts import Table, holdout
from sfumato.declare import says
from sfumato.errors import NotComparable, ParameterError, SfumatoError, count_of
from sfumato.estimate import align_boxes, nearest_boxes, other_table, refuse_unmatched
from sfumato.measures.base import json_number
from sfumato.mechanisms import Mechanism, Progress
from sfumato.mechanisms.base import run_on_part
from sfumato.randomness import Entropy
from sfumato.registry import Registry
from sfumato.release import Release
from sfumato.visible import visible

# Every attack by name, those of installed packages included. A new attack is one line here.
REGISTRY = Registry(
    "sfumato.attacks",
    {
        "identity": "sfumato.attacks.identity:Identity",
        "singling-out": "sfumato.attacks.singling_out:SinglingOut",
        "linkage": "sfumato.attacks.linkage:Linkage",
        "inference": "sfumato.attacks.inference:Inference",
        "skewness": "sfumato.attacks.inference:Skewness",
        "similarity": "sfumato.attacks.inference:Similarity",
        "ruled-out": "sfumato.attacks.inference:RuledOut",
        "learner": "sfumato.attacks.inference:Learner",
        "definetti": "sfumato.attacks.definetti:DeFinetti",
        "foreground": "sfumato.attacks.definetti:Foreground",
        "minimality": "sfumato.attacks.minimality:Minimality",
        "downcoding": "sfumato.attacks.downcoding:Downcoding",
        "downcoding-rows": "sfumato.attacks.downcoding:DowncodingRows",
        "composition": "sfumato.attacks.composing.composition:Intersection",
        "differencing": "sfumato.attacks.composing.differencing:Differencing",
        "membership": "sfumato.attacks.membership:Membership",
        "container": "sfumato.attacks.container:Container",
        "shadow": "sfumato.attacks.shadow:Shadow",
    },
)


_SMALL = 20_000  # rows up to which attacks marked small-only are run unasked
_LOOKED_AT = 500  # people whose closest published row is looked for
HALF = "half of the table, published for the attack"
NOT_EVIDENCE = (
    "A published row that lies close to one of the table says nothing of how it came to be there: a table of random "
    "rows can lie closer than one that copies a few rows exactly, and those few do not move a median."
)
NO_CONTROL = (
    "No control was given: the rates below cannot be separated from what is true of everybody. Give rows that are not "
    "in the release (control), or let the mechanism be run again on half of the table (again)."
)


@dataclass(frozen=True)
class Suite:
    """Gains, the largest first; `skipped` says why an attack was not run. Confidential."""

    gains: tuple[Gain, ...]
    _: KW_ONLY
    skipped: Mapping[str, str]
    distances: Mapping[str, float]
    rehearsed: bool = False
    controlled: bool = True
    counted: str = "people"
    drawn: bool = False
    warnings: tuple[str, ...] = ()
    confidential: bool = True

    def __repr__(self) -> str:
        return f"Suite({count_of(len(self.gains), 'attack')}, {len(self.skipped)} not run, confidential)"

    def __str__(self) -> str:
        return self.describe()

    def __getitem__(self, attack: str) -> Gain:
        for gain in self.gains:
            if gain.attack == attack:
                return gain
        raise ParameterError("attack", attack, "was not run", hint=", ".join(gain.attack for gain in self.gains))

    @property
    def worst(self) -> dict[str, Gain]:
        """The largest gain of each kind of harm."""
        found: dict[str, Gain] = {}
        for gain in self.gains:
            found.setdefault(gain.axis, gain)
        return found

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping without records."""
        return {
            "controlled": self.controlled,
            "rehearsed": self.rehearsed,
            "warnings": list(self.warnings),
            "attacks": [gain.to_json() for gain in self.gains],
            "skipped": dict(self.skipped),
            "not evidence": {
                "distance to closest record": {name: json_number(far) for name, far in self.distances.items()},
                "why": NOT_EVIDENCE,
            },
            "confidential": self.confidential,
        }

    def notes(self) -> list[str]:
        """What holds for all of them."""
        found = list(self.warnings)
        if not self.controlled:
            found.append(NO_CONTROL)
        if self.rehearsed:
            found.append(
                "Measured on a rehearsal with half of the table: the mechanism was run on it, and the other half are "
                "the controls. The release itself has other classes. With more rows they can be smaller, above all "
                f"where l-diversity or t-closeness is asked for: more {self.counted} may then be found than in the "
                "rehearsal."
            )
        if self.drawn:
            found.append(
                "A person with several rows is attacked by one of them, drawn at random: another draw, or the rows in "
                "another order, gives somewhat other figures."
            )
        if self.distances:
            said = ", ".join(f"{name} {far:.3g}" for name, far in self.distances.items())
            found.append(f"Distance to the closest published row, median ({said}): not evidence. {NOT_EVIDENCE}")
        return found

    def describe(self) -> str:
        """Say each in a sentence, with what would stop it."""
        lines = list(self.notes())
        for gain in self.gains:
            lines += [
                "",
                f"{gain.name}: {gain.sentence} {gain.beside}".rstrip(),
                *([f"  {gain.less}"] if gain.less else []),
                f"  What would stop it: {gain.stops}.",
            ]
            lines += [f"  {note}" for note in gain.notes]
            if gain.targets.trials and gain.baseline.trials and not gain.better_than_baseline:
                rate = "" if gain.within else f" ({percent(gain.baseline.rate)})"
                lines.append(f"  {NOT_BETTER}{rate}.")
        lines += ["", *(f"Not run: {name} ({why})." for name, why in self.skipped.items())]
        lines.append("Confidential: computed from the original.")
        return "\n".join(map(visible, lines)).strip()


def attack_all(
    releases: Release | Sequence[Release],
    table: Table,
    control: Table | None = None,
    *,
    attacks: Sequence[str | Attack] | None = None,
    knowledge: Knowledge | None = None,
    again: Mechanism | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Suite:
    """Run every attack that fits; `table` is what the releases were made from, `control` people who are in none.

    With `again`, a mechanism, half of the table is published anew (a rehearsal) and the rest are its controls.
    """
    _refuse_other_order(releases, table)
    made = [releases] if isinstance(releases, Release) else list(releases)
    refuse_unspeakable(table, control)
    if again is not None:
        if len(made) > 1:
            rule = "runs one mechanism, and several releases were given"
            raise ParameterError("again", type(again).__name__, rule, hint="give one release")
        if control is not None:
            raise ParameterError("again", type(again).__name__, "makes its own controls", hint="leave control out")
        table, control = holdout(table, seed=seed)
        made = [run_on_part(again, table, Entropy.seeded(seed).child("again"), which=HALF)]
    if not made:
        raise ParameterError("releases", "none", "at least one is needed")
    for release in made:
        refuse_unmatched(release, table.schema)  # each attack would be listed as not run, as if it did not fit
    warned = {which or "release": other_table(release, table) for which, release in _numbered(made)}
    known = knowledge or Knowledge()
    tries = [one for attack in _chosen(attacks).values() for one in _tries(attack, made)]
    gains, skipped = [], {}
    failed: SfumatoError | None = None
    for at, (attack, which, attacked) in enumerate(tries):
        name = f"{attack.name}, {which}" if which else attack.name
        if progress is not None:
            progress(at / len(tries), name)
        fit = _fits(attack, attacked, table, asked=attacks is not None)
        if not fit:
            skipped[name] = fit.why_not
            continue
        try:
            gains.append(replace(attack.run(attacked, known, table, control, seed=seed), release=which))
        except NotComparable as error:
            skipped[name] = str(error).rstrip(".")
        except SfumatoError as error:  # the others are still worth having
            skipped[name] = f"it failed: {error}".rstrip(".")
            failed = failed or error
    if failed is not None and not gains:
        raise failed
    if progress is not None:
        progress(1.0, "done")
    return Suite(
        tuple(sorted(gains, key=lambda gain: gain.beyond, reverse=True)),
        skipped=skipped,
        distances={
            f"{which}, {whose}" if which else whose: far
            for which, release in _numbered(made)
            for whose, far in _distances(release, table, control, known, seed).items()
        },
        rehearsed=again is not None,
        controlled=control is not None,
        counted=whom(table).many,
        warnings=(
            *(f"{which}: {text}" if len(made) > 1 else text for which, text in warned.items() if text),
            *filter(None, [no_others(table, control)]),
        ),
        drawn=whom(table) is PEOPLE and table.schema.several and (table.people or 0) < table.rows,
    )


def _refuse_other_order(releases: object, table: object) -> None:
    """Raise if the first two arguments are not (releases, table); measures take (table, release)."""
    hint = "attack_all(release, table): the release comes first"
    several = list(releases) if isinstance(releases, Sequence) else [releases]
    if not all(isinstance(one, Release) for one in several):
        raise ParameterError("releases", type(releases).__name__, "must be a release, or a list of releases", hint=hint)
    if not isinstance(table, Table):
        raise ParameterError("table", type(table).__name__, "must be the table they were made from", hint=hint)


def _chosen(attacks: Sequence[str | Attack] | None) -> dict[str, Attack]:
    found: dict[str, Attack] = {}
    for asked in list(REGISTRY) if attacks is None else attacks:
        if not isinstance(asked, str):
            found[asked.name] = asked
        elif asked not in REGISTRY:
            raise ParameterError("attacks", asked, "is not an attack", hint=f"one of {', '.join(REGISTRY)}")
        else:
            found[asked] = REGISTRY[asked]()
    return found


def _numbered(releases: Sequence[Release]) -> list[tuple[str, Release]]:
    """Return the releases with what each is called; nothing where there is one."""
    return [(f"release {at}" if len(releases) > 1 else "", release) for at, release in enumerate(releases, 1)]


def _tries(attack: Attack, releases: Sequence[Release]) -> list[tuple[Attack, str, list[Release]]]:
    """Return what an attack is run on: all releases together, or each of them alone."""
    if says(attack, "several"):
        return [(attack, "", list(releases))]
    return [(attack, which, [release]) for which, release in _numbered(releases)]


def _fits(attack: Attack, releases: Sequence[Release], table: Table, *, asked: bool) -> Fit:
    if says(attack, "several") and len(releases) < 2:
        return Fit("it needs two releases or more")
    if says(attack, "small_only") and not asked and table.rows > _SMALL:
        return Fit(f"it is for tables of up to {_SMALL:,} rows unless it is asked for by name")
    return next((fit for fit in map(attack.fits, releases) if not fit), Fit())


def _distances(
    release: Release, table: Table, control: Table | None, knowledge: Knowledge, seed: int
) -> dict[str, float]:
    """Median distance to the closest published row, in attributes."""
    try:
        known = known_names(knowledge, table.schema)
        view = align_boxes(release, table.schema.with_roles(quasi=known))
    except SfumatoError:
        return {}
    if not (view.weight > 0).any():
        return {}
    found = {}
    for name, people in (("in the table", table), ("others", control)):
        if people is not None:
            drawn = victims(people, known, entropy=Entropy.seeded(seed).child(name), most=_LOOKED_AT)
            far = np.repeat(nearest_boxes(view, drawn.codes)[2], drawn.weight)
            found[name] = float(np.median(far)) if len(far) else math.nan
    return found
