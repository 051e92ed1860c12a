"""Other tools that install from PyPI, on the table our own work reads: `python benchmarks/rivals.py NAME FILE`.

Run by the interpreter of a separate environment, which `environment` makes once below the user's cache; nothing here
imports Sfumato there. k = 10, six quasi-identifiers of Adult, resampled; CPU seconds from the file to the table, peak
memory, and the classes and smallest class of what came out.

anonypy   Mondrian in pandas, sets and ranges as labels
anjana    one level of a hierarchy for each column; here age by 5, 10, 20 years, the other columns whole or not at all
pycanon   makes no table: finds k of one, here of the rows as they are
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

RIVALS = ("anonypy", "anjana", "pycanon")
QUASI = ["age", "workclass", "education", "marital-status", "race", "sex"]
K = 10


def environment() -> tuple[Path | None, str]:
    """Return the interpreter that has the rivals, made where it is missing, or None and why there is none."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sfumato" / "rivals"
    python = cache / "bin" / "python"
    if not python.exists():
        made = subprocess.run([sys.executable, "-m", "venv", str(cache)], capture_output=True, check=False, timeout=120)
        if made.returncode:
            return None, "no environment could be made"
    for name in RIVALS:
        have = subprocess.run([str(python), "-c", f"import {name}"], capture_output=True, check=False)
        if have.returncode:
            wanted = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", name]
            done = subprocess.run(wanted, capture_output=True, check=False, timeout=300)
            if done.returncode:
                return python, f"{name} cannot be installed"
    return python, ""


def _anonypy(frame: Any) -> Any:
    import anonypy
    import pandas as pd

    for name in (*QUASI[1:], "occupation"):
        frame[name] = frame[name].astype("category")
    rows = anonypy.Preserver(frame, QUASI, "occupation").anonymize_k_anonymity(k=K)
    return pd.DataFrame(rows)


def _anjana(frame: Any) -> Any:
    import numpy as np
    from anjana.anonymity import k_anonymity

    levels: dict[str, Any] = {}
    for name in QUASI:
        column = frame[name].to_numpy()
        levels[name] = {0: column}
        if name == "age":
            for at, wide in enumerate((5, 10, 20), 1):
                low = column // wide * wide
                levels[name][at] = np.array([f"[{one}, {one + wide})" for one in low])
        levels[name][len(levels[name])] = np.array(["*"] * len(column))
    return k_anonymity(frame, [], QUASI, K, 5, levels)


def _pycanon(frame: Any) -> Any:
    from pycanon.anonymity import k_anonymity

    k_anonymity(frame, QUASI)
    return frame


def main() -> None:
    import pandas as pd

    name, path = sys.argv[1:]
    work = {"anonypy": _anonypy, "anjana": _anjana, "pycanon": _pycanon}[name]
    started = time.process_time()
    made = work(pd.read_csv(path))
    used = time.process_time() - started
    weights = made["count"] if "count" in made.columns else None
    grouped = made.astype(dict.fromkeys(QUASI, str)).groupby(QUASI, observed=True)
    sizes = grouped.size() if weights is None else grouped["count"].sum()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"classes": len(sizes), "smallest": int(sizes.min()) if len(sizes) else 0}
    sys.stdout.write(json.dumps({"cpu": round(used, 2), "peak_mb": round(peak)} | found) + "\n")


if __name__ == "__main__":
    main()
