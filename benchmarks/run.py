"""Every benchmark, one after another: `make bench`. Figures are ratios taken in one run where a target is a ratio."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ARGUMENTS = {"bench_partition.py": ["--large"]}


def main() -> None:
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    failed = []
    for path in [HERE / "scale.py", *sorted(HERE.glob("bench_*.py")), HERE / "mondrian_kernel.py"]:
        print(f"\n=== {path.name} ===", flush=True)
        done = subprocess.run([sys.executable, str(path), *ARGUMENTS.get(path.name, [])], env=environment, check=False)
        if done.returncode:
            failed.append(path.name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
