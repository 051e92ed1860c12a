"""Growth from 100,000 rows on: CPU and peak memory beside polars doing the same reading, grouping and writing.

python benchmarks/scale.py [--rows 100000 1000000 10000000] [--work floor widest] [--keep FOLDER]

Each figure is taken in a process of its own; a part of `run.py`. Five quasi-identifiers and a sensitive column,
Parquet in and out, k = 10. Results are appended to benchmarks/results/scale.json, and the curve of growth is drawn to
docs/images/growth.svg.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scale.json"
CURVE = HERE.parent / "docs" / "images" / "growth.svg"
SIZES = {"education": 16, "work": 25, "region": 20, "sex": 2}
ILL = 9
CHUNK = 2_000_000
WORK = ("floor", "widest", "best", "two phases", "diffgen")


def schema_text() -> dict:
    listed = {name: {"role": "quasi", "values": [f"{name} {at}" for at in range(size)]} for name, size in SIZES.items()}
    return {
        "name": "grown",
        "source": "public",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
            **listed,
            "ill": {"role": "sensitive", "values": [f"ill {at}" for at in range(ILL)]},
        },
    }


def chunk(rows: int, seed: int) -> pl.DataFrame:
    """Rows that lean on one hidden number, as education, work and age do."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=rows)

    def leaning(size: int, on: float) -> np.ndarray:
        value = 1 / (1 + np.exp(-(on * hidden + rng.normal(size=rows))))
        return np.minimum((value * size).astype(np.int64), size - 1)

    columns = {"age": pl.Series(leaning(100, 0.5).astype(np.int16))}
    for place, (name, size) in enumerate(SIZES.items()):
        texts = pl.Series([f"{name} {at}" for at in range(size)])
        columns[name] = texts.gather(leaning(size, (0.9, 0.6, 0.0, 0.1)[place]))
    columns["ill"] = pl.Series([f"ill {at}" for at in range(ILL)]).gather(leaning(ILL, 0.3))
    return pl.DataFrame(columns)


def make(folder: Path, rows: int) -> Path:
    """Write the table in files of two million rows, so that no run holds it."""
    place = folder / f"rows-{rows}"
    if place.exists():
        return place
    place.mkdir(parents=True)
    for at, start in enumerate(range(0, rows, CHUNK)):
        chunk(min(CHUNK, rows - start), at).write_parquet(place / f"{at:03d}.parquet")
    return place


def done(work: str, place: Path) -> dict:
    """Do one piece of work in this process and return its figures."""
    target = Path(tempfile.mkdtemp(dir=place.parent))
    if work != "floor":
        import sfumato as sf

        schema = sf.Schema.parse(schema_text())
        mechanism = sf.Mondrian(sf.KAnonymity(10), cut="widest" if work == "widest" else "best")
        if work == "diffgen":
            mechanism = sf.DiffGen(1, specializations=15)
        sf.publish(sf.read(chunk(2000, 1), schema), sf.Mondrian(sf.KAnonymity(10)))  # load what is compiled
    started, begun, about = time.process_time(), time.perf_counter(), {}
    if work == "floor":
        names = ["age", *SIZES, "ill"]
        scan = pl.scan_parquet(place / "*.parquet").select(names)
        lines = scan.group_by(names).agg(pl.len()).collect(engine="streaming")
        scan.sink_parquet(target / "out.parquet")
        about = {"lines": lines.height}
    else:
        cells = (
            {"driver_cells": max(10_000, int(place.name.removeprefix("rows-")) // 20)} if work == "two phases" else {}
        )
        table = sf.read(str(place / "*.parquet"), schema, **cells)
        method = table.with_roles(quasi=["age", *SIZES], target="ill") if work == "diffgen" else table
        options = {"seed": 1, "allow_rehearsal": True, "counts": True} if work == "diffgen" else {}
        release = sf.publish(method, mechanism, save_to=target / "out", **options)
        about = {"classes": len(release.boxes), "phases": 2 if work != "diffgen" and table.engine is not None else 1}
    used = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shutil.rmtree(target)
    return {"cpu": round(used, 2), "wall": round(time.perf_counter() - begun, 2), "peak_mb": round(peak)} | about


def run(_: str, command: list[str]) -> dict | None:
    """Run a process that prints JSON; None where it fails."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if ended.returncode else json.loads(ended.stdout)


def draw(history: list[dict]) -> None:
    """Draw CPU seconds by rows on logarithmic axes: the latest figure of each piece of work and size."""
    import altair as alt

    latest = {(entry["work"], entry["rows"]): entry["cpu"] for entry in history if "cpu" in entry}
    rows = [{"work": work, "rows": many, "CPU seconds": max(cpu, 0.01)} for (work, many), cpu in latest.items()]
    names = {"floor": "polars: read, group, write", "diffgen": "DiffGen, 15 cuts"}
    for row in rows:
        row["work"] = names.get(row["work"], f"Mondrian, {row['work']}")
    chart = (
        alt.Chart(alt.Data(values=rows), width=420, height=260)
        .mark_line(point=True)
        .encode(
            x=alt.X("rows:Q", scale=alt.Scale(type="log"), title="rows", axis=alt.Axis(format="~s")),
            y=alt.Y("CPU seconds:Q", scale=alt.Scale(type="log"), title="CPU seconds"),
            color=alt.Color("work:N", title=None),
        )
    )
    chart.save(str(CURVE))


def grow(
    rows: Sequence[int],
    folder: Path,
    *,
    work: Sequence[str] = WORK,
    run: Callable[[str, list[str]], dict | None] = run,
    keep: bool = False,
) -> None:
    """Measure each piece of work at each size, remember and draw it."""
    history = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    print(
        f"\n{'Growth, 5 quasi-identifiers, Parquet':44s} {'CPU s':>8s} {'x floor':>8s} {'peak MB':>8s} {'wall s':>8s}"
    )
    for many in rows:
        place, floor = make(folder, many), None
        for name in work:
            found = run(f"{name}, {many:,} rows", [sys.executable, __file__, "--one", name, str(place)])
            if found is None:
                print(f"  {f'{name}, {many:,} rows':42s} not measured")
                continue
            found |= {"work": name, "rows": many, "day": time.strftime("%Y-%m-%d")}
            floor = found if name == "floor" else floor
            if floor is not None:
                found["ratio"] = round(found["cpu"] / max(floor["cpu"], 0.01), 2)
            history.append(found)
            RESULTS.write_text(json.dumps(history, indent=1) + "\n")
            figures = f"{found['cpu']:8.2f} {found.get('ratio', 0):8.2f} {found['peak_mb']:8d} {found['wall']:8.1f}"
            print(f"  {f'{name}, {many:,} rows':42s} {figures}", flush=True)
        if not keep:
            shutil.rmtree(place)
    draw(history)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", nargs="*", type=int, default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--work", nargs="*", default=list(WORK))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--one", nargs=2)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(done(given.one[0], Path(given.one[1]))))
        return
    folder = given.keep or Path(tempfile.mkdtemp(prefix="sfumato-scale-"))
    grow(given.rows, folder, work=given.work, keep=given.keep is not None)


if __name__ == "__main__":
    main()
