"""Pages of the web app on Adult, 40 questions, a million rows and codes of five digits: CPU time of a page, memory.

python benchmarks/bench_web.py [adult|survey|million|codes]

Each table is served by a process of its own. "First look" is the time from the upload until the columns and the danger
light are there; a page is the least of five requests, in CPU seconds of the server.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from starlette.testclient import TestClient

import sfumato as sf
from sfumato.web.app import COOKIE, created

HOST = "127.0.0.1:8765"
HOME = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
PAGES = ("file", "person", "describe", "policy", "compare", "publish", "again")
REPEATS = 5


def survey(rows: int = 3_000, questions: int = 40) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    known = {
        "respondent": [f"R{at:06}" for at in range(rows)],
        "age": rng.integers(18, 90, rows),
        "region": rng.choice(["North", "South", "East", "West"], rows),
    }
    return pl.DataFrame({**known, **{f"Q{at:02}": rng.integers(1, 6, rows) for at in range(1, questions + 1)}})


def million(rows: int = 1_000_000) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "nr": np.arange(rows),
            "age": rng.integers(0, 100, rows),
            "sex": rng.choice(["female", "male"], rows),
            "region": rng.choice([f"region {at}" for at in range(40)], rows),
            "job": rng.choice([f"job {at}" for at in range(60)], rows),
            "illness": rng.choice([f"illness {at}" for at in range(25)], rows),
        }
    )


def codes(rows: int = 20_000) -> pl.DataFrame:
    rng = np.random.default_rng(6)
    return pl.DataFrame(
        {
            "nr": np.arange(rows),
            "post": [f"{code:05}" for code in rng.choice(rng.integers(0, 100_000, 2_000), rows)],
            "age": rng.integers(18, 90, rows),
            "illness": rng.choice([f"illness {at}" for at in range(12)], rows),
        }
    )


TABLES = {"adult": sf.datasets.adult_frame, "survey": survey, "million": million, "codes": codes}


def client(folder: Path) -> TestClient:
    app = created(folder, token="bench", hosts=frozenset({HOST}))
    made = TestClient(app, base_url=f"http://{HOST}", follow_redirects=False)
    made.cookies.set(COOKIE, "bench")
    return made


def waited(web: TestClient, base: str) -> dict[str, Any]:
    while True:
        data: dict[str, Any] = web.get(f"{base}/describe.json").json()
        if data["look"] is not None and data.get("checked") is not None:
            return data
        time.sleep(0.2)


def timed(web: TestClient, base: str, pages: tuple[str, ...]) -> None:
    for page in pages:
        taken = []
        for _ in range(REPEATS):
            start = time.process_time()
            assert web.get(f"{base}/{page}").status_code == 200
            taken.append(time.process_time() - start)
        print(f"  {page:20} {1000 * min(taken):6.1f} ms")


def compared(web: TestClient, base: str) -> None:
    """Compare the 23 releases of the first preset, in processes of their own: three pages are larger afterwards."""
    web.post(f"{base}/compare", data={"preset": "standard"}, headers=HOME)
    while (run := web.get(f"{base}/compare.json").json()["run"])["state"] == "running":
        time.sleep(1)
    print(f"  once compared ({run['state']}):")


def one(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.csv"
        TABLES[name]().write_csv(file)
        web = client(Path(folder) / "space")
        begun, cpu = time.perf_counter(), time.process_time()
        with file.open("rb") as body:
            answer = web.put(
                "/upload", params={"name": file.name}, content=iter(lambda: body.read(1 << 20), b""), headers=HOME
            )
        base = answer.json()["next"].rpartition("/")[0]
        data = waited(web, base)
        columns = [card["name"] for card in data["cards"]]
        print(f"{name}: {file.stat().st_size / 1e6:.0f} MB, {data['look']['rows']:,} rows, {len(columns)} columns")
        print(f"  first look {time.process_time() - cpu:.1f} CPU s, {time.perf_counter() - begun:.1f} s")
        timed(web, base, (*PAGES, f"column/{columns[1]}"))
        start = time.process_time()
        web.post(f"{base}/answers", data={"column": columns}, headers=HOME)
        print(f"  {'all columns answered':20} {1000 * (time.process_time() - start):6.1f} ms")
        start = time.process_time()
        waited(web, base)
        print(f"  checked again {time.process_time() - start:.1f} CPU s")
        if name == "adult":
            compared(web, base)
            timed(web, base, ("compare", "inspect", "publish"))
        print(f"  largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def main() -> None:
    if len(sys.argv) > 1:
        one(sys.argv[1])
        return
    for name in TABLES:
        subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    main()
