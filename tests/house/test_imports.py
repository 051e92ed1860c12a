"""Imports point one way only. The contracts stand in pyproject.toml; here they are run, and tried on wrong imports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def broken(tree: Path) -> str:
    """What import-linter prints about a source tree; empty where every contract is kept."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    program = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    command = [sys.executable, "-c", program, "--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_every_contract_is_kept():
    assert broken(ROOT) == ""


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("schema/tree.py", "from sfumato.counts import Table", "A package imports only those above it"),
        ("schema/tree.py", "import sfumato.release.verify", "A package imports only those above it"),
        ("release/verify.py", "import sfumato.mechanisms.raw", "A verifier shares no code"),
        ("mechanisms/raw.py", "import sfumato.mechanisms.topdown", "A mechanism sees no other"),
        ("cli/check.py", "from sfumato.io.source import open_source", "What is printed never sees counts"),
    ],
)
def test_a_wrong_import_is_caught(module, line, contract, tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    changed = tmp_path / "src" / "sfumato" / module
    changed.write_text(f"{changed.read_text('utf-8')}\n{line}\n", "utf-8")
    said = broken(tmp_path)
    assert contract in said.split("Broken contracts")[1]
