"""Damaged ledgers: bits that flip, bytes that are overwritten, files cut short. Less is never said to be spent."""

from __future__ import annotations

import random

import pytest

import sfumato as sf
from sfumato.ledger import Ledger, store

ADD = sf.Neighbours.ADD_OR_REMOVE_ONE


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A ledger with two populations, limits, parts, releases that cost and releases that do not."""
    path = tmp_path_factory.mktemp("damage") / "ledger.db"
    book = Ledger(path)
    book.limit("people", 9, "1/1000")
    book.declare_parts("people", ["north", "south"])
    for at in range(6):
        promise = sf.ApproxDP(f"{at + 1}/7", delta="1/100000") if at % 2 else sf.PureDP(f"{at + 1}/7")
        account = book.reserve(("people", "north")[at % 2], sf.Claim(promise, neighbours=ADD), {"name": "diffgen"})
        if at != 4:  # one process died
            account.spend()
            account.saved(path.parent / f"release-{at}")
    book.reserve("people", sf.Claim(sf.KAnonymity(5)), {"name": "mondrian"}).spend()
    return path.read_bytes()


def said(path):
    """Return what a ledger says about every population: spent, and left; None where it is refused."""
    book = Ledger(path)
    try:
        totals = {name: book.totals(name) for name in book.populations()}
        book.entries()
    except sf.ParameterError:
        return None
    return {name: (total.combined, total.left) for name, total in totals.items()}


def less(before, after):
    """Whether a ledger, which is not refused, says that less was spent or more is left than is true."""
    if after is None:
        return False
    for name, (spent, left) in before.items():
        if name not in after:
            return True
        now, rest = after[name]
        if not spent.within(now) or (left is not None and (rest is None or not rest.within(left))):
            return True
    return False


def damaged(data, times, seed):
    """Yield damaged copies: one flipped bit in most, an overwritten byte, a zeroed run or a cut in others."""
    draw = random.Random(seed)
    for at in range(times):
        copy = bytearray(data)
        kind = at % 8
        place = draw.randrange(len(copy))
        if kind < 5:
            copy[place] ^= 1 << draw.randrange(8)
        elif kind == 5:
            copy[place] = draw.randrange(256)
        elif kind == 6:
            copy[place : place + draw.randrange(1, 512)] = bytes(min(512, len(copy) - place))[: draw.randrange(1, 512)]
        else:
            del copy[place:]
        yield bytes(copy)


def tried(path, data, times, seed):
    path.write_bytes(data)
    before = said(path)
    assert before is not None
    found = {"refused": 0, "unchanged": 0, "less": 0}
    for copy in damaged(data, times, seed):
        for left in path.parent.glob(f"{path.name}-journal"):
            left.unlink()
        path.write_bytes(copy)
        after = said(path)
        if less(before, after):
            found["less"] += 1
        else:
            found["refused" if after is None else "unchanged"] += 1
    return found


def test_no_flipped_bit_says_that_less_was_spent(tmp_path, ledger):
    found = tried(tmp_path / "ledger.db", ledger, 240, seed=1)
    assert found["less"] == 0
    assert found["refused"] > 24


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 6))
def test_no_damage_of_thousands_says_that_less_was_spent(tmp_path, ledger, seed):
    assert tried(tmp_path / "ledger.db", ledger, 3000, seed)["less"] == 0


@pytest.mark.full
def test_no_bit_at_all_says_that_less_was_spent(tmp_path, ledger):
    """Flip every bit of the pages that hold rows: wherever a byte is not zero."""
    path = tmp_path / "ledger.db"
    path.write_bytes(ledger)
    before = said(path)
    wrong = []
    for place, value in enumerate(ledger):
        if not value:
            continue
        for bit in range(8):
            copy = bytearray(ledger)
            copy[place] ^= 1 << bit
            path.write_bytes(bytes(copy))
            if less(before, said(path)):
                wrong.append((place, bit))
    assert wrong == []


def test_a_ledger_without_seals_is_caught(tmp_path, ledger, monkeypatch):
    """The fuzz has power: flip a digit of an amount in a ledger that nobody checks."""
    monkeypatch.setattr(store, "check_seals", lambda *_: None)
    path = tmp_path / "ledger.db"
    path.write_bytes(ledger)
    before = said(path)
    path.write_bytes(ledger.replace(b"5/7", b"4/7"))
    assert less(before, said(path))


def test_damage_is_a_message_when_writing_too(tmp_path, ledger):
    path = tmp_path / "ledger.db"
    for text, other in ((b"diffgen", b"diff\xffen"), (b'"kind"', b'"kin\xff"'), (b"5/7", b"5/0"), (b"spent", b"spend")):
        assert text in ledger
        path.write_bytes(ledger.replace(text, other))
        copy = path.read_bytes()
        for use in (
            Ledger(path).entries,
            lambda: Ledger(path).reserve("people", sf.Claim(sf.PureDP("1/7"), neighbours=ADD), "m"),
            lambda: Ledger(path).limit("people", 1),
        ):
            with pytest.raises(sf.ParameterError, match="damaged"):
                use()
        assert path.read_bytes() == copy
