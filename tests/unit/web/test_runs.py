"""A run is one command: it ends, is cancelled with all it started, goes on, and is found again by another server."""

from __future__ import annotations

import json
import time

import pytest

import sfumato as sf
from sfumato.web.runs import Run, runs_of, started, started_once


def ended(run, seconds=60):
    until = time.monotonic() + seconds
    while run.state == "running" and time.monotonic() < until:
        time.sleep(0.05)
    return run.state


@pytest.fixture
def files(clinic_files, tmp_path):
    data, schema = clinic_files
    (tmp_path / "d.csv").write_bytes(data.read_bytes())
    (tmp_path / "s.toml").write_bytes(schema.read_bytes())
    return tmp_path


def test_a_command_ends_with_its_answer(files):
    run = started(files, "check", ["sfumato", "check", "d.csv", "s.toml", "--json"])
    assert ended(run) == "done"
    assert run.answer()["rows"] == 600
    assert (run.code, run.command) == (0, "sfumato check d.csv s.toml --json")


def test_a_refusal_is_an_answer(files):
    run = started(files, "check", ["sfumato", "check", "none.csv", "s.toml", "--json"])
    assert ended(run) == "refused"
    assert run.answer()["ok"] is False


@pytest.mark.full
def test_a_run_is_cancelled_and_goes_on_with_what_was_kept(files):
    words = ["sfumato", "frontier", "d.csv", "s.toml", "--preset", "tradeoff-readings", "--privacy", "privacy_loss"]
    words += ["--keep", "kept", "--json", "--workers", "1"]
    run = started(files, "compare", words)
    until = time.monotonic() + 300  # a busy machine is not a failure
    while not list((files / "kept").glob("*.json")) and time.monotonic() < until:
        time.sleep(0.05)
    begun = time.monotonic()
    run.cancel()
    assert run.state == "cancelled"
    assert time.monotonic() - begun < 5
    kept = {path.name: path.read_bytes() for path in (files / "kept").glob("*.json")}
    assert kept
    again = run.resume()
    assert ended(again, 240) == "done"
    assert len(again.answer()["points"]) > len(kept)
    assert all((files / "kept" / name).read_bytes() == held for name, held in kept.items())


def test_another_server_finds_runs_and_dead_ones_are_not_running(files):
    run = started(files, "check", ["sfumato", "check", "d.csv", "s.toml", "--json"])
    ended(run)
    assert [one.name for one in runs_of(files)] == [run.name]
    lost = files / "runs" / "compare-7"
    lost.mkdir()
    (lost / "run.json").write_text(json.dumps({"kind": "compare", "words": ["sfumato", "frontier"]}))
    (lost / "process").write_text("1 0")
    assert Run(lost, project=files).state == "stopped"


def test_the_same_form_sent_twice_starts_one_run(files):
    """Both found no folder yet, and each drew: the second spent a budget for a release it could not save."""
    words = ["sfumato", "publish", "noisy-table", "d.csv", "s.toml", "--epsilon", "1", "-o", "out", "--json"]

    def asked_for():
        assert not (files / "runs" / "publish-1").exists()  # what the first one makes is no reason to refuse the second
        return words

    first = started_once(files, "publish", asked_for, {"name": ["out"], "confirm": ["yes"]})
    assert started_once(files, "publish", asked_for, {"name": ["out"], "confirm": ["yes"]}).name == first.name
    with pytest.raises(sf.ParameterError, match="has not ended"):
        started_once(files, "publish", asked_for, {"name": ["other"], "confirm": ["yes"]})
    assert ended(first) != "running"
    assert [run.name for run in runs_of(files, "publish")] == [first.name]
    assert started_once(files, "publish", lambda: words, {"name": ["other"]}).name == "publish-2"


def test_the_newest_run_is_the_newest_in_a_copied_workspace_too(tmp_path):
    """After a copy, whose files are all new, an older refusal was shown as the last attempt."""
    for number in (2, 10, 1):  # written in another order than they were started
        folder = tmp_path / "runs" / f"publish-{number}"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"kind": "publish", "words": ["sfumato"]}))
    assert [run.name for run in runs_of(tmp_path, "publish")] == ["publish-10", "publish-2", "publish-1"]
