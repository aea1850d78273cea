"""Sum and product of DECIMAL columns, exactly as Paimon computes them.

Unscaled values are Python integers in numpy arrays: they have up to 38 digits, their products up to 76.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.octets import decimal_words
from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import (
    any_of,
    later_steps_of,
    sizes_of,
    spread,
    starts_of,
    sums_of,
    used_in_product,
    valid_of,
)

Unscaled = npt.NDArray[np.object_]

_COMPACT = 18
"""Maximum precision at which Paimon adds longs, without checking the number of digits of a sum."""
_LONG = 1 << 63


@dataclass(frozen=True, slots=True)
class DecimalSum:
    """The sum of decimals; values that retract are subtracted.

    A sum with too many digits becomes null, and the next value starts a new sum. Up to a precision of 18,
    only sums beyond 64 bits become null; intermediate sums may have too many digits, but not the final one.

    Attributes:
        column: column name for messages.
        precision: digits of the column's type.
    """

    column: str
    precision: int

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One sum per group, null if all values are null."""
        exact = self._sums_of_longs(values, starts, retracts)
        return self._sums_in_steps(values, starts, retracts) if exact is None else exact

    def _sums_of_longs(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array | None:
        """The sums in 64 bits; None if a value has too many digits or a sum could exceed 64 bits."""
        numbers = longs(values)
        if numbers is None or not len(numbers):
            return None
        largest = max(-int(numbers.min()), int(numbers.max()))
        most = int(sizes_of(starts, len(numbers)).max())
        if largest >= 10**self.precision or largest * most >= _LONG:
            return None
        sums = sums_of(numbers, starts, retracts)
        if largest * most >= 10**self.precision:
            self._check_digits(sums)
        valid = any_of(valid_of(values), starts) if values.null_count else None
        return decimals_of_longs(sums, valid, values.type)

    def _sums_in_steps(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        used = valid_of(values)
        left, some = starts_of(used, starts)
        numbers = unscaled(values)[used]
        signed = np.where(retracts[used], -numbers, numbers)
        # A value with too many digits, from an earlier sum, can start a sum unless it retracts.
        begins = ~retracts[used] | fits(signed, self.precision)
        sums, valid = signed[left], begins[left]
        for groups, places in later_steps_of(left, len(signed)):
            sums[groups] = np.where(valid[groups], sums[groups], 0) + signed[places]
            valid[groups] = np.where(valid[groups], self._fits(sums[groups]), begins[places])
        self._check_digits(sums[valid])
        return spread(decimals(sums, valid, values.type), some)

    def _check_digits(self, sums: Unscaled | IntPart) -> None:
        if not fits(sums, self.precision).all():
            reason = (
                f"a sum has more than the {self.precision} digits of its type; depending on the file format, "
                "Paimon cuts such a value or fails on it; give the column more digits"
            )
            raise UnsupportedTable(f"column {self.column}", (reason,))

    def _fits(self, sums: Unscaled) -> Mask:
        if self.precision <= _COMPACT:
            return np.array((sums >= -_LONG) & (sums < _LONG), dtype=bool)
        return fits(sums, self.precision)


@dataclass(frozen=True, slots=True)
class DecimalProduct:
    """The product of decimals; a retraction divides the product so far.

    Each step is rounded half up to the type's scale; a product with too many digits becomes null.
    """

    column: str
    precision: int
    scale: int

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One product per group; a retraction without a product has no effect."""
        used = used_in_product(valid_of(values), starts, retracts)
        left, some = starts_of(used, starts)
        factors, divides = unscaled(values)[used], retracts[used]
        products, valid = factors[left], np.ones(len(left), dtype=bool)
        for groups, places in later_steps_of(left, len(factors)):
            acts = valid[groups] | ~divides[places]
            self._multiply(products, valid, groups[acts], factors[places[acts]], divides[places[acts]])
        return spread(decimals(products, valid, values.type), some)

    def _multiply(
        self, products: Unscaled, valid: Mask, groups: IntPart, factors: Unscaled, divides: Mask
    ) -> None:
        """Applies one more factor or divisor to the products of some groups."""
        old, going, one = products[groups], valid[groups], 10**self.scale
        self._check_quotients(old[divides], factors[divides])
        over = np.where(divides, old * one, np.where(going, old * factors, factors))
        under = np.where(divides, factors, np.where(going, one, 1))
        products[groups] = rounded(over, under)
        valid[groups] = ~going | fits(products[groups], self.precision)

    def _check_quotients(self, dividends: Unscaled, divisors: Unscaled) -> None:
        """Refuses quotients without a finite decimal expansion, which Java cannot compute."""
        for dividend, divisor in zip(dividends, divisors, strict=True):
            if divisor == 0 or not _is_finite(abs(divisor) // gcd(dividend, divisor)):
                reason = (
                    "a record retracts a value from a product, but the value is 0 or the quotient has no "
                    "last digit, so Paimon fails, too; overwrite that row"
                )
                raise UnsupportedTable(f"column {self.column}", (reason,))


def _is_finite(denominator: int) -> bool:
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return denominator == 1


def unscaled(values: pa.Array) -> Unscaled:
    """The unscaled values of a DECIMAL column, 0 for nulls."""
    lower, upper = decimal_words(values).T
    lower, upper = lower.view(np.uint64).astype(object), upper.astype(object)
    return np.where(valid_of(values), upper * (1 << 64) + lower, 0)


def longs(values: pa.Array) -> IntPart | None:
    """The unscaled values of a DECIMAL column, 0 for nulls; None if one of them exceeds 64 bits."""
    lower, upper = decimal_words(values).T
    if values.null_count:
        valid = valid_of(values)
        lower, upper = np.where(valid, lower, 0), np.where(valid, upper, 0)
    return lower if bool((upper == lower >> 63).all()) else None


def decimals_of_longs(numbers: IntPart, valid: Mask | None, kind: pa.DataType) -> pa.Array:
    """A DECIMAL column from unscaled values of 64 bits; null where a mask is given that excludes them."""
    words = np.stack([numbers, numbers >> 63], axis=1)
    marks = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(numbers), [marks, pa.py_buffer(words)])


def decimals(numbers: Unscaled, valid: Mask, kind: pa.DataType) -> pa.Array:
    """A DECIMAL column from unscaled values, which may have more digits than its type."""
    words = np.empty((len(numbers), 2), dtype=np.int64)
    kept = np.where(valid, numbers, 0)
    if len(kept):
        words[:, 0] = (kept & ((1 << 64) - 1)).astype(np.uint64).view(np.int64)
        words[:, 1] = (kept >> 64).astype(np.int64)
    marks = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(numbers), [marks, pa.py_buffer(words)])


def fits(numbers: Unscaled | IntPart, precision: int) -> Mask:
    """Mask of the unscaled values with at most `precision` digits."""
    return np.array(abs(numbers) < 10**precision, dtype=bool)


def rounded(over: Unscaled, under: Unscaled) -> Unscaled:
    """Integer quotients, rounded half up (away from zero)."""
    sign = np.where((over < 0) != (under < 0), -1, 1)
    over, under = abs(over), abs(under)
    halves: Unscaled = sign * ((2 * over + under) // (2 * under))
    return halves
