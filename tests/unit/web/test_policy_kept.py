"""Whether a release keeps the policy: on Compare, on the checklist of Publish and in the approval record."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest
from tests.unit.web.served import HOME, client

import sfumato as sf
from sfumato.frontiers.sweep import written_as
from sfumato.web.policies import basis_of, judged, judged_unmeasured, policy_of_words, policy_words

ROWS = "nr,age,sex,ill\n" + "".join(f"N{at},{20 + at % 40},{'fm'[at % 2]},{'xyz'[at % 3]}\n" for at in range(200))


@pytest.fixture
def web(tmp_path):
    return client(tmp_path / "space")


@pytest.fixture
def base(web):
    answer = web.put("/upload", params={"name": "t.csv"}, content=ROWS.encode(), headers=HOME)
    found = answer.json()["next"].rpartition("/")[0]
    until = time.monotonic() + 60
    while time.monotonic() < until:
        data = web.get(f"{found}/describe.json").json()
        if data["look"] is not None and data.get("checked") is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(found)


MONDRIAN = sf.Mondrian(sf.KAnonymity(3))


def point(**more):
    spread = {"mean": 0.1, "low": 0.1, "high": 0.1, "deviation": 0.0, "runs": 1}
    held = {
        "number": 1,
        "label": "Mondrian(k-anonymity(3))",
        "family": "Mondrian",
        "mechanism": json.loads(json.dumps(written_as(MONDRIAN))),
        "efficient": True,
        "savable": True,
        "failed": "",
        "form": "generalized",
        "breaks": [],
        "people": 7,
        "counted": "people",
        "privacy": spread,
        "utility": spread,
        "risks": {"inference": spread},
        "answers": {"sex x ill": {**spread, "mean": 0.33}},
    }
    return {**held, **more}


def compared(web, base, tmp_path, *points, number=1):
    """Put a finished comparison under the present policy into the project, without measuring anything."""
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    begun = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.web.choosing.Choosing.refuse_open", lambda *_: None)
        patch.setattr(
            "sfumato.web.actions.started_once",
            lambda _folder, kind, words, _asked, **about: begun.append({"kind": kind, "words": words(), **about}),
        )
        assert web.post(f"{base}/compare", data={"preset": "tradeoff"}, headers=HOME).status_code == 303
    run = folder / "runs" / f"compare-{number}"
    run.mkdir(parents=True)
    axes = {"privacy": {"name": "inference"}, "utility": {"name": "utility_loss", "better": "less"}}
    answer = {"ok": True, "points": list(points), "recommendation": {"point": 1, "label": "M"}, **axes}
    (run / "run.json").write_text(json.dumps(begun[0]))
    (run / "out.json").write_text(json.dumps(answer))
    (run / "code").write_text("0")


def policy(web, base, **form):
    assert web.post(f"{base}/policy", data=form, headers=HOME).headers["location"].partition("wrong")[1] == ""


LINE = "sex x ill within 20 %"


def test_each_line_is_kept_broken_or_not_measured():
    held = {"k": 5, "limits": {"inference": "0.2", "identity": "0.1"}, "answers": [LINE]}
    assert [one["state"] for one in judged(held, point())] == ["kept", "kept", "not measured", "broken"]
    assert judged(held, point())[-1]["found"] == "33 %"
    assert judged({"k": 8}, point())[0]["state"] == "broken"
    assert judged({"k": 8}, point(people=None))[0]["state"] == "none"
    asked = judged_unmeasured(held, sf.KAnonymity(5) & sf.LDiversity(2), proved=False)
    assert [one["state"] for one in asked] == ["kept", "not measured", "not measured", "not measured"]
    assert judged_unmeasured(held, sf.KAnonymity(4), proved=False)[0]["state"] == "not measured"
    assert policy_of_words(["sfumato", *policy_words(held)]) == {**held, "membership_public": False}


def test_a_release_that_breaks_the_policy_is_published_only_with_a_tick_and_the_record_says_so(web, base, tmp_path):
    """It was published with the same checklist, and the record printed the policy beside the verdict."""
    policy(web, base, k="5", answers=LINE, identity="0.1")
    compared(web, base, tmp_path, point(breaks=[f"{LINE}: it has 33 %"]))
    page = web.get(f"{base}/publish?number=1").text
    assert f"Breaks your policy: {LINE} (33 %)" in page
    assert "Keeps your policy: at least 5 people in every group (the smallest group has 7 people)" in page
    assert "Not measured for your policy: chance of finding a person&#39;s record at most 0.1" in page
    form = {"number": "1", "name": "release-1", "confirm": "yes"}
    refused = web.post(f"{base}/publish", data=form, headers=HOME)
    assert "breaks%20your%20policy" in refused.headers["location"]
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    assert not (folder / "runs" / "publish-1").exists()
    begun = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.web.actions.started_once", lambda *_, **about: begun.append(about))
        web.post(f"{base}/publish", data={**form, "allow-policy": "yes"}, headers=HOME)
    run = folder / "runs" / "publish-1"
    run.mkdir()
    (run / "run.json").write_text(json.dumps({"kind": "publish", "words": ["sfumato", "publish"], **begun[0]}))
    release = sf.publish(sf.datasets.census(300), sf.Suppress())
    release.save(folder / "releases" / "release-1", allow_fingerprints=True, allow_text=True)
    record = web.get(f"{base}/record/release-1").text
    assert f"{LINE}: <b>broken</b> (33 %)" in record
    assert "at most 0.1: <b>not measured</b>" in record
    assert "A person chose to publish it anyway" in record
    assert f"<dt>Released</dt><dd>{time.strftime('%Y')}" in record


def test_a_policy_that_was_changed_after_its_result_leaves_a_trace(web, base, tmp_path):
    policy(web, base, k="5", inference="0.05")
    compared(web, base, tmp_path, point(breaks=["inference gain at most 0.05: it has 0.1"]))
    policy(web, base, k="5", inference="0.2")
    data = web.get(f"{base}/publish.json?number=1").json()
    assert data["breaks"] == ""
    assert [one["lines"][1] for one in data["earlier"]] == ["gain in guessing a private value at most 0.05"]
    assert "The policy was changed after a comparison had shown its result" in web.get(f"{base}/publish?number=1").text
    policy(web, base, k="5", inference="0.05")
    assert web.get(f"{base}/publish.json?number=1").json()["earlier"] == []


def test_a_comparison_under_another_policy_is_judged_again_and_says_so(web, base, tmp_path):
    """Compare showed the old verdict, the old limit and the old command as if they were current."""
    policy(web, base, k="5", inference="0.05")
    compared(web, base, tmp_path, point(breaks=["inference gain at most 0.05: it has 0.1"]))
    assert web.get(f"{base}/compare.json").json()["stale"] == {}
    policy(web, base, k="5", inference="0.2")
    data = web.get(f"{base}/compare.json").json()
    assert data["result"]["points"][0]["breaks"] == ""
    assert data["stale"]["quick"] is True
    (tmp_path / "space" / "projects" / base.rpartition("/")[2] / "runs" / "compare-1" / "cancelled").touch()
    assert "takes seconds" not in web.get(f"{base}/compare").text  # most of it was never measured
    (tmp_path / "space" / "projects" / base.rpartition("/")[2] / "runs" / "compare-1" / "cancelled").unlink()
    assert data["stale"]["preset"] == "tradeoff"
    assert "--at-most inference=0.2" in data["command"]
    assert "Made under another policy" in web.get(f"{base}/compare").text
    policy(web, base, k="9", inference="0.2")
    data = web.get(f"{base}/compare.json").json()
    assert "at least 9" in data["result"]["points"][0]["breaks"]
    assert data["stale"]["quick"] is False
    assert "It breaks your policy as it is now" in web.get(f"{base}/compare").text


def test_figures_of_another_description_say_nothing_about_the_release(web, base, tmp_path):
    policy(web, base, k="5", inference="0.2")
    compared(web, base, tmp_path, point())
    assert [one["state"] for one in web.get(f"{base}/publish.json?number=1").json()["lines"]] == ["kept", "kept"]
    web.post(f"{base}/roles", data={"column": "sex", "role": "other"}, headers=HOME)
    lines = web.get(f"{base}/publish.json?number=1").json()["lines"]
    assert [one["state"] for one in lines] == ["not measured", "not measured"]
    assert "Made before the description was changed" in web.get(f"{base}/compare").text


def test_inspect_names_the_tables_of_a_typical_count(web, base, tmp_path):
    typical = {"count": 20, "off": 3.2, "share": 0.16}
    compared(web, base, tmp_path, point(typical=typical, promises="k", promise="k", summary={}))
    sentence = (
        "In tables of a column that others may know and another one a count of 20 is typically off by 3.2 (16 %)."
    )
    assert sentence in web.get(f"{base}/inspect/1").text


def test_a_question_answered_as_proposed_leaves_the_figures_valid(tmp_path):
    """Its line goes from the file; what the file says of the table is the same."""
    (tmp_path / "data.csv").write_text("age\n1\n")
    text = 'name = "t"\ndecide = ["population: who?"]\n[attribute.age]\nrole = "quasi"\ndecide = ["range: public?"]\n'

    def basis(text):
        return basis_of(
            SimpleNamespace(schema_text=lambda: text, data=tmp_path / "data.csv", folder=tmp_path, options={})
        )

    answered = "\n".join(line for line in text.splitlines() if not line.startswith("decide"))
    assert basis(answered) == basis(text)
    assert basis(answered.replace("quasi", "other")) != basis(answered)
