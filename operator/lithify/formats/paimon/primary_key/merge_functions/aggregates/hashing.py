"""The iteration order of Java's hash sets and maps.

Paimon collects distinct elements in a `HashSet` and writes them in the order of its hash table, by
`hashCode`. Elements in the same bin are in insertion order. With eight or more in one bin, Java turns the bin
into a tree, and the order may differ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.murmur_hash import finished, mixed
from lithify.columns.order import (
    EPOCH_DAY,
    INSTANT,
    IntPart,
    instants,
    sorted_stably,
)
from lithify.engine.rewrite.records import Mask
from lithify.formats.paimon.primary_key.merge_functions.aggregates.decimals import Unscaled, unscaled
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import valid_of
from lithify.formats.paimon.rows.row_hashes import SEED

Hashes = npt.NDArray[np.uint32]

_FIRST_TABLE = 16
_WORD = (1 << 32) - 1


def table_order(hashes: Hashes, owners: IntPart) -> IntPart:
    """The positions of distinct elements, ordered by owner, then by bin in the owner's hash table.

    Args:
        hashes: hash of each element.
        owners: set or map of each element, ascending; elements of one owner are in insertion order.
    """
    places = _places(hashes, owners, np.bincount(owners, minlength=1))
    # Both fit into 64 bits: a table has at most 2^30 bins, and there are fewer than 2^33 owners.
    return sorted_stably(owners * (int(places.max(initial=0)) + 1) + places)[1]


def computed_order(hashes: Hashes, owners: IntPart, is_last_new: Mask) -> IntPart:
    """Like `table_order`, for maps that are filled by `computeIfAbsent`.

    `computeIfAbsent` puts new elements first in their bin and enlarges the table one call later.

    Args:
        hashes: hash of each element.
        owners: map of each element, ascending; elements of one owner are in insertion order.
        is_last_new: for each owner, whether the last call added a new element.
    """
    places = _places(hashes, owners, np.bincount(owners, minlength=len(is_last_new)) - is_last_new)
    return np.lexsort((-np.arange(len(owners)), places, owners))


def _places(hashes: Hashes, owners: IntPart, counts: IntPart) -> IntPart:
    spread = (hashes ^ (hashes >> np.uint32(16))).astype(np.int64)
    if _is_enough(_FIRST_TABLE, counts).all():
        return spread & (_FIRST_TABLE - 1)
    tables = np.full(len(counts), _FIRST_TABLE, dtype=np.int64)
    while (full := ~_is_enough(tables, counts)).any():
        tables[full] *= 2
    return spread & (tables[owners] - 1)


def _is_enough(tables: IntPart | int, counts: IntPart) -> Mask:
    """Whether hash tables of these sizes can hold these numbers of elements."""
    return counts <= tables * 3 // 4


def java_hashes(values: pa.Array) -> Hashes:
    """The `hashCode` of each value in Paimon's internal type; 0 for nulls.

    Raises:
        TypeError: the type is not supported.
    """
    hashes = _hash_kernel(values.type)(values)
    return np.where(valid_of(values), hashes, 0).astype(np.uint32)


def _hash_kernel(kind: pa.DataType) -> Callable[[pa.Array], Hashes]:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _text_hashes
    if pa.types.is_boolean(kind):
        return lambda values: np.where(_filled(values), 1231, 1237).astype(np.uint32)
    if pa.types.is_int64(kind):
        return lambda values: _folded(_filled(values))
    if pa.types.is_integer(kind):
        return lambda values: _filled(values).astype(np.int32).view(np.uint32)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return lambda values: _filled(values.view(pa.int32())).view(np.uint32)
    if pa.types.is_float32(kind):
        return lambda values: _canonical(_filled(values)).view(np.uint32)
    if pa.types.is_float64(kind):
        return lambda values: _folded(_canonical(_filled(values)).view(np.int64))
    if pa.types.is_timestamp(kind) or kind.equals(INSTANT):
        return _timestamp_hashes
    if pa.types.is_decimal128(kind):
        return lambda values: _decimal_hashes(unscaled(values), kind.scale)
    raise TypeError(f"{kind} has no hash code")


def _filled(values: pa.Array) -> npt.NDArray[np.generic]:
    zero = pa.scalar(0, pa.int32()).cast(values.type)
    filled: npt.NDArray[np.generic] = values.fill_null(zero).to_numpy(zero_copy_only=False)
    return filled


def _canonical(floats: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return np.where(np.isnan(floats), floats.dtype.type(np.nan), floats)


def _folded(longs: npt.NDArray[np.generic]) -> Hashes:
    """`Long.hashCode` of 64-bit values."""
    bits = longs.astype(np.int64).view(np.uint64)
    return ((bits ^ (bits >> np.uint64(32))) & np.uint64(_WORD)).astype(np.uint32)


def _timestamp_hashes(values: pa.Array) -> Hashes:
    if values.type.equals(INSTANT):
        days, nanos = instants(values)
        millis = (days - EPOCH_DAY) * 86_400_000 + nanos // 10**6
        rest = nanos % 10**6
    else:
        ticks = values.view(pa.int64()).fill_null(0).to_numpy()
        per_milli = {"ms": 1, "us": 1000}[values.type.unit]
        millis, rest = ticks // per_milli, ticks % per_milli * (10**6 // per_milli)
    bits = millis.view(np.uint64)
    high = (millis >> 32).view(np.uint64)
    mixed = (bits ^ high) & np.uint64(_WORD)
    return ((mixed * np.uint64(31) + rest.view(np.uint64)) & np.uint64(_WORD)).astype(np.uint32)


def _decimal_hashes(numbers: Unscaled, scale: int) -> Hashes:
    """`BigDecimal.hashCode` of decimals."""
    if not len(numbers):
        return np.zeros(0, dtype=np.uint32)
    sizes = abs(numbers)
    # Java hashes the words of a number from the highest on; words above 64 bits work the same way.
    mixed = np.zeros(len(numbers), dtype=object)
    for shift in (96, 64, 32, 0):
        mixed = mixed * 31 + ((sizes >> shift) & _WORD)
    signed = np.where(numbers < 0, -mixed, mixed)
    return ((31 * signed + scale) & _WORD).astype(np.uint32)


def _text_hashes(values: pa.Array) -> Hashes:
    return byte_hashes(values.cast(pa.large_string()).view(pa.large_binary()))


def byte_hashes(values: pa.LargeBinaryArray) -> Hashes:
    """Paimon's MurmurHash of texts, and of rows in its binary form: whole words, then single bytes."""
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    _, offsets, data = values.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values)]
    octets = np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    hashes, words = np.full(len(values), SEED, dtype=np.uint32), lengths // 4
    for word in range(int(words.max(initial=0))):
        some = np.flatnonzero(words > word)
        at = starts[some] + 4 * word
        parts = [octets[at + place].astype(np.uint32) << np.uint32(8 * place) for place in range(4)]
        hashes[some] = mixed(hashes[some], parts[0] | parts[1] | parts[2] | parts[3])
    for place in range(3):
        some = np.flatnonzero(lengths % 4 > place)
        last = octets[starts[some] + 4 * words[some] + place].view(np.int8)
        hashes[some] = mixed(hashes[some], last.astype(np.int32).view(np.uint32))
    return finished(hashes, lengths.astype(np.uint32))
