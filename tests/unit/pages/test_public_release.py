"""The public page shows a release only as far as the saved folder would."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import sfumato as sf


@pytest.fixture(scope="module")
def front(clinic):
    return sf.frontier(clinic, [sf.Mondrian(sf.KAnonymity(10))])


def page_of(front, release, folder):
    return json.loads(sf.report(front, folder / "public.json", audience="public", release=release).read_text("utf-8"))


def test_what_may_not_be_saved_is_on_no_public_page(front, clinic, tmp_path):
    with pytest.raises(sf.ReleaseError, match="promises nothing"):
        sf.report(front, tmp_path / "public.html", audience="public", release=sf.publish(clinic, sf.Raw()))
    assert not (tmp_path / "public.html").exists()


def test_a_rehearsal_says_so(front, clinic, tmp_path):
    answer = page_of(front, sf.publish(clinic, sf.Anatomy(2), seed=1), tmp_path)
    assert any("rehearsal" in line for line in answer["release"]["claim"])


def test_rows_left_out_are_stated_only_where_the_manifest_tells_them(front, clinic, tmp_path):
    noisy = page_of(front, sf.publish(clinic, sf.NoisyTable(1)), tmp_path)["release"]["summary"]
    assert "suppressed" not in noisy
    linked = sf.publish(clinic, sf.DLink(sf.Mondrian(sf.KAnonymity(5)), d=2, alpha="0.5"))
    assert page_of(front, replace(linked, left_out=37), tmp_path)["release"]["summary"]["suppressed"] == "0"
