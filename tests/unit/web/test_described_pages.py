"""What pages say of a column once its questions are answered, of a comparison, and of the columns of a map."""

from __future__ import annotations

import json
import re
import time

import pytest
from tests.unit.web.served import HOME, client

import sfumato as sf
from sfumato.commuting.flows import FLOW_COLUMNS
from sfumato.frontiers.sweep import PRESETS, sweep
from sfumato.raw_files import EXCEL, PARQUET, STATS
from sfumato.web.choosing import Choosing
from sfumato.web.policies import judged_unmeasured
from sfumato.web.publishing import overridden


@pytest.fixture
def web(tmp_path):
    return client(tmp_path / "space")


def uploaded(web, text, name="t.csv"):
    answer = web.put("/upload", params={"name": name}, content=text.encode(), headers=HOME)
    base = answer.json()["next"].rpartition("/")[0]
    asked(web, f"{base}/describe")
    return base


def asked(web, address):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        data = web.get(f"{address}.json").json()
        if data.get("look", {}) is not None and data.get("checked", {}) is not None:
            return data
        time.sleep(0.05)
    raise AssertionError(address)


def sent(web, address, **form):
    answer = web.post(address, data=form, headers=HOME)
    assert answer.status_code == 303, answer.text


@pytest.mark.parametrize("suffix", [*sorted(PARQUET | EXCEL | STATS), ".csv", ".gz"])
def test_only_text_files_are_offered_other_separators(web, suffix):
    answer = web.put("/upload", params={"name": f"t{suffix}"}, content=b"a,b\n1,2\n", headers=HOME)
    base = answer.json()["next"].rpartition("/")[0]
    shown = web.get(f"{base}/file").text
    assert ('name="delimiter"' in shown) == (suffix in {".csv", ".gz"})
    assert ('name="sheet"' in shown) == (suffix in EXCEL)


def test_every_form_can_be_chosen_for_upload(web):
    accepted = re.search(r'accept="([^"]*)"', web.get("/").text)[1].split(",")
    assert set(accepted) == {".csv", ".tsv", ".txt", ".gz", ".zst", *PARQUET, *EXCEL, *STATS}


STAYS = "nr,days,plz,sex\n" + "".join(
    f"N{at},{at % 24 + 1 if at % 90 else 'drei'},{80331 + 7 * (at % 13)},{'fm'[at % 2]}\n" for at in range(1, 300)
).replace(",80338,", ",8O338,", 1)


def card(web, base, name):
    return next(one for one in asked(web, f"{base}/describe")["cards"] if one["name"] == name)


def test_cells_that_were_explained_are_not_called_unread(web):
    base = uploaded(web, STAYS)
    assert card(web, base, "plz")["unread"].startswith("line")
    assert not [text for text in card(web, base, "plz")["why"] if text.startswith("not read")]  # it is said once
    sent(web, f"{base}/column/plz/merge", value="8O338", into="80338")
    assert card(web, base, "plz")["unread"] == ""
    assert asked(web, f"{base}/column/plz")["same"] == {"80338": ["8O338"]}
    assert "Read as 80338: <code>8O338</code>" in web.get(f"{base}/column/plz").text
    assert card(web, base, "days")["unread"]
    sent(web, f"{base}/column/days/numbers")
    days = card(web, base, "days")
    assert days["unread"] == ""
    assert days["missing"] == ["drei"]


def test_bars_of_words_that_became_numbers_show_no_scale(web):
    base = uploaded(web, STAYS)
    sent(web, f"{base}/column/days/numbers")
    days = card(web, base, "days")
    assert days["kind"] == "numeric"
    assert not days["chart"]["ordered"]
    assert "in steps of" in days["summary"]


def test_who_is_alone_is_told_of_what_is_published_as_it_is(web):
    base = uploaded(web, STAYS)
    sent(web, f"{base}/roles", column="sex", role="sensitive")
    found = asked(web, f"{base}/publish")["checked"]
    assert found["unchanged"] == ["sex"]
    assert "all published columns" not in found["fingerprints"]


