"""What a contributor's machine and GitHub run is what `make` runs; templates ask for what a claim needs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import sfumato

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
FIVE = ("source", "claim", "proof", "reference", "mutant")


def loaded(path: Path):
    return yaml.safe_load(path.read_text("utf-8"))


def test_the_workflow_runs_three_systems_and_three_pythons():
    jobs = loaded(GITHUB / "workflows" / "test.yml")["jobs"]
    matrix = jobs["check"]["strategy"]["matrix"]
    assert [name.partition("-")[0] for name in matrix["system"]] == ["ubuntu", "macos", "windows"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    said = [line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert matrix["python"] == said


def test_the_workflow_runs_what_make_check_runs():
    steps = loaded(GITHUB / "workflows" / "test.yml")["jobs"]["check"]["steps"]
    run = " ".join(step.get("run", "") for step in steps)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipes = [
        makefile.partition(f"\n{target}:")[2].partition("\n\n")[0].splitlines()[1:] for target in ("lint", "check")
    ]
    commands = [line.strip().lstrip("@").replace("$(BIN)/", "") for recipe in recipes for line in recipe]
    assert len(commands) >= 4
    assert [command for command in commands if command not in run] == []


def test_the_wheel_is_tried_outside_the_checkout():
    job = loaded(GITHUB / "workflows" / "test.yml")["jobs"]["wheel"]
    tried = job["steps"][-1]
    assert tried["working-directory"].startswith("${{ runner.temp }}")
    assert "-m sfumato verify" in tried["run"]


@pytest.mark.parametrize("name", ["bug", "idea", "mechanism"])
def test_issue_forms_have_what_github_needs(name):
    form = loaded(GITHUB / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert {"name", "description", "body"} <= set(form)
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert all(part["id"] and part["attributes"]["label"] for part in fields)


def test_a_mechanism_needs_five_things():
    form = loaded(GITHUB / "ISSUE_TEMPLATE" / "mechanism.yml")
    assert tuple(part["id"] for part in form["body"] if part["validations"]["required"]) == FIVE
    text = (GITHUB / "PULL_REQUEST_TEMPLATE" / "mechanism.md").read_text("utf-8").lower()
    assert [word for word in FIVE if f"**{word}" not in text] == []


def test_hooks_are_local():
    repositories = loaded(ROOT / ".pre-commit-config.yaml")["repos"]
    assert [one["repo"] for one in repositories] == ["local"]
    assert {hook["id"] for hook in repositories[0]["hooks"]} >= {"ruff-check", "ruff-format", "mypy"}


def test_there_is_one_version_number():
    assert loaded(ROOT / "CITATION.cff")["version"] == sfumato.__version__


def test_no_test_changes_where_modules_are_found():
    edit = re.compile(r"sys\.path\.(?:insert|append|extend)|sys\.path\[" + r"|sys\.path *\+?=[^=]")
    folders = ("tests", "benchmarks", "docs", "papers", "examples")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    assert [str(path.relative_to(ROOT)) for path in files if edit.search(path.read_text("utf-8"))] == []
    assert list((ROOT / "tests").rglob("__init__.py")) == []
