"""Made-up files of a clinic, for samples: tidy patients, and visits as they come out of a hospital's system.

Source    own generator.
Claim     the same seed gives the same text; nobody in it exists.
Because   one counter-based stream and fixed lists.
Checked   tests/unit/datasets/test_clinic_data.py::test_the_same_seed_gives_the_same_text
Silent on any real hospital. Test data: no mechanism may draw this way.
"""

from __future__ import annotations

import datetime as dt

import numpy as np

_TOWNS = ("Arnhem", "Breda", "Delft", "Gouda", "Leiden", "Zwolle")
_ILLS = ("asthma", "bronchitis", "diabetes", "flu", "fracture", "gastritis", "heart failure", "migraine")
_WARDS = ("Innere", "Chirurgie", "Augen", "Geburtshilfe")


def patients_text(rows: int = 1200, seed: int = 5) -> str:
    """Return a CSV file of patients, one row each."""
    rng = np.random.Generator(np.random.Philox(seed))
    lines = ["patient_id,age,sex,town,insurance,diagnosis"]
    ages = np.clip(rng.normal(54, 18, rows), 18, 94).astype(int)
    towns = rng.choice(len(_TOWNS), rows, p=[0.28, 0.16, 0.1, 0.1, 0.2, 0.16])
    for at in range(rows):
        ill = _ILLS[(int(ages[at]) // 15 + int(rng.integers(0, 4))) % len(_ILLS)]
        sex, plan = (
            ("female", "male")[int(rng.integers(2))],
            ("basic", "plus", "none")[int(rng.choice(3, p=[0.6, 0.3, 0.1]))],
        )
        lines.append(f"P{10000 + at},{ages[at]},{sex},{_TOWNS[towns[at]]},{plan},{ill}")
    return "\n".join(lines) + "\n"


def visits_text(people: int = 700, seed: int = 9) -> str:
    """Return a CSV file of visits: several rows a person, German dates and amounts, words for no value."""
    rng = np.random.Generator(np.random.Philox(seed))
    lines = ["Fallnummer;MRN;Geburtsdatum;Geschlecht;PLZ;Aufnahme;Station;Kosten;Diagnose"]
    case = 0
    for person in range(people):
        born = dt.date(1930, 1, 1) + dt.timedelta(days=int(rng.integers(0, 28_000)))
        sex = ("m", "w", "W", "k.A.")[int(rng.choice(4, p=[0.45, 0.4, 0.13, 0.02]))]
        code = f"{int(rng.choice([1067, 1069, 4103, 4109, 9111])):05d}"
        for _ in range(1 + int(rng.poisson(0.9))):
            case += 1
            day = dt.date(2023, 1, 1) + dt.timedelta(days=int(rng.integers(0, 730)))
            cost = f"{int(rng.lognormal(7.4, 0.7)):,}".replace(",", ".") + f",{int(rng.integers(100)):02d}"
            ill = _ILLS[int(rng.integers(len(_ILLS)))] if rng.random() > 0.03 else "unbekannt"
            ward = _WARDS[int(rng.integers(len(_WARDS)))]
            cells = (
                f"F{case:05d}",
                f"M{20000 + person}",
                f"{born:%d.%m.%Y}",
                sex,
                code,
                f"{day:%d.%m.%Y}",
                ward,
                cost,
                ill,
            )
            lines.append(";".join(cells))
    return "\n".join(lines) + "\n"
