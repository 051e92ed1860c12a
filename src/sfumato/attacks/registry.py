"""Every attack by name, those of installed packages included. A new attack is one line here."""

from __future__ import annotations

from sfumato.registry import Registry

__all__ = ["REGISTRY"]

REGISTRY = Registry(
    "sfumato.attacks",
    {
        "identity": "sfumato.attacks.identity:Identity",
        "inference": "sfumato.attacks.inference:Inference",
        "composition": "sfumato.attacks.composing.attack:Intersection",
        "membership": "sfumato.attacks.membership:Membership",
    },
)
