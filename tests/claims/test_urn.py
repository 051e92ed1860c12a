"""The urn: its exact law by enumeration of every draw, kernel against reference, rejection, and its cost."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from fractions import Fraction as F  # noqa: N817  (the tests are full of them)

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2
from tests.oracles import urn
from tests.oracles.urn import WordList, kept_reference, urn_reference

from sfumato.commuting import urn as dirichlet_sample
from sfumato.commuting.bounds import Stratum
from sfumato.commuting.prior import smallest_alphas
from sfumato.commuting.urn import (
    KEEP_BITS,
    Commuters,
    UrnLaw,
    good,
    is_good,
    keep_probability,
    kept_kernel,
    limits_of,
    urn_kernel,
    urn_sample,
)
from sfumato.errors import ParameterError

# ---------------------------------------------------------------------------- slow, obvious oracles


def enumerated(run):
    """The exact law of run(below): every answer of every uniform draw is tried, with its probability."""
    law = Counter()
    paths = [()]
    while paths:
        path = paths.pop()
        chance, at = F(1), iter(path)
        sizes = []

        def below(total, at=at, sizes=sizes):
            sizes.append(total)
            answer = next(at, None)
            if answer is None:
                raise LookupError
            return answer

        try:
            outcome = run(below)
        except LookupError:
            paths += [(*path, answer) for answer in range(sizes[-1])]
            continue
        for total in sizes:
            chance /= total
        law[outcome] += chance
    return law


def rising(a, m):
    return math.prod((a + t for t in range(m)), start=F(1))


def dirichlet_multinomial(sample, a):
    m = sum(sample)
    p = F(math.factorial(m)) / rising(sum(a), m)
    for people, weight in zip(sample, a, strict=True):
        p *= rising(weight, people) / math.factorial(people) if weight else F(people == 0)
    return p


def tally(people, k):
    return tuple(people.count(slot) for slot in range(k))


def dense(counts, k):
    return [counts.get(slot, 0) for slot in range(k)]


# ---------------------------------------------------------------------------- the law


def _at_once(group, taken, below):
    """What `_fresh` reaches by rejection, in one draw, so that the tree of draws ends."""
    free = [slot for slot in group if slot not in taken]
    return free[below(len(free))]


@pytest.mark.parametrize(
    ("counts", "alpha", "m"),
    [
        ({0: 2, 1: 1}, [F(1, 2), F(1, 2)], 3),
        ({0: 1, 1: 2}, [F(1, 3), F(1, 3)], 2),
        ({0: 3, 2: 2}, [F(1), F(2), F(2)], 3),  # two strata
        ({1: 1}, [F(1), F(1), F(1), F(1)], 3),  # three empty blocks
        ({0: 2, 3: 1}, [F(1, 2), F(1, 2), F(3, 2), F(3, 2)], 2),
        ({}, [F(1), F(2)], 2),
    ],
    ids=str,
)
def test_the_law_of_the_urn_is_exactly_dirichlet_multinomial(counts, alpha, m, monkeypatch):
    monkeypatch.setattr(urn, "_fresh", _at_once)
    k = len(alpha)
    edges, tops, q = _integers(alpha)
    kept = [sum(1 for i in range(a, b) if i not in counts) for a, b in itertools.pairwise(edges)]
    law = enumerated(lambda below: tally(urn_reference(counts, edges, tops, q, kept, m=m, below=below), k))
    a = [n + x for n, x in zip(dense(counts, k), alpha, strict=True)]
    assert law == {s: dirichlet_multinomial(s, a) for s in itertools.product(range(m + 1), repeat=k) if sum(s) == m}


def _integers(alpha):
    q = math.lcm(*(a.denominator for a in alpha))
    edges = [0] + [i for i in range(1, len(alpha)) if alpha[i] != alpha[i - 1]] + [len(alpha)]
    return edges, [int(alpha[a] * q) for a in edges[:-1]], q


@pytest.mark.parametrize(("counts", "alpha"), [({0: 1}, [F(1)] * 3), ({2: 2}, [F(2), F(2), F(1)])], ids=str)
def test_the_law_of_the_shrunk_urn_is_exactly_the_mixture_over_kept_domains(counts, alpha, monkeypatch):
    monkeypatch.setattr(urn, "_fresh", _at_once)
    k, m, bits = len(alpha), 2, 2
    edges, tops, q = _integers(alpha)
    empties = [sum(1 for i in range(a, b) if i not in counts) for a, b in itertools.pairwise(edges)]
    thresholds = [1, 3][: len(empties)]
    keep = [F(thresholds[next(s for s in range(len(empties)) if i < edges[s + 1])], 2**bits) for i in range(k)]

    def run(below):
        kept = kept_reference(empties, thresholds, bits, lambda: below(4))  # at most 2 blocks: 2 bits of a word count
        return tally(urn_reference(counts, edges, tops, q, kept, m=m, below=below), k)

    assert enumerated(run) == _shrunk_and_rejected(counts, alpha, keep, m, None)


def test_a_fresh_slot_is_uniform_among_those_nobody_has():
    firsts = Counter(_fresh_or_none(answer) for answer in range(5))
    assert firsts == {2: 1, 4: 1, 6: 1, None: 2}  # one try: free slots equally likely, taken ones tried again


def _fresh_or_none(answer):
    answers = iter([answer])
    try:
        return urn._fresh(range(2, 7), {3, 5, 9}, lambda _: next(answers))
    except StopIteration:
        return None


def test_the_worked_urn():  # [otm.urn]: both of two draws from block 0
    law = enumerated(lambda below: tuple(urn_reference({0: 2, 1: 1}, [0, 2], [1], 2, [0], m=2, below=below)))
    assert law[(0, 0)] == F(7, 16)


def test_a_kept_block_is_any_empty_block_with_equal_chance():
    def run(below):
        return tuple(urn_reference({0: 1}, [0, 4], [1], 1, [2], m=2, below=below))

    # two of three empty blocks are kept; draws of the occupied slot 0 are rejected, so condition on none
    law = Counter()
    for first, second in itertools.product(range(4), range(5)):
        for fresh in itertools.permutations(range(1, 4), 2):
            answers = iter([first, *([fresh[0]] if first >= 2 else []), second, fresh[1] if first >= 2 else fresh[0]])
            law[run(lambda _, answers=answers: next(answers))] += F(1, 4) * F(1, 5) * F(1, 6)
    for a, b in itertools.permutations(range(1, 4), 2):
        assert law[(a, b)] == law[(1, 2)] > 0
        assert law[(a, a)] == law[(1, 1)] > 0
    p_empty = sum(p for (a, _), p in law.items() if a)
    assert p_empty == F(2, 4)  # two kept empty blocks of weight 1 in an urn of 1 + 1 + 2 units
    assert sum(p for (a, b), p in law.items() if a and a == b) == F(1, 2) * F(2, 5)


def test_the_law_of_the_kept_blocks_is_binomial():
    for count, threshold, bits in itertools.product((0, 1, 2, 3), (1, 2, 3, 4), (2,)):
        law = enumerated(lambda below: kept_reference([count], [threshold], bits, lambda: below(8))[0])  # noqa: B023
        f = F(threshold, 2**bits)
        for kept in range(count + 1):
            assert law[kept] == math.comb(count, kept) * f**kept * (1 - f) ** (count - kept)


def test_below_is_uniform_and_the_modulo_mutant_is_not():
    # words are 64 bits; with a toy width of 3 bits and total 3 the same rule refuses 8 mod 3 = 2 words
    accepted = Counter(word % 3 for word in range(8) if word >= 8 % 3)
    biased = Counter(word % 3 for word in range(8))
    assert len(set(accepted.values())) == 1
    assert len(set(biased.values())) > 1
    total = 2**62 - 57
    refuse = 2**64 % total
    words = WordList([0, refuse - 1, refuse, 2**64 - 1])
    assert words.below(total) == refuse % total
    assert words.used == 3
    assert words.below(total) == (2**64 - 1) % total


# ---------------------------------------------------------------------------- kernel and reference


def _random_case(rng):
    groups = int(rng.integers(1, 4))
    sizes = rng.integers(1, 7, groups)
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    k, d = int(edges[-1]), int(rng.integers(1, 5))
    counts = [
        {int(s): int(rng.integers(1, 6)) for s in rng.choice(k, int(rng.integers(0, k + 1)), replace=False)}
        for _ in range(d)
    ]
    tops = rng.integers(1, 9, (d, groups)).astype(np.int64)
    bottoms = rng.integers(1, 7, d).astype(np.int64)
    empties = [[int(b - a) - sum(a <= s < b for s in c) for a, b in itertools.pairwise(edges)] for c in counts]
    kept = np.array([[int(rng.integers(0, e + 1)) for e in row] for row in empties], dtype=np.int64)
    m = [int(rng.integers(0, 9)) if c or row.any() else 0 for c, row in zip(counts, kept, strict=True)]
    return edges, counts, tops, bottoms, kept, m


def _run_kernel(case, words, pieces):
    edges, counts, tops, bottoms, kept, m = case
    pairs = np.concatenate([[0], np.cumsum([len(c) for c in counts])]).astype(np.int64)
    slots = np.array([s for c in counts for s in sorted(c)], dtype=np.int64)
    people = np.cumsum(np.array([c[s] for c in counts for s in sorted(c)], dtype=np.int64))
    places = np.concatenate([[0], np.cumsum(m)]).astype(np.int64)
    out = np.full(int(places[-1]), -1, dtype=np.int64)
    scratch = np.zeros((3, int(edges[-1])), dtype=np.int64)
    at = destination = drawn = 0
    for piece in pieces:
        destination, drawn, used = urn_kernel(
            pairs, slots, people, edges, tops, bottoms, kept, places, scratch, destination, drawn,
            words[at : at + piece], out,
        )  # fmt: skip
        at += used
        if destination == len(counts):
            break
    return out.tolist(), at, destination


def test_kernel_and_reference_agree_word_for_word():
    rng = np.random.default_rng(20080407)
    for _ in range(300):
        case = _random_case(rng)
        edges, counts, tops, bottoms, kept, m = case
        words = rng.integers(0, 2**64, 4000, dtype=np.uint64)
        stream = WordList(words)
        reference = []
        for d, people in enumerate(counts):
            reference += urn_reference(
                people, edges.tolist(), tops[d].tolist(), int(bottoms[d]), kept[d].tolist(), m=m[d], below=stream.below
            )
        found, used, done = _run_kernel(case, words, [words.size])
        assert (found, used, done) == (reference, stream.used, len(counts))


def test_running_out_of_words_changes_nothing():
    rng = np.random.default_rng(5)
    for _ in range(60):
        case = _random_case(rng)
        words = rng.integers(0, 2**64, 4000, dtype=np.uint64)
        whole = _run_kernel(case, words, [words.size])
        pieces = [int(p) for p in rng.integers(0, 9, 2000)] + [words.size]
        assert _run_kernel(case, words, pieces) == whole


def test_words_near_the_top_are_refused_by_kernel_and_reference_alike():
    # n q + k p = 3 * 2^60: a quarter of all words is refused
    case = (np.array([0, 2]), [{0: 1}], np.array([[2**60]]), np.array([2**60]), np.array([[1]]), [3])
    words = np.array(
        [0, 1, 2**62 - 1, 2**62, 2**64 - 1, 2**63, 2**63 + 1, 7, 2**63 - 1, *range(40, 90)], dtype=np.uint64
    )
    stream = WordList(words)
    mutant_law = _big_mutant(stream)
    found, used, _ = _run_kernel(case, words, [words.size])
    assert (found, used) == (mutant_law, stream.used)
    assert used > 4


def _big_mutant(stream):
    """urn_reference lists every prior unit, too many here: the same urn with blocks counted in units of 2^60."""
    people, given = [], None
    for t in range(3):
        unit = stream.below((3 + t) * 2**60) // 2**60
        if unit == 2 and given is None:
            given = stream.below(2)
            while given == 0:
                given = stream.below(2)
        people.append(0 if unit < 2 else given if unit == 2 else people[unit - 3])
    return people


def test_kept_kernel_and_reference_agree_word_for_word():
    rng = np.random.default_rng(11)
    empties = np.array([0, 1, 5, 63, 64, 65, 129, 1000, 300], dtype=np.int64)
    for _ in range(40):
        keep = rng.integers(1, 2**KEEP_BITS + 1, empties.size).astype(np.int64)
        keep[int(rng.integers(0, empties.size))] = 2**KEEP_BITS
        keep[-1] = 2 ** (KEEP_BITS - 1)
        words = rng.integers(0, 2**64, 3000, dtype=np.uint64)
        stream = WordList(words)
        reference = kept_reference(empties.tolist(), keep.tolist(), KEEP_BITS, stream.word)
        kept = np.zeros(empties.size, dtype=np.int64)
        assert kept_kernel(empties, keep, KEEP_BITS, 0, words, kept) == (empties.size, stream.used)
        assert kept.tolist() == reference
        again, done, at = np.zeros_like(kept), 0, 0
        for piece in itertools.chain(itertools.repeat(20, 20), [3000]):
            done, used = kept_kernel(empties, keep, KEEP_BITS, done, words[at : at + piece], again)
            at += used
        assert again.tolist() == reference


# ---------------------------------------------------------------------------- gamma-Good


def _definition(sample, counts, alpha, gamma):
    def rep(other):
        return all(s <= gamma * (a + max(n - 1, 0)) for s, n, a in zip(sample, other, alpha, strict=True))

    moves = [list(counts)]
    for i, j in itertools.permutations(range(len(counts)), 2):
        if counts[i]:
            moves.append(list(counts))
            moves[-1][i] -= 1
            moves[-1][j] += 1
    return any(rep(other) for other in moves)


def _cases(rng, size):
    for _ in range(size):
        k = int(rng.integers(2, 5))
        counts = rng.integers(0, 4, k) * (rng.random(k) < 0.7)
        sample = rng.integers(0, 7, k) * (rng.random(k) < 0.7)
        alpha = [F(int(rng.integers(1, 6)), int(rng.integers(1, 5))) for _ in range(k)]
        yield counts.tolist(), sample.tolist(), alpha, F(int(rng.integers(1, 9)), int(rng.integers(1, 4)))


def test_good_is_the_definition_by_brute_force():
    seen = Counter()
    for counts, sample, alpha, gamma in _cases(np.random.default_rng(3), 4000):
        truth = _definition(sample, counts, alpha, gamma)
        assert is_good(sample, counts, alpha, gamma) == truth
        sparse = [{i: n for i, n in enumerate(h) if n} for h in (sample, counts)]
        assert is_good(*sparse, alpha, gamma) == truth
        seen[truth] += 1
    assert min(seen.values()) > 400


def test_the_batch_check_is_the_same_check():
    rng = np.random.default_rng(4)
    for gamma in (F(1), F(5, 2), F(9)):
        alpha, k, d = F(3, 7), 6, 400
        counts = rng.integers(0, 4, (d, k)) * (rng.random((d, k)) < 0.5)
        sample = rng.integers(0, 9, (d, k)) * (rng.random((d, k)) < 0.5)
        tables = [limits_of(alpha, gamma, int(sample.sum(axis=1).max()))]
        entries = []
        for table in (counts, sample):
            where, slots = np.nonzero(table)
            entries.append((where, np.zeros(where.size, dtype=np.int64), where * k + slots, table[where, slots]))
        found = good(d, tables, *entries)
        truth = [is_good(s.tolist(), n.tolist(), alpha, gamma) for s, n in zip(sample, counts, strict=True)]
        assert found.tolist() == truth
        assert 0 < found.sum() < d


def test_rejecting_against_rep_is_caught():  # trap 48: Rep differs from Good, and some sample shows it
    def in_rep(sample, counts, alpha, gamma):
        return all(s <= gamma * (a + max(n - 1, 0)) for s, n, a in zip(sample, counts, alpha, strict=True))

    cases = list(_cases(np.random.default_rng(6), 500))
    assert any(in_rep(s, n, a, g) != is_good(s, n, a, g) for n, s, a, g in cases)
    assert all(is_good(s, n, a, g) for n, s, a, g in cases if in_rep(s, n, a, g))


# ---------------------------------------------------------------------------- the whole draw


def _same_destination(counts, copies):
    slots = sorted(counts)
    return Commuters(
        np.arange(copies + 1, dtype=np.int64) * len(slots),
        slots=np.tile(np.array(slots, dtype=np.int64), copies),
        people=np.tile(np.array([counts[s] for s in slots], dtype=np.int64), copies),
    )


def _samples(found, copies, k):
    where, slots, people = found
    table = np.zeros((copies, k), dtype=np.int64)
    table[where, slots] = people
    return Counter(map(tuple, table.tolist()))


def _shrunk_and_rejected(counts, alpha, keep, m, gamma):
    k = len(alpha)
    empties = [i for i in range(k) if i not in counts]
    law = Counter()
    for chosen in itertools.product([0, 1], repeat=len(empties)):
        chance = math.prod((keep[i] if c else 1 - keep[i] for i, c in zip(empties, chosen, strict=True)), start=F(1))
        kept = {*counts, *(i for i, c in zip(empties, chosen, strict=True) if c)}
        a = [counts.get(i, 0) + alpha[i] if i in kept else F(0) for i in range(k)]
        for sample in itertools.product(range(m + 1), repeat=k):
            if sum(sample) == m:
                law[sample] += chance * dirichlet_multinomial(sample, a)
    if gamma is not None:
        law = Counter({s: p for s, p in law.items() if _definition(s, dense(counts, k), alpha, gamma)})
    whole = sum(law.values())
    return {s: p / whole for s, p in law.items() if p}


def _p_value(found, law, size):
    assert set(found) <= set(law)
    expected = {s: float(p) * size for s, p in law.items()}
    rare = [s for s, e in expected.items() if e < 5]
    cells = [(found[s], e) for s, e in expected.items() if e >= 5]
    if rare:
        cells.append((sum(found[s] for s in rare), sum(expected[s] for s in rare)))
    statistic = sum((f - e) ** 2 / e for f, e in cells)
    return chi2.sf(statistic, len(cells) - 1)


@pytest.mark.parametrize("gamma", [None, F(2)])
def test_the_law_of_shrink_and_reject_is_the_law_certified(gamma):
    # 40,000 destinations at once; a false alarm has probability 1e-4, the wrong laws below are far outside
    counts, copies, m = {0: 2, 3: 1}, 40_000, 4
    alpha, keep = [F(1, 2)] * 3 + [F(3, 2)] * 2, [F(1, 4)] * 3 + [F(3, 4)] * 2
    strata = (Stratum(F(1, 2), blocks=3, keep=F(1, 4)), Stratum(F(3, 2), blocks=2, keep=F(3, 4)))
    rng = np.random.default_rng(2008)
    found = urn_sample(
        _same_destination(counts, copies),
        [UrnLaw(strata, m=m, gamma=gamma)],
        np.zeros(copies, dtype=np.int64),
        lambda size: rng.integers(0, 2**64, size, dtype=np.uint64),
    )
    samples = _samples(found, copies, 5)
    law = _shrunk_and_rejected(counts, alpha, keep, m, gamma)
    assert _p_value(samples, law, copies) > 1e-4
    wrong_keep = _shrunk_and_rejected(counts, alpha, [F(1, 3)] * 3 + keep[3:], m, gamma)
    wrong_alpha = _shrunk_and_rejected(counts, [F(6, 10)] * 3 + alpha[3:], keep, m, gamma)
    for wrong in (wrong_keep, wrong_alpha):
        assert _p_value(samples, wrong, copies) < 1e-8
    if gamma is not None:
        unrejected = _shrunk_and_rejected(counts, alpha, keep, m, None)
        assert len(unrejected) > len(law)


def _case(rng, destinations=200, k=500):
    sizes = rng.integers(1, 9, destinations)
    slots = np.concatenate([np.sort(rng.choice(k, s, replace=False)) for s in sizes]).astype(np.int64)
    pairs = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    people = rng.integers(1, 5, slots.size).astype(np.int64)
    n = np.add.reduceat(people, pairs[:-1])
    sizes, kinds = np.unique(n, return_inverse=True)
    laws = [UrnLaw((Stratum(F(1, 50), blocks=k, keep=F(1, 8)),), m=int(x), gamma=F(60)) for x in sizes]
    return Commuters(pairs, slots=slots, people=people), laws, kinds.astype(np.int64), n


def test_buffer_sizes_do_not_matter(monkeypatch):
    commuters, laws, kinds, n = _case(np.random.default_rng(8))
    stream = np.random.default_rng(9).integers(0, 2**64, 200_000, dtype=np.uint64)

    def source():
        at = 0

        def words(size):
            nonlocal at
            at += size
            return stream[at - size : at]

        return words

    whole = urn_sample(commuters, laws, kinds, source())
    monkeypatch.setattr(dirichlet_sample, "_BUFFER", 100)
    pieces = urn_sample(commuters, laws, kinds, source())
    for one, two in zip(whole, pieces, strict=True):
        assert np.array_equal(one, two)
    assert np.array_equal(np.bincount(whole[0], weights=whole[2]), n)  # trap 42: m is the public n, nobody is lost
    assert len(whole) == 3  # trap 49: the number of rejections is not among what is returned


def test_what_is_drawn_is_good_and_some_draws_were_not():
    rng = np.random.default_rng(10)
    counts, copies = {0: 3, 1: 1}, 3000
    gamma, alpha = F(2), F(1, 2)
    commuters, kinds = _same_destination(counts, copies), np.zeros(copies, dtype=np.int64)

    def words(size):
        return rng.integers(0, 2**64, size, dtype=np.uint64)

    for limit in (None, gamma):
        found = urn_sample(commuters, [UrnLaw((Stratum(alpha, blocks=4),), m=4, gamma=limit)], kinds, words)
        verdicts = {is_good(s, dense(counts, 4), alpha, gamma) for s in _samples(found, copies, 4)}
        assert verdicts == ({True, False} if limit is None else {True})


def test_no_destination_and_a_destination_without_people():
    nobody, none = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    law = UrnLaw((Stratum(F(1), blocks=5),), m=0)

    def words(size):
        return np.zeros(size, dtype=np.uint64)

    for pairs, kinds in ((none, nobody), (np.zeros(2, dtype=np.int64), none)):
        found = urn_sample(Commuters(pairs, slots=nobody, people=nobody), [law], kinds, words)
        assert [column.size for column in found] == [0, 0, 0]


def test_urns_that_do_not_fit_are_refused():
    commuters = _same_destination({0: 1}, 1)
    kinds, words = np.zeros(1, dtype=np.int64), np.random.default_rng(1).integers
    for alpha in (F(2**60), F(1, 2**62 + 1)):
        with pytest.raises(ParameterError, match=r"2\^62"):
            urn_sample(commuters, [UrnLaw((Stratum(alpha, blocks=5),), m=1)], kinds, words)
    with pytest.raises(ParameterError, match="keep_probability"):
        urn_sample(commuters, [UrnLaw((Stratum(F(1), blocks=5, keep=F(1, 3)),), m=1)], kinds, words)
    with pytest.raises(ParameterError, match="public blocks"):
        urn_sample(_same_destination({7: 1}, 1), [UrnLaw((Stratum(F(1), blocks=5),), m=1)], kinds, words)
    assert F(1, 3) <= keep_probability(F(1, 3)) < F(1, 3) + F(1, 2**24)


def test_trap_47_a_dirichlet_draw_in_floats_loses_blocks():
    p = np.random.default_rng(1).dirichlet([0.001] * 200)
    assert (p == 0).any()  # such a block can never be drawn, so whoever is drawn there must be real
    law = enumerated(lambda below: tuple(urn_reference({0: 1, 1: 1}, [0, 2], [1], 1000, [0], m=1, below=below)))
    assert law[(1,)] == F(1001, 2002)


# ---------------------------------------------------------------------------- cost


@pytest.mark.full
def test_rhode_island_within_its_budget(public_data):
    flows = public_data("lodes_ri_2019/ri_od_main_JT00_2019.csv.gz", "LODES of Rhode Island 2019")
    frame = pl.read_csv(flows, columns=["w_geocode", "h_geocode", "S000"]).sort("w_geocode", "h_geocode")
    _, where = np.unique(frame["w_geocode"].to_numpy(), return_inverse=True)
    _, slots = np.unique(frame["h_geocode"].to_numpy(), return_inverse=True)
    people = frame["S000"].to_numpy().astype(np.int64)
    pairs = np.concatenate([[0], np.cumsum(np.bincount(where))]).astype(np.int64)
    n = np.bincount(where, weights=people).astype(np.int64)
    sizes, kinds = np.unique(n, return_inverse=True)
    assert (frame.height, sizes.size, int(sizes.max())) == (372_191, 489, 5_765)
    commuters = Commuters(pairs, slots=slots.astype(np.int64), people=people)
    started = time.process_time()
    alphas = smallest_alphas(sizes.tolist(), 25_181, 4.6, 1e-5)
    chosen = time.process_time()
    laws = [UrnLaw((Stratum(alphas[int(x)], blocks=25_181),), m=int(x)) for x in sizes]
    rng = np.random.default_rng(44)

    def words(size):
        return rng.integers(0, 2**64, size, dtype=np.uint64)

    _, _, drawn = urn_sample(commuters, laws, kinds.astype(np.int64), words)
    sampled = time.process_time()
    assert drawn.sum() == people.sum()
    assert chosen - started < 60
    assert sampled - chosen < 5


@pytest.mark.full
def test_minnesota_size_within_its_budget():
    rng = np.random.default_rng(27)
    k, wanted, destinations = 233_726, 1_495_415, 60_000
    keys = np.unique(rng.integers(0, destinations, wanted * 11 // 10) * k + (rng.integers(0, k, wanted * 11 // 10)))
    keys = np.sort(rng.choice(keys, wanted, replace=False))
    where, slots = keys // k, keys % k
    people = rng.geometric(0.7, wanted).astype(np.int64)
    pairs = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=destinations))]).astype(np.int64)
    n = np.bincount(where, weights=people, minlength=destinations).astype(np.int64)
    sizes, kinds = np.unique(n, return_inverse=True)
    commuters = Commuters(pairs, slots=slots, people=people)
    started = time.process_time()
    alphas = smallest_alphas([x for x in sizes.tolist() if x], k, 4.6, 1e-5)
    for keep in (F(1), keep_probability("0.0378")):
        laws = [UrnLaw((Stratum(alphas.get(int(x), F(1)), blocks=k, keep=keep),), m=int(x)) for x in sizes]
        _, _, drawn = urn_sample(
            commuters, laws, kinds.astype(np.int64), lambda size: rng.integers(0, 2**64, size, dtype=np.uint64)
        )
        assert drawn.sum() == people.sum()
    assert time.process_time() - started < 60
