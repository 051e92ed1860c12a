"""All attacks together: which are run, what is said without a control, rehearsals, mechanisms made again."""

from __future__ import annotations

import numpy as np
import pytest
from tests.claims.planted_people import drawn, made, planted

import sfumato as sf
from sfumato.attacks import REGISTRY, Attack, Knowledge, attack_all, mechanism_of
from sfumato.errors import ParameterError


def tables():
    return planted(drawn(1, 300)), planted(drawn(2, 300))


def test_every_attack_is_an_attack():
    for name, kind in REGISTRY.items():
        assert isinstance(kind(), Attack)
        assert kind.name == name
        assert kind.axis in ("identity", "inference", "membership")


@pytest.mark.parametrize("mechanism", [sf.Raw(), sf.Mondrian(sf.KAnonymity(5)), sf.Anatomy(2), sf.Suppress()])
def test_every_attack_is_run_or_says_why_not(mechanism):
    table, control = tables()
    found = attack_all(made(table, mechanism), table, control)
    assert {gain.attack for gain in found.gains} | set(found.skipped) == set(REGISTRY)
    assert all(found.skipped.values())
    assert [gain.value for gain in found.gains] == sorted((gain.value for gain in found.gains), reverse=True)
    assert set(found.worst) <= {"identity", "inference", "membership"}
    told = found.describe()
    assert all(gain.sentence in told and gain.stops in told for gain in found.gains)
    assert "not evidence" in told


def test_two_releases_are_composed():
    table, control = tables()
    pair = [made(table, sf.Mondrian(sf.KAnonymity(k))) for k in (4, 5)]
    found = attack_all(pair, table, control, attacks=["composition", "inference"])
    assert {gain.attack for gain in found.gains} == {"composition", "inference"}
    assert found["composition"].targets.rate >= found["inference"].targets.rate - 0.05


def test_without_a_control_nothing_is_called_a_gain():
    table, _ = tables()
    found = attack_all(made(table, sf.Raw()), table)
    assert not found.controlled
    own = {"shadow"}  # makes tables without the people it attacks
    assert all(gain.controls is None for gain in found.gains if gain.attack not in own)
    assert "cannot be separated from what is true of everybody" in found.describe()
    assert all(one["gain"] is None for one in found.to_json()["attacks"] if one["attack"] not in own)


def test_a_rehearsal_makes_its_own_controls():
    table, control = tables()
    found = attack_all(made(table, sf.Raw()), table, again=sf.Mondrian(sf.KAnonymity(5)))
    assert found.rehearsed
    assert found.controlled
    assert found["inference"].targets.trials == 150
    with pytest.raises(ParameterError) as caught:
        attack_all(made(table, sf.Raw()), table, control, again=sf.Raw())
    assert caught.value.name == "again"


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.Raw(),
        sf.Suppress(),
        sf.Mondrian(sf.KAnonymity(10) & sf.TCloseness("0.2")),
        sf.Bucketize(sf.LDiversity(3)),
        sf.Anatomy(4),
        sf.TopDown(10),
        sf.DiffGen("0.5", specializations=4),
        sf.NoisyTable(1, cuts={"age": ["*"]}),
        sf.DLink(sf.Mondrian(sf.KAnonymity(10)), d=3),
    ],
)
def test_every_mechanism_can_be_made_again(mechanism):
    assert mechanism_of(mechanism.to_json()) == mechanism


def test_a_mechanism_nobody_knows_is_refused():
    with pytest.raises(ParameterError) as caught:
        mechanism_of({"name": "arx"})
    assert caught.value.name == "mechanism"
    with pytest.raises(ParameterError):
        mechanism_of({"name": "anatomy", "m": 3})


def test_an_attack_nobody_knows_is_refused():
    table, _ = tables()
    with pytest.raises(ParameterError) as caught:
        attack_all(made(table, sf.Raw()), table, attacks=["magic"])
    assert caught.value.name == "attacks"


def test_a_third_partys_attack_is_run_as_it_is():
    class Blind:
        name, axis, several, small_only = "blind", "inference", False, False

        def fits(self, release):
            return sf.attacks.Fit()

        def run(self, releases, knowledge, targets, controls=None, *, seed=0, progress=None):
            return sf.attacks.Inference().run(releases, Knowledge(("town",)), targets, controls, seed=seed)

    table, control = tables()
    assert attack_all(made(table, sf.Raw()), table, control, attacks=[Blind()]).gains[0].targets.trials == 300


def test_results_do_not_change_from_run_to_run():
    table, control = tables()
    release = made(table, sf.Mondrian(sf.KAnonymity(5)))
    one, same = (attack_all(release, table, control, seed=3).to_json() for _ in range(2))
    assert one == same
    assert np.isfinite([gain["gain"] for gain in one["attacks"]]).all()
