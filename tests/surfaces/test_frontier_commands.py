"""`measure`, `frontier` and `demo`: the same figures by library and by command."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from math import log

import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.errors import Infeasible, ParameterError


def run(*arguments):
    done = CliRunner().invoke(app, [str(word) for word in arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.fixture(scope="module")
def saved(clinic, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "out"
    release = sf.publish(clinic, sf.Mondrian(sf.KAnonymity(20)))
    release.save(folder)
    return folder, release


def test_measure_is_sf_measure(clinic, clinic_files, saved):
    folder, release = saved
    answer = json.loads(run("measure", *clinic_files, folder, "--json"))
    here = {name: figure.to_json() for name, figure in sf.measure(clinic, release).items()}
    assert answer["confidential"] is True
    assert set(answer["measures"]) == set(here)
    for name in ("privacy_loss", "utility_loss", "query_error"):
        assert answer["measures"][name]["value"] == pytest.approx(here[name]["value"], rel=1e-12)
        assert answer["measures"][name]["formula"] == here[name]["formula"]


def test_measure_shows_value_unit_and_formula(clinic_files, saved):
    text = run("measure", *clinic_files, saved[0], "--measure", "privacy_loss")
    assert "privacy_loss" in text
    assert "nats" in text
    assert "max over" in text
    assert "confidential" in text
    assert "query_error" not in text


@pytest.mark.parametrize(
    ("tool", "interval"),
    [("arx", "[{}, {}["), ("anonypy", "{}-{}")],
)
def test_measure_reads_anyones_csv(clinic, clinic_files, tmp_path, tool, interval):
    """The same classes as other tools write them have the same privacy loss."""
    decade = (clinic.codes()[:, 0] // 10) * 10 + 20
    last = 10 if tool == "arx" else 9
    frame = pl.DataFrame(
        {
            "age": [interval.format(low, low + last) for low in decade.tolist()],
            "town": ["*"] * clinic.rows,
            "ill": [clinic.schema["ill"].text(code) for code in clinic.codes()[:, 2].tolist()],
        }
    )
    frame.write_csv(tmp_path / f"{tool}.csv")
    answer = json.loads(run("measure", *clinic_files, tmp_path / f"{tool}.csv", "--json"))
    assert answer["summary"]["classes"] == 4
    counts = [[0] * 4 for _ in range(4)]
    for age, _, ill in clinic.codes().tolist():
        counts[age // 10][ill] += 1
    overall = [sum(column) / clinic.rows for column in zip(*counts, strict=True)]
    losses = [js([c / sum(row) for c in row], overall) for row in counts]
    assert answer["measures"]["privacy_loss"]["value"] == pytest.approx(max(losses), rel=1e-9)


def js(p, q):
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return sum(a * log(a / m) for side in (p, q) for a, m in zip(side, middle, strict=True) if a) / 2


def test_frontier_is_sf_frontier(clinic, clinic_files, tmp_path):
    options = ("--preset", "diffgen", "--repeats", 2, "--workers", 0)
    answer = json.loads(run("frontier", *clinic_files, *options, "-o", tmp_path / "r.html", "--json"))
    axes = ["inference", "membership", "identity", "privacy_loss", "proved"]
    front = sf.frontier(clinic, "diffgen", privacy=axes, repeats=2, workers=0, progress=False)
    assert answer["ok"]
    assert [answer["privacy"]["name"], *(axis["name"] for axis in answer["others"])] == axes
    assert answer["efficient"] == [point.number for point in front.efficient]
    for shown, point in zip(answer["points"], front.points, strict=True):
        assert shown["privacy"] == json.loads(json.dumps(point.privacy.to_json()))
        assert shown["proved_bound"] == point.bound
    assert answer["recommendation"]["label"] == front.recommend().point.label
    assert (tmp_path / "r.html").stat().st_size > 50_000


@pytest.mark.parametrize("public", [False, True])
def test_buckets_are_recommended_only_when_asked_for(clinic, clinic_files, tmp_path, public, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    free = ("--at-least", "k=1", "--privacy", "privacy_loss")
    keep = ("--keep", tmp_path / "kept", "--repeats", 1, "--workers", 0, *free)
    asked = ("--membership-public",) if public else ()
    answer = json.loads(run("frontier", *clinic_files, *keep, *asked, "--json"))
    policy = sf.Policy({"k": 1})
    kept = {"keep": tmp_path / "kept", "repeats": 1, "workers": 0, "policy": policy}
    front = sf.frontier(clinic, "standard", progress=False, **kept)
    said = front.recommend(membership_public=public)
    assert said.point.buckets == public
    assert answer["recommendation"] == json.loads(json.dumps(said.to_json()))
    text = run("frontier", *clinic_files, *keep, *asked, "-o", tmp_path / "r.json", "--public", tmp_path / "p.md")
    line = next(line for line in text.splitlines() if line.startswith(said.point.label))
    assert "recommended" in line
    assert ("membership public" in line) == public
    assert said.note in " ".join(text.split())
    assert ("left out of this recommendation" in text) == (not public)
    assert json.loads((tmp_path / "r.json").read_text())["recommendation"]["label"] == said.point.label
    assert ("left out of the recommendation" in (tmp_path / "p.md").read_text()) == (not public)


def test_the_policy_is_kept_and_its_price_stated(clinic, clinic_files, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    asked = ("--at-least", "k=11", "--at-most", "inference=0.5", "--answer", "age x ill within 90 %")
    fast = ("--repeats", 1, "--workers", 0, "--keep", tmp_path / "kept")
    answer = json.loads(run("frontier", *clinic_files, *asked, *fast, "--json"))
    assert answer["policy"] == {"at_least": {"k": 11}, "at_most": {"inference": "1/2"}, "answer": [asked[-1]]}
    best = next(one for one in answer["points"] if one["number"] == answer["recommendation"]["point"])
    assert best["people"] is None or best["people"] >= 11
    assert best["risks"]["inference"]["mean"] <= 0.5
    assert best["answers"]["age x ill"]["mean"] <= 0.9
    assert all("k-anonymity" in one["label"] for one in answer["points"] if one["label"].startswith("Mondrian"))
    text = " ".join(run("frontier", *clinic_files, *asked, *fast).split())
    assert answer["recommendation"]["price"] in text
    assert best["attacks"]["inference"]["sentence"] in text


def test_where_nothing_keeps_the_policy_the_closest_release_is_named(clinic_files, tmp_path):
    asked = ("--at-least", "k=601", "--at-most", "proved=0", "--preset", "diffgen")
    with pytest.raises(Infeasible) as stated:
        run("frontier", *clinic_files, *asked, "--repeats", 1, "--workers", 0, "-o", tmp_path / "r.md")
    assert stated.value.best.startswith("DiffGen epsilon=0.1")
    assert "proved bound at most 0: it has 0.05" in stated.value.why
    assert "Policy: k at least 601; proved bound at most 0." in (tmp_path / "r.md").read_text()


@pytest.mark.parametrize(
    "wrong", [("--at-least", "11"), ("--at-most", "inference"), ("--answer", "age"), ("--at-most", "height=1")]
)
def test_a_line_of_a_policy_that_cannot_be_read_is_an_error(clinic_files, wrong):
    with pytest.raises(ParameterError):
        run("frontier", *clinic_files, *wrong, "--workers", 0)


def test_a_limit_no_release_keeps_is_an_error_after_the_report(clinic_files, tmp_path):
    with pytest.raises(Infeasible):
        run("frontier", *clinic_files, "--preset", "tradeoff-readings", "--utility-loss", "-1", "--workers", 0,
            "-o", tmp_path / "r.md", "--public", tmp_path / "p.md")  # fmt: skip
    assert "Confidential" in (tmp_path / "r.md").read_text()
    assert "## Nothing is recommended" in (tmp_path / "r.md").read_text()  # the knee was, which breaks the limit
    assert "## Recommended" not in (tmp_path / "r.md").read_text()
    assert "Nothing here was computed" in (tmp_path / "p.md").read_text()


def test_demo_compares_publishes_verifies_and_never_overwrites(tmp_path, monkeypatch):
    few = sf.sweep(sf.Mondrian, k=[5, 200], t=["0.2"])  # the whole sweep is in the full tier, below
    monkeypatch.setattr(sf, "sweep", lambda *_, **__: few)
    first = json.loads(run("demo", "--quick", "--json", "-o", tmp_path / "out"))
    text = run("demo", "--quick", "-o", tmp_path / "out")
    assert first["ok"]
    assert first["verdict"]["holds"]
    assert first["folder"] == str(tmp_path / "out")
    for folder in ("out", "out-2"):
        names = sorted(path.name for path in (tmp_path / folder).iterdir())
        assert names == ["adult.csv", "adult.toml", "hierarchies", "public.html", "release", "report.html"]
        assert sf.verify(tmp_path / folder / "release").holds
    assert f"Recommended: {first['recommendation']['label']}" in text
    assert "the claim holds" in text


def cpu_seconds() -> tuple[float, float]:
    """CPU seconds of this process and of its processes that have ended: what the work takes on an idle machine."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, ended.ru_utime + ended.ru_stime


