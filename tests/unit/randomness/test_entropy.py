from __future__ import annotations

import copy
import itertools
import pickle
from collections import Counter

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.randomness import Entropy
from sfumato.randomness.entropy import LARGEST_BLOCK

PINNED = [4753558043460368552, 8533781841643081937]


class Script:
    """A source that gives out listed words, and fails when they are used up."""

    seeded = True

    def __init__(self, words):
        self.words = list(words)

    def read(self, count):
        assert len(self.words) >= count, "script used up"
        given, self.words = self.words[:count], self.words[count:]
        return np.array(given, dtype=np.uint64)

    def child(self, name):
        return self


def test_seeded_words_are_pinned():
    # Recorded once: a change here changes every rehearsal, and needs a line in the changelog.
    again = Entropy.seeded(7).words(2).tolist()
    assert again == Entropy.seeded(7).words(2).tolist() != Entropy.seeded(8).words(2).tolist()
    assert again == PINNED


def test_words_do_not_depend_on_request_sizes():
    whole = Entropy.seeded(1).words(3 * LARGEST_BLOCK)
    stream = Entropy.seeded(1)
    parts = [stream.words(n) for n in (1, 0, 5, 31, 1000, LARGEST_BLOCK)]
    rest = len(whole) - sum(map(len, parts))
    assert np.array_equal(whole, np.concatenate([*parts, stream.words(rest)]))
    assert len(np.unique(whole)) == len(whole)


def test_streams_do_not_depend_on_call_order():
    one, two = Entropy.seeded(5), Entropy.seeded(5)
    one.words(3)
    a, b = one.child("a").words(4), one.child("b").words(4)
    b2, a2 = two.child("b").words(4), two.child("a").words(4)
    assert np.array_equal(a, a2)
    assert np.array_equal(b, b2)
    streams = [a, b, Entropy.seeded(5).words(4), Entropy.seeded(5).child("a").child("a").words(4)]
    streams += [Entropy.seeded(5).child("a").child("b").words(4), Entropy.seeded(5).child("ab").words(4)]
    assert len({tuple(s.tolist()) for s in streams}) == len(streams)


def test_a_name_asked_for_twice_goes_on_and_never_repeats():
    entropy = Entropy.seeded(5)
    first, second = entropy.child("x").words(4), entropy.child("x").words(4)
    assert not set(first.tolist()) & set(second.tolist())


def test_drew_is_reported_by_the_whole_family():
    root = Entropy.seeded(0)
    leaf = root.child("a").child("b")
    root.words(0)
    root.below(1)
    assert not root.drew
    leaf.word()
    assert root.drew
    assert root.child("c").drew
    assert not Entropy.seeded(0).drew


def test_seeded_names_a_maker_on_the_class_and_a_fact_on_a_stream():
    assert Entropy.seeded(1).seeded is True
    assert Entropy.seeded(1).child("a").seeded is True
    assert Entropy.system().seeded is False
    assert Entropy.system().child("a").seeded is False


def test_system_streams_differ_and_keep_nothing_that_a_fork_could_share():
    entropy = Entropy.system()
    assert not np.array_equal(entropy.words(4), Entropy.system().words(4))
    assert not np.array_equal(entropy.child("a").words(4), entropy.child("b").words(4))
    assert len(entropy._spare) == 0


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("make", [Entropy.system, lambda: Entropy.seeded(3)])
def test_entropy_is_never_duplicated(make, duplicate):
    with pytest.raises(TypeError, match="neither copied nor pickled"):
        duplicate(make())


def test_repr_holds_no_seed():
    assert repr(Entropy.seeded(123456789)) == "Entropy(seeded)"
    assert repr(Entropy.system()) == "Entropy(system)"


@pytest.mark.parametrize("seed", [1.5, "7", None, True])
def test_bad_seed_is_refused(seed):
    with pytest.raises(ParameterError, match="seed"):
        Entropy.seeded(seed)


def test_below_is_exactly_uniform_over_all_words():
    # n = 5 reads three bits: over all 8 words each value is given once, the other three are refused.
    given = Counter(Entropy(Script([w, 4])).below(5) for w in range(8))
    assert given == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1 + 3}
    assert Entropy(Script([2**64 - 1, 0])).below(2**64) == 2**64 - 1
    assert Entropy(Script([3, 1])).below(2**65) == 2**64 + 3
    assert Entropy(Script([])).below(1) == 0


def test_below_many_rereads_only_what_was_refused_in_order():
    entropy = Entropy(Script([7, 1, 6, 5, 2, 3]))
    assert entropy.below_many(5, 3).tolist() == [3, 1, 2]
    assert Entropy(Script([])).below_many(5, 0).tolist() == []
    big = Entropy.seeded(1).below_many(2**80, 50)
    assert big.dtype == object
    assert all(0 <= v < 2**80 for v in big)
    assert max(big) > 2**76
    assert Entropy.seeded(1).below_many(2**63, 50).max() > 2**60


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", True])
def test_below_refuses_what_is_no_count(n):
    with pytest.raises(ParameterError, match="n ="):
        Entropy.seeded(1).below(n)


def test_uniforms_are_the_upper_53_bits_of_one_word_each():
    top = 2**64 - 1
    drawn = Entropy(Script([0, 1 << 63, 2**11 - 1, top]))
    assert drawn.uniforms(4).tolist() == [0.0, 0.5, 0.0, 1 - 2.0**-53]


def test_permutation_is_uniform_even_when_words_tie():
    # Words of two values only, so that ties abound: over all scripts of first words, with ties broken
    # by scripts again, every order of three must be equally likely. Exact, by weights 2^-words read.
    law = Counter()

    class Untie(Script):
        def read(self, count):
            if len(self.words) < count:
                raise LookupError
            return super().read(count)

    def walk(prefix):
        script = Untie(prefix)
        try:
            order = tuple(Entropy(script).permutation(3).tolist())
        except LookupError:
            if len(prefix) < 14:
                for word in (0, 1):
                    walk((*prefix, word))
        else:
            law[order] += 2.0 ** -len(prefix)

    walk(())
    assert set(law) == set(itertools.permutations(range(3)))
    undecided = 1 - sum(law.values())
    assert undecided < 0.1
    assert all(abs(mass - 1 / 6) <= undecided for mass in law.values())
    assert max(law.values()) - min(law.values()) <= undecided


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_permutation_holds_each_number_once(n):
    assert sorted(Entropy.seeded(2).permutation(n).tolist()) == list(range(n))
