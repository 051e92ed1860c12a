"""Only one module prints: what the command shows goes through `cli/output.py`, where names are made harmless."""

from __future__ import annotations

import ast
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src" / "sfumato"
# The one way out, and the bar of a sweep, which writes nothing but `visible` text.
MAY_PRINT = {"cli/output.py", "frontiers/progress.py"}
BANNED_CALLS = {"print", "input"}
BANNED_NAMES = {"echo", "secho", "style", "echo_via_pager", "prompt", "confirm", "pause", "progressbar", "Console"}
QUOTING = {"shlex"}  # commands to copy are written by `visible.shell_command`


def printing(text: str) -> list[str]:
    """Calls and imports that write to a terminal, and streams taken for writing."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BANNED_CALLS:
            found.append(f"{node.lineno}: {node.func.id}()")
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner == "click" and node.attr in BANNED_NAMES:
                found.append(f"{node.lineno}: click.{node.attr}")
            if owner == "sys" and node.attr in {"stdout", "stderr", "__stdout__", "__stderr__"}:
                found.append(f"{node.lineno}: sys.{node.attr}")
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in {"rich", "click"}:
            names = {alias.name for alias in node.names}
            if (node.module or "").startswith("rich") or names & BANNED_NAMES:
                found.append(f"{node.lineno}: from {node.module} import {', '.join(sorted(names))}")
        if isinstance(node, ast.Import):
            found += [f"{node.lineno}: import {alias.name}" for alias in node.names if alias.name in {"rich", *QUOTING}]
    return found


def test_one_module_prints():
    wrong = {}
    for path in sorted(SRC.rglob("*.py")):
        name = path.relative_to(SRC).as_posix()
        calls = printing(path.read_text("utf-8"))
        if name not in MAY_PRINT and not (name == "visible.py" and all("shlex" in call for call in calls)) and calls:
            wrong[name] = calls
    assert wrong == {}, "print with sfumato.cli.output, quote with sfumato.visible.shell_command"


def test_the_check_finds_what_prints():
    assert (
        len(printing("print(1)\nclick.echo(1)\nimport sys\nsys.stdout.write('x')\nfrom rich.console import Console"))
        == 4
    )
    assert printing("import shlex") == ["1: import shlex"]
    assert printing("import click\nclick.option('--x')") == []