def test_people_alone_are_told_of_what_is_published_as_it_is(web):
    base = uploaded(web, "who,age,ill\n" + "".join(f"v{at // 2}x,{at % 60 + 18},{'ab'[at % 2]}\n" for at in range(200)))
    columns = "".join(
        f'[attribute.{name}]\nrole = "{role}"\nsource = "public"\n{rest}\n'
        for name, role, rest in (
            ("who", "identifier", ""),
            ("age", "quasi", 'kind = "numeric"\nrange = [18, 80]'),
            ("ill", "sensitive", 'values = ["a", "b"]'),
        )
    )
    sent(web, f"{base}/schema", toml=f'name = "t"\npopulation = "t"\nperson = "who"\n{columns}')
    said = asked(web, f"{base}/publish")["checked"]["fingerprints"]
    assert "of 100 people are unique on ill" in said
    assert "all published columns" not in said


class Ended:
    """A comparison that has ended."""

    def __init__(self, answer):
        self.answer = lambda: answer


def point(number, *, failed="", breaks=(), utility=0.1, efficient=True):
    measured = {"privacy": {"mean": 0.1}, "utility": {"mean": utility}, "efficient": efficient, "form": "generalized"}
    return {
        "number": number,
        "label": f"M{number}",
        "family": "M",
        "failed": failed,
        "breaks": list(breaks),
        **measured,
    }


def test_releases_that_break_the_policy_are_said_to_and_come_last():
    broken = point(1, breaks=["inference gain at most 0.05: it has 0.2"], utility=0.01)
    points = [broken, point(2), point(3, efficient=False), point(4, failed="a\n b"), point(5, failed="a\n b")]
    axes = {"privacy": {"name": "inference"}, "utility": {"name": "utility_loss", "better": "less"}}
    answer = {"points": points, "recommendation": {"point": 2}, **axes}
    found = Choosing.result(None, Ended(answer))
    assert [one["number"] for one in found["points"]] == [2, 3, 1]
    assert [bool(one["breaks"]) for one in found["points"]] == [False, False, True]
    assert found["words"][-1]["breaks"].startswith("gain in guessing a private value")
    assert found["failed"] == [{"labels": ["M4", "M5"], "why": "a\n b"}]


def test_publish_says_that_a_comparison_is_running(web, monkeypatch):
    base = uploaded(web, STAYS)
    running = type("Run", (), {"state": "running", "about": {}})
    monkeypatch.setattr(
        "sfumato.web.publishing.runs_of", lambda _folder, kind="": [running()] if kind == "compare" else []
    )
    assert "A comparison is running" in web.get(f"{base}/publish").text


FLOWS = "work,home,n,who,year\n" + "".join(f"A,B,{at % 3 + 1},w{at},2020\n" for at in range(20))


def test_a_map_names_every_column_that_the_command_can(web, monkeypatch, tmp_path):
    base = uploaded(web, FLOWS, "flows.csv")
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    (folder / "geography.csv").write_text("block,lat,lon\nA,1,1\nB,2,2\n")
    shown = web.get(f"{base}/map").text
    for field in FLOW_COLUMNS:
        assert f'name="{field.name}"' in shown
        assert field.label in shown
    started = []
    monkeypatch.setattr(
        "sfumato.web.released.started_once",
        lambda _folder, kind, words, _asked, **about: started.append((kind, words(), about)),
    )
    form = {"epsilon": "2", "delta": "1e-6", "name": "m1", "confirm": "yes", "count": "n", "person": "who"}
    sent(web, f"{base}/map", **form, origin="", ignore=["year", "who"])
    ((kind, words, about),) = started
    named = [word for word in words if word in ("--count", "--person", "--ignore", "--origin", "--destination")]
    assert kind == "map"
    assert named == ["--count", "--person", "--ignore", "--ignore"]
    assert words[words.index("--ignore") + 1] == "year"
    assert about["form"]["count"] == ["n"]


