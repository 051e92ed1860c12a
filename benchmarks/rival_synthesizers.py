"""One run of a rival's synthesizer in an interpreter of its own, for `bench_marginals.py` and `bench_dp_tables.py`.

It needs `mbi` 2.0 and a copy of google/dpsynth on the path, neither of which this project uses or contains. It reads
codes and domain sizes from a .npz file, spends `rho` of zero-concentrated differential privacy, and writes rows of
codes and the CPU seconds of the run.

Run: python benchmarks/rival_synthesizers.py aim table.npz --rho 0.015 --seed 0 --out rows.npz
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np

NAMES = ("aim", "mst", "swift")


def flags(parser: argparse.ArgumentParser) -> None:
    """Add what a program asks for that runs rivals."""
    parser.add_argument("--rival-python", default=os.environ.get("SFUMATO_RIVAL_PYTHON"))
    parser.add_argument("--rival-path", type=Path, default=os.environ.get("SFUMATO_RIVAL_PATH"))
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--kept-only", action="store_true", help="run no rival, read what is kept")
    parser.add_argument("--rival-seconds", type=int, default=1500, help="CPU seconds after which a rival is stopped")


def drawn(
    name: str, table: Path, epsilon: str, rho: float, seed: int, asked: argparse.Namespace
) -> tuple[np.ndarray | None, float] | None:
    """Return rows of codes that a rival draws, or drew, and its CPU seconds; None where it cannot be run.

    Of a run that was stopped there are no rows: None, and the CPU seconds it was given. It is kept like the others.
    """
    out = asked.kept / f"{table.stem}_{name}_{epsilon}_{seed}.npz"
    if not out.exists():
        if not asked.rival_python or not asked.rival_path or asked.kept_only:
            return None
        command = [asked.rival_python, __file__, name, str(table), "--rho", str(rho), "--seed", str(seed)]
        environment = {**os.environ, "PYTHONPATH": str(asked.rival_path)}
        most = asked.rival_seconds
        ended = subprocess.run(
            [*command, "--out", str(out)],
            env=environment,
            check=False,
            stdout=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5)),
        )
        if ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            np.savez(out, seconds=float(most))
        else:
            ended.check_returncode()
    with np.load(out) as found:
        return found.get("codes"), float(found["seconds"])


def main() -> None:
    """Run one synthesizer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("table", type=Path)
    parser.add_argument("--rho", type=float, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    import jax  # not a dependency of this project

    jax.config.update("jax_enable_x64", True)  # what mbi asks for
    import mbi
    from dpsynth import discrete_mechanisms as rivals

    held = np.load(asked.table)
    codes, sizes = held["codes"], held["sizes"]
    names = [f"a{at:02d}" for at in range(len(sizes))]
    domain = mbi.Domain.fromdict({name: int(size) for name, size in zip(names, sizes, strict=True)})
    data = mbi.Dataset({name: codes[:, at] for at, name in enumerate(names)}, domain)
    inner = {"aim": rivals.AIMConfig, "mst": rivals.MSTConfig, "swift": rivals.SWIFTConfig}[asked.name]()
    made = rivals.DiscreteConfig(inner, compress_columns=True).configure(zcdp_rho=asked.rho)
    np.random.seed(asked.seed)
    began = time.process_time()
    found = made(np.random.default_rng(asked.seed), data)
    seconds = time.process_time() - began
    columns = found.synthetic_data.to_dict()
    np.savez(asked.out, codes=np.column_stack([columns[name] for name in names]).astype(np.int64), seconds=seconds)
    print(f"{asked.name}: {seconds:.1f} s CPU")


if __name__ == "__main__":
    main()
