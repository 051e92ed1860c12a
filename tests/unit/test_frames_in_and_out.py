"""Frames in and out: pandas gives pandas, and rows without a schema name what is missing."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import sfumato as sf

SCHEMA = sf.Schema.load(sf.datasets.ADULT_SCHEMA)


def test_a_pandas_frame_in_gives_a_pandas_frame_out():
    rows = sf.datasets.adult_frame("test").head(2000)
    out = {}
    for name, frame in (("polars", rows), ("pandas", rows.to_pandas()), ("lazy", rows.lazy())):
        release = sf.publish(sf.read(frame, SCHEMA), sf.Mondrian(k=20))
        out[name] = release.frame()
        assert release.frames()["data"].equals(pl.DataFrame(out[name])), name
        assert release._repr_html_()
    assert isinstance(out["pandas"], pd.DataFrame)
    assert isinstance(out["polars"], pl.DataFrame)
    assert isinstance(out["lazy"], pl.DataFrame)


@pytest.mark.parametrize("rows", [pd.DataFrame({"age": [1]}), pl.DataFrame({"age": [1]}), "patients.csv", None])
def test_rows_without_a_schema_learn_what_is_missing(rows):
    with pytest.raises(sf.SfumatoError, match="rows alone do not say what each column means") as caught:
        sf.publish(rows, sf.Mondrian(k=5))
    assert "sf.read(" in str(caught.value.hint)
    assert "sf.draft(" in str(caught.value.hint)


def test_k_l_and_t_are_requirements_by_name():
    assert sf.Mondrian(k=5) == sf.Mondrian(sf.KAnonymity(5))
    assert sf.Mondrian(k=5, l=2, t="0.2").requirement == sf.KAnonymity(5) & sf.LDiversity(2) & sf.TCloseness("0.2")
    assert sf.Mondrian(sf.KAnonymity(5), l=2) == sf.Mondrian(k=5, l=2)
    with pytest.raises(sf.SfumatoError, match="requirement"):
        sf.Mondrian()
    with pytest.raises(TypeError):
        sf.Mondrian(k=5, m=2)
