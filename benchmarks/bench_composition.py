"""The composition attack: how long it takes, and what pairs of releases of several kinds give away.

    python benchmarks/bench_composition.py [census_income_kdd.parquet]

1. CPU seconds for 100,000 victims on pairs of 101,000-row releases.
2. The same people published twice: Mondrian with different k, buckets, DiffGen and a noisy table beside.
3. The paper's setting: disjoint samples and 1,000 shared people, on generated census data; with a path also on UCI
   Census-Income (KDD), rows with an occupation, two samples of 70,000.
In percent. "One left" of noisy releases is often not the true value, hence "and true"; "control" is the same share for
people who are in the first release only. Errors are means of relative errors, "median" that of the range queries.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.attacks import composition, overlap_experiment
from sfumato.counts import read
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy

EPSILONS = ("0.01", "0.05", "0.1")


def seconds(action):
    start = time.process_time()
    found = action()
    return found, time.process_time() - start


def released(table, mechanism, seed):
    return run(mechanism, gather(mechanism, table), Entropy.seeded(seed))


def private(*epsilons) -> dict:
    """DiffGen for each epsilon, where it is there."""
    kind = getattr(sf, "DiffGen", None)
    return {} if kind is None else {f"DiffGen {epsilon}": kind(epsilon) for epsilon in epsilons}


def speed() -> None:
    table = census(201_000, seed=3)
    samples = [table.take(np.arange(start, start + 101_000)) for start in (0, 100_000)]
    print("1. 100,000 victims, two releases of 101,000 rows")
    print(f"{'releases':24}{'boxes':>8}{'CPU s':>8}{'one left':>10}{'below 4':>9}")
    kinds = {f"Mondrian k={k}": sf.Mondrian(sf.KAnonymity(k), cut="widest") for k in (2, 5, 10)}
    for name, mechanism in {**kinds, "Bucketize l=2": sf.Bucketize(sf.LDiversity(2), cut="widest")}.items():
        pair = [released(part, mechanism, at) for at, part in enumerate(samples)]
        victims = samples[0].take(np.arange(100_000))
        found, spent = seconds(lambda pair=pair, victims=victims: composition(pair, victims))
        print(f"{name:24}{len(pair[0].boxes):8}{spent:8.2f}{found.rate:10.3%}{found.below_d:9.2%}")


def same_people() -> None:
    table = census(30_000, seed=5)
    print("\n2. 30,000 people published twice, all of them victims")
    heads = ("one left", "and true", "below 4", "exposed", "guessed", "confid.", "baseline", "alone 1", "alone 2")
    print(f"{'pair':34}" + "".join(f"{head:>10}" for head in heads))
    partition = {f"Mondrian k={k}": sf.Mondrian(sf.KAnonymity(k)) for k in (5, 7, 10, 20)}
    buckets = {"Bucketize l=4": sf.Bucketize(sf.LDiversity(4, kind="distinct"))}
    mechanisms = {**partition, **buckets, **private("0.1", "1", "4")}
    pairs = [("Mondrian k=5", "Mondrian k=7"), ("Mondrian k=10", "Mondrian k=20"), ("Mondrian k=10", "Bucketize l=4")]
    pairs += [(name, name) for name in private("0.1", "1", "4")]
    for names in pairs:
        made = [released(table, mechanisms[name], at) for at, name in enumerate(names)]
        found = composition(made, table)
        tally = found.tally
        shown = [found.rate, tally.right.rate, found.below_d, tally.exposed.rate, tally.guessed.rate, found.confidence]
        shown += [found.baseline.rate, found.alone[0].rate, found.alone[1].rate]
        print(f"{' + '.join(names):34}" + "".join(f"{100 * value:10.2f}" for value in shown))


def paper(title, table, size, overlap, classify) -> None:
    print(f"\n3. {title}: samples of {size:,} and {overlap:,} shared people, d = 4")
    heads = ("classes", "one left", "and true", "control", "below 4", "exposed", "guessed")
    heads = (*heads, "equality", "range", "median", "accuracy", "CPU s")
    print(f"{'mechanism':20}" + "".join(f"{head:>10}" for head in heads))
    mechanisms = {f"Mondrian k={k}": sf.Mondrian(sf.KAnonymity(k)) for k in (5, 10, 20, 40)} | private(*EPSILONS)
    for name, mechanism in mechanisms.items():
        (row,), spent = seconds(
            lambda name=name, mechanism=mechanism: overlap_experiment(
                table, {name: mechanism}, size=size, overlap=overlap, classify=classify
            )
        )
        accuracy = "" if row.accuracy is None else f"{100 * row.accuracy:.2f}"
        rates = [row.one.rate, row.right.rate, row.control_right.rate, row.below_d.rate, row.exposed.rate]
        rates += [row.guessed.rate]
        errors = [row.errors["equality"], row.errors["range"], row.medians["range"]]
        figures = [*(100 * rate for rate in rates), *errors]
        body = "".join(f"{figure:10.2f}" for figure in figures)
        print(f"{name:20}{row.classes:10.0f}{body}{accuracy:>10}{spent:10.1f}", flush=True)


def census(rows, seed):
    return sf.datasets.census(rows, seed).with_roles(sensitive="occupation", target=[])


def kdd(path):
    """Rows with an occupation: age, sex, education, race, country of birth; the detailed occupation is confidential."""
    frame = pl.read_parquet(path).filter(pl.col("detailed_occupation_recode") != 0)
    names = {"sex": "sex", "education": "education", "race": "race", "country_of_birth_self": "birthplace"}
    frame = frame.select("age", *(pl.col(old).alias(new) for old, new in names.items()), "detailed_occupation_recode")
    frame = frame.rename({"detailed_occupation_recode": "occupation"}).with_columns(pl.col("occupation").cast(str))
    attributes = {"age": {"role": "quasi", "kind": "numeric", "range": [0, 91], "step": 1}}
    for name in names.values():
        values = frame[name].unique().sort().to_list()
        attributes[name] = {"role": "quasi", "kind": "nominal", "values": values}
    values = [str(code) for code in range(1, 47)]
    attributes["occupation"] = {"role": "sensitive", "kind": "nominal", "values": values}
    return read(frame, sf.Schema.parse({"name": "kdd", "source": "public", "attribute": attributes}))


def main() -> None:
    speed()
    same_people()
    paper("census", census(215_000, seed=7), 100_000, 1000, {"target": "occupation"})
    for path in sys.argv[1:]:
        paper(Path(path).stem, kdd(path), 70_000, 1000, {"target": "occupation"})


if __name__ == "__main__":
    main()
