"""Three made-up tables as stewards have them, and the truth about the people in them.

The truth is kept beside each file as it is written: who a row is about and what its cells mean. Nothing of it
goes through the library, so that what a release says about people can be compared with it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

__all__ = ["TABLES", "Messy", "Row"]

MISSING = None


@dataclass(frozen=True)
class Row:
    """One row of the file: who it is about, and what its cells mean."""

    person: str
    cells: dict[str, Any]


@dataclass(frozen=True)
class Messy:
    """A file on disk, the schema a steward ends up with, and the truth."""

    name: str
    file: Path
    schema: str
    rows: tuple[Row, ...]
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    options: tuple[str, ...] = ()
    cap: int = 1  # rows of a person that the differentially private release keeps

    @property
    def people(self) -> set[str]:
        return {row.person for row in self.rows}

    @property
    def most_rows(self) -> int:
        held: dict[str, int] = {}
        for row in self.rows:
            held[row.person] = held.get(row.person, 0) + 1
        return max(held.values())


def _some(rng: random.Random, weighted: dict[str, int]) -> str:
    return rng.choices(list(weighted), list(weighted.values()))[0]


# -- a hospital's list of stays: up to seven rows a patient, padded keys, amounts in two spellings, blank lines

WARDS = {"Surgery": 30, "Cardiology": 25, "Maternity": 20, "Psychiatry": 15, "Oncology": 10}
CODES = ["I10", "I21.9", "E11.9", "J45", "F32.1", "C50.9", "O80", "K35.8", "S72.0", "N18.3", "B20", "Z51.1"]

HOSPITAL = """\
name = "stays"
population = "st-anna-hospital-2025"
person = "MRN"

[attribute.MRN]
role = "identifier"

[attribute.Name]
role = "other"

[attribute.Born]
role = "quasi"
kind = "date"
range = ["1930-01-01", "2026-01-01"]
dates = ["year", "decade"]
missing = ["", "unknown"]
source = "public"

[attribute.Sex]
role = "quasi"
values = ["F", "M"]
same = { F = ["f", "female"], M = ["m", "male"] }
missing = [""]
source = "public"

[attribute.ZIP]
role = "quasi"
kind = "nominal"
mask = { length = 5, from = "right" }
missing = ["", "n/a"]
source = "public"

[attribute.Admitted]
role = "other"

[attribute.Ward]
role = "target"
values = ["Surgery", "Cardiology", "Maternity", "Psychiatry", "Oncology"]
source = "public"

[attribute.Diagnosis]
role = "sensitive"
values = ["I10", "I21.9", "E11.9", "J45", "F32.1", "C50.9", "O80", "K35.8", "S72.0", "N18.3", "B20", "Z51.1"]
source = "public"

