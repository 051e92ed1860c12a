"""The public page shows a release only as far as the saved folder would."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest

import sfumato as sf
from sfumato.pages.contents import public_contents


@pytest.fixture(scope="module")
def front(clinic):
    return sf.frontier(clinic, [sf.Mondrian(sf.KAnonymity(10))])


def page_of(front, release, folder, **allowed):
    page = sf.report(front, folder / "public.json", audience="public", release=release, **allowed)
    return json.loads(page.read_text("utf-8"))


def test_what_may_not_be_saved_is_on_no_public_page(front, clinic, tmp_path):
    with pytest.raises(sf.ReleaseError, match="promises nothing"):
        sf.report(front, tmp_path / "public.html", audience="public", release=sf.publish(clinic, sf.Raw()))
    assert not (tmp_path / "public.html").exists()


def doctors():
    """A sensitive column of names, which `save` refuses as text."""
    names = ["Dr Ada Zaphod", "Dr Bert Beeble", "Dr Cor Marvin"]
    return {"gp": [names[at % 3] for at in range(400)]}, {"gp": {"role": "sensitive", "values": names}}


def amounts():
    """A sensitive column in which most rows have a value of their own."""
    column = {"role": "sensitive", "kind": "numeric", "range": [0, 10_000], "step": 1}
    return {"lab": [at * 7919 % 10_000 for at in range(400)]}, {"lab": column}


def published(held, described):
    ages = {"age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "step": 1}}
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": ages | described})
    rows = {"age": [20 + at * 31 % 60 for at in range(400)], **held}
    return sf.publish(sf.read(pl.DataFrame(rows), schema), sf.Mondrian(sf.KAnonymity(5)))


@pytest.mark.parametrize("ending", ["html", "md", "json"])
@pytest.mark.parametrize(("made", "word"), [(doctors, "allow_text"), (amounts, "allow_fingerprints")])
def test_what_save_refuses_is_on_no_public_page(made, word, ending, tmp_path):
    """The page prints values and rows: names that `save` refused stood in it."""
    release, place = published(*made()), tmp_path / f"public.{ending}"
    with pytest.raises(sf.SfumatoError) as of_save:
        release.save(tmp_path / "out")
    with pytest.raises(sf.SfumatoError) as of_page:
        sf.report(None, place, audience="public", release=release)
    assert str(of_page.value) == str(of_save.value)
    assert word in str(of_page.value)
    assert not place.exists()
    sf.report(None, place, audience="public", release=release, **{word: True})
    assert place.exists()


def test_a_rehearsal_and_an_unaccounted_draw_are_on_no_public_page(clinic, tmp_path):
    for release, word in (
        (sf.publish(clinic, sf.Anatomy(2), seed=1), "allow_rehearsal"),
        (sf.publish(clinic, sf.NoisyTable(1)), "allow_unaccounted"),
    ):
        with pytest.raises(sf.SfumatoError, match=word):
            sf.report(None, tmp_path / "public.md", audience="public", release=release)


def test_a_rehearsal_says_so(front, clinic, tmp_path):
    answer = page_of(front, sf.publish(clinic, sf.Anatomy(2), seed=1), tmp_path, allow_rehearsal=True)
    assert any("rehearsal" in line for line in answer["release"]["claim"])


def test_rows_left_out_are_stated_only_where_the_manifest_tells_them(front, clinic, tmp_path):
    noisy = page_of(front, sf.publish(clinic, sf.NoisyTable(1)), tmp_path, allow_unaccounted=True)["release"]["summary"]
    assert "suppressed" not in noisy
    linked = sf.publish(clinic, sf.DLink(sf.Mondrian(sf.KAnonymity(5)), d=2, alpha="0.5"))
    said = page_of(front, replace(linked, left_out=37), tmp_path)["release"]["summary"]
    assert "suppressed" not in said  # it said 0 of them


@pytest.mark.filterwarnings("ignore")
def test_where_a_group_has_one_value_the_page_does_not_say_that_it_is_unpublished():
    """Ages of one person each: t-closeness of 0.6 leaves each in a group of its own, and its value is published."""
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 1},
        "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "gout", "burn", "cold"]}}})  # fmt: skip
    ills = [("flu", "gout", "burn", "cold")[at * at % 7 % 4] for at in range(40)]
    table = sf.read(pl.DataFrame({"age": list(range(40)), "ill": ills}), schema)
    release = sf.publish(table, sf.Bucketize(sf.TCloseness("0.6")))
    said = public_contents(None, release, folder="out")["release"]
    assert said["exposed"]
    assert "one value only" in said["use"][0]


def test_no_drawn_row_is_said_to_be_nobody(clinic):
    """At epsilon 10 all 22 of 22 cells of a model, and of noisy counts, were true, and their rows somebody's."""
    drawn = public_contents(None, sf.publish(clinic, sf.Marginals(10), seed=1), folder="out")["release"]["use"][0]
    assert "may still be the same as a person's, the likelier the larger epsilon is" in drawn
    exact = public_contents(None, sf.publish(clinic, sf.NoisyTable(10), seed=1), folder="out")["release"]["use"][0]
    assert "practically exact" in exact
    assert "nothing but noise" not in exact
    small = public_contents(None, sf.publish(clinic, sf.NoisyTable(1), seed=1), folder="out")["release"]["use"][0]
    assert "may be nothing but noise" in small


