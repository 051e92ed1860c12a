"""Uniform 64-bit words: from the operating system, or from a seed, in named streams.

Source    NIST FIPS 202 (SHAKE128) for seeded streams, RFC 7693 (BLAKE2b) for their keys,
          getrandom(2) / BCryptGenRandom through `os.urandom` for the system's.
Claim     The words of a stream are a function of the seed, the names on its path and the position
          in the stream, and of nothing else: not of call order, request sizes, threads or platform.
          `below` and `permutation` are exactly uniform when the words are.
Because   Each stream has its own key, a chained hash of the names, and its own position; blocks are
          little-endian and of a fixed length sequence. Rejection for `below`; random reals with
          ties broken by further words for `permutation`.
Checked   tests/unit/randomness/test_entropy.py::test_streams_do_not_depend_on_call_order
          tests/unit/randomness/test_entropy.py::test_below_is_exactly_uniform_over_all_words
          tests/unit/randomness/test_entropy.py::test_permutation_is_uniform_even_when_words_tie
Silent on timing; on an attacker who reads this process's memory; on the quality of `os.urandom`.
          A seeded stream is for rehearsals: who knows the seed can take the noise off again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, NoReturn, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Floats
from sfumato.errors import ParameterError
from sfumato.exact import index
from sfumato.randomness.parameters import read_size

Words = NDArray[np.uint64]

WORD_BYTES: Final = 8
FIRST_BLOCK, LARGEST_BLOCK = 32, 1 << 16  # words: small streams stay cheap, large ones read big blocks


class EntropySource(Protocol):
    """Where words come from; `child` is the source of the stream of that name."""

    seeded: bool

    def read(self, count: int) -> Words:
        """Return the next words, at least `count` of them."""

    def child(self, name: str) -> EntropySource:
        """Return an independent source."""


class _SystemSource:
    """The operating system's generator. Nothing is kept between calls, so nothing is shared by a fork."""

    seeded = False

    def read(self, count: int) -> Words:
        return np.frombuffer(os.urandom(count * WORD_BYTES), dtype="<u8").astype(np.uint64)

    def child(self, name: str) -> _SystemSource:
        return self


class _SeededSource:
    """SHAKE128(key, number of the block), with blocks doubling up to a limit."""

    seeded = True

    def __init__(self, key: bytes) -> None:
        self._key, self._block, self._length = key, 0, FIRST_BLOCK

    def read(self, count: int) -> Words:
        blocks, have = [], 0
        while have < max(count, 1):
            shake = hashlib.shake_128(b"sfumato words" + self._key + self._block.to_bytes(8, "little"))
            blocks.append(shake.digest(self._length * WORD_BYTES))
            have += self._length
            self._block, self._length = self._block + 1, min(2 * self._length, LARGEST_BLOCK)
        return np.frombuffer(b"".join(blocks), dtype="<u8").astype(np.uint64)

    def child(self, name: str) -> _SeededSource:
        named = hashlib.blake2b(name.encode(), key=self._key, digest_size=32, person=b"sfumato child")
        return _SeededSource(named.digest())


@dataclass(slots=True)
class _Family:
    """What all streams of one root share: has any of them drawn?"""

    drew: bool = False


class _Seeded:
    """`Entropy.seeded(7)` makes a repeatable stream; `entropy.seeded` says whether a stream is one.

    One name for both, as the contract has it: a plain class method would read as true on every stream.
    """

    @overload
    def __get__(self, stream: None, owner: type[Entropy]) -> Callable[[int], Entropy]: ...
    @overload
    def __get__(self, stream: Entropy, owner: type[Entropy]) -> bool: ...
    def __get__(self, stream: Entropy | None, owner: type[Entropy]) -> Callable[[int], Entropy] | bool:
        return _from_seed if stream is None else stream._source.seeded  # noqa: SLF001  (part of the class)


