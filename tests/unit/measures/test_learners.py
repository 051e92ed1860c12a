"""Each learner: weights count, the seed decides, what is constant says nothing."""

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.estimate.features import Columns
from sfumato.measures.learners import MODELS, TrainingLines, _edges, _thinned, fit, majority
from sfumato.randomness import Entropy

COLUMNS = Columns(np.array([0, 1, 1, 1, 2]), np.array([True, False, False, False, True]))


def lines(seed: int = 0, rows: int = 300, noise: float = 0.1) -> TrainingLines:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, rows)
    x = np.column_stack([rng.integers(0, 20, rows), np.eye(3)[kind], np.full(rows, 7)]).astype(np.float32)
    y = ((x[:, 0] + 6 * (kind == 1) > 12) ^ (rng.random(rows) < noise)).astype(int)
    return TrainingLines(x, y=y, weight=rng.integers(1, 4, rows).astype(float), columns=COLUMNS)


@pytest.mark.parametrize("model", MODELS)
def test_each_learns_an_easy_rule(model):
    learned, unseen = fit(model, lines(noise=0)), lines(seed=1, noise=0)
    assert (learned(unseen.x) == unseen.y).mean() > 0.9  # the larger class is 0.6 of them


@pytest.mark.parametrize("model", MODELS)
def test_a_weight_counts_as_equal_lines(model):
    given, unseen = lines(), lines(seed=1)
    times = given.weight.astype(int)
    many = TrainingLines(
        np.repeat(given.x, times, axis=0), y=np.repeat(given.y, times), weight=np.ones(times.sum()), columns=COLUMNS
    )
    one, other = fit(model, given)(unseen.x), fit(model, many)(unseen.x)
    if model == "tree":  # its held-out third is drawn row by row: another draw, the same rule
        assert (one == other).mean() > 0.95
    else:
        assert np.array_equal(one, other)
    ignored = fit(model, TrainingLines(given.x, y=given.y, weight=np.ones(len(given.y)), columns=COLUMNS))(unseen.x)
    heavy = np.where(given.y == 1, 40.0, 1.0)
    tilted = fit(model, TrainingLines(given.x, y=given.y, weight=heavy, columns=COLUMNS))(unseen.x)
    assert tilted.mean() > ignored.mean() + 0.1


@pytest.mark.parametrize("model", MODELS)
def test_the_seed_decides(model):
    given, unseen = lines(noise=0.3), lines(seed=1)
    assert np.array_equal(fit(model, given, seed=5)(unseen.x), fit(model, given, seed=5)(unseen.x))


def test_another_seed_prunes_the_tree_elsewhere():
    given, unseen = lines(noise=0.3), lines(seed=1)
    assert len({fit("tree", given, seed=seed)(unseen.x).tobytes() for seed in range(6)}) > 1


@pytest.mark.parametrize("model", MODELS)
def test_what_is_constant_never_moves_a_prediction(model):
    learned, unseen = fit(model, lines()), lines(seed=1)
    moved = unseen.x.copy()
    moved[:, 4] = -1000
    assert np.array_equal(learned(unseen.x), learned(moved))
    nothing = TrainingLines(
        np.ones((5, 5), np.float32), y=np.array([0, 1, 1, 0, 0]), weight=np.ones(5), columns=COLUMNS
    )
    assert fit(model, nothing)(unseen.x).max() == 0


@pytest.mark.parametrize("model", MODELS)
def test_lines_of_no_weight_and_of_one_class(model):
    given = lines()
    none = TrainingLines(given.x[:0], y=given.y[:0], weight=given.weight[:0], columns=COLUMNS)
    assert fit(model, none)(given.x).tolist() == [0] * 300
    one = TrainingLines(given.x, y=np.full(300, 2), weight=given.weight, columns=COLUMNS)
    assert fit(model, one)(given.x).tolist() == [2] * 300
    gone = TrainingLines(given.x, y=given.y, weight=np.where(given.y == 1, given.weight, 0), columns=COLUMNS)
    assert fit(model, gone)(given.x).tolist() == [1] * 300


@pytest.mark.parametrize("model", MODELS)
def test_classes_need_not_be_consecutive(model):
    given, unseen = lines(noise=0), lines(seed=1, noise=0)
    apart = TrainingLines(given.x, y=given.y * 5 + 2, weight=given.weight, columns=COLUMNS)
    assert np.array_equal(fit(model, apart)(unseen.x), fit(model, given)(unseen.x) * 5 + 2)


@pytest.mark.parametrize("model", MODELS)
def test_two_or_three_rows(model):
    few = lines(rows=3)
    assert fit(model, few)(few.x).shape == (3,)


def test_the_tree_on_noise_is_pruned_to_nothing():
    rng = np.random.default_rng(4)
    noise = TrainingLines(lines().x, y=(rng.random(300) < 0.3).astype(int), weight=np.ones(300), columns=COLUMNS)
    assert fit("tree", noise)(noise.x).mean() < 0.15


def test_thinning_keeps_every_row_in_one_part():
    weight = np.array([0.0, 1, 2, 30_000, 0.4, 7.5])
    held = _thinned(weight, Entropy.seeded(1))
    assert ((held >= 0) & (held <= weight)).all()
    assert 9_600 < held[3] < 10_400  # 1/3 of 30,000: five deviations of 82
    parts = [_thinned(np.full(3000, 0.4), Entropy.seeded(seed)) for seed in range(3)]
    assert {round(float(part), 9) for part in np.concatenate(parts)} == {0, 0.4}


def test_naive_bayes_by_hand():
    """Two nominal attributes, smoothing of one: log odds are sums of log((count + 1) / (total + values))."""
    columns = Columns(np.array([0, 0, 1, 1]), np.zeros(4, bool))
    x = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0.5, 1, 0]], np.float32)
    y, weight = np.array([0, 0, 1, 1]), np.array([3.0, 1, 4, 2])
    learned = fit("bayes", TrainingLines(x, y=y, weight=weight, columns=columns))

    def score(row, c):
        of = weight * (y == c)
        total = np.log(of.sum() / weight.sum())
        for block in ((0, 1), (2, 3)):
            sums = np.array([(of * x[:, at]).sum() + 1 for at in block])
            total += row[list(block)] @ np.log(sums / sums.sum())
        return total

    asked = np.array([[a, 1 - a, b, 1 - b] for a in (0, 0.3, 0.5, 1) for b in (0, 0.2, 0.8, 1)])
    wanted = [int(score(row, 1) > score(row, 0)) for row in asked]
    assert learned(asked).tolist() == wanted
    assert len(set(wanted)) == 2


def test_bins_have_about_equal_weight_and_part_no_equal_places():
    places = np.array([0] * 900 + list(range(1, 101)))
    edges = _edges(places, np.ones(1000))
    assert edges.tolist() == [0, 38]  # 15/16 of 1000 is place 38, all other quantiles are 0
    assert _edges(np.array([5.0, 5.0]), np.ones(2)).tolist() == []


def test_majority_and_an_unknown_model():
    assert majority(np.array([0, 1, 1]), np.array([3.0, 1, 1])) == 0
    assert majority(np.array([], int), np.array([])) == 0
    with pytest.raises(ParameterError, match="must be one of tree, bayes"):
        fit("forest", lines())
