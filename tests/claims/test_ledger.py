"""Real processes: two that spend at once, and one that is killed at any moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sfumato
from sfumato.ledger import Ledger

WORKER = Path(__file__).parent / "ledger_worker.py"
SOURCE = Path(sfumato.__file__).parents[1]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the harness forks and kills as POSIX does")


def started(job, folder, mutant="", number=0, seed=0):
    paths = os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(WORKER), job, str(folder), mutant, str(number), str(seed)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)


def raced(folder, rounds, mutant="", processes=2):
    """Let processes ask for the whole budget of one population after the other; return how many got it.

    Stops once more than one did.
    """
    ledger = Ledger(folder / "ledger.db")
    workers = [started("race", folder, mutant) for _ in range(processes)]
    try:
        assert all(worker.stdout.readline() == "ready\n" for worker in workers)
        got = []
        for at in range(rounds):
            ledger.limit(f"people {at}", 1)
            start = time.monotonic() + 0.005
            for worker in workers:
                worker.stdin.write(f"{start} people {at}\n")
                worker.stdin.flush()
            answers = [worker.stdout.readline().strip() for worker in workers]
            assert set(answers) <= {"yes", "no"}
            got.append(answers.count("yes"))
            if got[-1] > 1:
                break
    finally:
        for worker in workers:
            worker.communicate(timeout=60)
    assert [ledger.totals(f"people {at}").combined.epsilon for at in range(len(got))] == got
    return got


def watched(job, folder, mutant="", number=1, seed=0):
    worker = started(job, folder, mutant, number, seed)
    out, _ = worker.communicate(timeout=900)
    assert worker.returncode == 0
    return [tuple(pair) for pair in json.loads(out)]


def test_two_processes_never_overspend(tmp_path):
    assert raced(tmp_path, 30) == [1] * 30  # never more, and never nobody


def test_a_ledger_that_checks_and_writes_apart_is_caught(tmp_path):
    assert raced(tmp_path, 30, mutant="apart")[-1] == 2


@pytest.mark.full
def test_four_processes_never_overspend(tmp_path):
    assert raced(tmp_path, 500, processes=4) == [1] * 500


@pytest.mark.parametrize("stride", [11, *(pytest.param(stride, marks=pytest.mark.full) for stride in (4, 1))])
def test_killed_at_any_line_it_never_says_less_than_was_drawn(tmp_path, stride):
    found = watched("lines", tmp_path, number=stride)
    assert all(drawn <= spent for drawn, spent in found)
    # The kills reach from before the reservation through the draw to the end.
    assert {(0, 0), (0, 1), (1, 1)} == set(found)
    assert len(found) > 200 // stride


@pytest.mark.full
@pytest.mark.parametrize("mutant", ["late", pytest.param("generous", marks=pytest.mark.full)])
def test_mutants_that_lose_what_was_drawn_are_caught(tmp_path, mutant):
    found = watched("lines", tmp_path, mutant=mutant, number=9)
    assert any(drawn > spent for drawn, spent in found)


def test_killed_at_random_moments_it_never_says_less_than_was_drawn(tmp_path):
    _survives(watched("moments", tmp_path, number=40, seed=1))


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 6))
def test_killed_at_many_moments_it_never_says_less_than_was_drawn(tmp_path, seed):
    _survives(watched("moments", tmp_path, number=500, seed=seed))


def _survives(found):
    assert all(drawn <= spent for drawn, spent in found)
    # Each child leaves at most one reservation that was never drawn upon.
    assert all(spent - drawn <= kills for kills, (drawn, spent) in enumerate(found, 1))
    assert found[-1][0] > len(found) // 8  # children did get to draw
