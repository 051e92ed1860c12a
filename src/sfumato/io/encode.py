"""From raw columns to codes, as polars expressions; what they cannot settle is left to `code_of`.

Source    own. The code of a number is `Grid.code` of its decimal text (schema/domain.py).
Claim     every cell gets the code `code_of` gives it, whatever the column's type and the engine.
Because   an expression answers only where it cannot err and says ASK elsewhere: texts by dictionary, integers by
          integer arithmetic, other numbers by float arithmetic done twice, a quarter of the last kept decimal apart:
          below 2^48 scaled units the error is under 0.1 unit, so equal answers are the exact one.
Checked   tests/unit/io/test_encode.py::test_expressions_agree_with_the_oracle
          tests/unit/io/test_national_columns.py::test_days_of_every_type_agree_with_the_oracle
          tests/unit/io/test_national_columns.py::test_numbers_of_every_type_agree_with_the_oracle
          tests/claims/test_counts_agree_on_every_engine.py::test_any_frame_gives_the_same_counts
Silent on columns of lists, structs, bytes or objects: they are refused by type.
Cost      one scan; columns with cells to ask about are scanned once more, one `code_of` per distinct value.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from sfumato.io.decode_cell import (
    ASK,
    WHOLE_FLOATS,
    WHOLE_SINGLES,
    canonical_text,
    code_of,
    missing_days,
    missing_numbers,
    missing_result,
)
from sfumato.schema import Attribute, Days, Edges, Grid, Values
from sfumato.schema.formats import NumberForm, format_regex

_EXACT = Decimal(2**48)  # scaled units below which the float arithmetic is certain
CELL_MARGIN = 0.25
"""Of a scaled unit: how far a number may be off and its cell is still certain."""
_EDGES_IN_LINE = 64
_BLANK = r"^[\s\x1c-\x1f]*$"  # what Python strips: polars does not strip the last four
_PADDED_LIMIT = 10_000
_EPOCH_DAYS = 719_163  # date(1970, 1, 1).toordinal()
_DAYS_POLARS_WRITES = 95_000_000  # about 260,000 years on either side of 1970


@dataclass(frozen=True, slots=True)
class Encoded:
    """The codes of one column and the distinct texts behind its negative codes."""

    codes: np.ndarray
    _: KW_ONLY
    offending: dict[int, tuple[str, ...]]


def code_type(attribute: Attribute) -> Any:
    """Return the narrowest signed integer type that holds the codes of an attribute."""
    size = attribute.size
    return pl.Int8 if size <= 127 else pl.Int16 if size <= 32_767 else pl.Int32


def supported(dtype: pl.DataType) -> bool:
    """True for columns that hold one plain value a cell."""
    plain = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null)
    return dtype.is_numeric() or isinstance(dtype, plain)


def may_have_no_value(attributes: Sequence[Attribute], codes: Sequence[np.ndarray]) -> bool:
    """Whether some row has in every column a code that an empty cell has: another cell may have the same."""
    rows: np.ndarray | None = None
    for attribute, column in zip(attributes, codes, strict=True):
        empty = np.isin(column, [code_of(attribute, cell) for cell in (None, "", math.nan)])
        rows = empty if rows is None else rows & empty
        if not rows.any():
            return False
    return rows is not None


def no_value(columns: Sequence[str], types: Mapping[str, pl.DataType]) -> pl.Expr:
    """Return an expression that is true of a row in which every cell of the columns is empty, blank or not a number."""
    return pl.all_horizontal(_empty(pl.col(name), types[name]) for name in columns)


def _empty(cell: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    none = cell.is_null()
    if dtype.is_float():
        return none | cell.is_nan().fill_null(value=True)
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return none | cell.cast(pl.String).str.contains(_BLANK).fill_null(value=True)
    return none


def first_look(attribute: Attribute, dtype: pl.DataType, *, padded: bool = False) -> pl.Expr:
    """Return the codes of the attribute's column; ASK where the expression cannot decide."""
    raw = pl.col(attribute.column_name)
    domain = attribute.values
    textual = isinstance(dtype, pl.String | pl.Categorical | pl.Enum)
    if isinstance(domain, Values):
        known = _listed(attribute, domain, raw, dtype, padded=padded)
    elif isinstance(domain, Days):
        known = _days(attribute, domain, raw, dtype)
    else:
        number = numbers_with_point(raw.cast(pl.String), attribute.numbers) if textual else raw
        if isinstance(domain, Grid) and _integral(domain) and not dtype.is_float():
            known = _integers(attribute, domain, number, dtype, padded=padded)
        else:
            known = _decimals(attribute, domain, number, dtype, padded=padded)
    code = known.fill_null(ASK)
    texts = _missing_texts(attribute, padded=padded)
    if texts and textual and not isinstance(domain, Values):
        code = pl.when(raw.cast(pl.String).is_in(texts)).then(missing_result(attribute)).otherwise(code)
    empty = raw.is_null() | raw.is_nan() if dtype.is_float() else raw.is_null()
    code = pl.when(empty).then(missing_result(attribute)).otherwise(code)
    return code.cast(code_type(attribute)).alias(attribute.name)


