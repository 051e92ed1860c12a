"""Whatever claims something says its source, its claim, its reason, the tests that check it and what it leaves open."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "sfumato"
LABELS = ("Source", "Claim", "Because", "Checked", "Silent on")
FURTHER = ("Cost",)
CLAIMING_PACKAGES = ("mechanisms", "claims", "randomness", "attacks", "measures")

# Modules of those packages that claim nothing, each with the reason.
CLAIMS_NOTHING = {
    "claims/classes.py": "the shape in which counts reach a requirement",
    "exact.py": "reads and writes numbers",
    "claims/registry.py": "the list of promises",
    "mechanisms/base.py": "the protocol",
    "mechanisms/exact_release.py": "writes down boxes; the mechanism that made them claims",
    "mechanisms/mondrian/cutting.py": "calls the kernel and writes down the partition; kernel and mechanism claim",
    "randomness/parameters.py": "the ranges of parameters",
    "measures/base.py": "the protocol",
}

_LABEL = re.compile(rf"^({'|'.join((*LABELS, *FURTHER))})\b[ ]*(.*)$")
_NAMED = re.compile(r"tests/[\w/.-]+?\.py(?:::\w+)?")


def labelled(docstring: str) -> dict[str, str]:
    """The labelled lines of a docstring with their continuation lines, in order."""
    found: dict[str, str] = {}
    at = ""
    for line in docstring.splitlines():
        label = _LABEL.match(line)
        if label:
            at = label[1]
            found[at] = label[2].strip()
        elif at and line.startswith("          "):
            found[at] += " " + line.strip()
        elif at:
            at = ""
    return found


def badly_wrapped(docstring: str) -> list[str]:
    """Lines between the first label and the end of its paragraph that are neither a label nor indented below one."""
    found: list[str] = []
    inside = False
    for line in docstring.splitlines():
        inside = bool(_LABEL.match(line)) or (inside and bool(line.strip()))
        if inside and not _LABEL.match(line) and not line.startswith("          "):
            found.append(line)
    return found


def functions_in(path: Path) -> set[str]:
    """Names of the test functions in a file, those in classes included."""
    return {node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)}


def faults(docstring: str | None, root: Path = ROOT) -> list[str]:
    """What is wrong with the docstring of a module that claims something."""
    found = labelled(docstring or "")
    if wrapped := badly_wrapped(docstring or ""):
        return [f"{line!r} is not indented below its label" for line in wrapped]
    order = [label for label in found if label in LABELS]
    if order != list(LABELS):
        absent = [label for label in LABELS if label not in found]
        return [f"lacks {', '.join(absent)}" if absent else f"the order must be {', '.join(LABELS)}"]
    wrong = [f"{label} says nothing" for label in LABELS if not found[label]]
    named = _NAMED.findall(found["Checked"])
    if not named:
        wrong.append("Checked names no test (tests/claims/test_x.py::test_y)")
    for name in named:
        file, _, function = name.partition("::")
        if not (root / file).is_file():
            wrong.append(f"Checked names {file}, which does not exist")
        elif function and function not in functions_in(root / file):
            wrong.append(f"Checked names {name}, which does not exist in that file")
    return wrong


def defines_something_public(text: str) -> bool:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) and not node.name.startswith("_") for node in ast.parse(text).body)


def claiming() -> list[Path]:
    files = [path for package in CLAIMING_PACKAGES for path in (SRC / package).glob("**/*.py")]
    return sorted(
        path
        for path in files
        if path.name != "__init__.py"
        and path.relative_to(SRC).as_posix() not in CLAIMS_NOTHING
        and defines_something_public(path.read_text("utf-8"))
    )


def claims_of(text: str) -> list[str]:
    """The docstring of a module, and every comment block in it that carries the labelled lines."""
    blocks = re.findall(r"(?:^# ?.*\n)+", text, re.MULTILINE)
    comments = ["\n".join(line[2:] for line in block.splitlines()) for block in blocks]
    return [ast.get_docstring(ast.parse(text)) or "", *(block for block in comments if len(labelled(block)) > 1)]


def test_a_module_that_claims_has_its_labelled_lines():
    found = {path.relative_to(SRC).as_posix(): claims_of(path.read_text("utf-8")) for path in claiming()}
    assert {name: wrong for name, claims in found.items() for claim in claims if (wrong := faults(claim))} == {}


def test_labelled_lines_elsewhere_are_right_too():
    """Modules of other packages that chose to carry the lines."""
    rest = {path: claims_of(path.read_text("utf-8")) for path in set(SRC.rglob("*.py")) - set(claiming())}
    found = [(path.name, faults(claim)) for path, claims in rest.items() for claim in claims if labelled(claim)]
    assert [one for one in found if one[1]] == []


def test_every_module_says_what_it_is():
    texts = {path.relative_to(SRC).as_posix(): path.read_text("utf-8") for path in SRC.rglob("*.py")}
    assert [n for n, text in texts.items() if text.strip() and not ast.get_docstring(ast.parse(text))] == []


def test_there_is_something_to_check():
    assert len(claiming()) >= 10


GOOD = """Geometric counts.

Source    Ghosh et al. 2012.
Claim     epsilon-DP.
Because   the rest
          cancels.
Checked   tests/claims/test_x.py::test_loss
          tests/claims/test_x.py
Silent on timing.
Cost      one draw a cell.
"""


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("", ""), None),
        (("Silent on timing.\n", ""), "lacks Silent on"),
        (("Claim     epsilon-DP.\n", ""), "lacks Claim"),
        (("Source    Ghosh et al. 2012.\nClaim     epsilon-DP.", "Claim     a.\nSource    b."), "the order must be"),
        (("Because   the rest\n          cancels.", "Because"), "Because says nothing"),
        (("          cancels.", "cancels."), "'cancels.' is not indented"),
        (("Claim     epsilon-DP.", "Claim     epsilon-\nDP."), "'DP.' is not indented"),
        (("::test_loss", "::test_other"), "which does not exist in that file"),
        (("tests/claims/test_x.py::test_loss", "tests/claims/test_y.py::test_loss"), "test_y.py, which does not exist"),
        (("tests/claims/test_x.py::test_loss\n          tests/claims/test_x.py", "by hand"), "Checked names no test"),
    ],
)
def test_wrong_lines_are_caught(change, fault, tmp_path):
    (tmp_path / "tests" / "claims").mkdir(parents=True)
    (tmp_path / "tests" / "claims" / "test_x.py").write_text("def test_loss(): ...", encoding="utf-8")
    found = faults(GOOD.replace(*change) if change[0] else GOOD, tmp_path)
    assert (found == []) if fault is None else (len(found) == 1 and fault in found[0])


def test_no_docstring_at_all_is_caught():
    assert faults(None) == ["lacks Source, Claim, Because, Checked, Silent on"]
