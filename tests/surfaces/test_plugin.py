"""`examples/plugin`, as an installed package: its mechanism and measure are known wherever a name is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.claims import requirement_from_json
from sfumato.counts import Table
from sfumato.mechanisms import Mechanism, base as running
from sfumato.randomness import Entropy
from sfumato.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "examples" / "plugin"

REQUIREMENT = """
from dataclasses import dataclass
from typing import ClassVar

from sfumato.claims import KAnonymity


@dataclass(frozen=True, slots=True, init=False)
class Crowd(KAnonymity):
    label: ClassVar[str] = "crowd"
"""
SESSION = """
import contextlib, io, json, sys
from pathlib import Path

import sfumato as sf
from sfumato.cli.main import main

data, schema, folder = sys.argv[1:]


def said(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main(list(words))
        except SystemExit as stopped:
            return {"code": stopped.code, "text": out.getvalue()}


out = f"{folder}/out"
found = {
    "methods": said("publish", "--help"),
    "options": said("publish", "full-domain", "--help"),
    "explain mechanism": said("explain", "full-domain"),
    "explain measure": said("explain", "small_classes"),
    "explain broken": said("explain", "broken"),
    "explain all": said("explain"),
    "publish": said("publish", "full-domain", data, schema, "--k", "5", "--depth", "2", "-o", out),
    "publish broken": said("publish", "broken", data, schema, "-o", f"{folder}/broken"),
    "publish nothing": said("publish", "full-domain", data, schema, "-o", f"{folder}/none"),
    "publish replaced": said("publish", "raw", data, schema, "-o", f"{folder}/raw"),
    "verify": said("verify", out),
    "measure": said("measure", data, schema, out, "--measure", "small_classes", "--json"),
    "manifest": json.loads(Path(out, "manifest.json").read_text("utf-8")),
    "raw": str(sf.mechanisms.REGISTRY["raw"]),
}

from sfumato_full_domain import FullDomain, small_classes

table = sf.read(data, sf.Schema.load(schema))
points = sf.sweep(FullDomain, k=[5, 20], depth=[1, 2])
front = sf.frontier(table, points, utility="small_classes", workers=0, progress=False)
found["points"] = [point.label for point in front.points]
found["figures"] = [point.utility.mean for point in front.points]
found["python"] = [point.python for point in front.points]
found["commands"] = [sf.pages.commands.publish_command(point.mechanism, "d.csv", "s.toml") for point in front.points]
found["verified"] = sf.verify(out).holds

release = sf.Release.load(out)
manifest = json.loads(Path(out, "manifest.json").read_text("utf-8"))
manifest["claim"]["promise"] = {"kind": "crowd", "k": 5}
Path(out, "manifest.json").write_text(json.dumps(manifest), "utf-8")
found["crowd"] = repr(sf.Release.load(out).claim.promise)
print(json.dumps(found, default=str))
"""


@pytest.fixture(scope="module")
def plugin():
    """The module, loaded without being installed."""
    spec = spec_from_file_location("sfumato_full_domain", PLUGIN / "sfumato_full_domain.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def installed(folder: Path) -> str:
    """Write what pip would write for the plugin and for a package that is broken; return the path to import from."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))["project"]
    groups = {group: dict(points) for group, points in project["entry-points"].items()}
    groups["sfumato.mechanisms"] |= {"broken": "no_such_package:Broken", "raw": "sfumato_full_domain:FullDomain"}
    groups["sfumato.requirements"] = {"crowd": "crowd_requirement:Crowd"}
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in points.items()) for group, points in groups.items()]
    (about / "entry_points.txt").write_text("\n".join(lines))
    (folder / "crowd_requirement.py").write_text(REQUIREMENT)
    return os.pathsep.join([str(folder), str(PLUGIN), str(ROOT / "src")])


