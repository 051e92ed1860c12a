"""The option `--against` and attacks are explained as methods are."""

from __future__ import annotations

import sfumato as sf


def test_the_option_against_is_explained() -> None:
    said = sf.explain("against")
    assert "Attack a new release together with earlier ones" in said
    assert "Silent on who truly is in the earlier releases" in said
    assert "against" in sf.explain().split()
    assert sf.explain("--against") == said


def test_every_attack_is_explained() -> None:
    """The names that `attack all` prints were not known."""
    listed = sf.explain().split()
    for name, attack in sf.attacks.REGISTRY.items():
        said = sf.explain(name)
        assert said.startswith(f"{name}: {(attack.__doc__ or '').splitlines()[0]}")
        assert "Silent on" in said
        assert name in listed
    assert "Wrong values that the attacker rules out." in sf.explain("ruled-out")
