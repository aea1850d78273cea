"""Unions of serialized HLL sketches, byte for byte as Java's DataSketches 4.2 writes them.

Called by `unions`. The union itself is that of the C++ library, which has the same format. It differs from
Java's in one number, which is of no use in sketches that are *out of order* but is written: the accumulator
of the estimator HIP. Java keeps the one that a sketch out of order comes with, so the mark is hidden from the
library. And Java halves the resolution of a sketch before it adds to the accumulator, the library after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lithify.formats.paimon.primary_key.merge_functions.aggregates.hll_format import (
    OUT_OF_ORDER,
    REGISTERS,
    check,
    mode_of,
)

if TYPE_CHECKING:
    from datasketches import hll_sketch

_FLAGS: Final = 5


def union(accumulator: bytes, value: bytes) -> bytes:
    """The union of two sketches with the resolution of the second one or less, compact and of the type HLL_4.

    Raises:
        ValueError: one of them is no sketch.
    """
    for data in (accumulator, value):
        check(data)
    try:
        merged = _merged(accumulator, value)
    except (RuntimeError, IndexError, MemoryError) as error:  # some full tables, for example
        raise ValueError(str(error)) from error
    if _is_out_of_order(accumulator) or _is_out_of_order(value):
        merged = _with_flags(merged, merged[_FLAGS] | OUT_OF_ORDER)
    return merged


def _merged(accumulator: bytes, value: bytes) -> bytes:
    from datasketches import hll_union, tgt_hll_type

    first, second = _read(accumulator), _read(value)
    precision = second.lg_config_k
    if _has_registers(accumulator) and first.lg_config_k > precision:
        smaller = hll_union(precision)
        smaller.update(first)
        first = smaller.get_result(tgt_hll_type.HLL_8)
    both = hll_union(precision)
    both.update(second)
    both.update(first)
    merged: bytes = both.get_result(tgt_hll_type.HLL_4).serialize_compact()
    return merged


def _read(data: bytes) -> hll_sketch:
    from datasketches import hll_sketch

    if _is_out_of_order(data):
        data = _with_flags(data, data[_FLAGS] & ~OUT_OF_ORDER)
    return hll_sketch.deserialize(data)


def _has_registers(data: bytes) -> bool:
    return mode_of(data) == REGISTERS


def _is_out_of_order(data: bytes) -> bool:
    return _has_registers(data) and bool(data[_FLAGS] & OUT_OF_ORDER)


def _with_flags(data: bytes, flags: int) -> bytes:
    return data[:_FLAGS] + bytes((flags,)) + data[_FLAGS + 1 :]
