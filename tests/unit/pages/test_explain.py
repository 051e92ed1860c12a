"""The option `--against` is explained as methods are."""

from __future__ import annotations

import sfumato as sf


def test_the_option_against_is_explained() -> None:
    said = sf.explain("against")
    assert "Attack a new release together with earlier ones" in said
    assert "Silent on who truly is in the earlier releases" in said
    assert "against" in sf.explain().split()
    assert sf.explain("--against") == said
