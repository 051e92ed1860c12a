from __future__ import annotations

import importlib
import json
import stat
from functools import partial

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.frontiers import CHOSEN, Composed, HeldOut
from sfumato.frontiers.axes import axis_of, compact, table_fingerprint
from sfumato.frontiers.sweep import label_of
from sfumato.measures import classification, utility_loss

SWEEP = sf.sweep(sf.sweep(sf.Mondrian, k=[5, 50]), sf.sweep(sf.Bucketize, t=["0.05"]), sf.DiffGen(1), sf.Raw())


@pytest.fixture(scope="module")
def front(clinic):
    return sf.frontier(clinic, SWEEP, workers=0, repeats=3, progress=False)


def plain(front):
    return json.loads(json.dumps(front.to_json()))


def test_points_hold_what_the_measures_say(clinic, front):
    for point in front.points[:3]:
        release = sf.publish(clinic, point.mechanism)
        assert point.privacy.values == (sf.privacy_loss(clinic, release).value,)
        assert point.utility.values == (sf.utility_loss(clinic, release).value,)
        assert not point.drew
        assert point.bound is None


def test_what_draws_is_repeated_and_its_bound_stands_apart(clinic, front):
    point = front.points[3]
    assert point.drew
    runs = [sf.publish(clinic, sf.DiffGen(1), seed=seed) for seed in range(3)]
    assert point.privacy.values == tuple(sf.privacy_loss(clinic, run).value for run in runs)
    assert len(set(point.privacy.values)) > 1
    assert point.privacy.low <= point.privacy.mean <= point.privacy.high
    assert point.bound == sf.privacy_loss(clinic, runs[0]).bound
    assert point.bound not in point.privacy.values


def test_workers_give_what_one_process_gives(clinic, front):
    assert plain(sf.frontier(clinic, SWEEP, workers=2, repeats=3, progress=False)) == plain(front)


def test_efficient_is_by_definition_and_in_order(front):
    measured = [(p.privacy.mean, p.utility.mean) for p in front.points]
    for point in front.points:
        x, y = point.privacy.mean, point.utility.mean
        assert point.efficient == (not any(a <= x and b <= y and (a, b) != (x, y) for a, b in measured))
    assert [p.privacy.mean for p in front.efficient] == sorted(p.privacy.mean for p in front.efficient)


def test_it_says_that_it_is_confidential_and_prints_no_figure(front):
    assert front.confidential
    assert front.to_json()["confidential"] is True
    assert "confidential" in repr(front)
    assert all(str(point.privacy.mean)[:6] not in repr(front) for point in front.points)


def test_what_can_not_be_made_says_why_and_the_rest_goes_on(clinic):
    found = sf.frontier(clinic, [sf.Mondrian(sf.KAnonymity(10_000)), sf.Suppress()], workers=0, progress=False)
    assert [point.label for point in found.failed] == ["Mondrian k-anonymity(10000)"]
    assert "cannot be reached" in found.failed[0].failed
    assert found.efficient == (found.points[1],)


