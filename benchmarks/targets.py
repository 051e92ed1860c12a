"""The performance targets, one piece of work in a process of its own: `python benchmarks/targets.py NAME FOLDER`.

`run.py` runs them all and sets each beside its floor: what polars needs in the same run to scan the same file, group by
the same columns and write the output columns. Compiling, importing and making the data come before the clock starts.
Prints CPU seconds and the peak memory of the process (of its largest child, where that is larger) as JSON.
"""

from __future__ import annotations

import datetime as dt
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

QUASI = ["age", "workclass", "education", "marital-status", "race", "sex"]
MILLION = 1_000_000


@dataclass(frozen=True)
class Target:
    """One line: the piece of work, what it is set beside, and the most it may need."""

    text: str
    work: str
    _: KW_ONLY
    floor: str = "csv floor"
    ratio: float | None = None  # times the CPU of the floor
    cpu: float | None = None
    peak_mb: float | None = None
    peak_ratio: float | None = None  # times the memory of the floor

    def missed(self, found: dict[str, float], floor: dict[str, float]) -> list[str]:
        """Return what is above its bound."""
        pairs = {
            "CPU / floor": (self.ratio, found["cpu"] / max(floor["cpu"], 0.01)),
            "CPU s": (self.cpu, found["cpu"]),
            "peak MB": (self.peak_mb, found["peak_mb"]),
            "peak / floor": (self.peak_ratio, found["peak_mb"] / max(floor["peak_mb"], 1)),
        }
        return [f"{name} {value:.2f} > {most:g}" for name, (most, value) in pairs.items() if most and value > most]

    def asked(self) -> str:
        """Say what the target is."""
        bounds = {"x floor": self.ratio, "s": self.cpu, "MB": self.peak_mb, "x floor's memory": self.peak_ratio}
        return ", ".join(f"{most:g} {unit}" for unit, most in bounds.items() if most)


TARGETS = [
    Target("Mondrian widest, 1M x 6, CSV to CSV", "csv widest", ratio=3, peak_ratio=2),
    Target("Mondrian best, 1M x 6, CSV to CSV", "csv best", ratio=6, peak_ratio=2),
    Target("Mondrian kernel, 1M distinct rows, widest", "kernel widest", cpu=1),
    Target("Mondrian kernel, 1M distinct rows, best", "kernel best", floor="kernel widest", cpu=3),
    Target("DiffGen h=15, 14 attributes, 1M rows", "diffgen", floor="diffgen floor", ratio=3),
    Target("dLink after Mondrian, 100k rows", "dlink", floor="dlink base", ratio=1),
    Target("U_loss on Adult, support 5 %", "utility loss", cpu=1),
    Target("Synthesis, 1.5M pairs, 233,726 origins", "synthesis", cpu=60, peak_mb=4096),
    Target("sfumato --help", "help", cpu=0.3),
    Target("10M rows x 5, Parquet, widest", "large widest", floor="large floor", ratio=3, peak_mb=4096),
    Target("100,000-code mask and day dates, frontier", "mask", cpu=60, peak_mb=1024),
    *(
        Target(f"1M x 8, one of 500 codes, {name}", f"wide {name}", peak_mb=2048)
        for name in ("mondrian", "mondrian tight", "bucketize", "anatomy", "topdown")
    ),
    Target("DP release of Adult, the slowest method", "dp adult", cpu=5),
]
LONG = {"large floor", "large widest", "mask"}  # left out by --quick


@contextmanager
def clocked(found: dict[str, float]) -> Iterator[None]:
    """Add up CPU seconds of this process and its children."""
    before = _used()
    yield
    found["cpu"] = round(_used() - before, 3)


def _used() -> float:
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def resampled_adult(rows: int, seed: int = 1) -> pl.DataFrame:
    """Adult resampled with small changes: ages moved by up to two years."""
    from sfumato.datasets import adult_frame

    rng = np.random.default_rng(seed)
    frame = adult_frame().select([*QUASI, "occupation"])
    drawn = frame[rng.integers(0, frame.height, rows)]
    moved = np.clip(drawn["age"].to_numpy() + rng.integers(-2, 3, rows), 17, 90)
    return drawn.with_columns(pl.Series("age", moved))


def adult_csv(folder: Path, rows: int = MILLION) -> Path:
    """Return the file that our work, the floor and the rivals read."""
    path = folder / f"adult-{rows}.csv"
    if not path.exists():
        resampled_adult(rows).write_csv(path)
    return path


