"""dLink: what it costs to make, what it takes from a composition attack, and what the same safety costs by a larger k.

    python benchmarks/bench_dlink.py [census_income_kdd.parquet] [--quick]

1. CPU seconds of dLink beside Mondrian's, by rows; CPU against the number of failing classes.
2. Disjoint samples that share people (the paper's setting): one value left, fewer than d left, query errors and
   classification, for Mondrian alone, three ways to enforce linkability, and Mondrian with larger k beside them.
3. Curves over d and alpha: risk falls, error rises, accuracy falls.
4. Calibration: alpha against simulated organisations.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from bench_composition import census, kdd

import sfumato as sf
from sfumato.attacks import calibrate, overlap_experiment
from sfumato.mechanisms.base import gather
from sfumato.randomness import Entropy

D, ALPHA = 4, "0.8"
CHEAP = {"distance": "uniform", "nominal": "leaves"}  # weighs what an even spread gets wrong


def k(least: int) -> sf.Mondrian:
    return sf.Mondrian(sf.KAnonymity(least))


def cpu(mechanism, counts) -> tuple[float, object]:
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        made = mechanism.apply(counts, Entropy.seeded(1))
        best = min(best, time.process_time() - start)
    return best, made


def speed(sizes) -> None:
    print("1. CPU seconds, k = 10, d = 4, alpha = 0.8 (best of three; counts at hand)")
    heads = ("classes", "dLink has", "Mondrian", "dLink adds", "uniform", "inside")
    print(f"{'rows':>10}" + "".join(f"{head:>12}" for head in heads))
    for rows in sizes:
        table, base = census(rows, seed=1), k(10)
        counts = gather(base, table)
        alone, before = cpu(base, counts)
        united, after = cpu(sf.DLink(base), counts)
        uniform, _ = cpu(sf.DLink(base, **CHEAP), counts)
        inside, _ = cpu(sf.Mondrian(sf.KAnonymity(10) & sf.Linkability(D, ALPHA)), counts)
        figures = (alone, united - alone, uniform - alone, inside)
        print(f"{rows:10}{len(before.groups):12}{len(after.groups):12}" + "".join(f"{one:12.3f}" for one in figures))


def failing(rows) -> None:
    from sfumato.mechanisms.dlink import dlink

    print(f"\n   CPU of uniting against failing classes ({rows:,} rows; per class it may only grow slowly)")
    print(f"{'k':>6}{'failing':>10}{'unions':>10}{'CPU ms':>10}{'us/union':>10}")
    table, seen = census(rows, seed=1), []
    plain = dlink.merge_classes

    def watched(*given, **more):
        start = time.process_time()
        found = plain(*given, **more)
        seen.append((found.failing, found.unions, time.process_time() - start))
        return found

    dlink.merge_classes = watched
    for least in (40, 20, 10, 5, 3, 2):
        seen.clear()
        counts = gather(k(least), table)
        for _ in range(2):
            sf.DLink(k(least)).apply(counts, Entropy.seeded(1))
        many, unions, spent = min(seen, key=lambda one: one[2])
        print(f"{least:6}{many:10}{unions:10}{1000 * spent:10.1f}{1e6 * spent / max(1, unions):10.1f}")
    dlink.merge_classes = plain


def ways(least) -> dict:
    asked, joint = sf.Linkability(D, ALPHA), sf.Linkability(D, ALPHA, population="joint")
    return {
        f"k={least} alone": k(least),
        f"k={least} dLink (paper)": sf.DLink(k(least)),
        f"k={least} dLink uniform": sf.DLink(k(least), **CHEAP),
        f"k={least} dLink joint": sf.DLink(k(least), population="joint", **CHEAP),
        f"k={least} inside cuts": sf.Mondrian(sf.KAnonymity(least) & asked),
        f"k={least} inside joint": sf.Mondrian(sf.KAnonymity(least) & joint),
    }


def line(name, row) -> str:
    rates = [100 * row.one.rate, 100 * row.below_d.rate]
    errors = [row.errors["equality"], row.errors["range"], row.medians["range"]]
    accuracy = "" if row.accuracy is None else f"{100 * row.accuracy:10.2f}"
    return f"{name:24}{row.classes:8.0f}" + "".join(f"{value:10.2f}" for value in (*rates, *errors)) + accuracy


def head(first, d=D) -> str:
    return f"{first:24}{'classes':>8}" + "".join(
        f"{name:>10}" for name in ("one left", f"below {d}", "equality", "range", "median", "accuracy")
    )


def bargain(title, table, size, overlap, *, larger=(20, 30, 40, 60)) -> None:
    print(f"\n2. {title}: samples of {size:,}, {overlap:,} shared people, classes by residence; percent")
    print(head("mechanism"))
    named = {**ways(5), **ways(10), **{f"k={least} alone": k(least) for least in larger}}
    options = {"size": size, "overlap": overlap, "reading": "residence", "d": D, "classify": {"target": "occupation"}}
    found = {}
    for name, mechanism in named.items():
        (found[name],) = overlap_experiment(table, {name: mechanism}, **options)
        print(line(name, found[name]), flush=True)
    for least in (5, 10):
        before = found[f"k={least} alone"]
        for name, row in found.items():
            if name.startswith(f"k={least} ") and row is not before:
                mutant = next(
                    (f"k={n}" for n in larger if found[f"k={n} alone"].below_d.rate <= row.below_d.rate), "none"
                )
                fewer = before.below_d.rate / row.below_d.rate if row.below_d.rate else float("inf")
                print(f"   {name}: {fewer:.1f} times fewer below {D}; smallest k alone that leaves as few: {mutant}")


def overlaps(title, table, size) -> None:
    """The paper's range of shared people; what dLink adds to the errors, beside the printed 5 % and 0.8 %."""
    print(f"\n2b. {title}: samples of {size:,}; percent, and the change that dLink makes")
    print(head("shared people, mechanism"))
    for shared in (1000, 3000, 5000):
        for least in (5, 10):
            named = {name: ways(least)[f"k={least} {name}"] for name in ("alone", "dLink (paper)", "dLink joint")}
            options = {"size": size, "overlap": shared, "reading": "residence", "d": D}
            found = {}
            for name, mechanism in named.items():
                (found[name],) = overlap_experiment(table, {name: mechanism}, **options)
                print(line(f"{shared} k={least} {name}", found[name]), flush=True)
            before, after = found["alone"], found["dLink joint"]
            more = {kind: after.errors[kind] / before.errors[kind] - 1 for kind in ("equality", "range")}
            changed = f"equality error {more['equality']:+.1%}, range error {more['range']:+.1%}"
            print(f"   dLink joint: {changed} (printed: at most 5 %)")