[attribute.Charge]
role = "other"
"""


def hospital(folder: Path, seed: int = 1) -> Messy:
    """2,125 stays of about 730 patients, 25 of them entered twice."""
    rng = random.Random(seed)
    lines, rows = ["MRN,Name,Born,Sex,ZIP,Admitted,Ward,Diagnosis,Charge"], []
    number = 0
    while len(rows) < 2100:
        number += 1
        person = f"{number * 7:07}"
        born = date(1935, 1, 1) + timedelta(days=rng.randrange(31_000))
        sex = rng.choice("FM")
        post = f"{rng.choice([1, 2, 27, 605, 606, 902]) * 100 + rng.randrange(100):05}"
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4, 5, 6, 7])):
            if len(rows) == 2100:
                break
            moved = rng.random() < 0.05
            here = f"{60500 + rng.randrange(100):05}" if moved else post
            known_born, known_post = rng.random() > 0.01, rng.random() > 0.02
            cells = {
                "Born": born if known_born else MISSING,
                "Sex": sex,
                "ZIP": here if known_post else MISSING,
                "Ward": _some(rng, WARDS),
                "Diagnosis": rng.choices(CODES, range(len(CODES), 0, -1))[0],
            }
            spelt = rng.choice({"F": ["F", "f", "female"], "M": ["M", "m", "male"]}[sex])
            stay = date(2025, 1, 1) + timedelta(days=rng.randrange(365))
            amount = rng.randrange(300, 90_000)
            charge = f'"${amount:,}"' if rng.random() < 0.5 else str(amount)
            written = [
                person,
                f'"Doe, {rng.choice(["Ann", "Bo", "Cy", "Di"])} {number}"',
                born.isoformat() if known_born else rng.choice(["", "unknown"]),
                spelt,
                here if known_post else rng.choice(["", "n/a"]),
                stay.isoformat(),
                cells["Ward"],
                cells["Diagnosis"],
                charge,
            ]
            rows.append(Row(person, cells))
            lines.append(",".join(written))
    for at in rng.sample(range(2100), 25):  # entered twice
        rows.append(rows[at])
        lines.append(lines[at + 1])
    shuffled = list(range(len(rows)))
    rng.shuffle(shuffled)
    text = [lines[0], *(lines[at + 1] for at in shuffled)]
    text[500:500], text[1200:1200] = [""], ["", ""]  # what an export leaves between pages
    file = folder / "stays.csv"
    file.write_text("\n".join(text) + "\n\n\n", encoding="utf-8")
    return Messy(
        "stays",
        file,
        HOSPITAL,
        tuple(rows[at] for at in shuffled),
        quasi=("Born", "Sex", "ZIP"),
        sensitive=("Diagnosis",),
        cap=2,
    )


# -- a survey of forty questions: one row a person, three sensitive answers, codes for no answer, a spreadsheet

REGIONS = ["North", "East", "South", "West", "Centre"]
SENSITIVE_QUESTIONS = ("Q07", "Q12", "Q33")


def _question(name: str) -> str:
    role = "sensitive" if name in SENSITIVE_QUESTIONS else "other"
    return (
        f'[attribute.{name}]\nrole = "{role}"\nkind = "ordered"\nvalues = ["1", "2", "3", "4", "5"]\n'
        'missing = ["", "9", "99"]\nsource = "public"\n'
    )


SURVEY = """\
name = "survey"
population = "panel-wave-3"
rows_per_person = 1

[attribute.respondent]
role = "identifier"

[attribute.age]
role = "quasi"
kind = "numeric"
range = [16, 100]
intervals = [5, 10, 20]
missing = ["", "999"]
source = "public"

[attribute.region]
role = "quasi"
groups = { Coast = ["North", "West"], Inland = ["East", "South", "Centre"] }
source = "public"

[attribute.household]
role = "quasi"
kind = "ordered"
values = ["1", "2", "3", "4", "5", "6+"]
source = "public"

""" + "\n".join(_question(f"Q{at:02}") for at in range(1, 41))


def survey(folder: Path, seed: int = 2) -> Messy:
    """1,400 respondents; numbers and texts mixed in the cells of a spreadsheet."""
    from openpyxl import Workbook

    rng = random.Random(seed)
    book = Workbook(write_only=True)
    sheet = book.create_sheet("answers")
    questions = [f"Q{at:02}" for at in range(1, 41)]
    sheet.append(["respondent", "age", "region", "household", *questions])
    rows = []
    for number in range(1400):
        age = rng.randrange(16, 95) if rng.random() > 0.02 else MISSING
        size = rng.choices(["1", "2", "3", "4", "5", "6+"], [30, 35, 15, 12, 5, 3])[0]
        cells: dict[str, Any] = {"age": age, "region": rng.choice(REGIONS), "household": size}
        lean = (age or 50) // 20
        for name in questions:
            answer = min(5, max(1, rng.randrange(1, 6) + (lean - 2 if name in SENSITIVE_QUESTIONS else 0)))
            cells[name] = str(answer) if rng.random() > 0.03 else MISSING
        written: list[Any] = [f"R{number:05}"]
        written.append(rng.choice([age, str(age)]) if age is not MISSING else rng.choice([None, 999]))
        written += [cells["region"], size if size == "6+" else rng.choice([int(size), size])]
        for name in questions:
            answer = cells[name]
            written.append(rng.choice([int(answer), answer]) if answer is not MISSING else rng.choice([None, 9, "99"]))
        sheet.append(written)
        rows.append(Row(f"R{number:05}", cells))
    file = folder / "survey.xlsx"
    book.save(file)
    return Messy(
        "survey",
        file,
        SURVEY,
        tuple(rows),
        quasi=("age", "region", "household"),
        sensitive=SENSITIVE_QUESTIONS,
    )


# -- a German register of jobs: semicolons, Latin-1, months of birth, amounts with points and a comma

POST = ["79098", "79100", "79102", "79104", "01067", "01069", "80331", "80333"]
GROUPS = ["Rücken", "Herz", "Psyche", "Unfall", "Haut", "Atemwege"]

REGISTER = """\
name = "register"
population = "krankenkasse-2025"
person = ["Kasse", "Versichertennummer"]