@pytest.mark.full
def test_the_32_releases_of_figure_2_in_a_minute():
    quasi = ("age", "workclass", "education", "marital-status", "race", "sex")
    adult = sf.datasets.adult().with_roles(quasi=quasi, sensitive="occupation", target=())
    own, workers = cpu_seconds()
    front = sf.frontier(adult, "tradeoff", workers=2, progress=False)
    own, workers = (now - before for now, before in zip(cpu_seconds(), (own, workers), strict=True))
    assert workers > 0  # they have ended, so that their time is known
    assert own + workers < 60
    assert len(front.points) == 32
    assert front.failed == ()


@pytest.mark.full
def test_the_demo_takes_less_than_two_minutes(tmp_path):
    before = sum(cpu_seconds())
    answer = json.loads(run("demo", "--json", "-o", tmp_path / "out"))
    assert sum(cpu_seconds()) - before < 120
    assert answer["releases"] == 23
    assert answer["recommendation"]["label"] == "Mondrian k-anonymity(200)"
    assert answer["recommendation"]["bucket"] is None
    assert (tmp_path / "out" / "report.html").stat().st_size < 1_500_000


SCRIPT = """
import sfumato.frontiers
import sfumato.pages
import sfumato as sf
from sfumato import frontier
assert callable(sf.frontier) and callable(sf.report) and frontier is sf.frontier
front = sf.frontier(sf.datasets.census(200), sf.sweep(sf.Mondrian, k=[5, 50]), workers=2, progress=False)
assert len(front.points) == 2 and front.failed == (), [point.failed for point in front.points]
print(sf.report(front, "r.json").name)
"""


@pytest.mark.full
@pytest.mark.parametrize("way", [pytest.param("file", marks=pytest.mark.full), "stdin"])
def test_a_script_needs_no_guard_and_verbs_are_not_rooms(tmp_path, way):
    """Workers are fresh interpreters that do not run the caller's script again."""
    (tmp_path / "script.py").write_text(SCRIPT)
    command = {"file": ["script.py"], "stdin": ["-"]}[way]
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, input=SCRIPT if way == "stdin" else None,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["r.json"]
