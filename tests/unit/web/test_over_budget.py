"""A release that the ledger does not allow is refused at once, and the page says so before and after."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.unit.web.served import HOME, PUBLIC, asked, client, uploaded

import sfumato as sf
from sfumato.claims import Neighbours
from sfumato.web.runs import Run


@pytest.fixture
def web(tmp_path):
    return client(tmp_path / "space")


def run_that_ended(folder, code, answer, kind="publish"):
    place = folder / "runs" / f"{kind}-1"
    place.mkdir(parents=True)
    (place / "run.json").write_text(json.dumps({"kind": kind, "words": ["sfumato", kind]}))
    (place / "out.json").write_text(json.dumps(answer))
    (place / "code").write_text(str(code))
    return Run(place, project=folder)


OVER = sf.BudgetExceeded(1, 1, 1)


def test_a_run_that_the_ledger_refused_is_shown_as_refused(web, tmp_path):
    """It ended with the code of a claim that does not hold, and the page took it for done: no word was shown."""
    base = uploaded(web)
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    run = run_that_ended(folder, 3, {"ok": False, **OVER.as_json()})
    assert run.state == "refused"
    page = web.get(f"{base}/publish").text
    assert "Nothing was published." in page
    assert "epsilon 1 asked, 1 of 1 already spent" in page


def test_a_comparison_in_which_nothing_is_good_enough_is_done(tmp_path):
    answer = {"ok": False, "error": "Infeasible", "message": "no release", "hint": ""}
    assert run_that_ended(tmp_path, 3, answer, "compare").state == "done"
    assert run_that_ended(tmp_path, 3, answer).state == "refused"


def test_what_is_over_the_limit_is_refused_before_the_file_is_read(web, tmp_path):
    base = uploaded(web)
    web.post(f"{base}/schema", data={"toml": PUBLIC}, headers=HOME)
    address = f"{base}/publish?method=marginals&epsilon=1"
    web.post(f"{base}/ledger", data={"epsilon": "1"}, headers=HOME)
    before = web.get(address).text
    assert "The budget of t allows it" in before
    assert "disabled" not in before.partition(">Publish</button>")[0].rpartition("<button")[2]
    schema = sf.Schema.load(next((tmp_path / "space" / "projects").iterdir()) / "schema.toml")
    mechanism = sf.Marginals(1)
    ledger = sf.Ledger(tmp_path / "space" / "ledger.db")
    ledger.reserve("t", mechanism.claim(schema), mechanism)
    after = web.get(address).text
    assert "does not allow it: epsilon 0 left, 1 needed" in after
    assert "disabled" in after.partition(">Publish</button>")[0].rpartition("<button")[2]
    form = {"method": "marginals", "epsilon": "1", "confirm": "yes", "name": "again"}
    answer = web.post(f"{base}/publish", data=form, headers=HOME)
    assert "wrong=epsilon%201%20asked" in answer.headers["location"]
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    assert not (folder / "runs").exists()
    assert len(ledger.entries("t")) == 1


def test_nothing_is_entered_where_a_refusal_is_only_asked_for(tmp_path):
    ledger = sf.Ledger(tmp_path / "l.db")
    table = sf.datasets.census(50)
    claim = sf.NoisyTable(2).claim(table.schema)
    assert ledger.refusal("p", claim) is None  # there is no ledger yet
    assert not (tmp_path / "l.db").exists()
    ledger.limit("p", 1)
    found = ledger.refusal("p", claim)
    assert (found.spent, found.asked, found.limit) == (0, 2, 1)
    assert ledger.refusal("other", claim) is None
    assert ledger.entries("p") == []


def described(web, tmp_path):
    """Return the address, folder, ledger and schema of a project that a differentially private method can read."""
    base = uploaded(web)
    web.post(f"{base}/schema", data={"toml": PUBLIC}, headers=HOME)
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    return base, folder, sf.Ledger(tmp_path / "space" / "ledger.db"), sf.Schema.load(folder / "schema.toml")


def test_the_limit_of_the_whole_is_told_where_the_population_has_none(web, tmp_path):
    base, _, ledger, schema = described(web, tmp_path)
    mechanism = sf.Marginals(1)
    ledger.limit("city", 1)
    ledger.declare_parts("city", ["t"])
    ledger.reserve("city", mechanism.claim(schema), mechanism)
    assert (ledger.totals("t").limit, ledger.totals("t").left.epsilon) == (None, 0)
    assert list(ledger.totals("t").leaves) == ["city"]
    again = web.get(f"{base}/again.json").json()
    assert again["budget"]["words"] == "epsilon 0 of 1 is left, by the limit of city"
    assert [one["population"] for one in again["entries"]] == ["city"]
    assert "No limit is set" not in web.get(f"{base}/again").text
    ledger.declare_parts("city", ["others"])
    moved = replace(mechanism.claim(schema), neighbours=Neighbours.REPLACE_ONE)
    ledger.limit("city", 5)
    ledger.reserve("others", moved, mechanism)
    words = web.get(f"{base}/again.json").json()["budget"]["words"]
    assert words == "epsilon 3 of 5 is left, by the limit of city, counted for replace-one"
    page = web.get(f"{base}/publish?method=marginals&epsilon=1").text
    assert "Left for t: epsilon 3, counted for replace-one." in page
    assert "city" in web.get(f"{base}/publish.json?method=marginals&epsilon=2").json()["spends"]["over"]


def test_a_population_accounted_in_another_unit_is_not_said_to_allow_it(web, tmp_path):
    base, _, ledger, schema = described(web, tmp_path)
    mechanism = sf.Marginals(1)
    ledger.reserve("t", mechanism.claim(schema), {"name": "synthesize", "unit": "job"})
    for limit in (None, 5):
        if limit:
            ledger.limit("t", limit)
        page = web.get(f"{base}/publish?method=marginals&epsilon=1").text
        assert "The budget of t allows it" not in page
        assert "another unit (job)" in page
    with pytest.raises(sf.ParameterError, match="another unit"):
        ledger.reserve("t", mechanism.claim(schema), mechanism)


def test_whether_a_release_fits_is_not_said_across_relations(web, tmp_path):
    base, _, ledger, schema = described(web, tmp_path)
    ledger.limit("t", 3)
    mechanism = sf.Marginals(1)
    ledger.reserve("t", replace(mechanism.claim(schema), neighbours=Neighbours.ONE_ORIGIN), mechanism)
    assert ledger.refusal("t", sf.Marginals(2).claim(schema)) is not None
    web.post(f"{base}/policy", data={"k": "5", "epsilon": "2"}, headers=HOME)
    words = web.get(f"{base}/policy.json").json()["budget"]["words"]
    assert words.startswith("epsilon 2 of 3 is left")
    assert "fits" not in words


def test_what_was_never_saved_is_not_called_published(web, tmp_path):
    base, folder, ledger, schema = described(web, tmp_path)
    claim = sf.NoisyTable(1).claim(schema)
    account = ledger.reserve("t", claim, "noisy-table")
    account.spend(claim)
    place = folder / "releases" / "release-1"
    ledger.record_saved(account.entry, place, partial=place)

    def state():
        return web.get(f"{base}/again.json").json()["entries"][0]["state"]

    assert "not confirmed" in state()
    ledger.record_unsaved(account.entry, note="the disk failed")
    assert "never saved: the disk failed" in state()
    ledger.record_saved(account.entry, place)  # it was found after all
    assert state() == "published"
    assert not ledger.entries()[0].unsaved


def test_a_rehearsal_is_not_called_published(web, tmp_path):
    base, folder, ledger, schema = described(web, tmp_path)
    claim = replace(sf.NoisyTable(1).claim(schema), rehearsal=True)
    account = ledger.reserve("t", claim, "noisy-table")
    account.spend(claim)
    ledger.record_saved(account.entry, folder / "releases" / "tried")
    assert "rehearsal" in web.get(f"{base}/again.json").json()["entries"][0]["state"]


def test_releases_of_the_same_people_from_elsewhere_are_told(web, tmp_path):
    base, _, ledger, schema = described(web, tmp_path)
    address = f"{base}/publish?method=marginals&epsilon=1"
    assert "the ledger knows" not in web.get(address).text
    claim = sf.NoisyTable(1).claim(schema)
    ledger.reserve("t", claim, "noisy-table").spend(claim)
    assert "the ledger knows 1 release of the same people" in web.get(address).text


def test_a_ledger_that_cannot_be_read_is_not_an_empty_one(web, tmp_path):
    """The page said that nothing was published yet and that no limit is set."""
    base, _, ledger, schema = described(web, tmp_path)
    ledger.limit("t", 2)
    claim = sf.NoisyTable(1).claim(schema)
    ledger.reserve("t", claim, "noisy-table").spend(claim)
    file = tmp_path / "space" / "ledger.db"
    file.write_bytes(file.read_bytes().replace(b"noisy-table", b"noisy-tablf"))
    page = web.get(f"{base}/again").text
    assert "No limit is set" not in page
    assert "Nothing yet" not in page
    assert "is damaged" in page
    assert "No limit is set" not in web.get(f"{base}/policy").text
    published = web.get(f"{base}/publish?method=mondrian&k=2").text
    assert "other releases of the same people are not known" in published


def test_delta_that_was_spent_is_shown(web, tmp_path):
    base, _, ledger, schema = described(web, tmp_path)
    claim = replace(sf.NoisyTable(1).claim(schema), promise=sf.ApproxDP(1, delta="1/1000"))
    ledger.reserve("t", claim, "noisy-table").spend(claim)
    again = web.get(f"{base}/again.json").json()
    assert again["budget"]["spent"] == "1 (delta 0.001)"
    assert again["entries"][0]["delta"] == "1/1000"
    ledger.limit("t", 2, "1/100")
    assert "delta 0.009 of 0.01" in web.get(f"{base}/again.json").json()["budget"]["words"]


FLOWS = "work,home,n\n" + "".join(f"A,{'AB'[at % 2]},{at % 3 + 1}\n" for at in range(20))


@pytest.fixture
def commuting(web, tmp_path):
    """A project with flows and places; `jobs` is its population."""
    answer = web.put("/upload", params={"name": "jobs.csv"}, content=FLOWS.encode(), headers=HOME)
    base = answer.json()["next"].rpartition("/")[0]
    asked(web, f"{base}/file", lambda data: data["look"] is not None)
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    (folder / "geography.csv").write_text("block,lat,lon\nA,1,1\nB,2,2\n")
    return base, folder


def test_a_draw_of_homes_is_on_the_account_whose_limit_is_set(web, commuting, tmp_path, monkeypatch):
    base, folder = commuting
    started = []
    monkeypatch.setattr("sfumato.web.released.started_once", lambda *given, **_: started.append(given[2]()))
    form = {"epsilon": "4.6", "delta": "1e-5", "confirm": "yes", "name": "release-1"}
    web.post(f"{base}/ledger", data={"epsilon": "0.5", "delta": "0.1"}, headers=HOME)
    answer = web.post(f"{base}/map", data=form, headers=HOME)
    assert "wrong=" in answer.headers["location"]
    assert started == []
    web.post(f"{base}/ledger", data={"epsilon": "5", "delta": "0.1"}, headers=HOME)
    web.post(f"{base}/map", data=form, headers=HOME)
    (words,) = started
    (limited,) = sf.Ledger(tmp_path / "space" / "ledger.db").populations()
    assert words[words.index("--population") + 1] == limited
    assert not (folder / "runs").exists()
    assert "tried together with" not in web.get(f"{base}/again").text


def test_a_proved_claim_of_a_map_is_not_said_to_hold(web, commuting):
    base, folder = commuting
    geography = sf.commuting.Geography.read(folder / "geography.csv")
    flows = sf.commuting.read_flows(next((folder / "data").iterdir()), geography, count="n")
    sf.publish(flows.table, sf.Synthesize(5, "1/1000"), save_to=folder / "releases" / "m", allow_unaccounted=True)
    page = web.get(f"{base}/map").text
    assert "no file can show it" in page
    assert "The claim holds" not in page


def test_a_release_that_was_saved_is_not_said_to_be_missing(web, tmp_path):
    """The page of it could not be written, and Publish said that nothing was published."""
    base, folder, ledger, schema = described(web, tmp_path)
    run = run_that_ended(
        folder, 2, {"ok": False, "error": "OSError", "message": "unexpected error", "hint": "report it"}
    )
    (run.folder / "run.json").write_text(json.dumps({**run.about, "release": "release-1"}))
    assert "Nothing was published." in web.get(f"{base}/publish").text
    table = sf.read(folder / "data" / "t.csv", schema)
    sf.publish(table, sf.NoisyTable(1), ledger=ledger, save_to=folder / "releases" / "release-1", allow_noise=True)
    page = web.get(f"{base}/publish").text
    assert "Nothing was published." not in page
    assert "release-1 is saved." in page
    assert "counts epsilon 1 as spent" in page


def test_a_hidden_release_is_no_release_and_can_be_finished(web, tmp_path):
    base, folder, ledger, schema = described(web, tmp_path)
    run = run_that_ended(folder, -9, {})
    (run.folder / "out.json").unlink()
    (run.folder / "run.json").write_text(json.dumps({**run.about, "release": "release-1"}))
    place = folder / "releases" / "release-1"
    table = sf.read(folder / "data" / "t.csv", schema)
    sf.publish(table, sf.NoisyTable(1), ledger=ledger, save_to=place, allow_noise=True)
    hidden = place.rename(place.parent / ".release-1.partial-4711-0123456789ab")
    data = web.get(f"{base}/publish.json").json()
    assert data["releases"] == []
    assert data["free"] == "release-2"
    assert web.get(f"{base}/again.json").json()["releases"] == []
    page = web.get(f"{base}/publish").text
    assert f"sfumato finish releases/{hidden.name} --ledger ../../ledger.db" in page
    assert "counts epsilon 1 as spent" in page
    assert "Nothing half-written" not in page
