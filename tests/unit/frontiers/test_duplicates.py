"""Parameters that give the same release are named together; others are not."""

from __future__ import annotations

from dataclasses import replace

import sfumato as sf
from sfumato.frontiers import name_together, side_by_side


def test_the_same_release_under_two_parameters_is_one(clinic):
    points = sf.sweep(sf.sweep(sf.Mondrian, k=[5, 400, 500]), sf.Suppress(), sf.DiffGen(1))
    front = sf.frontier(clinic, points, workers=0, repeats=1, progress=False)
    groups = side_by_side(front.points)
    assert [name_together(group) for group in groups] == [
        "Mondrian k-anonymity(5)",
        "Mondrian k-anonymity(400), k-anonymity(500)",
        "Suppress",
        "DiffGen epsilon=1",
    ]
    frames = [sf.publish(clinic, point.mechanism).frame() for point in groups[1]]
    assert frames[0].equals(frames[1])


def test_what_is_not_known_to_be_the_same_stays_apart(clinic):
    one = sf.frontier(clinic, [sf.DiffGen(1)], workers=0, repeats=1, progress=False).points[0]
    assert one.published == ""  # it is drawn: the next one is another release
    exact = replace(one, published="a", mechanism=sf.Mondrian(sf.KAnonymity(5)))
    apart = [exact, replace(exact, number=2, mechanism=sf.Suppress()), replace(exact, number=3, published="b")]
    unknown = [replace(exact, number=4, published=""), replace(exact, number=5, published="")]
    failed = [replace(exact, number=6, failed="why")]
    assert [len(group) for group in side_by_side([*apart, *unknown, *failed])] == [1] * 6
