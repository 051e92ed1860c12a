"""Figures of one page are read together: colours and axes mean the same in all of them."""

from __future__ import annotations

import pytest
from papers.framework import Curve, Figure
from papers.page import _along, curve_colours, figure_chart


def figure(name, *curves, x="privacy loss", log_x=False, low=0.1):
    drawn = tuple(Curve(curve, points=((low, 1.0), (0.9, 2.0))) for curve in curves)
    return Figure(name, about="", x=x, y="y", curves=drawn, log_x=log_x)


PAGE = (
    figure("2(a)", "k-anonymity", "l-diversity", "t-closeness"),
    figure("2(b)", "l-diversity, generalized", "l-diversity, buckets", "t-closeness, generalized", low=0.3),
    figure("3(a)", "t-closeness", "l-diversity", low=0.0),
    figure("4", *(f"curve {at}" for at in range(12)), x="k"),
)


def test_a_name_has_one_colour_and_its_kin_the_same():
    colours = curve_colours(PAGE)
    assert colours["l-diversity, generalized"] == colours["l-diversity"]
    assert colours["t-closeness, generalized"] == colours["t-closeness"]
    assert colours["l-diversity, buckets"] not in {
        colours[name] for name in ("k-anonymity", "l-diversity", "t-closeness")
    }
    for one in PAGE[:3]:
        assert len({colours[curve.name] for curve in one.curves}) == len(one.curves)
    assert len({colours[f"curve {at}"] for at in range(12)}) == 10  # all there are


def test_the_chart_uses_them():
    colours = curve_colours(PAGE)
    for one in PAGE[:3]:
        scale = figure_chart(one, colours=colours)["layer"][0]["encoding"]["color"]["scale"]
        assert dict(zip(scale["domain"], scale["range"], strict=True)).items() <= colours.items()


@pytest.mark.parametrize("log_x", [False, True])
def test_axes_with_the_same_thing_on_them_begin_and_end_together(log_x):
    page = (figure("a", "one", low=0.0, log_x=log_x), figure("b", "one", low=0.3, log_x=log_x), PAGE[3])
    ends = [_along(one, page) for one in page]
    assert ends[0] == ends[1] == ((0.3, 0.9) if log_x else (0.0, 0.9))  # a logarithm has no place for 0
    assert ends[2] == (0.1, 0.9)
    spec = figure_chart(page[1], colours=curve_colours(page), along=ends[1])
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == list(ends[1])