def test_what_was_typed_stays_when_a_map_was_refused(web, monkeypatch, tmp_path):
    base = uploaded(web, FLOWS, "flows.csv")
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    (folder / "geography.csv").write_text("block,lat,lon\nA,1,1\nB,2,2\n")
    run = folder / "runs" / "map-1"
    run.mkdir(parents=True)
    form = {"epsilon": ["2.5"], "count": ["n"], "ignore": ["year"]}
    (run / "run.json").write_text(json.dumps({"kind": "map", "words": ["sfumato", "synthesize"], "form": form}))
    (run / "out.json").write_text(json.dumps({"ok": False, "message": "no", "hint": "other"}))
    (run / "code").write_text("1")
    shown = web.get(f"{base}/map").text
    assert 'value="2.5"' in shown
    assert '<option value="n" selected>' in shown
    assert 'value="year" checked' in shown


def test_the_fields_of_a_map_are_those_of_the_command():
    from sfumato.cli.synthesize import synthesize

    flags = {option.name: option for option in synthesize.params}
    for field in FLOW_COLUMNS:
        assert flags[field.name].help == field.help
        assert flags[field.name].multiple == field.several


def test_a_form_that_nobody_filled_in_yet_is_not_called_wrong(web):
    base = uploaded(web, STAYS)
    assert "must be given" not in web.get(f"{base}/publish?method=marginals").text
    assert "must be given" in web.get(f"{base}/publish?method=marginals&epsilon=&delta=").text


WEIGHTS = "town;weight\n" + "".join(f"{('Ulm', 'Bonn')[at % 2]};{1 + at % 2},{100 + at % 40}\n" for at in range(120))


def test_bars_are_counted_anew_when_numbers_are_read_another_way(web):
    base = uploaded(web, WEIGHTS)
    assert card(web, base, "weight")["chart"]["marks"][0]["label"].startswith("1100")
    sent(web, f"{base}/reading", column="weight", **{"as": "number ,"})
    until = time.monotonic() + 60
    while not (marks := card(web, base, "weight")["chart"]["marks"]) and time.monotonic() < until:
        time.sleep(0.05)
    assert marks[0]["label"].startswith("1.1 to")


def test_a_refusal_is_told_before_the_place_on_the_page(web):
    base = uploaded(web, WEIGHTS)
    back = f"{base}/describe#column-2"
    answer = web.post(f"{base}/roles", data={"column": "weight", "role": "king", "back": back}, headers=HOME)
    page, _, place = answer.headers["location"].partition("#")
    assert "wrong=" in page
    assert place == "column-2"


def test_a_hierarchy_of_another_column_changes_nothing(web):
    base = uploaded(web, WEIGHTS)
    sent(web, f"{base}/roles", column="town", role="quasi")
    before = asked(web, f"{base}/describe")["toml"]
    for text in ("Berlin;East\nPotsdam;East\n", "Ulm;South\nBonn;West\n"):
        answer = web.put(f"{base}/column/town/hierarchy", content=text.encode(), headers=HOME)
        assert answer.json()["ok"] == ("Ulm" in text)
        assert (asked(web, f"{base}/describe")["toml"] == before) == ("Ulm" not in text)


def test_columns_without_groups_are_named_before_anything_is_published(web):
    base = uploaded(web, WEIGHTS.replace("Ulm;1,1", "Trier;1,1").replace("Bonn;2,11", "Mainz;2,11"))
    sent(web, f"{base}/roles", column="town", role="quasi")
    assert asked(web, f"{base}/describe")["checked"]["ungrouped"] == ["town"]
    assert "Without groups" in web.get(f"{base}/policy").text


def test_the_approval_record_names_what_was_overridden():
    words = ["sfumato", "publish", "mondrian", "t.csv", "--allow-text", "--allow-noise"]
    assert overridden(words) == [
        "a published column looks like free text, which may hold names",
        "most of what is published would be noise",
    ]
    assert overridden(words[:4]) == []


