"""Every attack by name, those of installed packages included. A new attack is one line here."""

from __future__ import annotations

from sfumato.registry import Registry

__all__ = ["REGISTRY"]

REGISTRY = Registry(
    "sfumato.attacks",
    {
        "identity": "sfumato.attacks.identity:Identity",
        "singling-out": "sfumato.attacks.singling_out:SinglingOut",
        "linkage": "sfumato.attacks.linkage:Linkage",
        "inference": "sfumato.attacks.inference:Inference",
        "skewness": "sfumato.attacks.inference:Skewness",
        "similarity": "sfumato.attacks.inference:Similarity",
        "ruled-out": "sfumato.attacks.inference:RuledOut",
        "learner": "sfumato.attacks.inference:Learner",
        "definetti": "sfumato.attacks.definetti:DeFinetti",
        "foreground": "sfumato.attacks.definetti:Foreground",
        "minimality": "sfumato.attacks.minimality:Minimality",
        "downcoding": "sfumato.attacks.downcoding:Downcoding",
        "downcoding-rows": "sfumato.attacks.downcoding:DowncodingRows",
        "composition": "sfumato.attacks.composing.composition:Intersection",
        "differencing": "sfumato.attacks.composing.differencing:Differencing",
        "membership": "sfumato.attacks.membership:Membership",
        "container": "sfumato.attacks.container:Container",
        "shadow": "sfumato.attacks.shadow:Shadow",
    },
)
