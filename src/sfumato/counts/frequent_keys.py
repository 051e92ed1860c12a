"""Keys of people with far more rows than others: one of them may be written for everybody whose key is not known.

What is looked at are numbers of rows and the shape of the most frequent key, so that a table whose keys stay elsewhere
is judged as one in memory is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.errors import Problem

_CROWD = 20  # a key with 20 times the rows of most keys, and more than one row in 20, is examined
_ONE_SIGN = re.compile(r"0+|(\w)\1{3,}")  # 0, 000000, xxxx
_AFTER_ONE_SIGN = f"^({'|'.join(f'{at}*{at + 1}' for at in range(9))}|10+)$"  # 000001, 10000
FILLED_KEYS, _FILLER_ROWS, _NUMBERED = 20, 5, 0.95  # keys; rows of one; the share of the others that hold a digit


def shown_by_keys(texts: Sequence[pl.Series], first: np.ndarray, rows: np.ndarray) -> pl.DataFrame:
    """Return what keys show of one that is written for no key: lines of several parts of a table can be put together.

    `first` has the place of each key in `texts`, `rows` its rows. Lines (what, value, many) hold no key: how many keys
    have so many rows; how many hold a digit; whether the most frequent one is one sign again and again, with a hash of
    the number after it, or a word; and hashes of numbers that come after one sign.
    """
    lines: list[tuple[str, int, int]] = []
    for value, many in zip(*np.unique(rows.astype(np.int64), return_counts=True), strict=True):
        lines.append(("rows", int(value), int(many)))
    if len(texts) == 1 and len(rows):
        keys = texts[0].gather(first)
        top, most = str(keys[int(rows.argmax())]), int(rows.max())
        lines.append(("numbered", 0, int(keys.str.contains(r"\p{N}").sum())))
        if _ONE_SIGN.fullmatch(top):
            lines.append(("sign", most, _hashed(str(int(top) + 1).zfill(len(top))) if top.isdecimal() else 0))
        elif re.search(r"\d", top) is None:
            lines.append(("word", most, 0))
        lines += [("next", 0, _hashed(key)) for key in keys.filter(keys.str.contains(_AFTER_ONE_SIGN)).to_list()]
    return pl.DataFrame(lines, schema={"what": pl.String, "value": pl.Int64, "many": pl.Int64}, orient="row")


def _hashed(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=7).digest(), "little")


def filler_of(shown: pl.DataFrame) -> int:
    """Return the rows of the most frequent key where it seems to be written for no key, 0 elsewhere.

    It has twice the rows of any other, and is one sign again and again (000000, xxxx), unless the next number is a key
    as well, or a word among numbers.
    """
    keys, most, second = _frequencies(shown)[:3]
    if keys < FILLED_KEYS or most < max(_FILLER_ROWS, 2 * second):
        return 0
    held = {name: shown.filter(pl.col("what") == name) for name in ("sign", "word", "next", "numbered")}
    for following in held["sign"].filter(pl.col("value") == most)["many"].to_list():
        return 0 if following in held["next"]["many"].to_list() else most
    word = (held["word"]["value"] == most).any()
    return most if word and held["numbered"]["many"].sum() >= _NUMBERED * (keys - 1) else 0


def crowd_of(shown: pl.DataFrame) -> int:
    """Return the rows of the most frequent key where it has enough to stand for everybody without one, 0 elsewhere."""
    keys, most, _, median, rows = _frequencies(shown)
    return 0 if not keys or most <= _CROWD * median or most * _CROWD <= rows else most


def _frequencies(shown: pl.DataFrame) -> tuple[int, int, int, float, int]:
    """Return how many keys there are, the rows of the two most frequent, the median of the rows, and all rows."""
    found = shown.filter(pl.col("what") == "rows").group_by("value").agg(pl.col("many").sum()).sort("value")
    value, until = found["value"].to_numpy(), found["many"].cum_sum().to_numpy()
    if not len(value):
        return 0, 0, 0, 0.0, 0
    keys = int(until[-1])
    places = np.searchsorted(until, [keys - 1, max(keys - 2, 0), (keys - 1) // 2, keys // 2], side="right")
    most, second, low, high = (int(value[at]) for at in places)
    return keys, most, second if keys > 1 else 0, (low + high) / 2, int((found["value"] * found["many"]).sum())


def filler_problem(filler: int) -> list[Problem]:
    """Return a problem when the most frequent key looks like one that is written for no key."""
    if not filler:
        return []
    rule = (
        f"the most frequent key, of {filler} rows, is one sign again and again, as in 000000, or a word among numbers, "
        "as where the key is not known: everybody with it would be counted as one person"
    )
    exact = "write person_exact = true in the schema"
    hint = f"give each row the key of its person, or {exact} where it is the key of one person"
    return [Problem("person", rule, hint, rows=filler)]


def crowd_problem(most: int) -> list[Problem]:
    """Return a problem when one key has so many rows (0: none has) that it may stand for everybody without one."""
    if not most:
        return []
    rule = f"one key has {most} rows, more than {_CROWD} times as many as most keys: it is counted as one person"
    hint = (
        "check whether it stands for people whose key is not known; give these rows keys of their own, or remove them"
    )
    return [Problem("person", rule, hint, rows=most)]