def test_a_problem_without_cells_does_not_end_in_a_colon(web):
    base = uploaded(
        web, "Schülernr" + STAYS.removeprefix("nr").replace("8O338", "80338").replace("drei", "3") + "N1,2,80338,m\n"
    )
    (problem,) = asked(web, f"{base}/describe")["checked"]["problems"]
    assert not problem["values"]
    for page in ("file", "person", "describe"):
        said = web.get(f"{base}/{page}").text
        assert "no column is chosen by which a person is known" in said
        assert "a person is known:" not in said


def test_all_problems_are_counted_where_not_all_are_listed(web):
    names = [f"x{at}" for at in range(60)]
    base = uploaded(web, ",".join(names) + "\n" + ",".join("2" * 60) + "\n")
    columns = "".join(f'[attribute.{name}]\nrole = "quasi"\nvalues = ["1", "3"]\n' for name in names)
    sent(web, f"{base}/schema", toml=f'name = "t"\npopulation = "t"\nrows_per_person = 1\n{columns}')
    assert len(asked(web, f"{base}/describe")["checked"]["problems"]) == 50
    assert "60 problems, of which 50 are listed." in web.get(f"{base}/describe").text


def test_a_number_of_rows_is_asked_for_in_the_form_it_must_have(web):
    page = web.get(f"{uploaded(web, STAYS)}/person").text
    pattern = re.search(r'name="public_rows"[^>]* pattern="([^"]+)"', page)[1]
    assert [bool(re.fullmatch(pattern, text)) for text in ("400", "7", "350", "0")] == [True, True, False, False]


def test_a_method_starts_from_the_floor_of_the_policy(web):
    base = uploaded(web, STAYS)
    sent(web, f"{base}/policy", k="7")
    start = web.get(f"{base}/publish.json", params={"method": "mondrian"}).json()
    assert start["given"]["k"] == ["7"]
    assert start["chosen"] is None  # a proposal only
    assert web.get(f"{base}/publish.json", params={"method": "mondrian", "k": "9"}).json()["given"]["k"] == ["9"]
    assert "k" not in web.get(f"{base}/publish.json", params={"method": "suppress"}).json()["given"]


def test_each_choice_of_a_comparison_says_how_many_releases_it_makes(web):
    base = uploaded(web, STAYS)
    sent(web, f"{base}/column/days/numbers")
    sent(web, f"{base}/column/plz/merge", value="8O338", into="80338")
    asked(web, f"{base}/describe")
    made = asked(web, f"{base}/compare")["estimate"]["releases"]
    assert made == {name: len(sweep(name)) for name in PRESETS}
    page = web.get(f"{base}/compare").text
    assert all(f"(about {many} releases)</option>" in page for many in made.values())


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [(sf.NoisyTable(8), "proved for the method, and no file can show it"), (sf.Suppress(), "checked from the written")],
)
def test_a_verdict_says_what_files_can_show(web, tmp_path, mechanism, words):
    base = uploaded(web, STAYS)
    (project,) = (tmp_path / "space" / "projects").iterdir()
    release = sf.publish(sf.datasets.census(300), mechanism, allow_noise=True, allow_unaccounted=True)
    release.save(project / "releases" / "release-1", allow_unaccounted=True, allow_fingerprints=True, allow_text=True)
    until = time.monotonic() + 60
    while time.monotonic() < until and '"verdict' not in (page := web.get(f"{base}/publish").text):
        time.sleep(0.1)
    assert words in page
    assert words in web.get(f"{base}/record/release-1").text


