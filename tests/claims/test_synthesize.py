"""Synthetic commuters: the exact law of what is drawn, its true delta, and mutants that must be caught."""

from __future__ import annotations

import inspect
import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction as F  # noqa: N817  (the tests are full of them)

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2
from tests.oracles.urn import one_person_moved

import sfumato as sf
from sfumato.commuting import Cells, Geography, Prior, Shape, Uniform, read_flows
from sfumato.commuting.bounds import exp_below
from sfumato.commuting.prior import certified_delta, scaled, shrunk_certificate, smallest_scale
from sfumato.commuting.synthesize import laws_for
from sfumato.commuting.urn import is_good

# Four blocks on a line, a mile apart or so, in two regions; `elsewhere` is the fifth origin.
GEOGRAPHY = Geography.read(
    pl.DataFrame(
        {
            "code": ["a", "b", "c", "d"],
            "latitude": [41.0, 41.01, 41.02, 41.3],
            "longitude": [-71.0, -71.0, -71.0, -71.0],
            "tract": ["s", "s", "t", "t"],
        }
    )
)
ORIGINS = 5


def flows_of(*histograms):
    """A table with one destination for each histogram over (a, b, c, d, elsewhere)."""
    names = [*GEOGRAPHY.codes, "elsewhere"]
    rows = [
        {"destination": GEOGRAPHY.codes[at], "origin": names[o], "count": people}
        for at, histogram in enumerate(histograms)
        for o, people in enumerate(histogram)
        if people
    ]
    return read_flows(pl.DataFrame(rows), GEOGRAPHY, unknown="elsewhere")


# ---------------------------------------------------------------------------- slow, obvious oracles


def histograms(n, k):
    if k == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in histograms(n - first, k - 1):
            yield (first, *rest)


def rising(a, m):
    return math.prod((a + t for t in range(m)), start=F(1))


def multinomial_law(counts, alpha, m, kept):
    """Dirichlet-multinomial over the kept cells."""
    law = {}
    whole = rising(sum((counts[i] + alpha[i] for i in kept), F(0)), m)
    for part in histograms(m, len(kept)):
        sample = [0] * len(counts)
        p = F(math.factorial(m)) / whole
        for i, people in zip(kept, part, strict=True):
            sample[i] = people
            p *= rising(counts[i] + alpha[i], people) / math.factorial(people)
        law[tuple(sample)] = p
    return law


def cell_law(counts, law, accept=is_good):
    """The exact law over cells of one destination: shrink, draw, reject."""
    alpha = [s.alpha for s in law.strata for _ in range(s.blocks)]
    keep = [s.keep for s in law.strata for _ in range(s.blocks)]
    found = Counter()
    loose = [i for i in range(len(counts)) if not counts[i] and keep[i] < 1]
    for chosen in itertools.product((True, False), repeat=len(loose)):
        chance = math.prod((keep[i] if yes else 1 - keep[i] for i, yes in zip(loose, chosen, strict=True)), start=F(1))
        out = {i for i, yes in zip(loose, chosen, strict=True) if not yes}
        kept = [i for i in range(len(counts)) if i not in out]
        for sample, p in multinomial_law(counts, alpha, law.m, kept).items():
            found[sample] += chance * p
    if law.gamma is None:
        return found
    good = {sample: p for sample, p in found.items() if accept(sample, counts, alpha, law.gamma)}
    total = sum(good.values())
    return {sample: p / total for sample, p in good.items()}


def placed_law(origins, cells, law, accept=is_good):
    """The exact law of what is published for one destination: a histogram over origins."""
    _, slots = cells.strata()
    counts = [0] * cells.k
    for origin, people in enumerate(origins):
        counts[slots[cells.cell[origin]]] += people
    members = {}
    for origin, cell in enumerate(cells.cell.tolist()):
        members.setdefault(int(slots[cell]), []).append((origin, int(cells.density[origin])))
    result = Counter()
    for sample, p in cell_law(tuple(counts), law, accept).items():
        parts = [{tuple([0] * len(origins)): F(1)}]
        for slot, people in enumerate(sample):
            parts.append(_spread(members[slot], people, len(origins)))
        for chosen in itertools.product(*(part.items() for part in parts)):
            total = tuple(map(sum, zip(*(histogram for histogram, _ in chosen), strict=True)))
            result[total] += p * math.prod((q for _, q in chosen), start=F(1))
    return result


