"""The documents hold together: generated pages are fresh, links lead somewhere, the site builds, words are spelt."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import sfumato
from sfumato.cli.main import COMMANDS
from sfumato.mechanisms import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts),
]
_LINK = re.compile(r"!?\[(?:[^\]\\]|\\.)*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LIST = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _generate():
    spec = spec_from_file_location("generate_documents", DOCS / "generate.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generated():
    return _generate()


def stale(pages: dict[str, str], folder: Path) -> list[str]:
    """Names of pages that are not what the code would write."""
    return [
        name
        for name, text in pages.items()
        if not (folder / name).exists() or (folder / name).read_text("utf-8") != text
    ]


def broken(page: Path, text: str) -> list[str]:
    """Links of a page to files or headings that are not there; links to other sites are not looked at."""
    found = []
    for link in _LINK.findall(_CODE.sub("", _FENCED.sub("", text))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve()
        there = text if not name else target.read_text("utf-8") if heading and target.is_file() else ""
        if (name and not target.exists()) or (heading and heading not in headings(there)):
            found.append(link)
    return found


def headings(text: str) -> set[str]:
    """The anchors that a page's headings get."""
    lines = re.findall(r"^#+ (.+)$", _FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.strip().lower()).replace(" ", "-") for line in lines}


def test_generated_pages_are_fresh(generated):
    assert stale(generated.kept_pages(), DOCS) == [], "run `make pages`"


def test_no_generated_page_is_left_over(generated):
    kept = set(generated.kept_pages())
    there = {f"mechanisms/{page.name}" for page in (DOCS / "mechanisms").glob("*.md")}
    assert there - kept == set(), "these describe what does not exist"


def test_a_stale_page_is_caught(generated, tmp_path):
    pages = {"a.md": "one\n", "b.md": "two\n"}
    (tmp_path / "a.md").write_text("one\n")
    (tmp_path / "b.md").write_text("two, as it was\n")
    assert stale(pages, tmp_path) == ["b.md"]
    assert stale({"c.md": ""}, tmp_path) == ["c.md"]


def test_every_command_has_a_heading(generated):
    text = generated.commands()
    assert [name for name in COMMANDS if f"\n## sfumato {name}\n" not in text] == []
    assert text.count("Example: sfumato") >= len(COMMANDS)


def test_every_mechanism_page_says_what_is_promised_and_what_is_not(generated):
    pages = generated.kept_pages()
    for name in REGISTRY:
        page = pages[f"mechanisms/{name}.md"]
        for part in (
            "**What it promises.**",
            "**Formula.**",
            "**Why that is so.**",
            "**It is silent on**",
            "**Cost.**",
            "**Source.**",
            "**Checked by**",
        ):
            assert part in page, (name, part)


def test_nothing_generated_is_wider_than_a_terminal(generated):
    """What stands in code boxes: prose around them flows."""
    pages = {"commands": generated.commands(), **generated.api()}
    boxes = [(name, box[0]) for name, text in pages.items() for box in _FENCED.finditer(text)]
    assert boxes
    assert [
        (name, line) for name, box in boxes for line in box.splitlines() if len(line) > 86 and ">>>" not in line
    ] == []


def test_every_public_name_is_documented(generated):
    text = "\n".join(generated.api().values())
    for name in sfumato.__all__:
        assert re.search(rf"^##? sf\.{name}$", text, re.MULTILINE), name
        assert (getattr(sfumato, name).__doc__ or "").strip(), f"sf.{name} has no docstring"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken(page, page.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[a](no-such-page.md)", ["no-such-page.md"]),
        ("![a](images/none.svg)", ["images/none.svg"]),
        ("[a](limits.md#no-such-heading)", ["limits.md#no-such-heading"]),
        ("[a](limits.md#floats) [b](limits.md) [c](https://example.org/none)", []),
        ("`[a](none.md)`\n\n```text\n[a](none.md)\n```\n", []),
    ],
)
def test_broken_links_are_caught(text, wrong):
    assert broken(DOCS / "here.md", text) == wrong