def test_kept_results_are_read_again_and_others_are_not(clinic, another_clinic, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    first = sf.frontier(clinic, SWEEP, keep=folder, workers=0, progress=False)
    files = sorted(folder.glob("*.json"))
    assert len(files) == len(SWEEP)
    assert "CONFIDENTIAL" in (folder / "README.txt").read_text()
    assert (folder / ".gitignore").read_text() == "*\n"
    assert all(not stat.S_IMODE(file.stat().st_mode) & 0o077 for file in files)

    computed = []
    real = sf.frontier.__globals__["evaluated_all"]

    def counting(task, mechanisms, **more):
        computed.extend(mechanisms)
        return real(task, mechanisms, **more)

    monkeypatch.setitem(sf.frontier.__globals__, "evaluated_all", counting)
    assert plain(sf.frontier(clinic, SWEEP, keep=folder, workers=0, progress=False)) == plain(first)
    assert computed == []
    files[0].write_text("{ broken")
    assert plain(sf.frontier(clinic, SWEEP, keep=folder, workers=0, progress=False)) == plain(first)
    assert len(computed) == 1
    for change in ({"utility": "histogram_distance"}, {"repeats": 2}, {"seed": 9}):
        computed.clear()
        sf.frontier(clinic, SWEEP[:1], keep=folder, workers=0, progress=False, **change)
        assert len(computed) == 1, change
    computed.clear()
    sf.frontier(another_clinic, SWEEP[:1], keep=folder, workers=0, progress=False)
    assert len(computed) == 1


def test_what_is_being_made_is_named_before_the_first_release_is_there(clinic, monkeypatch):
    monkeypatch.setitem(sf.frontier.__globals__, "_TELL", 0.0)
    said = []
    sf.frontier(clinic, SWEEP[:2], workers=1, progress=lambda *one: said.append(one))
    first = next(doing for share, doing in said if not share and doing != "starting")
    assert first == f"0/2, now making {label_of(SWEEP[0])}"


def test_a_stopped_sweep_goes_on(clinic, tmp_path):
    def stop(share, doing):
        if share >= 0.4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sf.frontier(clinic, SWEEP, keep=tmp_path, workers=0, progress=stop)
    assert 0 < len(list(tmp_path.glob("*.json"))) < len(SWEEP)
    answer = []
    sf.frontier(clinic, SWEEP, keep=tmp_path, workers=0, progress=lambda *said: answer.append(said))
    assert "kept" in answer[0][1]


def mean_age(table, release):
    return float(release.rows)


def test_any_measure_on_either_axis(clinic):
    found = sf.frontier(
        clinic,
        SWEEP[:2],
        privacy=partial(utility_loss, min_support="0.2"),
        utility="unchanged_answers",
        workers=0,
        progress=False,
    )
    assert found.privacy.name == "utility_loss"
    assert found.utility.better == "more"
    assert found.utility.sign == -1
    own = sf.frontier(clinic, SWEEP[:1], utility=mean_age, workers=0, progress=False)
    assert own.points[0].utility.mean == clinic.rows


def test_more_is_better_turns_the_frontier_round(clinic):
    found = sf.frontier(clinic, [*SWEEP[:2], sf.Suppress()], utility="unchanged_answers", workers=0, progress=False)
    best = max(found.points, key=lambda point: point.utility.mean)
    assert best.efficient
    assert found.recommend(utility_loss=best.utility.mean).point.utility.mean == best.utility.mean


def test_classification_and_an_attack_as_axes(clinic, another_clinic):
    other = sf.publish(clinic, sf.Mondrian(sf.KAnonymity(20)))
    found = sf.frontier(
        clinic,
        SWEEP[:2],
        privacy=Composed(other, victims=clinic),
        utility=HeldOut(another_clinic, model="tree", target="ill"),
        workers=0,
        progress=False,
    )
    assert found.failed == ()
    assert (found.privacy.name, found.utility.name, found.utility.better) == ("composition", "classification", "more")
    for point in found.points:
        release = sf.publish(clinic, point.mechanism)
        assert point.privacy.mean == sf.attacks.composition([release, other], clinic).rate
        learned = classification(clinic, another_clinic, release, model="tree", target="ill")
        assert point.utility.mean == learned.accuracy


def test_a_measure_of_a_script_runs_here_and_is_refused_elsewhere(clinic):
    def local(*_):
        return 1.0

    assert sf.frontier(clinic, SWEEP[:2], utility=local, progress=False).points[0].utility.mean == 1.0
    with pytest.raises(ParameterError, match="workers"):
        sf.frontier(clinic, SWEEP[:2], utility=local, workers=2, progress=False)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"privacy": "nothing"}, "measure"),
        ({"repeats": 0}, "repeats"),
        ({"workers": -1}, "workers"),
        ({"utility": 7}, "measure"),
    ],
)
def test_wrong_parameters_are_named(clinic, options, name):
    with pytest.raises(ParameterError) as caught:
        sf.frontier(clinic, SWEEP[:1], progress=False, **options)
    assert caught.value.name == name


def test_compact_is_the_same_table(clinic):
    small = compact(clinic)
    assert table_fingerprint(small) == table_fingerprint(clinic)
    assert small.rows == clinic.rows
    assert np.array_equal(np.sort(small.codes(), axis=0), np.sort(clinic.codes(), axis=0))


