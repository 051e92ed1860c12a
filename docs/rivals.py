# ruff: noqa: INP001, T201
"""Runs anonypy and ANJANA on the bundled Adult table at k = 10 and scores what they publish as our own is scored.

They are needed for nothing else, so they live in an environment of their own; the folder is yours to choose:

    python -m venv rivals && rivals/bin/pip install anonypy==0.2.1 anjana==1.2.3
    .venv/bin/python docs/rivals.py write rivals/adult
    rivals/bin/python docs/rivals.py anonypy rivals/adult
    rivals/bin/python docs/rivals.py anjana rivals/adult
    PYTHONPATH=. .venv/bin/python docs/rivals.py score rivals/adult
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

QUASI = ["age", "workclass", "education", "marital-status", "race", "sex"]
SENSITIVE = "occupation"
K = 10
AGES = (17, 90)
HIERARCHIES = Path(__file__).parents[1] / "src" / "sfumato" / "datasets" / "data" / "hierarchies"


def write(folder: Path) -> None:
    """Write the bundled table as plain text (run by us)."""
    from sfumato.datasets import adult_frame

    folder.mkdir(parents=True, exist_ok=True)
    adult_frame().select([*QUASI, SENSITIVE]).write_csv(folder / "adult.csv")


def anonypy(folder: Path) -> None:
    """Publish with anonypy: a row for each class and sensitive value, with its count."""
    import pandas as pd
    from anonypy import Preserver

    frame = pd.read_csv(folder / "adult.csv")
    for name in [*QUASI[1:], SENSITIVE]:
        frame[name] = frame[name].astype("category")
    start = time.process_time()
    rows = Preserver(frame, QUASI, SENSITIVE).anonymize_k_anonymity(k=K)
    published = pd.DataFrame(rows)
    spent = time.process_time() - start
    published[QUASI] = published[QUASI].apply(lambda column: column.str[0])  # each cell is a list of one text
    classes = published.groupby(QUASI, sort=False)["count"].sum().reset_index()
    _keep(folder, "anonypy", classes, spent)


def anjana(folder: Path) -> None:
    """Publish with ANJANA: full-domain generalization, up to 5 % of the rows suppressed."""
    import pandas as pd
    from anjana.anonymity import k_anonymity

    frame = pd.read_csv(folder / "adult.csv")
    start = time.process_time()
    published = k_anonymity(frame, [], QUASI, K, 5, {name: _levels(name) for name in QUASI})
    spent = time.process_time() - start
    classes = published.groupby(QUASI, observed=True, sort=False).size().reset_index(name="count")
    _keep(folder, "anjana", classes, spent)


def _levels(name: str) -> dict[int, Any]:
    """Return an attribute's labels level by level; ages in steps of 5, 10, 20 and 40 years."""
    import numpy as np

    if name != "age":
        lines = [line.split(";") for line in (HIERARCHIES / f"adult_{name}.csv").read_text("utf-8").splitlines()]
        return {level: np.array(column) for level, column in enumerate(zip(*lines, strict=True))}
    ages = np.arange(AGES[0], AGES[1] + 1)
    steps = {at: ages - (ages - 10) % width for at, width in enumerate((5, 10, 20, 40), 1)}
    widths = dict(enumerate((5, 10, 20, 40), 1))
    labels = {at: np.array([f"{low}-{low + widths[at] - 1}" for low in lows]) for at, lows in steps.items()}
    return {0: ages, **labels, 5: np.array(["*"] * len(ages))}


def _keep(folder: Path, tool: str, classes: Any, spent: float) -> None:
    rows = [[*(str(one) for one in row[:-1]), int(row[-1])] for row in classes.itertuples(index=False)]
    (folder / f"{tool}.json").write_text(json.dumps({"spent": spent, "classes": rows}), "utf-8")
    print(f"{tool}: {len(rows)} classes, {spent:.1f} CPU s")


def score(folder: Path) -> None:
    """Score what the tools published with the program that scores our own (run by us)."""
    import numpy as np
    import polars as pl
    from benchmarks.partition_scorer import query_errors, random_queries

    frame = pl.read_csv(folder / "adult.csv")
    domains = [[str(age) for age in range(AGES[0], AGES[1] + 1)]]
    domains += [sorted(frame[name].unique()) for name in QUASI[1:]]
    codes = np.array(
        [
            [domain.index(value) for value in frame[name].cast(pl.String)]
            for name, domain in zip(QUASI, domains, strict=True)
        ]
    ).T
    sizes, numeric = [len(domain) for domain in domains], [True] + [False] * 5
    works = [
        random_queries(codes, np.ones(len(codes)), sizes, queries=1000, seed=seed, numeric=numeric) for seed in range(5)
    ]
    for tool in ("anonypy", "anjana"):
        answer = json.loads((folder / f"{tool}.json").read_text("utf-8"))
        weight = np.array([row[-1] for row in answer["classes"]], float)
        sets = [
            np.array([_holds(row[at], domains[at], name) for row in answer["classes"]]) for at, name in enumerate(QUASI)
        ]
        lost = len(codes) - weight.sum()
        penalty = sum((weight * (held.sum(1) - 1)).sum() / (held.shape[1] - 1) for held in sets) / len(QUASI)
        sets = [np.vstack([held, np.ones((1, held.shape[1]), bool)]) for held in sets]
        errors = np.mean([np.median(query_errors(sets, np.append(weight, lost), work)) for work in works])
        print(
            f"{tool}: {len(weight)} classes, suppressed {lost / len(codes):.1%}, "
            f"NCP {(penalty + lost) / len(codes):.4f}, median query error {errors:.4f}, {answer['spent']:.1f} CPU s"
        )


def _holds(label: str, domain: list[str], name: str) -> list[bool]:
    """Tell which values a published label stands for."""
    if label == "*":
        return [True] * len(domain)
    if name == "age":
        low, _, high = label.partition("-")
        return [int(low) <= int(age) <= int(high or low) for age in domain]
    levels = list(zip(*(list(column) for column in _levels(name).values()), strict=True))
    below = {str(row[0]) for row in levels if label in row}
    return [value in below or value in label.split(",") for value in domain]


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