def settle(attribute: Attribute, codes: np.ndarray, leftover: pl.Series) -> Encoded:
    """Give the cells marked ASK (`leftover`, in row order) their codes, one decision per distinct value."""
    codes = codes.copy()
    at = np.flatnonzero(codes == ASK)
    if isinstance(attribute.values, Grid | Edges) and isinstance(leftover.dtype, pl.String):
        # Texts like 39.5 on a grid of integers: the float arithmetic settles nearly all of them at once.
        name = attribute.column_name
        number = numbers_with_point(pl.col(name), attribute.numbers)
        looked = pl.DataFrame({name: leftover}).with_columns(  # where it can tell nothing, it is one ASK for all
            _decimals(attribute, attribute.values, number, leftover.dtype, padded=True).fill_null(ASK).alias("code")
        )
        found = looked["code"].cast(pl.Int32).to_numpy()
        codes[at] = found
        leftover, at = leftover.filter(pl.Series(found == ASK)), at[found == ASK]
    distinct, which = _distinct(leftover)
    decided = [code_of(attribute, value) for value in distinct]
    codes[at] = np.array(decided, dtype=codes.dtype)[which] if distinct else codes[at]
    return _encoded(codes, distinct, decided)


def settle_objects(attribute: Attribute, codes: np.ndarray, values: Sequence[Any]) -> Encoded:
    """Give cells of several types their codes, each read as what it is; equal cells are decided once."""
    keys = [(type(value), canonical_text(value)) for value in values]
    distinct = dict(zip(keys, values, strict=True))
    decided = {key: code_of(attribute, value) for key, value in distinct.items()}
    codes = np.array([decided[key] for key in keys], dtype=codes.dtype)
    return _encoded(codes, list(distinct.values()), list(decided.values()))


def _encoded(codes: np.ndarray, distinct: Sequence[Any], decided: Sequence[int]) -> Encoded:
    offending: dict[int, list[str]] = {}
    for value, code in zip(distinct, decided, strict=True):
        if code < 0:
            offending.setdefault(code, []).append(str(value).strip())
    return Encoded(codes, offending={code: tuple(sorted(set(texts))) for code, texts in offending.items()})


def _distinct(values: pl.Series) -> tuple[list[Any], np.ndarray]:
    unique = values.unique(maintain_order=True)
    place = pl.DataFrame({"value": unique, "place": np.arange(len(unique))})
    which = pl.DataFrame({"value": values}).join(place, on="value", how="left", nulls_equal=True, maintain_order="left")
    return cells_of(unique), which["place"].to_numpy()


def cells_of(values: pl.Series) -> list[Any]:
    """Return Python's values; days and times outside the years 1 to 9999, which it cannot hold, as texts.

    Floats of four bytes stay what they are: the decimal they print is not that of the nearest double.
    """
    if isinstance(values.dtype, pl.Float32):
        return [None if value is None else np.float32(value) for value in values.to_list()]
    if not isinstance(values.dtype, pl.Date | pl.Datetime):
        return values.to_list()
    day = pl.col("value").dt.date()
    near = day.is_between(dt.date.min, dt.date.max)
    number = day.to_physical()
    known = number.is_between(-_DAYS_POLARS_WRITES, _DAYS_POLARS_WRITES)  # beyond, it panics
    written = pl.when(known).then(number).otherwise(0).cast(pl.Date).cast(pl.String)
    far = pl.when(known).then(written).otherwise(pl.format("day {} since 1970", number))
    found = pl.DataFrame({"value": values}).select(pl.when(near).then("value"), far=pl.when(~near).then(far))
    return [value if far is None else far for value, far in found.iter_rows()]


def _missing_texts(attribute: Attribute, *, padded: bool) -> list[str]:
    texts = attribute.missing.texts if attribute.missing else ()
    return [*texts, *(" " + text for text in texts if padded)]


