"""The page of attacks: limits of the policy are judged, rates stand beside a baseline, a rehearsal is named."""

from __future__ import annotations

import json

import polars as pl
import pytest
from tests.unit.web.served import HOME, PUBLIC, client, uploaded

import sfumato as sf
from sfumato.attacks.base import percent
from sfumato.web.policies import basis_of, judged_by_attacks
from sfumato.web.workspace import Project


@pytest.fixture(scope="module")
def suite():
    table = sf.datasets.census(300)
    method = sf.Mondrian(sf.KAnonymity(3))
    return sf.attacks.attack_all(sf.publish(table, method), table, again=method, attacks=["inference", "membership"])


def test_a_limit_is_kept_broken_or_not_measured(suite):
    answer = suite.to_json()
    gain = suite["inference"].value
    assert gain > 0.01  # else nothing could be broken below
    policy = {
        "k": 5,
        "limits": {"inference": "0.01", "membership": "1", "identity": "0.09"},
        "answers": ["a within 9 %"],
    }
    lines = judged_by_attacks(policy, answer)
    assert [one["state"] for one in lines] == ["broken", "kept", "not measured"]
    assert lines[0]["found"] == f"{gain:.3g} by inference"
    assert lines[0]["line"] == "gain in guessing a private value at most 0.01"
    (kept,) = judged_by_attacks({"limits": {"inference": str(round(gain + 0.001, 4))}}, answer)
    assert kept["state"] == "kept"
    assert f"may be as large as {suite['inference'].interval[1]:.3g}" in kept["found"]
    uncontrolled = {"attacks": [{**one, "gain": None, "interval": None} for one in answer["attacks"]]}
    assert [one["state"] for one in judged_by_attacks(policy, uncontrolled)] == ["not measured"] * 3


def test_a_rate_stands_beside_the_most_frequent_value(suite):
    """71 % right looked like a gain, and always saying no was right for 80 %."""
    table = sf.datasets.census(300)
    targets, _ = sf.holdout(table, seed=0)
    counts = targets.counts(["occupation"]).weights
    found = suite["inference"]
    assert found.attribute == "occupation"
    assert found.frequent.rate == pytest.approx(counts.max() / counts.sum())
    assert found.beside == f"Always saying the most frequent occupation is right for {percent(found.frequent.rate)}."
    assert f"{found.sentence} {found.beside}" in suite.describe()
    assert "Measured on a rehearsal with half of the table" in suite.describe()


@pytest.fixture
def project(tmp_path):
    """The app, the address and the folder of a project with one release."""
    web = client(tmp_path / "space")
    base = uploaded(web)
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    release = sf.publish(sf.datasets.census(300), sf.Mondrian(sf.KAnonymity(3)))
    release.save(folder / "releases" / "one", allow_fingerprints=True, allow_text=True)
    return web, base, folder


def ran(folder, kind, answer, **about):
    """Write a run of the release that has ended with an answer."""
    run = folder / "runs" / f"{kind}-1"
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"kind": kind, "words": ["sfumato", kind], "release": "one", **about}))
    (run / "out.json").write_text(json.dumps(answer))
    (run / "code").write_text("0")


def test_the_page_says_all_of_it(suite, project):
    web, base, folder = project
    ran(folder, "attack", {"ok": True, **suite.to_json()})
    assert "Your policy limits no gain of an attacker" in web.get(f"{base}/attacks/one").text
    web.post(f"{base}/policy", data={"k": "5", "inference": "0.01", "identity": "0.09"}, headers=HOME)
    page = web.get(f"{base}/attacks/one").text
    assert (
        f"Broken: gain in guessing a private value at most 0.01 ({suite['inference'].value:.3g} by inference)" in page
    )
    assert "Not measured by these attacks: chance of finding" in page
    assert "Always saying the most frequent occupation is right for" in page
    assert page.count("Measured on a rehearsal with half of the table, not on the rows of one.") == 2
    assert [one["state"] for one in web.get(f"{base}/attacks/one.json").json()["lines"]] == ["broken", "not measured"]


def test_the_chance_in_the_release_itself_stands_beside_the_rehearsal(suite, project):
    """Half of the table makes other classes: the release showed 5 % where the rehearsal had said 1.7 %."""
    web, base, folder = project
    assert 'id="itself"' not in web.get(f"{base}/attacks/one").text
    ran(folder, "attack", {"ok": True, **suite.to_json()})
    release = sf.Release.load(folder / "releases" / "one")
    (data,) = (folder / "releases" / "one").glob("data.*")
    rows = pl.read_parquet(data) if data.suffix == ".parquet" else pl.read_csv(data, infer_schema=False)
    quasi = [attribute.name for attribute in release.quasi]
    sizes = rows.filter(~pl.all_horizontal(pl.col(quasi).cast(pl.String) == "*")).group_by(quasi).len()["len"]
    itself = web.get(f"{base}/attacks/one.json").json()["itself"]
    assert itself["mean"] == percent(len(sizes) / sizes.sum())
    assert itself["highest"] == percent(1 / sizes.min())
    page = web.get(f"{base}/attacks/one").text
    assert f"with a chance of {itself['mean']} on average, and of {itself['highest']} in the smallest class" in page
    assert "figures of the rehearsal can be lower than those of one" in page


def test_nothing_is_judged_once_the_description_was_changed(suite, project, tmp_path):
    web, base, folder = project
    web.post(f"{base}/policy", data={"k": "5", "inference": "0.01"}, headers=HOME)
    basis = basis_of(Project(folder, ledger=tmp_path / "l.db"))
    ran(folder, "publish", {"ok": True}, basis=basis)
    ran(folder, "attack", {"ok": True, **suite.to_json()}, basis=basis)

    def seen():
        data = web.get(f"{base}/attacks/one.json").json()
        return len(data["changed"]), len(data["lines"])

    assert seen() == (0, 1)
    web.post(f"{base}/schema", data={"toml": PUBLIC}, headers=HOME)
    assert seen() == (2, 0)
    assert "was changed after one was published" in web.get(f"{base}/attacks/one").text
