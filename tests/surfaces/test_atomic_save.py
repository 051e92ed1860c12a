"""kill -9 at random moments of a save: nothing, or the whole folder; never a half."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

SAVER = """
import sys
import numpy as np
from sfumato.claims import Claim, KAnonymity
from sfumato.release import assemble
from sfumato.schema import Labels, Schema

schema = Schema.parse({"name": "big", "attribute": {
    **{f"q{i}": {"role": "quasi", "kind": "numeric", "range": [0, 1000]} for i in range(6)},
    "s": {"role": "sensitive", "kind": "nominal", "values": [str(i) for i in range(50)]}}})
rng = np.random.default_rng(1)
groups, rows = 20_000, 200_000
tables, ids = zip(*(Labels.from_hulls(a, low := rng.integers(0, 900, groups), low + 7) for a in schema.quasi))
release, _ = assemble(
    schema, tables=tables, labels=np.column_stack(ids), weight=np.full(groups, rows // groups),
    group=np.arange(groups), carried_group=np.repeat(np.arange(groups), rows // groups),
    carried_codes=rng.integers(0, 50, (rows, 1)), carried_weight=np.ones(rows, np.int64), claim=Claim(KAnonymity(10)))
print("ready", flush=True)
for number in range(1000):
    release.save(f"{sys.argv[1]}/out-{number}", format=("csv", "parquet")[number % 2])
    print(number, flush=True)
"""


def whole(folder) -> bool:
    """Whether a folder holds a manifest and every file it lists, with the right hash, and nothing else."""
    manifest = json.loads((folder / "manifest.json").read_text())
    names = {found.name for found in folder.iterdir()}
    return names == {"manifest.json", *manifest["files"]} and all(
        hashlib.sha256((folder / name).read_bytes()).hexdigest() == entry["sha256"]
        for name, entry in manifest["files"].items()
    )


def saver(folder) -> subprocess.Popen:
    """Start a process that saves one release after another; it is ready to begin when this returns."""
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", SAVER, str(folder)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout.readline() == b"ready\n"
    return process


def kill(process) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def pace(folder) -> float:
    """Return how long two saves take here and now."""
    process = saver(folder)
    began = time.perf_counter()
    lines = [process.stdout.readline(), process.stdout.readline()]
    took = time.perf_counter() - began
    kill(process)
    assert lines == [b"0\n", b"1\n"]
    return took


def killed_at(folder, delay: float) -> tuple[int, int]:
    """Kill a saver `delay` seconds after it began; return whole folders and partial ones."""
    process = saver(folder)
    time.sleep(delay)
    kill(process)
    visible = [found for found in folder.iterdir() if not found.name.startswith(".")]
    assert all(whole(found) for found in visible)
    assert sorted(found.name for found in visible) == sorted(f"out-{at}" for at in range(len(visible)))
    hidden = [found for found in folder.iterdir() if found.name.startswith(".")]
    assert all(found.name.startswith(".out-") and ".partial-" in found.name for found in hidden)
    return len(visible), len(hidden)


def kills(tmp_path, times: int, seed: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    took = pace(tmp_path / "pace")
    return [killed_at(tmp_path / str(at), rng.uniform(0, took)) for at in range(times)]


def test_kill_leaves_nothing_or_everything(tmp_path):
    found = kills(tmp_path, 6, seed=1)
    assert any(hidden for _, hidden in found)  # some kill did fall into the middle of a save


@pytest.mark.full
def test_fifty_kills(tmp_path):
    found = kills(tmp_path, 50, seed=2)
    assert sum(hidden for _, hidden in found) >= 20
    assert sum(visible for visible, _ in found) >= 5


def test_a_save_in_place_would_be_caught(tmp_path):
    """The check has power: a saver that writes straight into its folder leaves a half that `whole` refuses."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "data.csv").write_text("a\n1\n")
    entry = {"sha256": hashlib.sha256(b"a\n1\n2\n").hexdigest()}
    (tmp_path / "out" / "manifest.json").write_text(json.dumps({"files": {"data.csv": entry}}))
    assert whole(tmp_path / "out") is False