def _listed(attribute: Attribute, domain: Values, raw: pl.Expr, dtype: pl.DataType, *, padded: bool) -> pl.Expr:
    texts = attribute.missing.texts if attribute.missing else ()
    text: pl.Expr
    if dtype.is_decimal():
        return pl.lit(ASK, dtype=pl.Int32)  # more digits than a double holds
    if dtype.is_float():
        whole = raw.cast(pl.Float64).cast(pl.Int64, strict=False)
        exact = (whole.cast(pl.Float64) == raw.cast(pl.Float64)) & (raw.cast(pl.Float64).abs() < whole_floats(dtype))
        text = pl.when(exact).then(whole.cast(pl.String))
    elif isinstance(dtype, pl.Datetime | pl.Time):
        return pl.lit(ASK, dtype=pl.Int32)
    else:
        text = raw.cast(pl.String)
    if not padded and not attribute.same and not any(item in domain.index for item in texts):
        # A fixed list of categories is the fastest dictionary: its physical numbers are our codes.
        known = pl.Enum([*domain.names, *dict.fromkeys(texts)])
        code = text.cast(known, strict=False).to_physical().cast(pl.Int32)
        return pl.when(code >= domain.size).then(missing_result(attribute)).otherwise(code) if texts else code
    spelt = {spelling: domain.index[name] for spelling, name in attribute.same.items()}
    entries = domain.index | spelt | dict.fromkeys(texts, missing_result(attribute))
    if padded and domain.size <= _PADDED_LIMIT:
        entries |= {" " + name: code for name, code in entries.items()}
    return text.replace_strict(
        pl.Series(list(entries), dtype=pl.String),
        pl.Series(list(entries.values()), dtype=pl.Int32),
        default=ASK,
        return_dtype=pl.Int32,
    )


def _days(attribute: Attribute, domain: Days, raw: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.Date):
        day = raw
    elif isinstance(dtype, pl.Datetime):
        day = raw.dt.date()
    elif isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        day = days_in(raw.cast(pl.String), attribute.format)
    elif dtype.is_integer() and attribute.format is not None:
        day = days_in(raw.cast(pl.String), attribute.format)  # 20240531 in a column of integers
    else:
        return pl.lit(ASK, dtype=pl.Int32)
    if attribute.format is not None and "%d" not in attribute.format:
        day = day.dt.month_start()  # as the file would write it
    if domain.months:
        since = day.dt.year().cast(pl.Int64) * 12 + day.dt.month() - (domain.low.year * 12 + domain.low.month)
    else:
        since = day.cast(pl.Int32).cast(pl.Int64) - (domain.low.toordinal() - _EPOCH_DAYS)
    code = _in_range(attribute, since // domain.step, since < 0, since >= domain.step * domain.size)
    missing = missing_days(attribute)
    return pl.when(day.is_in(missing)).then(missing_result(attribute)).otherwise(code) if missing else code


def days_in(text: pl.Expr, spelling: str | None = None) -> pl.Expr:
    """Return the days of ISO texts, or of texts in the given format; null where a text is none."""
    if spelling is None:
        day = text.str.to_date("%Y-%m-%d", strict=False)
        spelt = day.cast(pl.String) == text  # polars also takes 2020-1-1
    else:
        whole = "%d" in spelling  # a month is read as its first day
        day = (text if whole else "01 " + text).str.to_date(spelling if whole else f"%d {spelling}", strict=False)
        spelt = text.str.contains(f"^{format_regex(spelling)}$")
    return pl.when(spelt & (day >= dt.date.min)).then(day)  # polars has a year 0000


def in_iso(text: pl.Expr, spelling: str | None) -> pl.Expr:
    """Return texts, the days among them that are written in the given format in ISO."""
    return text if spelling is None else pl.coalesce(days_in(text, spelling).cast(pl.String), text)


def with_decimal_marks(attributes: Sequence[Attribute]) -> list[pl.Expr]:
    """Return columns of exact numbers, texts with a decimal point, as the attributes' file writes them."""
    marks = {a.column_name: a.numbers.decimal for a in attributes if not isinstance(a.domain, Values)}
    return [pl.col(name).str.replace(".", mark, literal=True) for name, mark in marks.items() if mark != "."]


def numbers_with_point(text: pl.Expr, form: NumberForm) -> pl.Expr:
    """Return 3,5 or $1,234 as 3.5 or 1234, null where a text is not a number in that form; plain texts stay."""
    if form.plain:
        return text
    text = text.str.strip_chars()
    pattern = f"^{form.regex}$"
    if not form.thousands and not form.units:
        return pl.when(text.str.contains(pattern)).then(text.str.replace(",", ".", literal=True))
    sign = pl.concat_str(text.str.extract(pattern, 1), text.str.extract(pattern, 2), ignore_nulls=True)
    digits = text.str.extract(pattern, 3)
    if form.thousands:
        digits = digits.str.replace_all(f"[{form.marks}]", "")
    return sign + digits.str.replace(form.decimal, ".", literal=True)


def _integral(domain: Grid) -> bool:
    ends = (domain.low, domain.step, domain.high)
    return all(end == end.to_integral_value() and abs(end) < 2**62 for end in ends)


def _integers(attribute: Attribute, domain: Grid, raw: pl.Expr, dtype: pl.DataType, *, padded: bool) -> pl.Expr:
    if isinstance(dtype, pl.Boolean | pl.Date | pl.Datetime | pl.Time | pl.Decimal):
        return pl.lit(ASK, dtype=pl.Int32)
    text = raw.cast(pl.String) if isinstance(dtype, pl.Categorical | pl.Enum) else raw
    text = text.str.strip_chars() if padded and not dtype.is_integer() else text
    number = text.cast(pl.Int64, strict=False)
    low, high, step = int(domain.low), int(domain.high), int(domain.step)
    code = number - low if step == 1 else (number - low) // step
    code = _in_range(attribute, code, number < low, number >= high)
    missing = [int(item) for item in missing_numbers(attribute) if item == item.to_integral_value()]
    missing = [item for item in missing if abs(item) < 2**63]
    return pl.when(number.is_in(missing)).then(missing_result(attribute)).otherwise(code) if missing else code


def _decimals(attribute: Attribute, domain: Grid | Edges, raw: pl.Expr, dtype: pl.DataType, *, padded: bool) -> pl.Expr:
    points = (domain.low, domain.high, domain.step) if isinstance(domain, Grid) else domain.points
    if isinstance(dtype, pl.Boolean | pl.Date | pl.Datetime | pl.Time) or not all(map(_plain, points)):
        return pl.lit(ASK, dtype=pl.Int32)
    textual = isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Decimal | pl.Float32)
    text = raw.cast(pl.String) if textual else raw
    text = text.str.strip_chars() if padded and textual else text
    x = text.cast(pl.Float64, strict=False)
    low, high = (domain.low, domain.high) if isinstance(domain, Grid) else (points[0], points[-1])
    if isinstance(domain, Grid):
        code, sure = _cells(domain, x)
    elif len(points) <= _EDGES_IN_LINE:
        code = pl.sum_horizontal([(x >= float(point)).cast(pl.Int32) for point in points[1:-1]] or [x * 0])
        sure = pl.lit(value=True)
    else:
        return pl.lit(ASK, dtype=pl.Int32)
    code = _in_range(attribute, code, x < float(low), x >= float(high))
    # Of a text with more digits than a double holds, only the oracle knows on which side of a point it lies.
    ends = [float(point) for point in (points if isinstance(domain, Edges) else (low, high))]
    if textual or dtype.is_integer():
        sure &= ~(x.is_in(ends) & (text.cast(pl.String).str.len_bytes() > 15))
    sure &= x.is_finite()
    code = pl.when(sure).then(code)
    missing = [float(item) for item in missing_numbers(attribute)]
    # Whether a number is one that means missing is for the oracle to say: 99.0 and 99 are, 99.5 is not.
    return pl.when(~x.is_in(missing)).then(code) if missing else code


