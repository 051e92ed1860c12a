"""What the demo prints and writes can be run as it stands, and says what a steward must know first."""

from __future__ import annotations

import html
import json
import re
import shlex

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.frontiers import sweep


def run(*arguments):
    done = CliRunner().invoke(app, [str(word) for word in arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.output


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The demo on buckets only, so that one is recommended."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        real = sf.sweep
        patch.setattr(
            sf, "sweep", lambda *parts, **grid: real(sf.Bucketize, t=["0.15", "0.2"]) if grid else real(*parts)
        )
        text = run("demo", "--quick", "--membership-public", "-o", "some where")
        yield folder, text


def commands(text):
    """Every `sfumato` command of a page or of what was printed."""
    lines = [html.unescape(line) for line in re.findall(r"<pre[^>]*>(.*?)</pre>", text)] or text.splitlines()
    return [line.strip() for line in lines if line.strip().startswith("sfumato ")]


@pytest.mark.full
def test_the_files_are_the_table_the_demo_compares(made):
    folder, _ = made
    table = sf.read(folder / "some where" / "adult.csv", sf.Schema.load(folder / "some where" / "adult.toml"))
    six = ("age", "workclass", "education", "marital-status", "race", "sex")  # Li & Li 2009, table 1
    bundled = sf.datasets.adult().with_roles(quasi=six, sensitive="occupation", target=())
    names = [attribute.name for attribute in bundled.schema.published]
    assert [attribute.name for attribute in table.schema.published] == names
    assert (table.codes() == bundled.codes()).all()


def test_the_printed_commands_make_the_release_again(made, monkeypatch):
    folder, text = made
    monkeypatch.chdir(folder)
    page = (folder / "some where" / "report.html").read_text()
    printed = next(line for line in commands(text) if line.startswith("sfumato publish"))
    assert printed == next(line for line in commands(page) if line.startswith("sfumato publish"))
    assert "bucketize" in printed
    run(*shlex.split(printed)[1:])
    again, before = sf.Release.load(folder / "out"), sf.Release.load(folder / "some where" / "release")
    assert again.claim.promise == before.claim.promise
    assert [frame.equals(before.frames()[name]) for name, frame in again.frames().items()] == [True, True]


def test_the_public_page_names_the_folder_that_is_beside_it(made, monkeypatch):
    folder, text = made
    check = next(line for line in commands((folder / "some where" / "public.html").read_text()) if "verify" in line)
    monkeypatch.chdir(folder / "some where")
    assert json.loads(run(*shlex.split(check)[1:], "--json"))["ok"]
    monkeypatch.chdir(folder)
    answer = next(line for line in text.splitlines() if "sfumato verify" in line)
    assert json.loads(run(*shlex.split(answer.partition(": ")[2])[1:], "--json"))["ok"]


def test_that_membership_is_public_is_said_first(made):
    folder, text = made
    page = (folder / "some where" / "report.html").read_text()
    public = (folder / "some where" / "public.html").read_text()
    said = "Membership is public: exact quasi-identifiers are published."
    for shown in (text, page, public):
        assert said in shown
    assert text.count(said) == 1
    assert "sfumato demo --quick --membership-public -o" in page
    card = page[page.index('id="recommendation"') : page.index("The frontier</h2>")]
    assert f'<p class="mind">{said}' in card
    assert re.search(r"The belief in one value grows up to [\d.]+ times", card)
    assert re.search(r"The belief in one value grows up to [\d.]+ times", text)
    assert "Who is most at risk" in card


def test_the_public_page_shows_both_tables_of_a_bucket_release(made):
    folder, _ = made
    public = (folder / "some where" / "public.html").read_text()
    frames = sf.Release.load(folder / "some where" / "release").frames()
    for frame in frames.values():
        heads = "".join(f'<th scope="col">{name}</th>' for name in frame.columns)
        assert heads in public
    assert "<dt>Bucketize, t-closeness</dt><dd>0.15; 0.2<br>" in public
    assert "left out of the recommendation" not in public


@pytest.mark.full
def test_without_being_asked_the_demo_publishes_no_exact_quasi_identifiers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    both = sweep(sf.Mondrian, sf.Bucketize, t=["0.15"])
    monkeypatch.setattr(sf, "sweep", lambda *parts, **grid: both if grid else sweep(*parts))
    text = run("demo", "--quick", "-o", "out")
    assert "Recommended: Mondrian k-anonymity(5) & t-closeness(0.15)" in text
    answer = " ".join(text.split())
    assert "1 bucket release was left out of this recommendation: it publishes everybody's exact" in answer
    assert "It would not have been recommended instead" in answer  # anyone can tell who is in it: the membership gain
    assert sf.Release.load(tmp_path / "out" / "release").form == "generalized"
    page, public = ((tmp_path / "out" / name).read_text() for name in ("report.html", "public.html"))
    assert "sfumato demo --quick -o out" in page
    assert "1 bucket release was left out of this recommendation" in page
    assert "left out of the recommendation" in public