@dataclass(slots=True, eq=False, repr=False)
class Entropy:
    """A stream of uniform words, and its named children.

    >>> sf.Entropy.seeded(7).child("counts").below(6) == sf.Entropy.seeded(7).child("counts").below(6)
    True
    """

    _source: EntropySource
    _: KW_ONLY
    _family: _Family = field(default_factory=_Family)
    _spare: Words = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    _children: dict[str, Entropy] = field(default_factory=dict)

    seeded = _Seeded()

    @classmethod
    def system(cls) -> Entropy:
        """Return the operating system's entropy: what a publication uses."""
        return cls(_SystemSource())

    @property
    def drew(self) -> bool:
        """True once any stream of this family gave out a word."""
        return self._family.drew

    def child(self, name: str) -> Entropy:
        """Return the stream of that name: independent of this one and of all other names.

        The same name gives the same stream object, which goes on where it stood. So no words are
        ever given out twice by one family, however often a name is asked for.
        """
        if not isinstance(name, str):
            raise ParameterError("name", type(name).__name__, "must be text", hint='child("counts")')
        if name not in self._children:
            made = Entropy(self._source.child(name), _family=self._family)
            return self._children.setdefault(name, made)
        return self._children[name]

    def words(self, count: int) -> Words:
        """Return the next `count` words of the stream."""
        wanted = read_size(count)
        if wanted == 0:
            return np.empty(0, dtype=np.uint64)
        self._family.drew = True
        if len(self._spare) < wanted:
            fresh = self._source.read(wanted - len(self._spare))
            self._spare = np.concatenate([self._spare, fresh]) if len(self._spare) else fresh
        given, self._spare = self._spare[:wanted].copy(), self._spare[wanted:]
        return given

    def word(self) -> int:
        """Return the next word as an int."""
        return int(self.words(1)[0])

    def below(self, n: int) -> int:
        """Return a uniform integer in [0, n), for n of any size.

        The low bits of as many words as n needs, first word lowest; values of n or more are drawn again.
        """
        bits = (index("n", n, least=1) - 1).bit_length()
        if bits == 0:
            return 0
        while True:
            drawn = int.from_bytes(self.words(-(-bits // 64)).astype("<u8").tobytes(), "little")
            if (value := drawn & ((1 << bits) - 1)) < n:
                return value

    def below_many(self, n: int, size: int) -> NDArray[Any]:
        """Return `size` uniform integers in [0, n): int64, or Python ints where n is above 2^63.

        One word each, in order; those rejected are drawn again, in order, until none is.
        """
        bits, size = (index("n", n, least=1) - 1).bit_length(), read_size(size)
        if bits > 63:
            return np.fromiter((self.below(n) for _ in range(size)), dtype=object, count=size)
        values = np.zeros(size, dtype=np.int64)
        again = np.arange(size if bits else 0)
        while len(again):
            values[again] = (self.words(len(again)) & np.uint64((1 << bits) - 1)).astype(np.int64)
            again = again[values[again] >= n]
        return values

    def uniforms(self, size: int) -> Floats:
        """Return `size` uniform numbers in [0, 1): the upper 53 bits of one word each, in order.

        They are floats, so no promise may rest on them.
        """
        drawn: Floats = (self.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return drawn

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Return a uniform permutation of 0..n-1: the order of n random reals, one word of each first.

        Reals whose words tie are ordered by further words, so that no tie is broken by position.
        """
        if (n := read_size(n)) < 2:
            return np.arange(n, dtype=np.int64)
        words = self.words(n)
        order = np.argsort(words, kind="stable").astype(np.int64)
        words = words[order]
        starts = np.flatnonzero(np.concatenate([[True], words[1:] != words[:-1]]))
        lengths = np.diff(np.append(starts, n))
        for start, length in zip(starts[lengths > 1], lengths[lengths > 1], strict=True):
            tied = order[start : start + length]
            order[start : start + length] = tied[self.permutation(int(length))]
        return order

    def subset(self, n: int, size: int) -> NDArray[np.bool_]:
        """Return a uniform choice of `size` of 0..n-1 as a mask: the places of the smallest of n random reals.

        It is the set `permutation(n)[:size]`, found without sorting.
        """
        words = self.words(n := read_size(n))
        if not 0 <= size <= n:
            raise ParameterError("size", size, f"must be in 0 .. {n}")
        if size in (0, n):
            return np.full(n, size == n)
        last = np.partition(words, size - 1)[size - 1]
        taken: NDArray[np.bool_] = words < last
        tied = np.flatnonzero(words == last)
        taken[tied[self.permutation(len(tied))[: size - int(taken.sum())]]] = True
        return taken

    def __repr__(self) -> str:
        return f"Entropy({'seeded' if self.seeded else 'system'})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        # A copy would give out the same words, hence the same noise, a second time; a pickle would hold the seed.
        raise TypeError("entropy is neither copied nor pickled: make it where it is used, or take a child")

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(4)

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce_ex__(4)


def _from_seed(seed: int) -> Entropy:
    """Return a repeatable stream, for rehearsals and tests. The seed cannot be read back."""
    if isinstance(seed, bool | np.bool_) or not isinstance(seed, int | np.integer):
        raise ParameterError("seed", type(seed).__name__, "must be an int")
    key = hashlib.blake2b(str(int(seed)).encode(), digest_size=32, person=b"sfumato seed")
    return Entropy(_SeededSource(key.digest()))
