"""What is said of releases that have no recoding, and of tables that others made, is true of them."""

from __future__ import annotations

import pytest

import sfumato as sf


def test_a_release_without_a_recoding_is_not_said_to_have_lost_it(clinic):
    with pytest.raises(sf.ParameterError, match="a release by suppress has no recoding"):
        sf.apply(sf.publish(clinic, sf.Suppress()), clinic)


def test_a_table_of_others_is_not_called_the_original(clinic):
    release = sf.Release.read(sf.publish(clinic, sf.Suppress()).frame(), clinic.schema)
    assert "this is the original table." not in sf.explain(release)
    assert "a table without a stated promise" in sf.explain(release)
