"""Points that are one and the same release: other parameters of a method, the same published table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from sfumato.frontier.point import Point
from sfumato.release import Release, published_frames

__all__ = ["name_together", "published_digest", "side_by_side"]


def published_digest(release: Release) -> str:
    """Return a hash of the published tables; nothing for a release that was drawn, which comes out otherwise anew."""
    if release.claim.rehearsal:
        return ""
    said = hashlib.sha256()
    for name, table in published_frames(release).items():
        said.update(f"{name}\n{table.distinct.write_csv()}".encode())
        said.update(table.times.tobytes())
    return said.hexdigest()[:32]


def side_by_side(points: Iterable[Point]) -> tuple[tuple[Point, ...], ...]:
    """Return the points in their order, those of one method that are the same release together."""
    found: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        alone = not point.published or bool(point.failed)
        key = (str(point.number),) if alone else (point.family, point.published)
        found.setdefault(key, []).append(point)
    return tuple(tuple(together) for together in found.values())


def name_together(points: tuple[Point, ...]) -> str:
    """Return one name for points that are the same release: `Mondrian k-anonymity(200), k-anonymity(1000)`."""
    first, *rest = points
    method = f"{type(first.mechanism).__name__} "
    return ", ".join([first.label, *(point.label.removeprefix(method) for point in rest)])
