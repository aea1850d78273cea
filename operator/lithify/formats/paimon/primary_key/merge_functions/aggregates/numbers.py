"""The functions sum and product, with Java's arithmetic.

Integers wrap around at the width of their type. Floating point numbers are added in the order of the records,
in the precision of their type. Decimals (see `decimals`) become null or keep more digits than their type has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.merging.field_functions import INTEGERS, FieldFunction
from lithify.formats.paimon.primary_key.merge_functions.aggregates.decimals import DecimalProduct, DecimalSum
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import (
    any_of,
    later_steps_of,
    spread,
    starts_of,
    sums_of,
    used_in_product,
    valid_of,
)

Numbers = npt.NDArray[Any]


def sum_of(function: FieldFunction) -> FieldAggregate:
    """The function sum for a column."""
    if function.type.root == "DECIMAL":
        return DecimalSum(function.options.column, function.type.precision)
    return IntegerSum() if function.type.root in INTEGERS else FloatSum()


def product_of(function: FieldFunction) -> FieldAggregate:
    """The function product for a column."""
    name, column = function.options.column, function.type
    if column.root == "DECIMAL":
        return DecimalProduct(name, column.precision, column.scale)
    return Product(name, is_integer=column.root in INTEGERS)


@dataclass(frozen=True, slots=True)
class IntegerSum:
    """The sum of integers; retractions are subtracted. Wraps around, so the order does not matter."""

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One sum per group, null if all values are null."""
        filled = _filled(values)
        sums = sums_of(filled.astype(np.int64), starts, retracts).astype(filled.dtype)
        if not values.null_count:
            return pa.array(sums, type=values.type)
        return _array(sums, any_of(valid_of(values), starts), values.type)


@dataclass(frozen=True, slots=True)
class FloatSum:
    """The sum of floating point numbers, added in order; retractions are subtracted."""

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One sum per group, null if all values are null."""
        used = valid_of(values)
        left, some = starts_of(used, starts)
        numbers = _filled(values)[used]
        signed = np.where(retracts[used], -numbers, numbers)
        sums = signed[left]
        for groups, places in later_steps_of(left, len(signed)):
            with np.errstate(all="ignore"):
                sums[groups] = sums[groups] + signed[places]
        return spread(pa.array(sums, type=values.type), some)


@dataclass(frozen=True, slots=True)
class Product:
    """The product of numbers; a retraction divides the product so far.

    Attributes:
        column: column name for messages.
        is_integer: whether values are integers, which wrap around and divide towards zero.
    """

    column: str
    is_integer: bool

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One product per group; a retraction without a product has no effect."""
        used = used_in_product(valid_of(values), starts, retracts)
        left, some = starts_of(used, starts)
        factors, divides = _filled(values)[used], retracts[used]
        products = factors[left]
        for groups, places in later_steps_of(left, len(factors)):
            with np.errstate(all="ignore"):
                products[groups] = self._next(products[groups], factors[places], divides[places])
        return spread(pa.array(products, type=values.type), some)

    def _next(self, products: Numbers, factors: Numbers, divides: Mask) -> Numbers:
        """Applies one more factor or divisor to each product."""
        result = products * factors
        if divides.any():
            result[divides] = self._divided(products[divides], factors[divides])
        return result

    def _divided(self, dividends: Numbers, divisors: Numbers) -> Numbers:
        if not self.is_integer:
            return dividends / divisors
        if (divisors == 0).any():
            reason = "a record retracts a 0 from a product, and Java cannot divide by it; overwrite that row"
            raise UnsupportedTable(f"column {self.column}", (reason,))
        wide, by = dividends.astype(np.int64), divisors.astype(np.int64)
        floor = wide // by
        cut = floor + ((floor * by != wide) & ((wide < 0) != (by < 0)))
        quotients: Numbers = cut.astype(dividends.dtype)
        return quotients


def _filled(values: pa.Array) -> Numbers:
    """The values as a numpy array, 0 for nulls."""
    filled = values.fill_null(0) if values.null_count else values
    numbers: Numbers = filled.to_numpy(zero_copy_only=False)
    return numbers


def _array(numbers: Numbers, valid: Mask, kind: pa.DataType) -> pa.Array:
    return pa.array(numbers, type=kind, mask=~valid)
