"""Made-up files of a clinic."""

from __future__ import annotations

from sfumato.datasets.clinic import patients_text, visits_text


def test_the_same_seed_gives_the_same_text():
    assert patients_text(50, 1) == patients_text(50, 1) != patients_text(50, 2)
    assert visits_text(50, 1) == visits_text(50, 1) != visits_text(50, 2)


def test_visits_are_messy():
    lines = visits_text().splitlines()
    people = [line.split(";")[1] for line in lines[1:]]
    assert len(set(people)) == 700 < len(people)
    assert "unbekannt" in "".join(lines)
    assert all(line.count(";") == 8 for line in lines)
