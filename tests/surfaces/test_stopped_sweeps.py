"""Real sweeps in real processes: a killed worker, Ctrl-C, SIGTERM and a parent that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sfumato as sf

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="workers are found in /proc")

# Each point takes long enough to be interrupted, in a worker that is busy and not waiting.
SLOW = """
import os, time
from pathlib import Path

def slow(table, release):
    Path(__file__).with_name(f"busy-{os.getpid()}").touch()
    until = time.monotonic() + {seconds}
    while time.monotonic() < until:
        sum(range(10_000))
    return float(len(release.groups))
"""
SWEEP = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs tests in the background ignores it
import sfumato.api as api
from slow_measure import slow
from sfumato.cli.main import main

whole = api.frontier
api.frontier = lambda table, points, **options: whole(table, points, **{{**options, "utility": slow}})
import sfumato
sfumato.frontiers = api.frontier
print("started", flush=True)
main(["frontier", {data!r}, {schema!r}, "--workers", "2", "--keep", {keep!r}, "-o", {report!r}])
"""


def children(process: int) -> list[int]:
    """Return the living children of a process that are workers."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if int(state[1]) == process and state[0] != "Z" and b"sfumato.frontiers.worker" in command:
            found.append(int(folder.name))
    return found


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(holds, seconds=60.0):
    """Wait until something holds; return how long it took."""
    began = time.monotonic()
    while not (found := holds()):
        assert time.monotonic() - began < seconds
        time.sleep(0.02)
    return found, time.monotonic() - began


@pytest.fixture
def sweep(tmp_path, clinic_files):
    """Return a starter of a sweep in a session of its own, as in a terminal; each point takes so many seconds."""
    started = []

    def start(seconds):
        (tmp_path / "slow_measure.py").write_text(SLOW.replace("{seconds}", str(seconds), 1))
        text = SWEEP.format(
            data=str(clinic_files[0]),
            schema=str(clinic_files[1]),
            keep=str(tmp_path / "kept"),
            report=str(tmp_path / "report.html"),
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        process = subprocess.Popen(
            [sys.executable, "-c", text],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout.readline() == "started\n"
        workers, _ = until(lambda: found if len(found := children(process.pid)) == 2 else None)
        until(lambda: all((tmp_path / f"busy-{worker}").exists() for worker in workers), seconds=120)
        return process, workers

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("number", "code", "whole_group"),
    [
        (signal.SIGINT, 130, True),  # Ctrl-C
        pytest.param(signal.SIGINT, 130, False, marks=pytest.mark.full),
        pytest.param(signal.SIGTERM, 143, True, marks=pytest.mark.full),
        pytest.param(signal.SIGTERM, 143, False, marks=pytest.mark.full),
    ],
)
def test_a_signal_ends_all_workers_within_a_second(sweep, number, code, whole_group):
    process, workers = sweep(60)
    if whole_group:  # what a terminal's Ctrl-C and a supervisor do
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, took = until(lambda: not any(map(lives, workers)), seconds=10)
    assert took < 1
    assert process.wait(timeout=10) == code
    out, error = process.communicate()
    assert "Traceback" not in out + error
    assert error.strip().endswith("Stopped.")


@pytest.mark.full
def test_workers_end_when_their_parent_is_killed(sweep):
    process, workers = sweep(60)
    process.kill()
    _, took = until(lambda: not any(map(lives, workers)), seconds=10)
    assert took < 2
    _, error = process.communicate()
    assert "Traceback" not in error


@pytest.mark.full
def test_a_worker_killed_by_its_number_is_replaced_and_the_sweep_goes_on(sweep, tmp_path):
    process, workers = sweep(0.2)
    os.kill(workers[0], signal.SIGKILL)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert "Traceback" not in error
    assert len(list((tmp_path / "kept").glob("*.json"))) == len(sf.sweep("standard"))  # no point was lost
    assert not any("stopped" in file.read_text() for file in (tmp_path / "kept").glob("*.json"))


WITH_A_THREAD = """
import atexit, importlib, os, signal, sys, threading, time
main = importlib.import_module("sfumato.cli.main")

def work(*_, **__):
    threading.Thread(target=time.sleep, args=(60,)).start()  # Python would wait for it
    os.kill(os.getpid(), signal.Signals(int(sys.argv[1])))
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)
atexit.register(print, "temporary folders are removed")
main.app.main = work
main.main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_command_tidies_up_and_waits_for_no_thread(number, code):
    command = [sys.executable, "-c", WITH_A_THREAD, str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "temporary folders are removed\n", "Stopped.\n")


DROPPED = """
import importlib, os, signal, sys, time
main = importlib.import_module("sfumato.cli.main")

class Callback:
    def __del__(self):  # as compilers have them: Python drops what is raised here
        os.kill(os.getpid(), signal.Signals(int(sys.argv[1])))
        sum(range(1000))

def work(*_, **__):
    callback = Callback()
    del callback
    time.sleep(20)
    print("went on")

main.app.main = work
main.main([])
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_in_a_callback_of_the_compiler_stops_the_work_without_a_traceback(number, code):
    done = subprocess.run(
        [sys.executable, "-c", DROPPED, str(int(number))], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "Stopped.\n")
