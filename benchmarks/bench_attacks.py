"""What attackers gain from releases of Adult, how long the attacks take, and Anonymeter's own example.

    python benchmarks/bench_attacks.py [--write] [--kind NAME] [--anonymeter FOLDER]
    python benchmarks/bench_attacks.py --scale [45k] [1M] [--attack NAME] [--kind NAME]

1. Adult in two halves, one published by each method, the other the control: gain in points with its 95 % interval.
   `--write` puts the table into docs/attacks.md; with `--kind` the lines of these releases alone.
2. CPU seconds of the suite on Adult; with `--scale` CPU seconds and peak memory of every attack on 45,222 and on a
   million generated census rows, one table.
3. With the folder of notebooks/datasets of Anonymeter's repository (and adults_train.csv in it): singling out,
   linkability and inference on its synthetic table, beside the figures its notebook prints.
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

import sfumato as sf
from sfumato.attacks import REGISTRY, Knowledge, attack_all
from sfumato.declare import says
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy

PAGE = Path(__file__).resolve().parents[1] / "docs" / "attacks.md"
BEGIN, END = "<!-- gains: written by benchmarks/bench_attacks.py -->", "<!-- end of gains -->"
QUASI = ["age", "workclass", "education", "marital-status", "race", "sex"]


def methods() -> dict:
    """The releases compared: partitions carry occupation, differentially private ones count it as their class."""
    base = sf.Mondrian(sf.KAnonymity(10))
    return {
        "Raw": sf.Raw(),
        "Mondrian k=10": base,
        "Mondrian l=4": sf.Mondrian(sf.LDiversity(4)),
        "Mondrian t=0.15": sf.Mondrian(sf.TCloseness("0.15")),
        "Bucketize l=4": sf.Bucketize(sf.LDiversity(4)),
        "Anatomy l=4": sf.Anatomy(4),
        "TopDown k=10": sf.TopDown(10),
        "DLink k=10": sf.DLink(base),
        "DiffGen epsilon=1": sf.DiffGen("1"),
        "DiffGen epsilon=0.1": sf.DiffGen("0.1"),
        "NoisyTable epsilon=1": sf.NoisyTable("1", cuts=CUTS),
        "Marginals epsilon=1": sf.Marginals("1"),
        "Marginals epsilon=1, delta=1e-9": sf.Marginals("1", delta="1e-9"),
        "TargetRows epsilon=1": sf.TargetRows("1"),
    }


CUTS = {"age": ["[17-30)", "[30-45)", "[45-60)", "[60-91)"], "race": ["*"], "workclass": ["*"]}


def adult(kind: str):
    """Adult with occupation as the secret; a class for the methods that need one, occupation itself where they draw."""
    table = sf.datasets.adult()
    if kind.startswith(("DiffGen", "NoisyTable", "Marginals", "TargetRows")):
        return table.with_roles(quasi=QUASI, target="occupation", sensitive=())
    if kind.startswith("TopDown"):
        return table.with_roles(quasi=QUASI, sensitive="occupation", target="income")
    return table.with_roles(quasi=QUASI, sensitive="occupation", target=())


HARMS = {"identity": "Identity", "inference": "Inference", "membership": "Membership"}
LEFT_OUT = ("shadow", "container")  # makes releases of its own; looks at files


def adult_table(kinds: list[str], seed: int = 1) -> tuple[list[str], dict[str, float]]:
    """One table for each harm: a line for each release (or each of `kinds`), a column for each attack."""
    names = [name for name, kind in REGISTRY.items() if not says(kind, "several") and name not in LEFT_OUT]
    columns = {harm: [name for name in names if REGISTRY[name].axis == harm] for harm in HARMS}
    tables = {harm: [f"| {title} | {' | '.join(columns[harm])} |", f"|---|{'---|' * len(columns[harm])}"]
              for harm, title in HARMS.items()}  # fmt: skip
    spent = {}
    for kind, mechanism in methods().items():
        if kinds and not kind.startswith(tuple(kinds)):
            continue
        made_of, control = sf.holdout(adult(kind), seed=seed)
        release = run(mechanism, gather(mechanism, made_of), Entropy.seeded(seed).child(kind))
        start = time.process_time()
        found = attack_all(release, made_of, control, attacks=names, knowledge=Knowledge(attribute="occupation"))
        spent[kind] = time.process_time() - start
        cells = {gain.attack: points(gain) for gain in found.gains}
        for harm, held in columns.items():
            tables[harm].append(f"| {kind} | {' | '.join(cells.get(name, '–') for name in held)} |")
        print(f"{kind:22s} {spent[kind]:6.1f} s  {cells}", flush=True)
    return [line for harm in HARMS for line in (*tables[harm], "")][:-1], spent


def points(gain) -> str:
    """Gain in points with its interval, and the bound where the claim has one."""
    low, high = (100 * end for end in gain.interval)
    points = re.sub(r"-0\.0\b", "0.0", f"{100 * gain.value:.1f} [{low:.1f}, {high:.1f}]")
    bound = gain.details.get("bound")
    return points if bound is None else f"{points}, at most {100 * bound:.1f}"


def write(lines: list[str], spent: dict[str, float]) -> None:
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    held, after = rest.split(END)
    if len(spent) < len(methods()):  # some lines are retaken: the others stay, and so does the largest time
        lines, spent = retaken(held.strip().splitlines(), lines), spent | {"before": seconds(held)}
    words = f"All attacks on one release took {max(spent.values()):.0f} CPU seconds at most."
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", words, "", END + after]), "utf-8")


def seconds(held: str) -> float:
    return float(re.search(r"took (\d+) CPU seconds", held)[1])


def retaken(old: list[str], new: list[str]) -> list[str]:
    """The old lines of the tables, those of the releases that were attacked again replaced."""
    table, found = "", {}
    for line in new:
        table = line if line.startswith(tuple(f"| {title} |" for title in HARMS.values())) else table
        found[table, line.split(" | ")[0]] = line
    lines, table = [], ""
    for line in old[:-2]:
        table = line if line.startswith(tuple(f"| {title} |" for title in HARMS.values())) else table
        lines.append(found.get((table, line.split(" | ")[0]), line))
    return lines


SIZES = {"45k": 45_222, "1M": 1_000_000}
TARGET = {"45k": "suite under 60 s", "1M": "each attack under 300 s"}


def scale(sizes: list[str], only: list[str], kinds: list[str]) -> None:
    """CPU seconds and peak memory of each attack on census rows: as many are published as the size says, and as many
    others are the control. The releases: groups, classes, noisy cells, and two of classes for attacks on several.
    """
    from sfumato.datasets import census

    print("| rows | release | boxes | attack | CPU s | peak MB | gain in points |\n|---|---|---|---|---|---|---|")
    totals = {}
    for size in sizes:
        made_of, control = sf.holdout(census(2 * SIZES[size], seed=3), seed=1)
        for kind, mechanisms in compared().items():
            if kinds and kind not in kinds:
                continue
            roles = {"sensitive": (), "target": "occupation"} if kind.startswith("DiffGen") else {}
            tables = [table.with_roles(**roles) if roles else table for table in (made_of, control)]
            made = [run(one, gather(one, tables[0]), Entropy.seeded(1)) for one in mechanisms]
            for name, attack_kind in REGISTRY.items():
                attack = attack_kind()
                if says(attack, "small_only") or name in LEFT_OUT:
                    continue
                if says(attack, "several") != (len(made) > 1):
                    continue
                if not attack.fits(made[0]) or (only and name not in only):
                    continue
                reset_peak()
                start = time.process_time()
                try:
                    said = points(attack.run(made, Knowledge(), *tables))
                except sf.SfumatoError as error:
                    said = str(error)
                spent = time.process_time() - start
                totals[size, kind] = totals.get((size, kind), 0.0) + spent
                boxes = f"{len(made[0].boxes):,}"
                print(f"| {size} | {kind} | {boxes} | {name} | {spent:.1f} | {peak():.0f} | {said} |", flush=True)
            del made
    print()
    for (size, kind), spent in totals.items():
        print(f"{size}, {kind}: all attacks {spent:.1f} CPU s (goal: {TARGET[size]})")


def compared() -> dict:
    """The releases whose attacks are timed."""
    two = (sf.Mondrian(sf.KAnonymity(10)), sf.Mondrian(sf.KAnonymity(25)))
    return {"Anatomy l=4": (sf.Anatomy(4),), "Mondrian k=10": two[:1], "DiffGen epsilon=1": (sf.DiffGen("1"),),
            "Mondrian k=10 and 25": two}  # fmt: skip


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", "ascii")


def peak() -> float:
    """The largest resident memory since the last reset, in MB."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