def test_every_page_can_be_reached():
    """Each page of docs stands in a list of contents."""
    listed: set[Path] = set()
    for page in DOCS.rglob("*.md"):
        if "_build" in page.parts:
            continue
        for block in _LIST.findall(page.read_text("utf-8")):
            for line in block.splitlines():
                if line == "*":
                    listed |= {other.resolve() for other in page.parent.glob("*.md")}
                elif line and not line.startswith(":"):
                    listed.add((page.parent / f"{line}.md").resolve())
    pages = {page.resolve() for page in DOCS.rglob("*.md") if "_build" not in page.parts}
    assert pages - listed - {DOCS / "index.md"} == set()
    built = {page for page in listed - pages if page.relative_to(DOCS).as_posix().startswith("reference/api")}
    assert listed - pages - built == set()


@pytest.mark.full
def test_the_site_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "trees"), str(DOCS), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "sf.publish" in (tmp_path / "html" / "reference" / "api" / "verbs.html").read_text("utf-8")


def test_words_are_spelt():
    files = [*PAGES, *sorted((ROOT / "examples").glob("*.py"))]
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "--ignore-words", str(DOCS / "words.txt"), *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_misspelt_words_are_caught(tmp_path):
    (tmp_path / "page.md").write_text("This sentense is recieved.\n")
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", str(tmp_path / "page.md")], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0


def test_pictures_are_small_and_shown_somewhere():
    pictures = [path for path in (DOCS / "images").iterdir() if path.suffix in (".svg", ".png")]
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert len(pictures) >= 3
    for picture in pictures:
        assert picture.stat().st_size < 150_000, picture.name
        assert f"images/{picture.name})" in text, picture.name


def test_the_picture_says_what_it_shows_on_light_and_dark_pages():
    text = (DOCS / "images" / "frontier.svg").read_text("utf-8")
    assert "<title>" in text
    assert "white" not in text, "a white slab on a dark page"


def test_the_readme_is_for_strangers():
    text = (ROOT / "README.md").read_text("utf-8")
    assert "make demo" in text
    assert "make test" in text
    assert len(text.splitlines()) < 160
    assert not re.search(r"https?://", text), "no addresses: what is needed is in the repository"


def test_the_readmes_three_rows_are_real():
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("| three rows")) + 2
    shown = [[cell.strip().split(", ") for cell in line.strip("|").split(" | ")] for line in lines[start : start + 3]]
    given = [line.split(",") for line in (ROOT / "examples" / "patients.csv").read_text("utf-8").splitlines()]
    assert [before for before, _ in shown] == given[1:4]
    table = sfumato.read(ROOT / "examples" / "patients.csv", sfumato.Schema.load(ROOT / "examples" / "patients.toml"))
    release = sfumato.publish(table, sfumato.Mondrian(sfumato.KAnonymity(5) & sfumato.LDiversity(2)))
    labels = {row[:3]: row[3:6] for row in sfumato.mapping(release).rows()}
    for (_, age, sex, town, _, diagnosis), after in shown:
        assert after == [*labels[age, sex, town], diagnosis]
        assert tuple(after) in release.frame().rows()


def test_the_first_screen_has_no_units_of_information():
    first = (ROOT / "README.md").read_text("utf-8").partition("## Ten lines of Python")[0]
    assert "images/frontier.svg" in first
    for text in (first, (DOCS / "images" / "frontier.svg").read_text("utf-8")):
        assert not re.search(r"\bnats?\b", text)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_as_documented(shell):
    page = (DOCS / "shell-completion.md").read_text("utf-8")
    assert f"_SFUMATO_COMPLETE={shell}_source sfumato" in page


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("pub", "publish"),
        ("explain t-cl", "t-closeness"),
        ("frontier --preset standa", "standard"),
        ("measure --measure privacy", "privacy_loss"),
    ],
)
def test_completion_answers(typed, completed):
    words = {
        "COMP_WORDS": f"sfumato {typed}",
        "COMP_CWORD": str(len(typed.split())),
        "_SFUMATO_COMPLETE": "bash_complete",
    }
    done = subprocess.run(
        [sys.executable, "-c", "from sfumato.cli import main; main([])"],
        env={**os.environ, **words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [f"plain,{completed}"]
