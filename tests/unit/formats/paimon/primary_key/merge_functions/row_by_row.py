"""Aggregate functions as Paimon's Java has them: an accumulator, and one value after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from lithify.files.types import ColumnType
from lithify.formats.paimon.options.merging.field_options import FieldOptions

Step = Callable[[Any, Any], Any]
NUMPY = {"TINYINT": np.int8, "SMALLINT": np.int16, "INT": np.int32, "BIGINT": np.int64}
FLOATS = {"FLOAT": np.float32, "DOUBLE": np.float64}


class CannotRetract(Exception):
    """The function has no way to take a value back, or no result for it."""


def _refuse(_accumulator: Any, _value: Any) -> Any:
    raise CannotRetract


@dataclass
class Function:
    """What to do with a value that is added, and with one that retracts."""

    agg: Step
    retract: Step = _refuse


def fold(function: Function, values: Sequence[Any], retracts: Sequence[bool], *, ignores: bool) -> Any:
    """The value of one group."""
    accumulator = None
    with localcontext() as context:
        context.prec = 300
        for value, retract in zip(values, retracts, strict=True):
            if not retract:
                accumulator = function.agg(accumulator, value)
            elif not ignores:
                accumulator = function.retract(accumulator, value)
    return accumulator


def function_of(name: str, column: ColumnType, options: FieldOptions) -> Function:
    """The function of that name, for one group."""
    return _MAKERS[name](column, options)


def either(combine: Step) -> Step:
    """The one that is not null, or both combined."""
    return lambda acc, new: new if acc is None else acc if new is None else combine(acc, new)


def _wrap(column: ColumnType, number: int) -> int:
    bits = np.iinfo(NUMPY[column.root]).bits
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _sum(column: ColumnType, _: FieldOptions) -> Function:
    if column.root in FLOATS:
        kind = FLOATS[column.root]
        return Function(
            either(lambda a, b: float(kind(a) + kind(b))),
            lambda a, b: a if b is None else -b if a is None else float(kind(a) - kind(b)),
        )
    if column.root == "DECIMAL":
        return Function(
            either(lambda a, b: _bounded(column, a + b)),
            lambda a, b: a if b is None else -b if a is None else _bounded(column, a - b),
        )
    return Function(
        either(lambda a, b: _wrap(column, a + b)),
        lambda a, b: a if b is None else _wrap(column, -b if a is None else a - b),
    )


def _bounded(column: ColumnType, number: Decimal) -> Decimal | None:
    rounded = number.quantize(Decimal(1).scaleb(-column.scale), ROUND_HALF_UP)
    rounded = abs(rounded) if rounded == 0 else rounded  # Java has no negative zero
    return rounded if len(rounded.as_tuple().digits) <= column.precision else None


def _product(column: ColumnType, _: FieldOptions) -> Function:
    if column.root in FLOATS:
        kind = FLOATS[column.root]
        return Function(
            either(lambda a, b: float(kind(a) * kind(b))),
            lambda a, b: a if a is None or b is None else float(kind(a) / kind(b)),
        )
    if column.root == "DECIMAL":
        return Function(
            either(lambda a, b: _bounded(column, a * b)),
            lambda a, b: a if a is None or b is None else _bounded(column, _exact(a, b)),
        )
    return Function(
        either(lambda a, b: _wrap(column, a * b)),
        lambda a, b: a if a is None or b is None else _wrap(column, _truncated(a, b)),
    )


def _exact(dividend: Decimal, divisor: Decimal) -> Decimal:
    if divisor == 0:
        raise CannotRetract
    denominator = (Fraction(dividend) / Fraction(divisor)).denominator
    if 10**400 % denominator:
        raise CannotRetract  # a quotient without a last digit has other factors than those of 10
    return dividend / divisor


def _truncated(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise CannotRetract
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _rank(value: Any) -> Any:
    if isinstance(value, float):
        return (math.isnan(value), 0 if math.isnan(value) else value, math.copysign(1, value))
    return value.encode() if isinstance(value, str) else value


def _first(skips_nulls: bool) -> Function:
    begun = False

    def agg(accumulator: Any, value: Any) -> Any:
        nonlocal begun
        if begun or (skips_nulls and value is None):
            return accumulator
        begun = True
        return value

    return Function(agg)


def _listagg(_: ColumnType, options: FieldOptions) -> Function:
    def join(old: str, new: str) -> str:
        if not old or not new:
            return old or new
        if not options.distinct:
            return old + options.delimiter + new
        known, result = set(old.split(options.delimiter)), old
        for part in new.split(options.delimiter):
            if part and part not in known:
                known.add(part)
                result += options.delimiter + part
        return result

    return Function(either(join))


def _collect(_: ColumnType, options: FieldOptions) -> Function:
    def agg(old: list[Any] | None, new: list[Any] | None) -> list[Any] | None:
        if old is None and new is None:
            return None
        elements = [*(old or []), *(new or [])]
        return [*dict.fromkeys(elements)] if options.distinct else elements

    def retract(old: list[Any] | None, gone: list[Any] | None) -> list[Any] | None:
        if old is None or gone is None:
            return old
        left = [*gone]
        return [each for each in old if not (each in left and left.remove(each) is None)]  # type: ignore[func-returns-value]

    return Function(agg, retract)


def _merge_map(_: ColumnType, __: FieldOptions) -> Function:
    return Function(
        either(lambda old, new: [*{**dict(old), **dict(new)}.items()]),
        lambda old, gone: (
            old if old is None or gone is None else [pair for pair in old if pair[0] not in dict(gone)]
        ),
    )


def _with_time(_: ColumnType, __: FieldOptions) -> Function:
    def merge(old: list[Any], new: list[Any]) -> list[Any]:
        result = dict(old)
        for key, row in new:
            if row is None:
                result.pop(key, None)
            elif row["t"] is not None:
                known = result.get(key)
                if known is None or known["t"] is None or known["t"] < row["t"]:
                    result[key] = row
        return [*result.items()]

    return Function(either(merge))


def _nested(_: ColumnType, options: FieldOptions) -> Function:
    def key(row: dict[str, Any]) -> Any:
        return tuple(row[name] for name in options.nested_key or sorted(row))

    def agg(old: list[Any], new: list[Any]) -> list[Any]:
        if len(old) >= options.count_limit:
            return old
        rows = [row for row in old if row is not None]
        rows += [row for row in new if row is not None][: options.count_limit - len(old)]
        return [*{key(row): row for row in rows}.values()] if options.nested_key else rows

    def retract(old: list[Any] | None, gone: list[Any] | None) -> list[Any] | None:
        if old is None or gone is None:
            return old
        rows = [row for row in old if row is not None]
        if options.nested_key:
            rows = [*{key(row): row for row in rows}.values()]
        return [row for row in rows if key(row) not in {key(each) for each in gone if each is not None}]

    return Function(either(agg), retract)


def _nested_partial(_: ColumnType, options: FieldOptions) -> Function:
    def agg(old: list[Any], new: list[Any]) -> list[Any]:
        rows: dict[Any, dict[str, Any]] = {}
        for row in (each for each in [*old, *new] if each is not None):
            known = rows.setdefault(tuple(row[name] for name in options.nested_key), dict.fromkeys(row))
            known.update({name: value for name, value in row.items() if value is not None})
        return [*rows.values()]

    return Function(either(agg))


_MAKERS: dict[str, Callable[[ColumnType, FieldOptions], Function]] = {
    "sum": _sum,
    "product": _product,
    "max": lambda _, __: Function(either(lambda a, b: b if _rank(a) < _rank(b) else a)),
    "min": lambda _, __: Function(either(lambda a, b: a if _rank(a) < _rank(b) else b)),
    "last_value": lambda _, __: Function(lambda _, value: value, lambda _, __: None),
    "last_non_null_value": lambda _, __: Function(
        lambda acc, value: acc if value is None else value, lambda acc, value: acc if value is None else None
    ),
    "primary-key": lambda _, __: Function(lambda _, value: value, lambda _, value: value),
    "first_value": lambda _, __: _first(skips_nulls=False),
    "first_non_null_value": lambda _, __: _first(skips_nulls=True),
    "bool_and": lambda _, __: Function(either(lambda a, b: a and b)),
    "bool_or": lambda _, __: Function(either(lambda a, b: a or b)),
    "listagg": _listagg,
    "collect": _collect,
    "merge_map": _merge_map,
    "merge_map_with_keytime": _with_time,
    "nested_update": _nested,
    "nested_partial_update": _nested_partial,
}