PUBLISHED = {  # printed in notebooks/anonymeter_example.ipynb: risk and its interval; success rates
    "singling out, one column": "0.014 (0 to 0.034); attack 0.036, control 0.022",
    "singling out, 4 columns": "0.029 (0 to 0.138)",
    "linkability": "0 (0 to 0.0019); attack 0.0035, control 0.0054 (10 neighbours)",
}


def residual(gain) -> str:
    """Anonymeter's risk: (attack - control) / (1 - control)."""
    rest = 1 - gain.controls.rate
    low, high = (max(0.0, end / rest) for end in gain.interval)
    return f"{max(0.0, gain.value / rest):.4f} ({low:.4f} to {high:.4f})"


def anonymeter(folder: Path) -> None:
    import polars as pl

    parts = {name: pl.read_csv(folder / f"adults_{name}.csv") for name in ("train", "control", "syn_ctgan")}
    every = pl.concat(list(parts.values()), how="vertical_relaxed")
    numbers = {"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hr_per_week"}

    def schema(secret: str):
        attributes = {}
        for name in every.columns:
            role = "sensitive" if name == secret else "quasi"
            if name in numbers:
                top = int(every[name].max()) + 1
                attributes[name] = {"role": role, "kind": "numeric", "range": [int(every[name].min()), top], "step": 1}
            else:
                values = sorted(map(str, every[name].unique().to_list()))
                attributes[name] = {"role": role, "kind": "nominal", "values": values}
        return sf.Schema.parse({"name": "anonymeter", "source": "public", "attribute": attributes})

    def tables(secret: str):
        own = schema(secret)
        release = sf.Release.read(parts["syn_ctgan"], own)
        return release, sf.read(parts["train"], own), sf.read(parts["control"], own)

    release, train, control = tables("income")
    for title, columns, attempts in (("singling out, one column", 1, 500), ("singling out, 4 columns", 4, 100)):
        attack = REGISTRY["singling-out"](columns=columns, attempts=attempts)
        found = attack.run([release], Knowledge(), train.take(range_of(train, control)), control, seed=1)
        print(f"{title}: ours {residual(found)}; rates {found.targets.rate:.4f}, {found.controls.rate:.4f}")
        print(f"    {found.targets.trials} conditions; published {PUBLISHED[title]}", flush=True)
    first = ("type_employer", "education", "hr_per_week", "capital_loss", "capital_gain")
    known = (*first, "race", "sex", "fnlwgt", "age", "country")
    linked = REGISTRY["linkage"](first=first, most=500).run([release], Knowledge(known), train, control, seed=1)
    print(f"linkability: ours {residual(linked)}; rates {linked.targets.rate:.4f}, {linked.controls.rate:.4f}")
    print(f"    published {PUBLISHED['linkability']}", flush=True)
    for secret in (name for name in every.columns if every[name].n_unique() <= 200):
        release, train, control = tables(secret)
        found = REGISTRY["inference"](most=500).run([release], Knowledge(attribute=secret), train, control, seed=1)
        print(f"inference of {secret}: ours {residual(found)}; rates {found.targets}, {found.controls}", flush=True)


def range_of(train, control):
    import numpy as np

    return np.arange(min(train.rows, control.rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument(
        "--kind", nargs="*", default=[], help="only releases whose names begin so; with --scale, of these names"
    )
    parser.add_argument("--scale", nargs="*", choices=list(SIZES))
    parser.add_argument("--attack", nargs="*", default=[])
    parser.add_argument("--anonymeter", type=Path)
    asked = parser.parse_args()
    if asked.anonymeter:
        anonymeter(asked.anonymeter)
    elif asked.scale is not None:
        scale(asked.scale or list(SIZES), asked.attack, asked.kind)
    else:
        lines, spent = adult_table(asked.kind)
        if asked.write:
            write(lines, spent)


if __name__ == "__main__":
    main()