def test_fingerprints_differ_where_anything_does(clinic, another_clinic):
    turned = clinic.with_roles(quasi=["town", "age"], sensitive="ill")
    carried = clinic.with_roles(quasi=["age"], sensitive="ill", target=["town"])
    prints = [table_fingerprint(table) for table in (clinic, another_clinic, carried)]
    assert len(set(prints)) == 3
    assert table_fingerprint(turned) == table_fingerprint(turned)


def test_keys_of_axes_tell_parameters_apart():
    loose, tight = (axis_of(partial(utility_loss, min_support=share)) for share in ("0.1", "0.2"))
    assert len({loose.key, tight.key, axis_of(utility_loss).key}) == 3
    assert axis_of(utility_loss) == axis_of("utility_loss")


DEADLY = """
import os, signal, sys
from pathlib import Path

def groups(table, release):
    program = getattr(sys.modules["__main__"].__spec__, "name", "")  # none in a test runner's own worker
    deaths = Path(__file__).with_name("deaths")
    if len(release.groups) == 1 and program == "sfumato.frontiers.worker" and len(deaths.read_text()) < {times}:
        deaths.write_text(deaths.read_text() + "x")
        os.kill(os.getpid(), signal.SIGKILL)
    return float(len(release.groups))
"""


@pytest.fixture
def deadly(tmp_path, monkeypatch):
    """Return a measure whose worker is killed so many times at the release of one group, and the deaths so far."""

    def measure(times):
        (tmp_path / f"deadly_{times}.py").write_text(DEADLY.replace("{times}", str(times)))
        (tmp_path / "deaths").write_text("")
        monkeypatch.syspath_prepend(tmp_path)
        return importlib.import_module(f"deadly_{times}").groups, lambda: len((tmp_path / "deaths").read_text())

    return measure


POINTS = [sf.Suppress(), sf.Mondrian(sf.KAnonymity(5))]


def test_a_worker_that_dies_twice_is_one_failed_point_that_is_not_kept(clinic, tmp_path, deadly):
    measure, deaths = deadly(2)
    keep = tmp_path / "kept"
    found = sf.frontier(clinic, POINTS, utility=measure, workers=1, progress=False, keep=keep)
    assert deaths() == 2
    assert [bool(point.failed) for point in found.points] == [True, False]
    assert "stopped twice" in found.points[0].failed
    assert "too little memory" in found.points[0].failed
    assert found.points[1].utility.mean > 1
    assert len(list(keep.glob("*.json"))) == 1
    again = sf.frontier(clinic, POINTS, utility=measure, workers=1, progress=False, keep=keep)  # it may live this time
    assert again.failed == ()
    assert again.points[0].utility.mean == 1


@pytest.mark.full
def test_a_point_whose_worker_was_killed_is_retried_and_kept(clinic, tmp_path, deadly):
    measure, deaths = deadly(1)
    found = sf.frontier(clinic, POINTS, utility=measure, workers=2, progress=False, keep=tmp_path / "kept")
    assert deaths() == 1
    assert found.failed == ()
    assert found.points[0].utility.mean == 1
    assert len(list((tmp_path / "kept").glob("*.json"))) == 2


def test_a_proved_claim_says_how_its_parameters_were_chosen(clinic, front):
    chosen = front.chosen(4)
    release = sf.publish(clinic, chosen)
    assert CHOSEN in release.claim.silent_on
    assert release.mechanism["name"] == "diffgen"
    assert not release.claim.rehearsal
    assert front.chosen(front.points[0]) == front.points[0].mechanism
    with pytest.raises(ParameterError):
        front.chosen(99)


def test_more_precision_is_better(clinic):
    """Suppress, which says nothing, was called the release of the best precision."""
    front = sf.frontier(
        clinic,
        [sf.Mondrian(sf.KAnonymity(5)), sf.Suppress()],
        utility="precision",
        workers=0,
        progress=False,
        panels=False,
    )
    assert front.utility.better == "more"
    assert front.recommend(privacy_loss=1).point.label == "Mondrian k-anonymity(5)"
