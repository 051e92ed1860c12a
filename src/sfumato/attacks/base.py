"""What every attack returns: a rate on the victims, beside a control, a baseline and an interval."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Estimate", "Rated"]


@runtime_checkable
class Rated(Protocol):
    """Anything with a rate and its interval."""

    @property
    def rate(self) -> float:
        """Share of successes."""
        ...

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate."""
        ...


@runtime_checkable
class Estimate(Protocol):
    """How well an attack did. Computed against the original, it is a statistic of the original: confidential."""

    @property
    def rate(self) -> float:
        """Share of the victims on whom the attack succeeds."""
        ...

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate."""
        ...

    @property
    def control(self) -> Rated | None:
        """The same attack on people it should not work on; None where none were given."""
        ...

    @property
    def baseline(self) -> Rated | None:
        """What guessing without the attack gives."""
        ...

    @property
    def records(self) -> Any:
        """What the attack says of each victim."""
        ...

    @property
    def confidential(self) -> bool:
        """True: it belongs in the steward's report only."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping without records."""
        ...

    def describe(self) -> str:
        """Say in plain words what was found."""
        ...
