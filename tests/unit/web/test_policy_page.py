"""Policy: what a budget buys before it is spent, what is still missing for it, and how much of the limit is left."""

from __future__ import annotations

import pytest
from tests.unit.web.served import HOME, PUBLIC, asked, client, uploaded

import sfumato as sf


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    return client(tmp_path_factory.mktemp("space"))


def test_what_is_missing_is_said_once_with_where_to_say_it(web):
    base = uploaded(web)
    web.post(f"{base}/policy", data={"k": "5", "epsilon": "1"}, headers=HOME)
    data = web.get(f"{base}/policy.json").json()
    assert data["plans"] == {"ok": True, "methods": []}
    assert len(set(data["needs"]["public"])) == len(data["needs"]["public"]) > 0
    page = web.get(f"{base}/policy").text
    for name in data["needs"]["public"]:
        assert page.count(f"{base}/column/{name}") == 1
    assert "source =" not in page
    assert (
        f"What epsilon 1 buys cannot be worked out yet. {', '.join(data['needs']['public'])} have no publicly" in page
    )
    assert "These figures follow" not in page


def test_what_a_budget_buys_is_told_before_it_is_spent(web):
    base = uploaded(web, "public")
    assert web.post(f"{base}/schema", data={"toml": PUBLIC}, headers=HOME).status_code == 303
    web.post(f"{base}/policy", data={"k": "5", "epsilon": "1"}, headers=HOME)
    data = asked(web, f"{base}/policy", lambda data: data["plans"] is not None)
    assert data["needs"] == {"public": [], "rows": [], "population": []}
    stated = {one["name"]: one["buys"] for one in data["plans"]["methods"]}
    assert stated["Noisy table"].startswith("A count of ")
    assert not data["budget"]["limited"]
    web.post(f"{base}/ledger", data={"epsilon": "4"}, headers=HOME)
    budget = web.get(f"{base}/policy.json").json()["budget"]
    assert (budget["words"], budget["used"], budget["planned"]) == ("epsilon 4 of 4 is left; 1 is planned", 0.0, 100.0)
    web.post(f"{base}/policy", data={"k": "5", "epsilon": "5"}, headers=HOME)
    budget = web.get(f"{base}/policy.json").json()["budget"]
    assert (budget["fits"], budget["words"]) == (False, "epsilon 4 of 4 is left; 5 is more than that")
    assert "epsilon 4 of 4 is left" in web.get(f"{base}/again").text


def test_no_method_is_an_empty_heading_and_none_speaks_of_flags(web, monkeypatch):
    """Marginals and DiffGen were headings alone, and the noisy table asked for `allow_noise=True (--allow-noise)`."""
    base = uploaded(web, "flags")
    assert web.post(f"{base}/schema", data={"toml": PUBLIC}, headers=HOME).status_code == 303
    web.post(f"{base}/policy", data={"k": "5", "epsilon": "1"}, headers=HOME)
    nothing = {"stages": [{"does": "counts pairs", "budget": "1", "expected_error": ""}], "notes": [], "buys": ""}
    noise = "mostly noise. Hint: allow_noise=True (--allow-noise) publishes it anyway."
    made = [
        {"name": "Marginals", "plain": "", "refused": "", "forecast": "", **nothing},
        {"name": "Noisy table", "plain": "", "refused": noise, "forecast": "", **nothing},
        {"name": "DiffGen", "plain": "", "refused": "", **nothing, "forecast": "Tables are off by 3 %."},
    ]
    monkeypatch.setattr("sfumato.web.choosing.Choosing.plans", lambda *_: {"ok": True, "methods": made})
    page = web.get(f"{base}/policy").text
    first, second, third = (part.partition("</div>")[0] for part in page.split('<div class="plan">')[1:])
    assert "is not forecast" in first
    assert "<details open>" in first
    assert "--allow" not in second
    assert "a tick on Publish publishes it anyway" in second
    assert "Tables are off by 3 %." in third


def test_a_household_is_said_by_a_button(web):
    rows = ["person_id,household_id,age", *(f"P{at},H{at // 3},{20 + at % 50}" for at in range(90))]
    answer = web.put("/upload", params={"name": "homes.csv"}, content="\n".join(rows).encode(), headers=HOME)
    base = answer.json()["next"].rpartition("/")[0]
    asked(web, f"{base}/person", lambda data: data["ready"])
    button = f'<form method="post" action="{base}/not-person"><input type="hidden" name="column" value="household_id">'
    assert button in web.get(f"{base}/person").text
    assert web.post(f"{base}/not-person", data={"column": "household_id"}, headers=HOME).status_code == 303
    assert web.get(f"{base}/person.json").json()["not_person"] == ["household_id"]
    page = web.get(f"{base}/person").text
    assert button not in page
    assert "Declared: a household or another group" in page
    wrong = web.post(f"{base}/not-person", data={"column": "nobody"}, headers=HOME)
    assert "wrong=" in wrong.headers["location"]


def test_the_first_comparison_tries_marginals_where_the_description_allows_it(web):
    base = uploaded(web, "first")
    shown = web.get(f"{base}/compare.json").json()["command"]
    assert "--preset standard --at-least" in shown
    assert web.post(f"{base}/schema", data={"toml": PUBLIC}, headers=HOME).status_code == 303
    data = asked(web, f"{base}/compare", lambda data: data["estimate"] is not None)
    assert "--preset standard --preset marginals" in data["command"]
    assert data["estimate"]["releases"]["standard"] == len(sf.sweep("standard", "marginals"))
    assert any(isinstance(one, sf.Marginals) for one in sf.sweep("standard", "marginals"))