def _floor(path: Path, columns: list[str], found: dict[str, float]) -> None:
    with clocked(found):
        pl.scan_csv(path).select(columns).group_by(columns).agg(pl.len()).collect()
        pl.scan_csv(path).select(columns).collect().write_csv(path.with_suffix(".floor"))
    path.with_suffix(".floor").unlink()


def _csv(work: str, folder: Path, found: dict[str, float]) -> None:
    path = adult_csv(folder)
    if work == "floor":
        _floor(path, [*QUASI, "occupation"], found)
        return
    import sfumato as sf

    schema = sf.datasets.adult().with_roles(sensitive="occupation", target=[]).schema
    mechanism = sf.Mondrian(sf.KAnonymity(10), cut=work)  # type: ignore[arg-type]
    sf.publish(sf.datasets.adult(), mechanism)
    with clocked(found):
        made = sf.publish(sf.read(path, schema), mechanism)
        made.save(folder / f"out {work}", format="csv")
    found["classes"] = len(made.boxes)


def _kernel(work: str, _: Path, found: dict[str, float]) -> None:
    import mondrian_kernel

    mondrian_kernel.timed(mondrian_kernel.distinct_rows(1000), cut=work, tight=False)
    codes = mondrian_kernel.distinct_rows(MILLION)
    with clocked(found):
        mondrian_kernel.timed(codes, cut=work, tight=False)


def _diffgen(work: str, folder: Path, found: dict[str, float]) -> None:
    import sfumato as sf
    from sfumato.datasets.adult import ADULT_COLUMNS, ADULT_SCHEMA, adult_frame

    path, columns = folder / "adult-14.csv", list(ADULT_COLUMNS)
    if not path.exists():
        adult_frame(blowup=-(-MILLION // 45_222), seed=1).head(MILLION).write_csv(path)
    if work == "floor":
        _floor(path, columns, found)
        return
    predictors = [name for name in columns if name != "income"]
    schema = sf.Schema.load(ADULT_SCHEMA).with_roles(quasi=predictors, sensitive=(), target="income")
    sf.publish(sf.datasets.adult("test"), sf.DiffGen(1), seed=1)
    with clocked(found):
        release = sf.publish(sf.read(path, schema), sf.DiffGen(1, specializations=15), seed=1)
        release.save(folder / "diffgen", format="csv", counts=True, allow_rehearsal=True)


def _dlink(work: str, _: Path, found: dict[str, float]) -> None:
    """Mondrian alone, or what uniting classes adds to it."""
    import sfumato as sf
    from sfumato.mechanisms.base import gather
    from sfumato.randomness import Entropy

    base = sf.Mondrian(sf.KAnonymity(10))
    counts, spent = gather(base, sf.datasets.census(100_000, 1)), {}
    for name, mechanism in {"base": base, "both": sf.DLink(base)}.items():
        spent[name] = {}
        mechanism.apply(counts, Entropy.seeded(1))
        with clocked(spent[name]):
            mechanism.apply(counts, Entropy.seeded(1))
    base_cpu = spent["base"]["cpu"]
    found["cpu"] = base_cpu if work == "base" else round(spent["both"]["cpu"] - base_cpu, 3)


def _rival(path: str, _: Path, found: dict[str, float]) -> None:
    """The same file as the tools of others; started cold, as they are."""
    started = _used()
    import sfumato as sf

    schema = sf.datasets.adult().with_roles(sensitive="occupation", target=[]).schema
    release = sf.publish(sf.read(path, schema), sf.Mondrian(sf.KAnonymity(10)))
    sizes = release.summary()
    found |= {"cpu": round(_used() - started, 2), "classes": sizes.classes, "smallest": sizes.smallest}


def _utility_loss(_: str, __: Path, found: dict[str, float]) -> None:
    import sfumato as sf

    table = sf.datasets.adult()
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(10)))
    sf.measure(sf.datasets.adult("test"), sf.publish(sf.datasets.adult("test"), sf.Mondrian(sf.KAnonymity(50))))
    with clocked(found):
        sf.measure(table, release, ["utility_loss"])


def _synthesis(_: str, __: Path, found: dict[str, float]) -> None:
    import sfumato as sf
    from sfumato.commuting import Geography, read_flows

    small = sf.datasets.commuting(50, 200, 0)
    mechanism = sf.Synthesize("4.6", "1e-5")
    sf.publish(read_flows(small.flows, Geography.read(small.geography)).table, mechanism, seed=0)
    data = sf.datasets.commuting(233_726, 1_750_000, 1)
    with clocked(found):
        sf.publish(read_flows(data.flows, Geography.read(data.geography)).table, mechanism, seed=1)
    found["pairs"] = data.flows.height