def _spread(members, people, size):
    """Multinomial placing of some people among the origins of a cell."""
    whole = sum(density for _, density in members)
    law = {}
    for part in histograms(people, len(members)):
        p, at = F(math.factorial(people)), [0] * size
        for (origin, density), many in zip(members, part, strict=True):
            p *= F(density, whole) ** many / math.factorial(many)
            at[origin] = many
        if p:
            law[tuple(at)] = p
    return law


def hockey(one, two, odds):
    return sum((max(p - odds * two.get(sample, 0), 0) for sample, p in one.items()), F(0))


def true_delta(mechanism, n, *, law=None, accept=is_good):
    """The largest hockey stick over all neighbouring originals of n people at one destination."""
    cells = mechanism.prior.cells(0, ORIGINS)
    if law is None:
        certified, kinds = laws_for(cells, np.array([n]), mechanism.asked)
        law = certified[kinds[0]].law
    laws = {origins: placed_law(origins, cells, law, accept) for origins in histograms(n, ORIGINS)}
    odds = exp_below(mechanism.asked.total)  # at most e^epsilon, so the stick is at least the true one
    return max(hockey(laws[one], laws[two], odds) for one in laws for two in one_person_moved(one))


NEAR = Shape(GEOGRAPHY, by="tract", bands=[1, 5], weights=[4, 2, 1])
CUT = Shape(GEOGRAPHY, by="tract", max_distance=3)
COARSE = Shape(GEOGRAPHY, coarsen="tract")
DENSE = Shape(GEOGRAPHY, coarsen="tract", density=np.array([1, 2, 0, 3]))
FAR = Shape(GEOGRAPHY, by="tract", far=(1.0, "tract"))
DECAY = Shape(GEOGRAPHY, by="tract", bands=[1, 5], keep=["1/2", "1/4", "1/2"], weights=[2, 1, 1])
SETTINGS = {
    "hockey": {"rule": "hockey"},
    "tails": {"rule": "tails"},
    "pdp": {"rule": "pdp"},
    "pure": {"rule": "pure"},
    "shrunk": {"shrink": "1/4", "mass": 1},
    "rejecting": {"accept_reject": True},
    "shrunk and rejecting": {"shrink": "1/4", "mass": 1, "accept_reject": True},
    "by distance": {"prior": NEAR},
    "cut": {"prior": CUT},
    "coarse": {"prior": COARSE},
    "coarse by density": {"prior": DENSE},
    "far is coarse": {"prior": FAR},
    "decay": {"prior": DECAY, "mass": 1},
}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_true_delta_of_the_mechanism_never_exceeds_its_claim(setting, n):
    mechanism = sf.Synthesize("1.1", "0.05", **SETTINGS[setting])
    promise = mechanism.claim(flows_of((1, 0, 0, 0, 0)).schema).promise
    found = true_delta(mechanism, n)
    assert found <= getattr(promise, "delta", 0)
    if setting == "pure":
        assert found == 0


@pytest.mark.full
@pytest.mark.parametrize("setting", ["hockey", "shrunk", "rejecting", "shrunk and rejecting", "coarse"])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0.02"), ("2", "0.01"), ("4.6", "0.001")])
def test_the_true_delta_on_a_grid(setting, epsilon, delta):
    for n in (2, 4):
        assert true_delta(sf.Synthesize(epsilon, delta, **SETTINGS[setting]), n) <= F(delta)


def test_the_claim_is_not_idle():
    """A prior of a fifth of the certified one breaks the promise: the oracle would see it."""
    mechanism = sf.Synthesize("1.1", "0.05")
    certified, _ = laws_for(mechanism.prior.cells(0, ORIGINS), np.array([3]), mechanism.asked)
    law = certified[0].law
    assert true_delta(mechanism, 3, law=replace(law, strata=scaled(law.strata, F(1, 5)))) > F("0.05")


# ---------------------------------------------------------------------------- what is drawn


def _published(release, copies):
    frame = release.frame().with_columns(origin=pl.col("origin").replace(dict(zip("abcd", "0123", strict=True))))
    counts = {name: [0] * ORIGINS for name in copies}
    for destination, origin in frame.iter_rows():
        counts[destination][4 if origin == "elsewhere" else int(origin)] += 1
    return [tuple(histogram) for histogram in counts.values()]