def whole_floats(dtype: pl.DataType) -> float:
    """Return from where on a float of a type stands for several whole numbers."""
    return WHOLE_SINGLES if isinstance(dtype, pl.Float32) else WHOLE_FLOATS


def _plain(point: Decimal) -> bool:
    """True when the decimal survives the way through a double."""
    return len(point.normalize().as_tuple().digits) <= 15 and Decimal(repr(float(point))) == point


def _cells(domain: Grid, x: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    if not exact_cells(domain):
        return pl.lit(ASK, dtype=pl.Int32), pl.lit(value=False)
    code, sure = cell_and_certainty(domain, x)
    return pl.min_horizontal(code, pl.lit(float(domain.size - 1))), sure


def exact_cells(domain: Grid) -> bool:
    """True when float arithmetic can place numbers of the range into cells with certainty."""
    unit = Decimal(10) ** domain.decimals
    points = (domain.low, domain.high, domain.step)
    return all(map(_plain, points)) and max(abs(domain.low), abs(domain.high)) * unit < _EXACT


def cell_and_certainty(domain: Grid, x: Any) -> tuple[Any, Any]:
    """Return the cell of a float expression (polars or narwhals) of the range, and where that is certain."""
    unit = Decimal(10) ** domain.decimals
    scale, low, step = float(unit), float(domain.low * unit), float(domain.step * unit)
    scaled = x * scale + 0.5 - low
    code = ((scaled - CELL_MARGIN) / step).floor()
    again = ((scaled + CELL_MARGIN) / step).floor()
    return code, (code == again) & (x.abs() < exact_units(domain))


def exact_units(domain: Grid) -> float:
    """Return the size below which float arithmetic places numbers with certainty."""
    return float(_EXACT / Decimal(10) ** domain.decimals)


def _in_range(attribute: Attribute, code: pl.Expr, below: pl.Expr, above: pl.Expr) -> pl.Expr:
    """Keep codes of the range; clamp, or leave the rest to the oracle."""
    if not attribute.clamp:
        return pl.when(~below & ~above).then(code)
    last = attribute.values.size - 1
    return pl.when(below).then(0).when(above).then(last).otherwise(code)