def test_the_approval_record_keeps_the_policy_and_description_of_its_release(web, tmp_path, monkeypatch):
    """It showed those of the moment it was opened, which may have been changed since the release."""
    base = uploaded(web, STAYS)
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    sent(web, f"{base}/policy", k="7")
    begun = []
    monkeypatch.setattr(
        "sfumato.web.actions.started_once",
        lambda _folder, _kind, _words, _asked, **about: begun.append(about),
    )
    sent(web, f"{base}/publish", method="suppress", name="release-1", confirm="yes")
    (about,) = begun
    assert about["policy"]["k"] == 7
    run = folder / "runs" / "publish-1"
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"kind": "publish", "words": ["sfumato", "publish", "suppress"], **about}))
    release = sf.publish(sf.datasets.census(300), sf.Suppress())
    release.save(folder / "releases" / "release-1", allow_fingerprints=True, allow_text=True)
    before = web.get(f"{base}/record/release-1").text
    assert "at least 7" in before
    assert about["description"] in before
    sent(web, f"{base}/policy", k="2")
    sent(web, f"{base}/roles", column="plz", role="other")
    after = web.get(f"{base}/record/release-1").text
    assert after.partition("<main")[2] == before.partition("<main")[2]  # the head says how many questions are open


def test_inspect_says_that_nothing_was_compared_yet(web):
    base = uploaded(web, STAYS)
    page = web.get(f"{base}/inspect")
    assert page.status_code == 200
    assert "No comparison has been made yet" in page.text
    assert web.get(f"{base}/inspect.json").json()["point"] is None
    assert web.get(f"{base}/inspect/3").status_code == 422
    assert "There is no such page" in web.get(f"{base}/nothing").text


def test_a_comparison_that_could_make_nothing_is_not_said_to_have_broken_the_policy(web, tmp_path):
    base = uploaded(web, STAYS)
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    run = folder / "runs" / "compare-1"
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"kind": "compare", "words": ["sfumato", "frontier"]}))
    answer = {"ok": False, "error": "Infeasible", "message": "no release could be made and measured", "hint": ""}
    (run / "out.json").write_text(json.dumps(answer))
    (run / "code").write_text("3")
    for page in ("inspect", "publish"):
        text = web.get(f"{base}/{page}").text
        assert "no release keeps the policy" not in text
        assert "The last comparison recommends no release." in text


@pytest.mark.parametrize(("mechanism", "said"), [(sf.Mondrian(k=5), False), (sf.NoisyTable(8), True)])
def test_the_record_says_which_line_of_the_policy_does_not_apply(web, tmp_path, mechanism, said):
    """Beside "at least 11 people in every group" stood "rows in the smallest class: 1", of drawn rows."""
    base = uploaded(web, STAYS)
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    run = folder / "runs" / "publish-1"
    run.mkdir(parents=True)
    about = {"kind": "publish", "words": ["sfumato", "publish"], "release": "release-1", "policy": {"k": 11}}
    (run / "run.json").write_text(json.dumps(about))
    made = sf.publish(sf.datasets.census(300), mechanism, allow_noise=True, allow_unaccounted=True)
    made.save(folder / "releases" / "release-1", allow_unaccounted=True, allow_fingerprints=True, allow_text=True)
    page = web.get(f"{base}/record/release-1").text
    assert "at least 11" in page
    assert ("in every group does not apply to this release" in page) is said
    assert "is nobody" not in page  # at a large epsilon it is somebody


def test_a_policy_of_which_no_line_applies_is_not_said_to_be_kept(web, tmp_path):
    """The record of a noisy table said: policy kept, yes; beside a line that says nothing about such a release."""
    base = uploaded(web, STAYS)
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    claim = sf.NoisyTable(8).claim(sf.datasets.census(300).schema)
    lines = judged_unmeasured({"k": 5}, claim.promise, proved=True)
    run = folder / "runs" / "publish-1"
    run.mkdir(parents=True)
    about = {"release": "release-1", "policy": {"k": 5}, "lines": lines}
    (run / "run.json").write_text(json.dumps({"kind": "publish", "words": ["sfumato", "publish"], **about}))
    release = sf.publish(sf.datasets.census(300), sf.NoisyTable(8), seed=1, allow_noise=True)
    release.save(folder / "releases" / "release-1", allow_rehearsal=True, allow_unaccounted=True)
    record = web.get(f"{base}/record/release-1").text
    assert "<dt>Policy kept</dt><dd>None of it applies to this release." in record
