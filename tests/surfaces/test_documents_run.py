"""Every example in README, docs and examples/ is run as a newcomer would run it, and prints what is shown."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest
from tests.surfaces import executed_documents as documents

ROOT = Path(__file__).resolve().parents[2]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = [
    page
    for page in PAGES
    if "_build" not in page.parts
    and any(block.language in ("python", "console") for block in documents.blocks(page.read_text("utf-8")))
]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
# A page that loses its examples would pass unseen: these have some.
MUST_RUN = {
    "README.md",
    "how-it-works.md",
    "1-first-release.md",
    "2-frontier.md",
    "3-budget.md",
    "4-again.md",
    "5-commuting.md",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the example files, as wide as the documents were written for."""
    for source in (ROOT / "examples").iterdir():
        if source.suffix in (".csv", ".toml"):
            shutil.copy(source, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says(page, here):
    assert documents.run(page) > 0


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_runs(script, here, capsys):
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_pages_with_examples_still_have_them():
    assert {page.name for page in RUN} >= MUST_RUN


PAGE = """\
```python
print("one")
```

```text
{shown}
```
"""


def test_a_stale_output_is_caught(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(shown="one"))
    assert documents.run(page) == 1
    page.write_text(PAGE.format(shown="two"))
    with pytest.raises(documents.NotRun, match="the document shows"):
        documents.run(page)


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```\n",
        "```console\n$ sfumato explain no-such-name\n```\n",
        "```console\n$ sfumato --version\nsfumato 99\n```\n",
        "```console\n$ rm everything\n```\n",
        "```console\nsfumato --version\n```\n",
        "<!-- not run: -->\n```python\n1 / 0\n```\n",
        "<!-- not run: it is old -->\n\nA new paragraph.\n\n```python\n1 / 0\n```\n",
    ],
    ids=["raises", "exit code", "output", "unknown command", "no prompt", "no reason", "mark above other text"],
)
def test_a_wrong_page_is_caught(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(documents.NotRun):
        documents.run(page)


def test_a_block_may_say_why_it_is_not_run(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- not run: needs a network -->\n```python\n1 / 0\n```\n")
    assert documents.run(page) == 0


@pytest.mark.parametrize(
    ("expected", "printed", "apart"),
    [
        ("a\n...\nd", "a\nb\nc\nd\n", False),
        ("a ... d", "a b c d", False),
        ("a  \nb", "a\nb  ", False),
        ("a\nb", "a\nc", True),
        ("a", "a\nb", True),
    ],
)
def test_how_output_is_compared(expected, printed, apart):
    assert documents.differs(expected, printed) is apart