[attribute.Kasse]
role = "identifier"

[attribute.Versichertennummer]
role = "identifier"

[attribute.Geburtsmonat]
role = "quasi"
kind = "date"
range = ["1940-01-01", "2010-01-01"]
step = "month"
dates = ["year", "decade"]
format = "%m/%Y"
missing = ["", "k.A."]
source = "public"

[attribute.Geschlecht]
role = "quasi"
values = ["w", "m", "d"]
missing = ["", "k.A."]
source = "public"

[attribute.PLZ]
role = "quasi"
values = ["79098", "79100", "79102", "79104", "01067", "01069", "80331", "80333"]
mask = { length = 5, from = "right" }
missing = ["", "k.A."]
source = "public"

[attribute.Beruf]
role = "other"

[attribute.Bruttolohn]
role = "other"

[attribute.Diagnosegruppe]
role = "sensitive"
values = ["Rücken", "Herz", "Psyche", "Unfall", "Haut", "Atemwege"]
source = "public"
"""


def register(folder: Path, seed: int = 3) -> Messy:
    """About 1,500 jobs of 1,000 insured people; two funds count from 1, so a number alone is not a person."""
    rng = random.Random(seed)
    head = "Kasse;Versichertennummer;Geburtsmonat;Geschlecht;PLZ;Beruf;Bruttolohn;Diagnosegruppe"
    lines, rows = [head], []
    for number in range(500):
        for fund in ("AOK", "TK"):
            key = f"{number:05}"
            born = date(rng.randrange(1945, 2007), rng.randrange(1, 13), 1)
            sex, post = rng.choices("wmd", [50, 48, 2])[0], rng.choice(POST)
            group = rng.choices(GROUPS, [30, 20, 20, 10, 10, 10])[0]
            for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
                known = rng.random() > 0.02
                cells = {
                    "Geburtsmonat": born if known else MISSING,
                    "Geschlecht": sex,
                    "PLZ": post,
                    "Diagnosegruppe": group,
                }
                wage = rng.randrange(900_000, 9_000_000)
                euros = f"{wage // 100:,}".replace(",", ".") + f",{wage % 100:02}"
                job = rng.choice(["Müller", "Schlosser", "Ärztin", "Lehrer", "Pfleger"]) + f" {number % 37}"
                month = f"{born:%m/%Y}" if known else "k.A."
                lines.append(f"{fund};{key};{month};{sex};{post};{job};{euros};{group}")
                rows.append(Row(f"{fund}/{key}", cells))
    file = folder / "register.csv"
    file.write_bytes(("\r\n".join(lines) + "\r\n").encode("latin-1"))
    return Messy(
        "register",
        file,
        REGISTER,
        tuple(rows),
        quasi=("Geburtsmonat", "Geschlecht", "PLZ"),
        sensitive=("Diagnosegruppe",),
        options=("--encoding", "latin-1"),
    )


TABLES: dict[str, Callable[[Path], Messy]] = {"stays": hospital, "survey": survey, "register": register}
