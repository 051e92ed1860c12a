"""Our attacks beside Anonymeter's on the same tables: a share of the published rows are copies of people.

The figures were printed by anonymeter 1.1.0 (MIT Licence, https://github.com/statice/anonymeter) on these tables, town,
sex and illness as text: `InferenceEvaluator(ori, syn, control, aux_cols=[age, town, sex, pay], secret="ill",
n_attacks=2000)` and `LinkabilityEvaluator(ori, syn, control, aux_cols=([age, sex], [town, pay]), n_neighbors=1,
n_attacks=1000)`, `SinglingOutEvaluator(ori, syn, control, n_attacks=500, n_cols=4, max_attempts=20000)`, multivariate,
as in its notebook, numpy's global seed 0. A rate is a value and the half width of its 95 % interval.
"""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.attacks import Inference, Knowledge, Linkage, SinglingOut
from sfumato.counts import Table

SCHEMA = sf.Schema.parse(
    {
        "name": "copies",
        "source": "public",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 90], "step": 1},
            "town": {"role": "quasi", "kind": "nominal", "values": [f"v{at}" for at in range(20)]},
            "sex": {"role": "quasi", "kind": "nominal", "values": ["v0", "v1"]},
            "pay": {"role": "quasi", "kind": "numeric", "range": [0, 400], "step": 1},
            "ill": {"role": "sensitive", "kind": "nominal", "values": [f"v{at}" for at in range(6)]},
        },
    }
)
PRINTED = 1e-4  # a rate and half its interval are printed to four digits
# share of copies: attack rate, control rate (each with half its interval), risk and its interval
INFERENCE = {
    0.0: ((0.3124, 0.0203), (0.3029, 0.0201), (0.0136, (0.0, 0.0543))),
    0.3: ((0.5279, 0.0219), (0.2919, 0.0199), (0.3334, (0.2972, 0.3695))),
    1.0: ((0.9985, 0.0014), (0.2964, 0.0200), (0.9979, (0.9960, 0.9999))),
}
LINKABILITY = {
    0.0: ((0.0019, 0.0019), (0.0019, 0.0019), (0.0, (0.0, 0.0027))),
    0.3: ((0.0288, 0.0102), (0.0029, 0.0028), (0.0260, (0.0154, 0.0365))),
    1.0: ((0.0796, 0.0167), (0.0029, 0.0028), (0.0769, (0.0600, 0.0938))),
}
SINGLING_OUT = {
    0.0: ((0.2400, 0.0372), (0.2559, 0.0381), (0.0, (0.0, 0.0510))),
    0.3: ((0.3214, 0.0408), (0.2737, 0.0389), (0.0656, (0.0, 0.1408))),
    1.0: ((0.9962, 0.0038), (0.2182, 0.0360), (0.9951, (0.9902, 1.0))),
}


def people(rng, rows):
    """Illness follows the town for four of ten people, and nothing for the others."""
    age, town, sex = rng.integers(0, 90, rows), rng.integers(0, 20, rows), rng.integers(0, 2, rows)
    pay, follows = rng.integers(0, 400, rows), rng.random(rows) < 0.4
    return np.column_stack([age, town, sex, pay, np.where(follows, town % 6, rng.integers(0, 6, rows))])


def tables(copied, rows=2000):
    rng = np.random.default_rng(11)
    inside, outside, drawn = people(rng, rows), people(rng, rows), people(rng, rows)
    many = round(copied * rows)
    published = np.concatenate([inside[:many], drawn[many:]])
    return [Table.from_codes(SCHEMA, codes) for codes in (inside, outside, published)]


def agrees(attack, copied, printed):
    """Both rates and the residual risk lie within Anonymeter's intervals."""
    inside, outside, published = tables(copied)
    found = attack.run([sf.publish(published, sf.Raw(), seed=0)], Knowledge(), inside, outside)
    for ours, (theirs, half) in zip((found.targets, found.controls), printed[:2], strict=True):
        assert abs(ours.rate - theirs) <= half + PRINTED
    risk = max(0.0, found.value / (1 - found.controls.rate))
    low, high = printed[2][1]
    assert low <= risk <= high


@pytest.mark.parametrize("copied", INFERENCE)
def test_inference(copied):
    agrees(Inference(), copied, INFERENCE[copied])


@pytest.mark.parametrize("copied", LINKABILITY)
def test_linkability(copied):
    agrees(Linkage(first=("age", "sex"), most=2000), copied, LINKABILITY[copied])


@pytest.mark.parametrize("copied", SINGLING_OUT)
def test_singling_out(copied):
    agrees(SinglingOut(columns=4), copied, SINGLING_OUT[copied])


def test_an_attacker_who_knows_less_is_distinguished():
    """The comparison can fail: without pay, people with copies are not found."""
    inside, outside, published = tables(0.3)
    known = Knowledge(("age", "town", "sex"))
    found = Inference().run([sf.publish(published, sf.Raw(), seed=0)], known, inside, outside)
    (theirs, half), *_ = INFERENCE[0.3]
    assert abs(found.targets.rate - theirs) > half
