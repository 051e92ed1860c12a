"""What a release tells together with earlier ones stands on Publish and Again, in words and as JSON."""

from __future__ import annotations

import json

import pytest
from tests.unit.web.served import client, uploaded

import sfumato as sf
from sfumato.attacks.composing.against import ASSUMED
from sfumato.web.publishing import together


@pytest.fixture(scope="module")
def pair():
    """Two releases of the same people under different groups, and what the command prints of them."""
    table = sf.datasets.census(400)
    first = sf.publish(table, sf.Mondrian(sf.KAnonymity(3)))
    second = sf.publish(table, sf.Mondrian(sf.KAnonymity(4), cut="widest"))
    return first, second, sf.attacks.against(second, first, table)


def test_the_words_are_those_of_the_figures(pair):
    found = pair[2]
    told = together({"against": found.to_json()}, ["sfumato", "publish", "--against", "releases/a", "-o", "releases/b"])
    assert found.people > 0  # else the sentence would be the other one
    assert (told["exposed"], told["alone"], told["certain"]) == (found.people, found.alone, found.certain)
    assert told["names"] == ["a"]
    assert told["text"][0] == (
        f"{found.people} of 400 people are left with fewer than 4 possible values of a private column, the true one "
        f"among them, {found.certain} of them with one value, {ASSUMED}; {found.alone} by this release alone."
    )
    (name,) = found.estimates
    tally, alone = found.estimates[name].tally.guessed.rate, found.estimates[name].alone[0].guessed.rate
    assert f"guesses {name} right for {100 * tally:.1f} % of the people" in told["text"][1]
    assert f"{100 * (tally - alone):.1f} points more often than with this release alone" in told["text"][1]
    assert f"most frequent value is right for {100 * found.estimates[name].baseline.rate:.1f} %" in told["text"][1]


def test_nothing_was_tried_and_nobody_is_exposed(pair):
    assert together({"ok": True}, []) is None
    assert together(None, []) is None
    held = {**pair[2].to_json(), "people": 0, "alone": 0, "certain": 0, "attributes": {}}
    said, changed = together({"against": held}, [])["text"]
    assert "quasi-identifiers differ in an earlier release" in changed
    assert said.startswith("None of 400 people is left with fewer than 4 possible values of a private column, ")
    assert said.endswith(f", {ASSUMED}; 0 by this release alone.")


def test_the_pages_show_it(pair, tmp_path):
    """The box was ticked, the figures were in the printed JSON, and no page showed them."""
    web = client(tmp_path / "space")
    base = uploaded(web)
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    for name, release in zip(("one", "two"), pair[:2], strict=True):
        release.save(folder / "releases" / name, allow_fingerprints=True, allow_text=True, allow_repeated=True)
    run = folder / "runs" / "publish-1"
    run.mkdir(parents=True)
    words = ["sfumato", "publish", "--against", "releases/one", "-o", "releases/two"]
    (run / "run.json").write_text(json.dumps({"kind": "publish", "words": words, "release": "two"}))
    (run / "out.json").write_text(json.dumps({"ok": True, "warnings": ["mind"], "against": pair[2].to_json()}))
    (run / "code").write_text("0")
    sentence = f"{pair[2].people} of 400 people are left with fewer than 4 possible values"
    for page in ("publish", "again"):
        text = web.get(f"{base}/{page}").text
        assert sentence in text, page
        assert "<b>Together with one</b>" in text, page
    told = {one["name"]: one for one in web.get(f"{base}/publish.json").json()["releases"]}
    assert told["two"]["together"]["exposed"] == pair[2].people
    assert told["two"]["warnings"] == ["mind"]
    assert told["one"]["together"] is None
    assert [one["name"] for one in web.get(f"{base}/again.json").json()["together"]] == ["two"]
