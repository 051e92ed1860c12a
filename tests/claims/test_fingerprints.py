"""Issue 12, item 7: columns that are published unchanged can be a fingerprint, and that is counted, said and asked."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli.main import app
from sfumato.schema.fingerprints import Fingerprints, lonely_rows

TOML = """
name = "staff"
[attribute.age]
source = "public"
role = "quasi"
kind = "numeric"
range = [20, 70]
[attribute.grade]
source = "public"
role = "sensitive"
kind = "ordered"
values = ["g1", "g2", "g3"]
[attribute.title]
source = "public"
role = "target"
kind = "nominal"
values = [{titles}]
[attribute.salary]
source = "public"
role = "sensitive"
kind = "numeric"
range = [0, 1000]
""".format(titles=", ".join(f'"t{at}"' for at in range(30)))


def staff(tmp_path, rows: int = 200, salaries: int = 1000):
    (tmp_path / "s.toml").write_text(TOML)
    rng = np.random.default_rng(2)
    lines = [
        f"{rng.integers(20, 70)},g{rng.integers(1, 4)},t{rng.integers(0, 30)},{rng.integers(0, salaries)}"
        for _ in range(rows)
    ]
    (tmp_path / "d.csv").write_text("\n".join(["age,grade,title,salary", *lines]) + "\n")
    schema = sf.Schema.load(tmp_path / "s.toml")
    return sf.read(tmp_path / "d.csv", schema), lines


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(1, 3)), max_size=30))
def test_equals_a_count_by_hand(lines):
    codes = np.array([line[:2] for line in lines], np.int64).reshape(-1, 2)
    weights = np.array([line[2] for line in lines], np.int64)
    by_hand = Counter()
    for one, weight in zip(codes.tolist(), weights.tolist(), strict=True):
        by_hand[tuple(one)] += weight
    assert lonely_rows(codes, weights) == sum(many == 1 for many in by_hand.values())


def test_the_release_the_file_and_a_count_by_hand_agree(tmp_path):
    table, lines = staff(tmp_path)
    for at, mechanism in enumerate((sf.Mondrian(sf.KAnonymity(10)), sf.TopDown(10), sf.Bucketize(sf.LDiversity(2)))):
        release = sf.publish(table, mechanism)
        found = release.fingerprints()
        carried = Counter(line.split(",", 1)[1] for line in lines)
        assert found.alone == sum(many == 1 for many in carried.values())
        release.save(tmp_path / str(at), allow_fingerprints=True)
        verdict = sf.verify(tmp_path / str(at))
        assert verdict.holds
        assert verdict.fingerprints == found
        assert sf.Release.load(tmp_path / str(at)).fingerprints() == found
        if release.form == "buckets":
            ages = Counter(line.split(",", 1)[0] for line in lines)
            assert (found.alone_on_all, found.alone_on_exact) == (None, sum(many == 1 for many in ages.values()))
        else:
            rows = Counter(release.frame().rows())
            assert found.alone_on_all == sum(many == 1 for many in rows.values())
            assert found.alone_on_all >= found.alone


@pytest.mark.parametrize("mechanism", [sf.Mondrian(sf.KAnonymity(10)), sf.Suppress(), sf.Bucketize(sf.LDiversity(2))])
def test_saving_needs_a_yes_above_the_share(tmp_path, mechanism):
    table, _ = staff(tmp_path)
    release = sf.publish(table, mechanism)
    assert release.fingerprints().above
    with pytest.raises(sf.ReleaseError, match="published unchanged") as caught:
        release.save(tmp_path / "out")
    assert "grade, title and salary" in str(caught.value) or "grade, salary and title" in str(caught.value)
    assert not (tmp_path / "out").exists()
    alone = release.fingerprints().alone
    assert any(f"{alone} of 200 rows" in silence for silence in release.claim.silent_on)
    release.save(tmp_path / "out", allow_fingerprints=True)
    assert "published unchanged" in str(sf.verify(tmp_path / "out"))


def test_a_table_without_fingerprints_asks_nothing(tmp_path):
    table, _ = staff(tmp_path)
    plain = table.with_roles(quasi="age", sensitive="grade", target=[])
    release = sf.publish(plain, sf.Mondrian(sf.KAnonymity(10)))
    assert release.fingerprints().alone == 0
    release.save(tmp_path / "out")
    assert not any("unchanged" in silence for silence in release.claim.silent_on)
    assert Fingerprints(100, unchanged=("a",), alone=5, alone_on_all=5).above is False
    assert Fingerprints(100, unchanged=("a",), alone=6, alone_on_all=6).above is True


def test_a_draw_is_never_refused_for_what_was_drawn(tmp_path):
    """No veto after the draw, and nothing of the data in the claim: a warning on the drawn rows is all there is."""
    table, _ = staff(tmp_path)
    small = table.with_roles(quasi="age", target="title")
    mechanism = sf.DiffGen(1, specializations=2)
    release = sf.publish(small, mechanism)
    assert release.fingerprints().above is False
    release.save(tmp_path / "out")
    assert release.claim.silent_on == mechanism.claim(small.schema).silent_on
    assert sf.verify(tmp_path / "out").fingerprints.drawn is True


def test_the_commands_say_it_and_ask(tmp_path):
    staff(tmp_path)
    run, files = CliRunner().invoke, [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]
    told = run(app, ["check", *files])
    assert "Warning: " in told.output
    assert "are alone with" in told.output
    assert json.loads(run(app, ["check", *files, "--json"]).output)["fingerprints"]["above"] is True
    out = str(tmp_path / "out")
    refused = run(app, ["publish", "mondrian", *files, "--k", "10", "-o", out])
    assert isinstance(refused.exception, sf.ReleaseError)
    assert "--allow-fingerprints" in str(refused.exception)
    done = run(app, ["publish", "mondrian", *files, "--k", "10", "-o", out, "--allow-fingerprints"])
    assert done.exit_code == 0, done.output
    assert "are alone with" in done.output
    assert "are alone with" in run(app, ["verify", out]).output


def test_the_reports_say_it(tmp_path):
    table, _ = staff(tmp_path)
    front = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(10)), sf.Suppress()], workers=0, progress=False)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(10)))
    said = release.fingerprints().describe()
    for ending in ("html", "md"):
        assert said in sf.report(front, tmp_path / f"steward.{ending}").read_text("utf-8")
        public = sf.report(front, tmp_path / f"public.{ending}", audience="public", release=release)
        assert said in public.read_text("utf-8")
