"""A release that the ledger does not allow is refused at once, and the page says so before and after."""

from __future__ import annotations

import json

import pytest
from tests.unit.web.served import HOME, PUBLIC, client, uploaded

import sfumato as sf
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