def _help(_: str, __: Path, found: dict[str, float]) -> None:
    with clocked(found):
        subprocess.run([sys.executable, "-m", "sfumato", "--help"], check=True, stdout=subprocess.DEVNULL)


def _large(work: str, folder: Path, found: dict[str, float]) -> None:
    import scale

    found |= scale.done(work, scale.make(folder, 10_000_000))


def _mask(_: str, __: Path, found: dict[str, float]) -> None:
    """A five-digit code and two dates by the day."""
    import sfumato as sf
    from sfumato.counts import Table

    rng, rows = np.random.default_rng(1), 1_800
    birth = {"range": [dt.date(1930, 1, 1), dt.date(2020, 1, 1)], "dates": ["month", "year"]}
    attributes = {
        "zip": {"role": "quasi", "mask": {"length": 5}},
        "birth": {"role": "quasi", "kind": "date", **birth},
        "visit": {"role": "quasi", "kind": "date", "range": [dt.date(2022, 1, 1), dt.date(2024, 1, 1)]},
        "sex": {"role": "quasi", "values": ["f", "m"]},
        "diagnosis": {"role": "sensitive", "values": [f"d{at}" for at in range(10)]},
    }
    columns = [
        rng.choice(rng.integers(10_000, 100_000, 400), rows),
        rng.integers(0, 32_000, rows),
        rng.integers(0, 730, rows),
        rng.integers(0, 2, rows),
        np.minimum(rng.geometric(0.3, rows) - 1, 9),
    ]
    table = Table.from_codes(sf.Schema.parse({"name": "hospital", "attribute": attributes}), np.column_stack(columns))
    with clocked(found):
        sf.frontier(table, "standard", progress=False, workers=2)


def _wide(work: str, _: Path, found: dict[str, float]) -> None:
    """Eight quasi-identifiers, one with 500 codes; a sensitive value that nearly half of the people share."""
    import sfumato as sf
    from sfumato.counts import Table

    methods: dict[str, Any] = {
        "mondrian": sf.Mondrian(sf.KAnonymity(10)),
        "mondrian tight": sf.Mondrian(sf.KAnonymity(10) & sf.LDiversity(2), tight=True),
        "bucketize": sf.Bucketize(sf.LDiversity(2)),
        "anatomy": sf.Anatomy(2),
        "topdown": sf.TopDown(10),
    }
    rng, rows = np.random.default_rng(2), 1_140_000
    listed, columns = {}, []
    for at, size in enumerate((500, 90, 60, 52, 17, 6, 9, 2)):
        weight = 1 / np.arange(1, size + 1) ** 0.7
        listed[f"q{at}"] = {"role": "quasi", "values": [str(v) for v in range(size)]}
        columns.append(rng.choice(size, rows, p=weight / weight.sum()))
    columns.append(np.where(rng.random(rows) < 0.48, 0, rng.integers(0, 50, rows)))
    listed["s"] = {"role": "sensitive", "values": [str(value) for value in range(50)]}
    table = Table.from_codes(sf.Schema.parse({"name": "wide", "attribute": listed}), np.column_stack(columns))
    table = table.with_roles(sensitive=(), target="s") if work == "topdown" else table  # it needs a class to tell
    with clocked(found):
        sf.publish(table, methods[work])


def _dp_adult(_: str, __: Path, found: dict[str, float]) -> None:
    import sfumato as sf

    table, spent = sf.datasets.adult(), {}
    methods = [sf.DiffGen(1), sf.DiffGen.recommended(1), sf.TargetRows(1), sf.Marginals(1), sf.NoisyTable(1)]
    for at, mechanism in enumerate(methods):
        one: dict[str, float] = {}
        try:
            with clocked(one):
                sf.publish(table, mechanism, seed=1, allow_noise=True)
        except sf.SfumatoError as error:
            print(f"{type(mechanism).__name__}: {type(error).__name__}", file=sys.stderr)
            continue
        spent[f"{type(mechanism).__name__} {at}"] = one["cpu"]
    found["cpu"] = max(spent.values())
    found |= spent


WORK: dict[str, Callable[[str, Path, dict[str, float]], None]] = {
    "csv": _csv,
    "kernel": _kernel,
    "diffgen": _diffgen,
    "dlink": _dlink,
    "rival": _rival,
    "utility": _utility_loss,
    "synthesis": _synthesis,
    "help": _help,
    "large": _large,
    "mask": _mask,
    "wide": _wide,
    "dp": _dp_adult,
}


def main() -> None:
    head, _, rest = sys.argv[1].partition(" ")
    found: dict[str, float] = {}
    WORK[head](rest, Path(sys.argv[2]), found)
    own, others = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    found.setdefault("peak_mb", round(max(own, others) / 1024))
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