def test_a_range_read_off_the_data_is_on_no_page_where_no_label_says_it(tmp_path):
    """The box that counts offered ranges up to the oldest, of a release whose ages are all `*`."""
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [30, 98], "step": 1, "source": "data"},
        "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "gout"]}}})  # fmt: skip
    ages, ills = [30 + at % 20 for at in range(99)] + [97], ["flu", "gout"] * 50
    release = sf.publish(sf.read(pl.DataFrame({"age": ages, "ill": ills}), schema), sf.Suppress())
    asked = public_contents(None, release, folder="out")["release"]["asked"]
    release.save(tmp_path / "out")
    loaded = public_contents(None, sf.Release.load(tmp_path / "out"), folder="out")["release"]["asked"]
    assert asked["quasi"] == loaded["quasi"] == [{"name": "age", "bins": ["*"]}]
    assert asked == loaded


def test_a_value_read_off_the_data_is_on_no_page_where_no_row_has_it():
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 1},
        "ill": {"role": "sensitive", "values": ["ebola", "flu", "gout"], "source": "data"}}})  # fmt: skip
    rows = pl.DataFrame({"age": list(range(40)), "ill": ["flu", "gout"] * 20})
    release = sf.publish(sf.read(rows, schema), sf.Mondrian(sf.KAnonymity(5)))
    said = public_contents(None, release, folder="out")["release"]
    assert "ebola" not in json.dumps([said["columns"], said["asked"]])


@pytest.mark.parametrize("ending", ["json", "html"])
def test_a_target_that_is_alike_in_a_group_is_not_said_to_be_unpublished(ending, tmp_path):
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 1},
        "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "gout"]},
        "paid": {"role": "target", "kind": "nominal", "values": ["no", "yes"]}}})  # fmt: skip
    held = {"age": [at // 4 for at in range(40)], "ill": ["flu", "gout"] * 20, "paid": ["yes"] * 39 + ["no"]}
    release = sf.publish(sf.read(pl.DataFrame(held), schema), sf.Anatomy(2))
    said = public_contents(None, release, folder="out")["release"]
    assert not said["exposed"]
    assert "one value only" in said["use"][0]
    page = sf.report(None, tmp_path / f"p.{ending}", audience="public", release=release).read_text("utf-8")
    assert "does not say which row" not in page
    assert "Which row has which value is not published" not in page


@pytest.mark.filterwarnings("ignore")
def test_classes_that_hide_nobody_are_stated_in_every_form(tmp_path):
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 1},
        "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "gout"]}}})  # fmt: skip
    rows = pl.DataFrame({"age": list(range(40)), "ill": ["flu"] * 20 + ["gout"] * 20})
    release = sf.publish(sf.read(rows, schema), sf.Mondrian(sf.KAnonymity(5)))
    said = release.exposed().sentences()
    assert said
    for ending in ("md", "html"):
        page = sf.report(None, tmp_path / f"p.{ending}", audience="public", release=release)
        assert said[0] in page.read_text("utf-8")


def test_the_public_page_has_no_formula_that_depends_on_the_table(clinic, monkeypatch):
    """How many attributes a population names at most follows from how many large populations the table has."""
    monkeypatch.setattr("sfumato.measures.utility.POPULATIONS", 12)
    table = clinic.take(range(clinic.rows))  # of which no populations are remembered
    front = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(10))], workers=0, progress=False)
    assert "at most 1 attribute" in front.utility.formula
    said = public_contents(front, None, folder="out")
    assert "at most" not in json.dumps([said["utility"], said["measures"]])