def _p_value(found, law):
    size = sum(found.values())
    expected = {sample: float(p) * size for sample, p in law.items()}
    large = [sample for sample, e in expected.items() if e >= 5]
    statistic = sum((found[s] - expected[s]) ** 2 / expected[s] for s in large)
    rest = sum(e for s, e in expected.items() if s not in large)
    if rest > 0:
        statistic += (size - sum(found[s] for s in large) - rest) ** 2 / rest
    return chi2.sf(statistic, len(large) - (rest == 0))


@pytest.mark.parametrize("setting", ["hockey", "shrunk and rejecting", "coarse by density", "cut"])
def test_what_is_drawn_follows_the_law_that_was_certified(setting):
    """Chi-square, fixed seed; a law with a prior of a third must be rejected at once (p below 1e-9)."""
    mechanism = sf.Synthesize("1.1", "0.05", **SETTINGS[setting])
    origins, drawn = (2, 0, 1, 0, 0), Counter()
    same = "ab" if setting == "cut" else "abcd"  # destinations that see the same cells
    table = flows_of(*[origins] * len(same)).table
    for seed in range(900 // len(same)):
        drawn.update(_published(sf.publish(table, mechanism, seed=seed), same))
    cells = mechanism.prior.cells(0, ORIGINS)
    certified, _ = laws_for(cells, np.array([3]), mechanism.asked)
    law = certified[0].law
    assert set(drawn) <= set(placed_law(origins, cells, law))
    assert _p_value(drawn, placed_law(origins, cells, law)) > 1e-4
    mutant = replace(law, strata=scaled(law.strata, F(1, 8)), gamma=None)
    assert _p_value(drawn, placed_law(origins, cells, mutant)) < 1e-9


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_law_is_certified_as_it_is_drawn(setting):
    mechanism = sf.Synthesize("2.5", "1e-3", **SETTINGS[setting])
    cells = mechanism.prior.cells(1 if setting in {"by distance", "decay"} else 0, ORIGINS)
    certified, kinds = laws_for(cells, np.array([1, 2, 9, 40, 333, 9]), mechanism.asked)
    assert [certified[kind].law.m for kind in kinds] == [1, 2, 9, 40, 333, 9]
    for known in certified:
        law = known.law
        assert sum(s.blocks for s in law.strata) == cells.k
        if any(s.keep < 1 for s in law.strata):
            proof = shrunk_certificate(law.m, law.strata, mechanism.epsilon, rule=known.rule, gamma=law.gamma)
            assert proof.epsilon <= mechanism.asked.total
            assert F(proof.delta) <= mechanism.delta
        else:
            asked = mechanism.asked.total
            assert F(certified_delta(law.m, cells.k, asked, law.strata, rule=known.rule, gamma=law.gamma)) <= F("1e-3")


# ---------------------------------------------------------------------------- traps, with their mutants


def _public_part(table, mechanism):
    """Everything a release says apart from who was drawn: it must be the same for neighbours."""
    release = sf.publish(table, mechanism, seed=1)
    return release.notes, release.claim, release.mechanism


class Peeking(Uniform):
    """A mutant: keeps few empty blocks where the table has few occupied ones (traps 41 and 52)."""

    def __init__(self, table):
        occupied = len(np.unique(table.counts(["origin"]).codes))
        super().__init__(F(occupied, 8))


def test_traps_41_and_52_nothing_but_public_numbers_reaches_the_prior():
    one, two = flows_of((2, 1, 0, 0, 0)).table, flows_of((3, 0, 0, 0, 0)).table
    for setting in SETTINGS.values():
        mechanism = sf.Synthesize("1.1", "0.05", **setting)
        assert _public_part(one, mechanism) == _public_part(two, mechanism)
    mutants = [sf.Synthesize("1.1", "0.05", prior=Peeking(table)) for table in (one, two)]
    assert _public_part(one, mutants[0]) != _public_part(two, mutants[1])
    for method in (Prior.cells, Prior.groups, laws_for):
        assert not {"counts", "table", "flows", "people"} & set(inspect.signature(method).parameters)


def test_trap_41_alpha_tuned_on_the_histogram_breaks_the_promise():
    """The mutant takes the smallest alpha that is good enough for the people who are really there."""
    mechanism = sf.Synthesize("1.1", "0.05")
    cells, odds = mechanism.prior.cells(0, ORIGINS), exp_below(F("1.1"))
    law = laws_for(cells, np.array([3]), mechanism.asked)[0][0].law

    def tuned(origins):
        """Look only at the counts x that occur: what block i can leak is E[(1 - odds / (1 + m_i / (x-1+alpha)))^+]."""
        for step in range(1, 60):
            guess = replace(law, strata=scaled(law.strata, F(step, 60)))
            one, alpha = cell_law(origins, guess), guess.strata[0].alpha
            leaks = [
                sum(p * max(1 - odds / (1 + sample[i] / (x - 1 + alpha)), 0) for sample, p in one.items())
                for i, x in enumerate(origins)
                if x
            ]
            if max(leaks) <= F("0.05"):
                return one
        return cell_law(origins, law)

    one, two = tuned((3, 0, 0, 0, 0)), tuned((2, 1, 0, 0, 0))
    assert max(hockey(one, two, odds), hockey(two, one, odds)) > F("0.05")


def test_trap_42_totals_are_the_public_ones_wherever_people_live():
    mechanism = sf.Synthesize("1.1", "0.05", prior=CUT)
    flows = flows_of((1, 1, 1, 3, 2), (0, 0, 0, 7, 0))  # block d is 20 miles away
    release = sf.publish(flows.table, mechanism, seed=0)
    totals = dict(release.frame().group_by("destination").len().iter_rows())
    assert totals == {"a": 8, "b": 7}
    assert "d" not in release.frame()["origin"].to_list()
    # the mutant drops them: its totals tell how many live far away
    where, origin, people = flows.pairs
    near = flows.geography.miles(where, origin) <= 3
    assert np.bincount(where[near], weights=people[near], minlength=2).tolist() == [3, 0]


@pytest.mark.parametrize("unit", ["job", "person"])
def test_rows_of_a_person_are_never_left_out_by_where_the_person_lives(unit):
    """Two jobs of one person, one kept: where the person lived said which, and with it the totals."""
    places = {"role": "quasi", "kind": "nominal", "values": ["a", "b", "c", "d"]}
    attributes = {"destination": places, "origin": places, "who": {"role": "identifier"}}
    said = {"name": "jobs", "source": "public", "person": "who", "rows_per_person": 1, "attribute": attributes}
    schema = sf.Schema.parse(said)
    kept = set()
    for origin in "abcd":
        rows = pl.DataFrame({"who": ["9", "9"], "destination": ["a", "b"], "origin": [origin, origin]})
        table = sf.read(rows, schema)
        kept.add(tuple(table.counts("destination").codes[:, 0].tolist()))
        with pytest.raises(sf.ParameterError, match="totals would not be the public ones"):
            sf.publish(table, sf.Synthesize("4.6", "1e-5", unit=unit), seed=0)
    assert len(kept) == 2  # either job may be the one that is left


def test_hints_for_a_table_of_people_with_several_jobs_lead_to_a_release():
    """One job led to unit="person", that to one row of each person, and that was refused for who has two."""
    places = {"role": "quasi", "kind": "nominal", "values": ["a", "b", "c", "d"]}
    attributes = {"destination": places, "origin": places, "who": {"role": "identifier"}}
    said = {"name": "jobs", "source": "public", "person": "who", "attribute": attributes}
    rows = pl.DataFrame({"who": ["9", "9", "8"], "destination": ["a", "b", "a"], "origin": ["c", "c", "d"]})
    for most, unit in itertools.product((1, 2), ("job", "person")):
        table = sf.read(rows, sf.Schema.parse({**said, "rows_per_person": most}))
        asked = sf.Synthesize("4.6", "1e-5", unit=unit)
        with pytest.raises(sf.ParameterError) as error:
            sf.publish(table, asked, seed=0)
        cap = "M" if most == 1 else "2"
        assert f'read_flows(..., unit="person", cap={cap}, person="who") with Synthesize(..., unit="person")' in str(
            error.value
        )
        if most == 2:
            with pytest.raises(sf.ParameterError, match="only flows compose over them"):
                sf.plan(table.schema, asked)
    flows = read_flows(rows, GEOGRAPHY, unit="person", cap=2, person="who")
    assert sf.publish(flows.table, sf.Synthesize("4.6", "1e-5", unit="person"), seed=0).rows == 3
    one = sf.read(rows.unique("who"), sf.Schema.parse({**said, "rows_per_person": 1}))  # the other way out
    assert sf.publish(one, sf.Synthesize("4.6", "1e-5", unit="person"), seed=0).rows == 2


def test_trap_44_certifying_before_shrinking_breaks_the_promise():
    """The mutant finds alpha on the whole domain, then shrinks: epsilon' is the claimed one, its delta is not."""
    mechanism = sf.Synthesize("1.1", "0.05", shrink="1/16", mass=1)
    cells = mechanism.prior.cells(0, ORIGINS)
    shape, _ = cells.strata()
    whole = tuple(replace(s, keep=F(1)) for s in shape)
    scale = smallest_scale(3, whole, mechanism.asked.total, "0.05", rule="hockey")
    certified, _ = laws_for(cells, np.array([3]), mechanism.asked)
    mutant = replace(certified[0].law, strata=scaled(shape, scale))
    assert true_delta(mechanism, 3, law=mutant) > F("0.05")
    assert true_delta(mechanism, 3) <= F("0.05")


def test_trap_48_rejecting_against_rep_breaks_the_promise():
    def in_rep(sample, counts, alpha, gamma):
        pairs = zip(sample, counts, alpha, strict=True)
        return all(m <= gamma * (a + max(n - 1, 0)) for m, n, a in pairs)

    mechanism = sf.Synthesize("2", "0.01", accept_reject=True)
    certified, _ = laws_for(mechanism.prior.cells(0, ORIGINS), np.array([3]), mechanism.asked)
    law = certified[0].law
    tight = replace(law, gamma=F(3, 2) / min(s.alpha for s in law.strata))  # rejects often
    assert true_delta(mechanism, 3) <= F("0.01")
    rep, good = (true_delta(mechanism, 3, law=tight, accept=accept) for accept in (in_rep, is_good))
    assert rep > F("0.01")
    assert rep > good


def test_trap_49_how_often_was_rejected_is_said_nowhere(tmp_path):
    mechanism = sf.Synthesize("1.1", "0.05", accept_reject=True)
    table = flows_of((2, 1, 0, 0, 0), (0, 0, 9, 0, 0)).table
    parts = {str(_public_part(table, mechanism)) for _ in range(1)}
    for seed in range(2, 12):
        release = sf.publish(table, mechanism, seed=seed)
        parts.add(str((release.notes, release.claim, release.mechanism)))
    assert len(parts) == 1
    release.save(tmp_path / "out", allow_rehearsal=True)
    written = (tmp_path / "out" / "manifest.json").read_text() + (tmp_path / "out" / "dictionary.md").read_text()
    assert "reject" not in written.replace("accept_reject", "")


def test_trap_50_disclosure_is_summed_over_destinations():
    mechanism = sf.Synthesize("3", "0.01", rule="pdp")
    one = sf.publish(flows_of((9, 0, 0, 0, 0)).table, mechanism, seed=0).notes[-1]
    four = sf.publish(flows_of(*[(9, 0, 0, 0, 0)] * 4).table, mechanism, seed=0).notes[-1]
    single, summed = (float(part.split()[0]) for part in four.split("at most ")[1:])
    assert single > 0
    assert summed == pytest.approx(4 * single, rel=0.01)
    assert one.count(f"{single:.3g}") == 2  # with one destination both are the same


def test_trap_51_a_domain_read_off_the_data_is_refused():
    schema = flows_of((1, 0, 0, 0, 0)).schema
    attributes = tuple(replace(a, source="data") if a.name == "origin" else a for a in schema.attributes)
    with pytest.raises(sf.SchemaError, match="read off the data"):
        sf.Synthesize("4.6", "1e-5").claim(replace(schema, attributes=attributes))
    # k counts every listed block, occupied or not, and `elsewhere`
    release = sf.publish(flows_of((3, 0, 0, 0, 0)).table, sf.Synthesize("1.1", "0.05"), seed=0)
    assert "between 5 and 5 public cells" in release.notes[0]
    # the mutant whose domain is the occupied blocks publishes with certainty where nobody lives
    law = laws_for(Cells.of_blocks(2), np.array([3]), sf.Synthesize("1.1", "0.05").asked)[0][0].law
    one, two = (
        cell_law((2, 1), law),
        cell_law(
            (3, 0),
            replace(law, strata=(replace(law.strata[0], blocks=1), replace(law.strata[0], alpha=F(0), blocks=1))),
        ),
    )
    assert hockey(one, two, exp_below(F("1.1"))) > F("0.05")


# ---------------------------------------------------------------------------- the claim


def test_a_person_composes_over_destinations():
    schema = GEOGRAPHY.schema(rows_per_person=3)
    claim = sf.Synthesize("4.6", "1e-5", unit="person").claim(schema)
    assert claim.promise == sf.ApproxDP("13.8", delta="3e-5")
    assert claim.neighbours is sf.Neighbours.ONE_ORIGIN
    assert sum(spent for _, spent in claim.trace) == F("13.8")
    assert "more than 3 destinations" in claim.silent_on[0]
    with pytest.raises(sf.ParameterError, match="up to 3 rows"):
        sf.Synthesize("4.6", "1e-5").claim(schema)


def test_a_disclosing_draw_is_that_of_one_job_of_a_person():
    """Two destinations of one worker each: the bound of one law is not one of both at the same epsilon."""
    frame = pl.DataFrame({"work": ["10", "11"], "home": ["12", "12"]})
    places = Geography.read(
        pl.DataFrame({"code": ["10", "11", "12"], "latitude": [41.0, 41.1, 41.2], "longitude": [-71.0] * 3})
    )
    mechanism = sf.Synthesize("4.6", "1e-5", unit="person")
    flows = read_flows(frame, places, unit="person", cap=2)
    alpha = laws_for(mechanism.prior.cells(0, 4), np.array([1]), mechanism.asked)[0][0].law.strata[0].alpha
    both_told = float((1 + alpha) / (1 + 4 * alpha)) ** 2
    assert 2 * math.log((1 + alpha) / alpha) > 4.6
    said = sf.publish(flows.table, mechanism, seed=1).notes[-1]
    assert "at most 0 at any of the 2" in said
    assert both_told > 0.9  # so that it is false of a person
    assert "of one of the up to 2 jobs of a person" in said
    one = read_flows(frame.head(1), places, unit="person", cap=1)
    assert "jobs of a person" not in sf.publish(one.table, mechanism, seed=1).notes[-1]


def test_shrinking_is_in_the_claim_with_its_parts():
    schema = GEOGRAPHY.schema()
    claim = sf.Synthesize("4.6", "1e-5", shrink="0.0378").claim(schema)
    parts = dict(claim.trace)
    assert set(parts) == {"synthesis", "domain", "mass"}
    assert parts["synthesis"] == F("4.6")
    assert 3.2754 < parts["domain"] < 3.27545  # ln(1/.0378) = 3.27544; the chance is rounded up
    assert claim.promise.epsilon == sum(parts.values())


def test_pure_dp_by_theorem_41():
    claim = sf.Synthesize("4.6", 0, rule="pure").claim(GEOGRAPHY.schema())
    assert claim.promise == sf.PureDP("4.6")


def test_saved_and_verified(tmp_path):
    flows = flows_of((4, 2, 0, 0, 1), (0, 5, 5, 5, 0))
    release = sf.publish(flows.table, sf.Synthesize("1.1", "0.05", prior=COARSE))
    release.save(tmp_path / "out", allow_unaccounted=True)
    verdict = sf.verify(tmp_path / "out")
    assert verdict.holds
    assert verdict.kind == "proved"
    again = sf.Release.load(tmp_path / "out")
    assert again.form == "synthetic"
    assert again.frame().equals(release.frame())
    assert again.claim == release.claim
    assert again.notes == release.notes


def test_the_same_seed_draws_the_same_and_the_table_is_left_alone():
    flows = flows_of((4, 2, 0, 0, 1), (0, 5, 5, 5, 0))
    before = [column.copy() for column in flows.pairs]
    frames = [sf.publish(flows.table, sf.Synthesize(2, "1e-3", prior=NEAR), seed=7).frame() for _ in range(2)]
    assert frames[0].equals(frames[1])
    assert all(np.array_equal(a, b) for a, b in zip(before, flows.pairs, strict=True))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"epsilon": 0, "delta": "1e-5"}, "epsilon"),
        ({"epsilon": 1, "delta": 0}, "delta"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "delta": "1e-5", "rule": "guess"}, "rule"),
        ({"epsilon": 1, "delta": "1e-5", "unit": "household"}, "unit"),
        ({"epsilon": 1, "delta": "1e-5", "shrink": 0}, "shrink"),
        ({"epsilon": 1, "delta": "1e-5", "shrink": "1/2", "prior": NEAR}, "shrink"),
        ({"epsilon": 1, "delta": "1e-5", "mass": 0}, "mass"),
        ({"epsilon": 1, "delta": "1e-5", "prior": "guess"}, "prior"),
    ],
)
def test_bad_parameters_are_named(given, named):
    with pytest.raises(sf.ParameterError) as error:
        sf.Synthesize(given.pop("epsilon"), given.pop("delta"), **given)
    assert error.value.name == named
