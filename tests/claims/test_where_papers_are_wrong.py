"""What docs/where-the-papers-are-wrong.md says, shown; and every test it names exists."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from papers.onthemap import _disclosed

import sfumato as sf
from sfumato.commuting import certified_delta
from sfumato.mechanisms.dlink.dlink import joint_presence
from sfumato.randomness import discrete_laplace_pmf

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "where-the-papers-are-wrong.md"


def nearer_of_two(epsilon, y, reach=200):
    """P(the nearer to 0 of two draws is y); equally near ones: either."""
    share = {x: float(discrete_laplace_pmf(epsilon, x)) for x in range(reach)}
    far = {r: sum(share[x] * (1 if x == 0 else 2) for x in range(r, reach)) for r in (abs(y), abs(y) + 1)}
    both = far[abs(y)] ** 2 - far[abs(y) + 1] ** 2  # the nearer one is at distance |y|
    return both if y == 0 else both / 2


@pytest.mark.cells(1)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_publishing_the_better_of_two_breaks_epsilon(epsilon):
    """The true count is 0 or 1; what is published is y. One draw alone keeps epsilon, exactly."""
    assert sum(nearer_of_two(epsilon, y) for y in range(-60, 61)) == pytest.approx(1)
    alone = [discrete_laplace_pmf(epsilon, y) / discrete_laplace_pmf(epsilon, y - 1) for y in range(-5, 6)]
    assert max(abs(math.log(ratio)) for ratio in alone) == pytest.approx(float(epsilon))
    better = [nearer_of_two(epsilon, y) / nearer_of_two(epsilon, y - 1) for y in range(-5, 6)]
    assert max(abs(math.log(ratio)) for ratio in better) > 1.2 * float(epsilon)


def test_the_product_overstates_joint_presence():
    """[dlink.exact2.small]: the exact probability by inclusion and exclusion, checked by counting for few draws."""

    def exact(rho, n):
        return 1 - 2 * (1 - rho) ** n + (1 - 2 * rho) ** n

    weights = {"a": Fraction(1, 5), "b": Fraction(1, 5), "c": Fraction(3, 5)}
    counted = sum(
        math.prod(weights[value] for value in drawn) for drawn in product(weights, repeat=5) if {"a", "b"} <= set(drawn)
    )
    assert counted == exact(Fraction(1, 5), 5)
    assert float(exact(Fraction(1, 5), 10)) == pytest.approx(0.7913, abs=5e-5)
    assert float((1 - Fraction(4, 5) ** 10) ** 2) == pytest.approx(0.7968, abs=5e-5)
    for n in range(2, 60):
        assert exact(Fraction(1, 5), n) < (1 - Fraction(4, 5) ** n) ** 2
        assert joint_presence([0.2, 0.2], n) == pytest.approx(float(exact(Fraction(1, 5), n)), abs=1e-12)


def test_shrinking_the_domain_raises_delta():
    printed = certified_delta(100, 100_000, 2, 1, rule="theorem44")
    assert printed == pytest.approx(1.14e-13, rel=0.01)
    assert _disclosed(20_000) > 1e9 * printed  # lower end of a 95 % interval; false alarm below 1e-10


def test_semantic_privacy_reaches_the_printed_axis_only_when_read_loosely():
    quasi = ("age", "workclass", "education", "marital-status", "race", "sex")
    table = sf.datasets.adult().with_roles(quasi=quasi, sensitive="occupation", target=())

    def found(*arguments, **reading):
        release = sf.publish(table, sf.Mondrian(sf.SemanticPrivacy(*arguments, **reading)))
        return sf.privacy_loss(table, release).value, len(release.groups)

    assert found("2.1")[0] < 0.1
    assert found("2.1", absent="ignore")[0] > 0.4
    assert found("2.1", sides="one")[0] > 0.4
    assert found("0.9")[1] > 1  # the paper: a single class below 1


def named_tests():
    """Names on the page; `::name` alone belongs to the file named before it."""
    file = ""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", PAGE.read_text("utf-8")):
        file = path or file
        yield file, name


def test_every_test_the_page_names_exists():
    named = list(named_tests())
    assert len(named) >= 9
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), (file, name)
