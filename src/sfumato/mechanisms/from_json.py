"""The mechanism that a release says it was made by, made again: for rehearsals and shadow releases.

Source    Ours.
Claim     `mechanism_of(m.to_json()) == m` for every mechanism of ours; what cannot be made again is refused.
Because   a mechanism is its parameters, and a release carries them.
Checked   tests/claims/test_attack_suite.py::test_every_mechanism_can_be_made_again
          tests/claims/test_attack_suite.py::test_a_mechanism_nobody_knows_is_refused
Silent on inputs that a release does not hold, such as a population given beside the table: those are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.claims import requirement_from_json
from sfumato.errors import ParameterError, SfumatoError
from sfumato.mechanisms import REGISTRY as MECHANISMS, Mechanism


def mechanism_of(described: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism that a release says it was made by.

    >>> import sfumato as sf
    >>> mechanism_of(sf.Anatomy(4).to_json())
    Anatomy(l=4)
    """
    name = described.get("name", "nothing")
    if name not in MECHANISMS:
        hint = f"give a control instead; known are {', '.join(MECHANISMS)}"
        raise ParameterError("mechanism", name, "cannot be run again", hint=hint)
    try:
        again: Mechanism = _made_again(MECHANISMS[name], described)
    except (SfumatoError, TypeError, KeyError) as error:
        hint = "give a control instead, or pass the mechanism in Python"
        raise ParameterError("mechanism", name, "cannot be made again from what the release says", hint=hint) from error
    return again


def _made_again(kind: Any, described: Mapping[str, Any]) -> Mechanism:
    """Fill the fields of a mechanism; one that holds another, or a promise of its own, has it described inside."""
    fields = {key: value for key, value in described.items() if key != "name"}
    inner = fields.pop("linkability", {})
    if inner.get("population", "the table itself") != "the table itself":
        raise KeyError("population")
    fields |= {key: value for key, value in inner.items() if key not in ("kind", "population")}
    if isinstance(fields.get("requirement"), Mapping):
        fields["requirement"] = requirement_from_json(fields["requirement"])
    if isinstance(fields.get("base"), Mapping):
        fields["base"] = mechanism_of(fields["base"])
    found: Mechanism = kind(**fields)
    return found