@pytest.fixture(scope="module")
def session(tmp_path_factory, clinic_files):
    """What a person sees who has installed the plugin."""
    folder = tmp_path_factory.mktemp("installed")
    environment = {**os.environ, "PYTHONPATH": installed(folder), "COLUMNS": "110", "NO_COLOR": "1"}
    command = [sys.executable, "-c", SESSION, *map(str, clinic_files), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_command_knows_the_mechanism(session):
    assert "full-domain" in session["methods"]["text"]
    assert session["options"]["code"] == 0
    assert "--k INTEGER" in session["options"]["text"]
    assert "Steps below the root of each tree; 0 is *. [default: 1]" in session["options"]["text"]
    assert session["publish"]["code"] == 0, session["publish"]["text"]
    assert "k-anonymity(5): holds (checked)" in session["verify"]["text"]
    assert session["publish nothing"]["code"] == 2
    assert "--k" in session["publish nothing"]["text"]


def test_a_saved_manifest_names_it_and_is_verified(session):
    assert session["manifest"]["mechanism"] == {"name": "full-domain", "k": 5, "depth": 2}
    assert session["verified"] is True


def test_explain_knows_both(session):
    assert "Samarati" in session["explain mechanism"]["text"]
    assert "could not be cut in two" in session["explain measure"]["text"]
    assert {"full-domain", "small_classes"} <= set(session["explain all"]["text"].split())


def test_measure_takes_the_measure(session):
    figure = json.loads(session["measure"]["text"])["measures"]["small_classes"]
    assert 0 <= figure["value"] <= 1
    assert figure["confidential"] is True


def test_the_frontier_compares_it(session):
    assert session["points"] == [
        f"FullDomain k={k}, depth={d}".replace(", depth=1", "") for k in (5, 20) for d in (1, 2)
    ]
    assert all(0 <= value <= 1 for value in session["figures"])
    assert session["python"][1] == "sfumato_full_domain.FullDomain(5, depth=2)"
    assert session["commands"][1] == "sfumato publish full-domain d.csv s.toml --k 5 --depth 2 -o out/"


def test_a_package_that_cannot_be_imported_hides_no_other(session):
    assert "broken" in session["methods"]["text"]
    assert "cannot be imported (ModuleNotFoundError)" in session["explain all"]["text"]
    for asked in ("explain broken", "publish broken"):
        assert session[asked]["code"] == 2
        assert "cannot be imported (ModuleNotFoundError)" in session[asked]["text"]


def test_a_name_of_ours_cannot_be_replaced(session):
    assert session["publish replaced"]["code"] == 2
    assert session["raw"] == "<class 'sfumato.mechanisms.raw.Raw'>"


def test_a_requirement_of_a_package_is_read_back(session):
    assert session["crowd"] == "Crowd(k=5)"
    with pytest.raises(sf.ParameterError) as refused:
        requirement_from_json({"kind": "crowd", "k": 5})
    assert "not installed" in refused.value.hint


@pytest.mark.parametrize("depth", [0, 1, 2, 9])
@pytest.mark.parametrize("k", [2, 7, 30])
def test_the_claim_holds_at_every_depth(plugin, clinic, k, depth):
    try:
        release = sf.publish(clinic, plugin.FullDomain(k, depth=depth))
    except sf.Infeasible as refused:
        assert refused.best < k  # noqa: PT017
        return
    assert release.groups.weight.min() >= k
    assert release.groups.weight.sum() + release.left_out == clinic.rows
    assert sf.mapping(release)["rows"].sum() == release.groups.weight.sum()


def test_an_empty_table_makes_an_empty_release(plugin, clinic):
    empty = Table.from_codes(clinic.schema, np.zeros((0, 3), np.int64))
    assert len(sf.publish(empty, plugin.FullDomain(5)).groups) == 0


def test_rows_are_counted_as_people_have_them(plugin, clinic):
    counts = clinic.counts()
    codes = np.repeat(counts.codes, counts.weights, axis=0)
    several = Table.from_codes(replace(clinic.schema, rows_per_person=3), codes)
    release = sf.publish(several, plugin.FullDomain(8, depth=3))
    assert release.left_out > 0
    assert release.groups.weight.min() >= 24


def test_a_mutant_that_keeps_small_classes_is_caught(plugin, clinic, tmp_path, monkeypatch):
    kept = plugin.FullDomain._kept
    release = sf.publish(clinic, plugin.FullDomain(20, depth=3))
    release.save(tmp_path / "good")
    assert sf.verify(tmp_path / "good").holds
    monkeypatch.setattr(plugin.FullDomain, "_kept", lambda self, weight, most: kept(replace(self, k=1), weight, most))
    sf.publish(clinic, plugin.FullDomain(20, depth=3)).save(tmp_path / "mutant")
    assert not sf.verify(tmp_path / "mutant").holds


def test_it_is_a_mechanism_and_refuses_bad_parameters(plugin):
    assert isinstance(plugin.FullDomain(5), Mechanism)
    for wrong in ({"k": 0}, {"k": 2.5}, {"k": True}, {"k": 5, "depth": -1}):
        with pytest.raises(sf.ParameterError):
            plugin.FullDomain(**wrong)


def test_the_measure_by_hand(plugin, clinic):
    release = sf.publish(clinic, plugin.FullDomain(5, depth=2))
    sizes = sorted(release.groups.weight.tolist())
    share = np.mean([size < 2 * sizes[0] for size in sizes])
    assert plugin.small_classes(clinic, release).value == pytest.approx(share)


def test_a_registry_loads_what_it_is_asked_for():
    found = Registry("sfumato.no_such_group", {"entropy": "sfumato.randomness:Entropy", "running": running})
    assert list(found) == ["entropy", "running"]
    assert (found["entropy"], found["running"]) == (Entropy, running)
    assert "other" not in found
    with pytest.raises(KeyError):
        found["other"]
