"""What the processes of `test_ledger.py` run. Used as: python ledger_worker.py JOB FOLDER [TWIN] [NUMBER] [SEED].

race     reserves epsilon 1 of each population on standard input (time to set off, name), and answers yes or no
lines    publishes in a child that is killed at line 0, then at line STRIDE, ... of the ledger's own code
moments  publishes in children that are killed after a random time

A publication writes a witness at the moment of its first draw; after each kill the ledger is held against it.
Children are forked, which is safe as long as nothing here makes polars start its threads.
"""

from __future__ import annotations

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
from sfumato.ledger import Ledger, book
from sfumato.ledger.composition import Charge
from sfumato.ledger.composition import check as whole_check
from sfumato.ledger.cost import cost_of
from sfumato.ledger.store import read_charges, read_tree, reading
from sfumato.mechanisms import Plan
from sfumato.release import Outcome, assemble

ONE = sf.Claim(sf.PureDP(1), neighbours=sf.Neighbours.ADD_OR_REMOVE_ONE)
SCHEMA = sf.Schema.parse({"name": "people", "attribute": {"sex": {"role": "sensitive", "values": ["f", "m"]}}})
TABLE: Any = SimpleNamespace(schema=SCHEMA, left_out=0)
NOTHING = np.zeros(0, np.int64)
OURS = (str(Path(book.__file__).parent), api.__file__, __file__)


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

    def apply(self, counts: Any, entropy: sf.Entropy) -> Outcome:
        os.write(self.witness, b".")
        entropy.word()
        return Outcome(replace(self.release))


# -- broken twins: what the ledger must not be -------------------------------------------------


def check_and_write_apart() -> None:
    """Look in one transaction, write in the next; the pause between them is what a busy machine would add."""
    honest = Ledger.reserve

    def reserve(self: Ledger, population: str, claim: sf.Claim, mechanism: Any) -> Any:
        with reading(self._path) as connection:
            asked = Charge(population, neighbours=claim.neighbours, cost=cost_of(claim))
            whole_check(read_tree(connection), read_charges(connection), asked)
        time.sleep(0.003)
        return honest(self, population, claim, mechanism)

    book.check = lambda *_: None
    Ledger.reserve = reserve


def enter_afterwards() -> None:
    """Write down what was spent once it is spent."""

    @contextmanager
    def entered(ledger: Any, population: str, claim: sf.Claim, mechanism: Any, entropy: sf.Entropy) -> Any:
        yield SimpleNamespace(spend=lambda claim: Ledger(ledger).reserve(population, claim, "twin").spend())

    api.entered = entered


def refund_in_any_case() -> None:
    """Reserve, but give everything back on the way out and take it again."""
    honest = book.Reservation.spend

    def spend(self: book.Reservation, claim: sf.Claim) -> None:
        self.refund(drew=False)
        honest(replace(self, entry=self.ledger.reserve("people", claim, "twin").entry))

    book.Reservation.spend = spend


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


def killed_at(line: int) -> Any:
    """Return a trace function that kills this process when so many lines of ours were run."""
    left = line

    def each(frame: Any, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(OURS):
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
            while True:
                sf.publish(TABLE, mechanism, ledger=ledger)
        time.sleep(draw.uniform(0, pace))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found.append((witness.stat().st_size, spent(ledger)))
        # However slow the machine is now, a child should come to a draw or two before it is killed.
        drew = found[-1][0] - (found[-2][0] if len(found) > 1 else 0)
        pace *= 1.25 if drew == 0 else 0.8 if drew > 2 else 1
    return found


TWINS = {"": lambda: None, "apart": check_and_write_apart, "late": enter_afterwards, "generous": refund_in_any_case}

if __name__ == "__main__":
    job, where, twin, size, chance = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    TWINS[twin]()
    if job == "race":
        race(where)
    else:
        print(json.dumps(lines(where, size) if job == "lines" else moments(where, size, chance)))
