"""Every page of every mechanism, for both audiences, in every format: it is made, and nothing in it is undefined."""

from __future__ import annotations

import json
import re

import pytest

import sfumato as sf
from sfumato.commuting.map import write_map
from sfumato.mechanisms import REGISTRY

# A new mechanism adds one line.
MADE = {
    "anatomy": lambda: sf.Anatomy(2),
    "bucketize": lambda: sf.Bucketize(sf.LDiversity(2)),
    "diffgen": lambda: sf.DiffGen(1, specializations=4),
    "dlink": lambda: sf.DLink(sf.Mondrian(sf.KAnonymity(4)), d=2, alpha="0.5"),
    "marginals": lambda: sf.Marginals(1),
    "mondrian": lambda: sf.Mondrian(sf.KAnonymity(4)),
    "noisy-table": lambda: sf.NoisyTable(1),
    "suppress": sf.Suppress,
    "target-rows": lambda: sf.TargetRows(1),
    "topdown": lambda: sf.TopDown(4),
}
WITHOUT_A_PAGE = {"raw": "never published", "synthesize": "has a map: see below"}
UNDEFINED = re.compile(r"undefined|\bNone\b|\bnan\b|\bNaN\b|\{\{|\}\}|\{%|Undefined|<sfumato|object at 0x")


def words(path):
    """What a reader sees: without scripts, styles and the data of charts."""
    text = path.read_text("utf-8")
    if path.suffix == ".html":
        text = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    return text


@pytest.fixture(scope="module")
def with_target(clinic):
    return clinic.with_roles(target="ill", sensitive=())


def test_every_mechanism_has_a_page():
    assert set(MADE) | set(WITHOUT_A_PAGE) == set(REGISTRY)


@pytest.mark.cells(8)
@pytest.mark.parametrize("ending", ["html", "md", "json"])
@pytest.mark.parametrize("name", sorted(MADE))
def test_pages_of_every_mechanism(name, ending, clinic, with_target, tmp_path):
    """Item 8: the public page of a noisy table or of DiffGen was an UndefinedError."""
    table = with_target if name in ("topdown", "diffgen") else clinic
    mechanism = MADE[name]()
    front = sf.frontier(table, [mechanism], workers=0, repeats=1, progress=False)
    assert not front.failed
    release = sf.publish(table, mechanism)
    steward = sf.report(front, tmp_path / f"steward.{ending}")
    page = tmp_path / f"public.{ending}"
    public = sf.report(front, page, audience="public", release=release, allow_unaccounted=True)
    chosen_only = sf.report(front, tmp_path / f"methods.{ending}", audience="public")
    for page in (steward, public, chosen_only):
        text = words(page)
        assert len(text) > 200
        assert not UNDEFINED.search(text), (page.name, UNDEFINED.search(text))
        if ending == "json":
            json.loads(text)
    if ending != "json":
        answer = words(public)
        shown = str(release.claim.promise).replace("&", "&amp;")
        assert shown in answer.replace("\\", "")
        assert ("suppressed" in answer) is (release.claim.kind == "checked")


@pytest.mark.parametrize("audience", ["steward", "public"])
def test_pages_of_synthesize(audience, tmp_path):
    data = sf.datasets.commuting(60, 400, 1)
    geography = sf.commuting.Geography.read(data.geography)
    flows = sf.commuting.read_flows(data.flows, geography)
    release = sf.publish(flows.table, sf.Synthesize("4.6", "1e-5", prior=sf.commuting.Shape(geography)))
    original = flows if audience == "steward" else None
    page = tmp_path / "map.html"
    write_map(sf.commuting.map_data(release, geography, original=original), page)
    assert not UNDEFINED.search(words(page))


HOSTILE = "<script>alert(1)</script>|*a*_b_[l](http://x)`c`\n# h & <img src=x>"


def test_markdown_means_what_it_says(tmp_path):
    """Item 12: HTML and Markdown in names and values is shown, not obeyed."""
    schema = sf.Schema.parse(
        {
            "name": HOSTILE,
            "attribute": {
                f"q{HOSTILE}": {"role": "quasi", "values": [f"a{HOSTILE}", f"b{HOSTILE}"]},
                f"s{HOSTILE}": {"role": "sensitive", "values": [f"x{HOSTILE}", f"y{HOSTILE}"]},
            },
        }
    )
    import polars as pl
    from markdown_it import MarkdownIt

    rows = {f"q{HOSTILE}": [f"{'ab'[at % 2]}{HOSTILE}" for at in range(40)]}
    rows[f"s{HOSTILE}"] = [f"{'xy'[at // 2 % 2]}{HOSTILE}" for at in range(40)]
    table = sf.read(pl.DataFrame(rows), schema)
    release = sf.publish(table, sf.Bucketize(sf.LDiversity(2)))
    release.save(tmp_path / "out", format="csv", allow_unaccounted=True)
    front = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(4))], workers=0, progress=False)
    pages = [sf.report(front, tmp_path / "s.md", source=(HOSTILE, HOSTILE), command=f"sfumato {HOSTILE}")]
    pages += [sf.report(front, tmp_path / "p.md", audience="public", release=release, folder=HOSTILE)]
    for page in (*pages, tmp_path / "out" / "dictionary.md"):
        text = page.read_text("utf-8")
        assert "alert(1)" in text
        made = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
        assert "<script" not in made, page.name
        assert not re.search("<(img|a|em)[ >]", made), page.name
        assert "<h1> h" not in made
        assert "<h1>h" not in made
