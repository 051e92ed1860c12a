"""What the processes of `test_ledger.py` run. Used as: python ledger_worker.py JOB FOLDER [MUTANT] [NUMBER] [SEED].

race     reserves epsilon 1 of each population on standard input (time to set off, name), and answers yes or no
lines    publishes in a child that is killed at line 0, then at line STRIDE, ... of the ledger's own code
moments  publishes in children that are killed after a random time
points   publishes and saves in children that are killed just before and just after each step
saves    publishes and saves in a child that is killed at line 0, then at line STRIDE, ... of the ledger's and the
         release's own code, and tells what is left: accounted, on the disk, known to the ledger, finished

A publication writes a witness at the moment of its first draw; after each kill the ledger is held against it.
Children are forked, which is safe as long as nothing here makes polars start its threads.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import sfumato as sf
from sfumato import api
from sfumato.ledger import Ledger, ledger as ledger_module
from sfumato.ledger.composition import Charge, check as whole_check
from sfumato.ledger.cost import cost_of
from sfumato.ledger.store import read_charges, read_tree, reading
from sfumato.mechanisms import Plan
from sfumato.release import Release, assemble, atomic as folder, atomic as partial, store
from sfumato.release.store import finish

ONE = sf.Claim(sf.PureDP(1), neighbours=sf.Neighbours.ADD_OR_REMOVE_ONE)
SCHEMA = sf.Schema.parse(
    {"name": "people", "source": "public", "attribute": {"sex": {"role": "sensitive", "values": ["f", "m"]}}}
)
TABLE: Any = SimpleNamespace(
    schema=SCHEMA,
    left_out=0,
    surplus=0,
    guesses=(),
    doubts=SimpleNamespace(refuse_repeated_keys=lambda: None, two_people=lambda **_: ()),
    close=lambda: None,
    engine=None,
    held=True,
    backend="polars",
)
NOTHING = np.zeros(0, np.int64)
OURS = (str(Path(ledger_module.__file__).parent), api.__file__, __file__)
STORES = tuple(str(Path(folder.__file__).with_name(f"{name}.py")) for name in ("folder", "partial", "store", "release"))


class Witnessed:
    """Epsilon 1 each time; a byte in the witness file tells each first draw."""

    def __init__(self, witness: Path) -> None:
        self.witness = os.open(witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        parts = ("carried_group", "carried_codes", "carried_weight", "weight", "group", "labels")
        self.release, _ = assemble(SCHEMA, tables=(), claim=ONE, **dict.fromkeys(parts, NOTHING))

    def claim(self, schema: sf.Schema) -> sf.Claim:
        return ONE

    def needs(self, schema: sf.Schema) -> list[tuple[str, ...]]:
        return []

    def plan(self, schema: sf.Schema) -> Plan:
        return Plan(())

    def apply(self, counts: Any, entropy: sf.Entropy) -> Release:
        os.write(self.witness, b".")
        entropy.word()
        return replace(self.release)


# -- mutants: what the ledger must not be -------------------------------------------------


def check_and_write_apart() -> None:
    """Look in one transaction, write in the next; the pause between them is what a busy machine would add."""
    honest = Ledger.reserve

    def reserve(self: Ledger, population: str, claim: sf.Claim, mechanism: Any) -> Any:
        with reading(self._path) as connection:
            asked = Charge(population, neighbours=claim.neighbours, cost=cost_of(claim))
            whole_check(read_tree(connection), read_charges(connection), asked)
        time.sleep(0.003)
        return honest(self, population, claim, mechanism)

    ledger_module.check = lambda *_: None
    Ledger.reserve = reserve


def enter_afterwards() -> None:
    """Write down what was spent once it is spent."""

    @contextmanager
    def entered(ledger: Any, population: str, claim: sf.Claim, mechanism: Any, entropy: sf.Entropy) -> Any:
        yield SimpleNamespace(spend=lambda claim: Ledger(ledger).reserve(population, claim, "mutant").spend())

    api.entered = entered


def refund_in_any_case() -> None:
    """Reserve, but give everything back on the way out and take it again."""
    honest = ledger_module.Reservation.spend

    def spend(self: ledger_module.Reservation, claim: sf.Claim) -> None:
        self.refund(drew=False)
        honest(replace(self, entry=self.ledger.reserve("people", claim, "mutant").entry))

    ledger_module.Reservation.spend = spend


def look_away() -> None:
    """Note the folder once it is there, and pass over entries whose folder is unknown."""
    ledger_module.Reservation.intends = lambda *_: None
    honest = Ledger._folders_of
    Ledger._folders_of = lambda self, entry, every: honest(self, replace(entry, unsaved="x"), every)


def clear_away() -> None:
    """Remove what killed processes left, paid for or not."""
    partial.holding_release = lambda _: False


# -- jobs ----------------------------------------------------------------------------------------


def race(folder: Path) -> None:
    ledger = Ledger(folder / "ledger.db")
    print("ready", flush=True)
    for line in sys.stdin:
        start, name = line.split(maxsplit=1)
        while time.monotonic() < float(start):  # one clock for all processes: they set off together
            pass
        try:
            ledger.reserve(name.strip(), ONE, "racer")
        except sf.BudgetExceeded:
            print("no", flush=True)
        else:
            print("yes", flush=True)


def spent(ledger: Path) -> int:
    """Return what the ledger says was spent; nothing where it does not exist yet."""
    if not ledger.exists() or "people" not in Ledger(ledger).populations():
        return 0
    return int(Ledger(ledger).totals("people").combined.epsilon)


def killed_at(line: int, where: tuple[str, ...] = OURS) -> Any:
    """Return a trace function that kills this process when so many lines of ours were run."""
    left = line

    def each(frame: Any, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(where):
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return each

    return each


def lines(folder: Path, stride: int) -> list[tuple[int, int]]:
    """Return (drawn, spent) after each kill; the last child is not killed any more."""
    found = []
    for at in range(0, 1_000_000, stride):
        ledger, witness = folder / f"{at}.db", folder / f"{at}.drawn"
        mechanism = Witnessed(witness)
        child = os.fork()
        if child == 0:
            sys.settrace(killed_at(at))
            sf.publish(TABLE, mechanism, ledger=ledger)
            sys.settrace(None)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        os.close(mechanism.witness)
        found.append((witness.stat().st_size, spent(ledger)))
        if not os.WIFSIGNALED(status):
            assert status == 0
            return found
    raise AssertionError("the child never came to its end")


def saves(top: Path, stride: int) -> list[dict[str, Any]]:
    """Return what each kill left behind; the last child is not killed any more."""
    found = []
    for at in range(0, 1_000_000, stride):
        place = top / str(at)
        place.mkdir()
        mechanism = Witnessed(place / "drawn")
        child = os.fork()
        if child == 0:
            sys.settrace(killed_at(at, (*OURS, *STORES)))
            sf.publish(TABLE, mechanism, ledger=place / "ledger.db", save_to=place / "out", format="csv")
            sys.settrace(None)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        os.close(mechanism.witness)
        found.append(left_behind(place))
        if not os.WIFSIGNALED(status):
            assert status == 0
            return found
    raise AssertionError("the child never came to its end")


def points(top: Path) -> dict[str, dict[str, Any]]:
    """Return what a kill just before and just after each step of publishing and saving leaves behind."""
    steps = {
        "reserve": (Ledger, "reserve"),
        "draw": (Witnessed, "apply"),
        "spend": (ledger_module.Reservation, "spend"),
        "partial": (store, "_fill"),
        "note": (ledger_module.Reservation, "intends"),
        "rename": (folder, "take_name"),
        "done": (ledger_module.Reservation, "saved"),
    }
    found = {}
    for name, (owner, attribute) in steps.items():
        for after in (False, True):
            place = top / f"{name}-{after}"
            place.mkdir()
            mechanism = Witnessed(place / "drawn")
            child = os.fork()
            if child == 0:
                honest = getattr(owner, attribute)

                def step(*given: Any, honest: Any = honest, after: bool = after, **more: Any) -> None:
                    if after:
                        honest(*given, **more)
                    os.kill(os.getpid(), signal.SIGKILL)

                setattr(owner, attribute, step)
                sf.publish(TABLE, mechanism, ledger=place / "ledger.db", save_to=place / "out", format="csv")
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert os.WIFSIGNALED(status)
            os.close(mechanism.witness)
            found[f"{'after' if after else 'before'} {name}"] = left_behind(place)
    return found


def left_behind(place: Path) -> dict[str, Any]:
    """Say what is accounted, what is on the disk, what `--against ledger.db` would do, and what can be finished."""
    ledger, out = place / "ledger.db", place / "out"
    answer: dict[str, Any] = {"drawn": (place / "drawn").stat().st_size, "spent": spent(ledger), "named": out.exists()}
    answer["whole before"] = any((one / "manifest.json").exists() for one in place.glob(".out.partial-*"))
    answer["looks back"] = looks_back(ledger)
    partial.remove_stale(place)  # what the next save in this place does first
    for left in place.glob(".out.partial-*"):
        finish(left)
    answer["whole after"] = out.exists() and whole(out)
    answer["looks back after"] = looks_back(ledger)
    answer["leftovers"] = sorted(one.name for one in place.iterdir() if one.name.startswith("."))
    return answer


def looks_back(ledger: Path) -> str:
    if not ledger.exists():
        return "no ledger"
    try:
        return "sees it" if Ledger(ledger).saved_folders("people") else "sees nothing"
    except sf.ParameterError:
        return "refuses"


def whole(out: Path) -> bool:
    """Whether a folder holds its manifest and every file it lists, with the right hash, and nothing else."""
    files = json.loads((out / "manifest.json").read_text())["files"]
    return {one.name for one in out.iterdir()} == {"manifest.json", *files} and all(
        hashlib.sha256((out / name).read_bytes()).hexdigest() == entry["sha256"] for name, entry in files.items()
    )


def moments(folder: Path, number: int, seed: int) -> list[tuple[int, int]]:
    """Return (drawn, spent), over all children so far, after each kill."""
    draw = random.Random(seed)
    found: list[tuple[int, int]] = []
    pace = 0.06
    ledger, witness = folder / "ledger.db", folder / "drawn"
    mechanism = Witnessed(witness)
    for _ in range(number):
        child = os.fork()
        if child == 0:
            try:
                while True:
                    sf.publish(TABLE, mechanism, ledger=ledger)
            finally:
                os._exit(1)
        time.sleep(draw.uniform(0, pace))
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), "a child stopped by itself"
        found.append((witness.stat().st_size, spent(ledger)))
        # However slow the machine is now, a child should come to a draw or two before it is killed.
        drew = found[-1][0] - (found[-2][0] if len(found) > 1 else 0)
        pace *= 1.25 if drew == 0 else 0.8 if drew > 2 else 1
    return found


MUTANTS = {
    "": lambda: None,
    "apart": check_and_write_apart,
    "late": enter_afterwards,
    "generous": refund_in_any_case,
    "blind": look_away,
    "tidy": clear_away,
}

if __name__ == "__main__":
    job, where, mutant, size, chance = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    MUTANTS[mutant]()
    if job == "race":
        race(where)
    else:
        jobs = {
            "lines": lambda: lines(where, size),
            "saves": lambda: saves(where, size),
            "points": lambda: points(where),
        }
        print(json.dumps(jobs.get(job, lambda: moments(where, size, chance))()))
