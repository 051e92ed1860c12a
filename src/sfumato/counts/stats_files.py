"""SPSS, Stata and SAS files, through pyreadstat: each cell as its value label, its number, its text or its day.

A cell is read by what the file declares of its variable and by nothing else: another row never changes it. A value
with a label is read as the label, unless the variable is declared a scale (SPSS): there a label marks an odd number
among others. Values declared missing (SPSS's lists and ranges, Stata's .a to .z, SAS's .A to .Z) are nulls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.counts.canonical import canonical_text
from sfumato.counts.refusal import refused
from sfumato.limits import engine_path

__all__ = ["STATS", "stats_frame"]

STATS = {".sav": "sav", ".zsav": "sav", ".por": "por", ".dta": "dta", ".sas7bdat": "sas7bdat", ".xpt": "xport"}
_SINGLE = "float"  # Stata's four bytes: 0.7 is the decimal it prints, not the nearest double


def stats_frame(path: Path) -> pl.DataFrame:
    """Return the table of a file of a statistics program."""
    try:
        import pyreadstat
    except ModuleNotFoundError:
        raise refused(path.name, "needs the stats extra", "pip install 'sfumato[stats]'") from None
    reader = getattr(pyreadstat, f"read_{STATS[path.suffix.lower()]}")
    found, meta = reader(engine_path(path), output_format="dict")  # in lists: no column is given a type by its cells
    names = [str(name) for name in found]
    if not names:
        raise refused(path.name, "has no columns", "write the file again")
    scales = {name for name, level in (meta.variable_measure or {}).items() if level == "scale"}
    labels = {name: known for name, known in (meta.variable_value_labels or {}).items() if name not in scales}
    types = meta.readstat_variable_types or {}
    return pl.DataFrame([_series(name, found[name], labels.get(name, {}), str(types.get(name))) for name in names])


def _series(name: str, cells: Sequence[Any], labels: Mapping[Any, str], kind: str) -> pl.Series:
    """Return one variable: of numbers as numbers, of all else as the canonical text of each cell."""
    if not labels and kind.startswith(("int", "double", _SINGLE)) and not any(map(_is_temporal, cells)):
        values = [None if cell is None else float(cell) for cell in cells]
        return pl.Series(name, values, dtype=pl.Float32 if kind == _SINGLE else pl.Float64)
    texts = {value: text.strip() for value, text in labels.items() if isinstance(text, str) and text.strip()}
    return pl.Series(name, [texts.get(cell, canonical_text(cell)) for cell in cells], dtype=pl.String)


def _is_temporal(cell: Any) -> bool:
    return cell is not None and not isinstance(cell, int | float)
