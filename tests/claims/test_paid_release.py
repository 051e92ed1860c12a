"""A process that publishes and saves is killed at chosen lines: what was drawn is accounted, nothing whole is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import sfumato

WORKER = Path(__file__).parent / "ledger_worker.py"
SOURCE = Path(sfumato.__file__).parents[1]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the harness forks and kills as POSIX does")


def left_behind(folder, stride, mutant="", job="saves"):
    paths = os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(WORKER), job, str(folder), mutant, str(stride), "0"]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, text=True, timeout=3000, check=True)
    return json.loads(done.stdout)


def faults(found):
    """Return everything that must never be left behind."""
    wrong = Counter()
    for one in found:
        wrong["drawn and not accounted"] += one["drawn"] > one["spent"]
        wrong["a half folder"] += one["named"] and not one["whole after"]
        wrong["whole, paid and lost"] += one["whole before"] and not one["whole after"]
        wrong["published and unseen"] += (
            one["named"] and one["looks back"] != "sees it" and one["looks back"] != "refuses"
        )
        wrong["finished and unseen"] += one["whole after"] and one["looks back after"] in ("sees nothing", "no ledger")
        wrong["drawn and passed over"] += bool(one["drawn"]) and one["looks back"] in ("sees nothing", "no ledger")
        wrong["left lying about"] += bool(one["leftovers"])
    return {what: times for what, times in wrong.items() if times}


@pytest.mark.parametrize("stride", [37, pytest.param(1, marks=pytest.mark.full)])
def test_killed_at_any_line_a_paid_release_is_accounted_and_can_be_finished(tmp_path, stride):
    found = left_behind(tmp_path, stride)
    assert faults(found) == {}
    # The kills reach from before the reservation, through the draw and the writing, to the end.
    assert (found[0]["spent"], found[0]["named"]) == (0, False)
    assert any(one["drawn"] and not one["whole before"] and not one["named"] for one in found)
    assert found[-1]["named"]
    assert found[-1]["looks back"] == "sees it"
    assert len(found) > 600 // stride


def test_killed_between_the_last_file_and_the_name_it_is_whole_and_hidden(tmp_path):
    """Some kill falls there in the long test; here the naming itself is what kills."""
    text = """
import os, signal, sys
from pathlib import Path
sys.argv = ["x", "saves", "", "", "1", "0"]
import ledger_worker as w
place = Path(sys.orig_argv[-1])
w.folder.take_name = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
w.sf.publish(w.TABLE, w.Witnessed(place / "drawn"), ledger=place / "ledger.db", save_to=place / "out", format="csv")
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(WORKER.parent), *sys.path])}
    killed = subprocess.run([sys.executable, "-c", text, str(tmp_path)], env=environment, check=False)
    assert killed.returncode == -9
    assert not (tmp_path / "out").exists()
    (partial,) = tmp_path.glob(".out.partial-*")
    ledger = sfumato.Ledger(tmp_path / "ledger.db")
    (entry,) = ledger.entries()
    assert (entry.state, entry.saved, entry.meant) == ("spent", (), ("out",))
    with pytest.raises(sfumato.ParameterError, match="entry 1, which was to be saved as out and is not there"):
        ledger.saved_folders("people")
    table = sfumato.read(__import__("polars").DataFrame({"sex": ["f", "m"]}), _schema())
    with pytest.raises(sfumato.ReleaseError, match="whole but was not finished"):  # it would be paid for twice
        sfumato.publish(table, sfumato.Suppress(), ledger=ledger, save_to=tmp_path / "out", allow_fingerprints=True)
    assert len(ledger.entries()) == 1
    from sfumato.release.store import finish

    assert finish(partial) == tmp_path / "out"
    assert ledger.saved_folders("people") == [tmp_path / "out"]
    assert sfumato.Release.load(tmp_path / "out").claim.accounted


def _schema():
    return sfumato.Schema.parse({"name": "people", "attribute": {"sex": {"role": "sensitive", "values": ["f", "m"]}}})


STEPS = ("reserve", "draw", "spend", "partial", "note", "rename", "done")


def test_killed_between_any_two_steps_nothing_paid_is_lost_or_unseen(tmp_path):
    found = left_behind(tmp_path, 0, job="points")
    assert faults(found.values()) == {}
    assert list(found) == [f"{when} {step}" for step in STEPS for when in ("before", "after")]
    answer = {when: (one["drawn"], one["spent"], one["whole before"], one["named"]) for when, one in found.items()}
    assert answer["before reserve"] == (0, 0, False, False)
    assert answer["after reserve"] == answer["before draw"] == (0, 1, False, False)
    assert answer["after draw"] == answer["after spend"] == answer["before partial"] == (1, 1, False, False)
    assert answer["after partial"] == answer["after note"] == answer["before rename"] == (1, 1, True, False)
    assert answer["after rename"] == answer["before done"] == answer["after done"] == (1, 1, False, True)
    # Before the folder has its name the look back refuses; as soon as it has, it is seen, noted as done or not.
    for when, one in found.items():
        named = when in ("after rename", "before done", "after done")
        expected = "no ledger" if when == "before reserve" else "sees it" if named else "refuses"
        assert (when, one["looks back"]) == (when, expected)
        assert one["whole after"] == (named or when in ("after partial", "before note", "after note", "before rename"))


@pytest.mark.parametrize(("mutant", "fault"), [("blind", "published and unseen"), ("tidy", "whole, paid and lost")])
def test_mutants_that_lose_sight_or_the_release_are_caught(tmp_path, mutant, fault):
    assert fault in faults(left_behind(tmp_path, 0, mutant, job="points").values())
