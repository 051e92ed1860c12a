"""A new mechanism is one file, a new requirement one class: every surface knows them from what they declare."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MECHANISM = '''"""StarOut: publish one attribute and hide the others.

Source    none: an example of a test.
Claim     Every published class has at least k rows.
Because   whatever is smaller is refused.
Checked   tests/surfaces/test_one_file.py
Silent on everything else.
Cost      one group-by.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import ClassVar, Literal

from sfumato.claims import Claim, KAnonymity
from sfumato.declare import Rational, Whole, declare, parameter, to_json
from sfumato.mechanisms.base import Gathered, Plan, Stage
from sfumato.mechanisms.suppress import Suppress
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Schema


@declare
class StarOut:
    """Hide every attribute, if there are k rows."""

    name: ClassVar[str] = "star-out"

    k: Whole = parameter("At least k rows.", least=2, hint="try 5", unit="rows", example=5, grid=(2, 5))
    _: KW_ONLY
    share: Rational = parameter("A share.", default="1/2", above=0, most=1)
    how: Literal["plain", "bold"] = parameter("How it looks.", default="plain")

    to_json = to_json

    def claim(self, schema: Schema) -> Claim:
        return Claim(KAnonymity(self.k), unit=schema.unit)

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        return Suppress().needs(schema)

    def plan(self, schema: Schema) -> Plan:
        return Plan((Stage("hide", does="hides everything"),))

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        made = Suppress().apply(counts, entropy)
        return replace(made, claim=self.claim(counts.schema), mechanism=self.to_json())
'''
REQUIREMENT = '''"""Crowds: classes large enough, by another name."""

from typing import ClassVar

from sfumato.claims.classes import BoolArray, Classes, Figure
from sfumato.claims.requirement import Requirement, Unit
from sfumato.declare import Whole, declare, parameter


@declare
class Crowd(Requirement):
    """Every class is a crowd."""

    m: Whole = parameter("crowd: every class has at least m rows.", least=1, hint="try 3", example=3, flag="crowd")
    label: ClassVar[str] = "crowd"
    reads_sensitive: ClassVar[bool] = False
    at_least: ClassVar[bool] = True

    def satisfied(self, classes: Classes) -> BoolArray:
        answer: BoolArray = classes.members >= self.m
        return answer

    def figure(self, classes: Classes) -> Figure:
        return int(classes.members.min())

    def describe(self, unit: Unit = "row") -> str:
        return f"Every class holds at least {self.m} rows."
'''
SESSION = """
import contextlib, io, json, sys
from pathlib import Path

import sfumato as sf
from sfumato.claims import requirement_from_json
from sfumato.cli.main import main
from sfumato.declare import form
from sfumato.mechanisms import REGISTRY
from sfumato.pages.commands import publish_command

data, schema, folder = sys.argv[1:]


def said(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main(list(words))
        except SystemExit as stopped:
            return {"code": stopped.code, "text": out.getvalue()}


kind, out = REGISTRY["star-out"], f"{folder}/out"
found = {
    "methods": said("publish", "--help"),
    "options": said("publish", "star-out", "--help"),
    "publish": said("publish", "star-out", data, schema, "--k", "4", "--share", "1/3", "-o", out),
    "wrong": said("publish", "star-out", data, schema, "--k", "1", "-o", f"{folder}/wrong"),
    "manifest": json.loads(Path(out, "manifest.json").read_text("utf-8"))["mechanism"],
    "verify": said("verify", out),
    "explain": said("explain", "star-out"),
    "sweep": [repr(one) for one in sf.sweep(kind)],
    "grid": [one.to_json() for one in sf.sweep(kind, k=[2, 3], how="bold")],
    "form": form(kind),
    "command": publish_command(kind(3, how="bold"), "d.csv", "s.toml"),
    "flags": said("verify", "--help"),
    "crowd": said("verify", out, "--crowd", "3"),
    "no crowd": said("verify", out, "--crowd", "100000"),
    "crowd explained": said("explain", "crowd"),
    "read": repr(requirement_from_json({"kind": "crowd", "m": 7})),
}
print(json.dumps(found, default=str))
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory, clinic_files):
    """What a person sees whose copy of the project has one file more in two folders, and no other change."""
    folder = tmp_path_factory.mktemp("one-file")
    shutil.copytree(ROOT / "src" / "sfumato", folder / "sfumato", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "sfumato" / "mechanisms" / "star_out.py").write_text(MECHANISM, "utf-8")
    (folder / "sfumato" / "claims" / "crowds.py").write_text(REQUIREMENT, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "110", "NO_COLOR": "1"}
    command = [sys.executable, "-c", SESSION, *map(str, clinic_files), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_command_has_the_mechanism_and_its_flags(session):
    assert "star-out     Publish one attribute and hide the others." in session["methods"]["text"]
    for part in ("--k INTEGER", "At least k rows.", "--share NUMBER", "A share. [default: 1/2]", "[plain|bold]"):
        assert part in session["options"]["text"]
    assert "sfumato publish star-out patients.csv patients.toml --k 5 -o out/" in session["options"]["text"]
    assert session["publish"]["code"] == 0, session["publish"]["text"]
    assert session["wrong"]["code"] == 2
    assert "k = 1: must be at least 2. Hint: try 5." in session["wrong"]["text"]


def test_manifest_verdict_explanation_sweep_form_and_command(session):
    assert session["manifest"] == {"name": "star-out", "k": 4, "share": "1/3", "how": "plain"}
    assert "k-anonymity(4): holds" in session["verify"]["text"]
    assert "At least k rows. (at least 2, required)" in session["explain"]["text"]
    assert [one.split(",")[0] for one in session["sweep"]] == ["StarOut(k=2", "StarOut(k=5"]
    assert [(one["k"], one["how"]) for one in session["grid"]] == [(2, "bold"), (3, "bold")]
    assert [(one["name"], one["type"], one["default"]) for one in session["form"]] == [
        ("k", "whole", None),
        ("share", "number", "1/2"),
        ("how", "choice", "plain"),
    ]
    assert session["command"] == "sfumato publish star-out d.csv s.toml --k 3 --how bold -o out/"


def test_a_requirement_is_asked_for_checked_explained_and_read(session):
    assert "--crowd INTEGER" in session["flags"]["text"]
    assert session["crowd"]["code"] == 0, session["crowd"]["text"]
    assert session["no crowd"]["code"] == 3
    assert "Every class is a crowd." in session["crowd explained"]["text"]
    assert session["read"] == "Crowd(m=7)"