def curves(table, size, overlap) -> None:
    options = {"size": size, "overlap": overlap, "reading": "residence", "classify": {"target": "occupation"}, "d": 7}
    print("\n3. Curves over d and alpha, k = 10; `below` counts people with fewer than 7 values left throughout")
    print(head("dLink", 7))
    made = {f"d={d} alpha=0.8": sf.DLink(k(10), d=d) for d in (2, 3, 4, 5, 6, 7)}
    made |= {
        f"d=4 alpha={alpha}": sf.DLink(k(10), alpha=alpha) for alpha in ("0.5", "0.6", "0.7", "0.8", "0.9", "0.95")
    }
    for name, mechanism in made.items():
        (row,) = overlap_experiment(table, {name: mechanism}, **options)
        print(line(name, row), flush=True)


def calibration(title, table, repeats) -> None:
    print(f"\n4. Calibration on {title}: share of people with d values shared, against alpha = {ALPHA}")
    print(f"{'mechanism':24}{'rows drawn':>16}{'same region':>14}{'published too':>16}")
    chosen = ("k=10 dLink (paper)", "k=10 dLink joint", "k=10 inside cuts")
    for name in chosen:
        for model in ("population", "resampled"):
            found = calibrate(table, ways(10)[name], model=model, repeats=repeats, victims=1000)
            figures = (found.same_region.rate, found.released.rate)
            print(f"{name:24}{model:>16}{figures[0]:14.4f}{figures[1]:16.4f}", flush=True)
    for people in (4, 10):
        robust = replace(ways(10)["k=10 dLink (paper)"], probability="robust", k_other=people)
        try:
            found = calibrate(table, robust, model="resampled", repeats=repeats, victims=1000)
            figures = (found.same_region.rate, found.released.rate)
            print(f"{f'robust, k_other={people}':24}{'resampled':>16}{figures[0]:14.4f}{figures[1]:16.4f}")
        except sf.Infeasible as error:
            print(f"robust, k_other = {people}: {error}")


def main() -> None:
    quick = "--quick" in sys.argv
    paths = [word for word in sys.argv[1:] if not word.startswith("-")]
    speed((100_000,) if quick else (30_000, 100_000, 300_000, 1_000_000))
    failing(30_000 if quick else 300_000)
    table = census(215_000, seed=7)
    bargain("census", table, 100_000, 2000)
    for path in paths:
        bargain(Path(path).stem, kdd(path), 70_000, 2000)
    overlaps("census, occupation", table, 100_000)
    overlaps("census, salary", table.with_roles(sensitive="salary"), 100_000)
    for path in paths:
        overlaps(Path(path).stem, kdd(path), 70_000)
    curves(table, 100_000, 2000)
    calibration("census, 60,000 rows", census(60_000, seed=3), 1 if quick else 3)


if __name__ == "__main__":
    main()
