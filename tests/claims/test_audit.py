"""Does the audit find what it must, and accuse nobody else?"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.claims.mutants import MUTANTS
from tests.claims.tiny_tables import PAPER, RECORDS, gathered, pair, tiny_schema

import sfumato as sf
from sfumato.attacks.audit import black_box_audit, exact_audit, laplace_counts, law_of
from sfumato.measures.proportions import clopper_pearson
from sfumato.randomness import Entropy, sparse_noise


@pytest.mark.cells(8)
@pytest.mark.parametrize("trap", MUTANTS)
def test_every_trap_has_a_mutant_that_is_caught(trap, monkeypatch):
    """Traps 1 to 12 and 15 to 17; 13 and 14 are below. The sound mechanism holds on the same pair of tables."""
    sound, broken = MUTANTS[trap].audits(monkeypatch)
    assert sound.holds, sound.describe()
    assert not broken.holds, broken.describe()


def test_trap_13_float_positions_are_caught():
    """Among 2^80 cells a float names every 2^27th at most; the law of the lowest bit tells."""
    cells = 1 << 80
    where, _ = sparse_noise(cells, {}, Fraction(1, 2), 96, Entropy.seeded(5))
    rng = np.random.default_rng(5)
    floats = [int(u * float(cells)) for u in rng.random(len(where))]  # the mutant
    odd = sum(int(cell) % 2 for cell in where)
    assert len(where) > 100
    assert stats.binomtest(odd, len(where)).pvalue > 1e-6
    assert stats.binomtest(sum(cell % 2 for cell in floats), len(floats)).pvalue < 1e-20


def test_trap_14_rows_in_input_order_are_caught():
    """What leaves does not change when rows come in another order; a mutant that keeps the order of groups does."""
    from sfumato.schema import Schema

    schema, outputs, mutants = Schema.parse(PAPER), [], []
    for records in (RECORDS, RECORDS[::-1]):
        frame = pl.DataFrame(records, schema=["job", "age", "class"], orient="row")
        release = sf.publish(sf.read(frame, schema), sf.DiffGen(4, specializations=2), seed=9)
        outputs.append(release.frame())
        mutants.append(frame.group_by("job", maintain_order=True).len()["job"].to_list())
    assert outputs[0].equals(outputs[1])
    assert mutants[0] != mutants[1]
    assert outputs[0].equals(outputs[0].sort(outputs[0].columns))


def test_the_walk_is_a_law():
    mechanism = sf.DiffGen(3, specializations=2, selection="permute-and-flip")
    law = law_of(mechanism, pair(mechanism, [(0, 0, 0, 0)], (3, 2, 2, 1))[0])
    assert abs(sum(law.chances.values()) - 1) < Decimal("1e-25")
    assert min(law.chances.values()) > 0


def test_the_law_of_a_cell_sums_to_one():
    for count in (0, 1, 5):
        total = sum(laplace_counts(count, outcome, Fraction(1, 2), 2) for outcome in (None, *range(2, 200)))
        assert abs(total - 1) < Decimal("1e-25")


def test_the_audit_finds_exactly_epsilon_where_it_is_reached():
    """One cell moves by one: the discrete Laplace law loses exactly epsilon."""
    mechanism = sf.NoisyTable("7/3")
    one, two = pair(mechanism, [(0, 0, 0, 0)], (0, 0, 0, 0))
    audited = exact_audit(mechanism, one, two)
    assert audited.holds
    assert abs(audited.loss - Decimal(7) / Decimal(3)) < Decimal("1e-27")
    assert not exact_audit(mechanism, one, two, epsilon=Fraction(7, 3) - Fraction(1, 10**9)).holds


def test_only_pure_claims_are_audited():
    with pytest.raises(sf.ParameterError, match="must claim pure"):
        exact_audit(sf.Suppress(), *[gathered(sf.Suppress(), tiny_schema().with_roles(sensitive="pay"), [])] * 2)


@pytest.mark.parametrize("share", [0.02, 0.4])
def test_clopper_pearson_covers(share):
    """Exactly: the probability that the interval misses the share is at most 5 %."""
    trials = 60
    missed = 0.0
    for x in range(trials + 1):
        low, high = clopper_pearson(x, trials)
        if not low <= share <= high:
            missed += stats.binom.pmf(x, trials, share)
    assert missed <= 0.05
    assert clopper_pearson(trials, trials)[1] == 1.0


def runs_of(epsilon, rows, *, twice=1):
    """What is seen of NoisyTable runs: the counts of the first cell."""
    mechanism = sf.NoisyTable(Fraction(epsilon) * twice, threshold=1, cuts={n: ["*"] for n in ("age", "hours", "job")})
    counts = gathered(mechanism, tiny_schema(), rows)

    def run(i):
        release = mechanism.apply(counts, Entropy.seeded(i))
        return tuple(release.groups.overall["pay"].tolist()[:1])

    return run


def test_the_black_box_accuses_a_wrong_scale_and_no_right_one():
    """Claimed 1, given 2: accused at confidence 0.999. Claimed and given 1: not."""
    rows = [(0, 0, 0, 0)] * 2
    seconds = rows[:1]
    shifted = lambda run: lambda i: run(i + 10**6)  # noqa: E731  (other seeds for the other table)
    right = black_box_audit(runs_of(1, rows), shifted(runs_of(1, seconds)), runs=600)
    wrong = black_box_audit(runs_of(1, rows, twice=2), shifted(runs_of(1, seconds, twice=2)), runs=600)
    assert right.lower <= 1 < wrong.lower <= 2
    assert wrong.to_json()["runs"] == 300
    assert "at least" in wrong.describe()


def test_black_box_audits_need_runs():
    with pytest.raises(sf.ParameterError, match="runs"):
        black_box_audit(str, str, runs=1)
    with pytest.raises(sf.ParameterError, match="level"):
        clopper_pearson(1, 2, 1.0)
    with pytest.raises(sf.ParameterError, match="successes"):
        clopper_pearson(3, 2)
