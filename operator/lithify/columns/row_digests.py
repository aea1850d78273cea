"""Digests of rows that do not depend on their order: their number, and sums of a hash of each row.

Called by tasks that compare the rows of two snapshots. Equal rows count as often as they occur, so a sum
tells a row that is lost, changed or there twice, except by a chance of 1 in 2^64. Hashes are of values and
not of bytes: all NaN are one, -0.0 is 0.0, and the entries of a map have no order. They are the same in every
process, and not meant to withstand people who look for rows with equal ones. Pure; memory is a multiple of
the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from lithify.columns.text_hashes import Hashes, mixed, text_hashes

_SEEDS = (np.uint64(0x243F_6A88_85A3_08D3), np.uint64(0x1319_8A2E_0370_7344))
_NULL = np.uint64(0xA409_3822_299F_31D0)
_NEXT = np.uint64(0x082E_FA98_EC4E_6C89)
"""Arbitrary digits, of pi; `_NEXT` sets what follows apart from what was before."""
_MODULUS = 1 << 64


@dataclass(frozen=True, slots=True)
class RowsDigest:
    """The digest of some rows; digests of disjoint rows can be added.

    Attributes:
        rows: their number.
        sums: two sums of hashes, modulo 2^64.
    """

    rows: int = 0
    sums: tuple[int, int] = (0, 0)

    def __add__(self, other: RowsDigest) -> RowsDigest:
        first, second = ((a + b) % _MODULUS for a, b in zip(self.sums, other.sums, strict=True))
        return RowsDigest(self.rows + other.rows, (first, second))

    def __str__(self) -> str:
        return f"{self.rows:,} rows, {self.sums[0]:016x}{self.sums[1]:016x}"


def digest_of(batches: Iterable[pa.RecordBatch]) -> RowsDigest:
    """The digest of all rows of some batches of one schema.

    Raises:
        TypeError: a column has a type whose values have no hash here.
    """
    return sum(map(_batch_digest, batches), RowsDigest())


def columns_without_digests(schema: pa.Schema) -> list[str]:
    """The columns whose types have values without hashes."""
    return [field.name for field in schema if not _has_hash(field.type)]


def _has_hash(kind: pa.DataType) -> bool:
    try:
        _hashes(pa.array([], kind))
    except TypeError:
        return False
    return True


def _batch_digest(batch: pa.RecordBatch) -> RowsDigest:
    hashes = _followed([_hashes(column) for column in batch.columns], len(batch))
    first, second = (int(mixed(hashes ^ seed).sum(dtype=np.uint64)) for seed in _SEEDS)
    return RowsDigest(len(batch), (first, second))


def _hashes(values: pa.Array) -> Hashes:
    """The hash of each value, the same for all nulls."""
    if kinds.is_null(values.type) or (values.null_count and values.null_count == len(values)):
        return np.full(len(values), _NULL, dtype=np.uint64)
    found = _hashes_of_type(values.type)(values)
    if values.null_count:
        found = np.where(pc.is_null(values).to_numpy(zero_copy_only=False), _NULL, found)
    return found


def _hashes_of_type(kind: pa.DataType) -> Callable[[pa.Array], Hashes]:
    """What hashes the values of a type; nulls get any hash."""
    for is_kind, hashes in _HASHES:
        if is_kind(kind):
            return hashes
    raise TypeError(f"values of the type {kind} have no hash")


def _followed(parts: Iterable[Hashes], count: int) -> Hashes:
    """One hash for several that follow each other."""
    found = np.zeros(count, dtype=np.uint64)
    for part in parts:
        found = mixed(found + _NEXT) ^ part
    return mixed(found)


def _integers(values: pa.Array) -> Hashes:
    width = values.type.bit_width
    plain = (
        values.view(pa.int64() if width == 64 else pa.int32()) if kinds.is_temporal(values.type) else values
    )
    numbers = plain.fill_null(0).to_numpy(zero_copy_only=False)
    return mixed(numbers.astype(np.int64 if numbers.dtype.kind == "i" else np.uint64).view(np.uint64))


def _floats(values: pa.Array) -> Hashes:
    numbers = values.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0  # makes -0.0 to 0.0
    numbers[np.isnan(numbers)] = np.nan
    return mixed(numbers.view(np.uint64))


def _booleans(values: pa.Array) -> Hashes:
    return _integers(values.cast(pa.int8()))


def _decimals(values: pa.Array) -> Hashes:
    """Of all bytes of the unscaled numbers: rows of one schema have one scale."""
    if not len(values):
        return np.empty(0, dtype=np.uint64)
    words = values.type.byte_width // 8
    buffer = values.buffers()[1]
    numbers: Hashes = np.frombuffer(buffer, dtype=np.uint64, count=(values.offset + len(values)) * words)
    lanes = numbers.reshape(-1, words)[values.offset :]
    return _followed((mixed(lanes[:, lane]) for lane in range(words)), len(values))


def _octets(values: pa.Array) -> Hashes:
    return text_hashes(values)


def _structs(values: pa.StructArray) -> Hashes:
    children = (_hashes(values.field(number)) for number in range(values.type.num_fields))
    return _followed(children, len(values))


def _lists(values: Any) -> Hashes:
    elements, bounds = _elements(values)
    lengths = np.diff(bounds)
    places = np.arange(len(elements), dtype=np.int64) - np.repeat(bounds[:-1], lengths)
    in_place = mixed(_hashes(elements) ^ mixed(places.view(np.uint64) + _NEXT))
    return _folded(in_place, bounds)


def _maps(values: pa.MapArray) -> Hashes:
    bounds = values.offsets.to_numpy().astype(np.int64)
    begin, end = int(bounds[0]), int(bounds[-1])
    entries = (_hashes(part[begin:end]) for part in (values.keys, values.items))
    return _folded(_followed(entries, end - begin), bounds - begin)


def _folded(parts: Hashes, bounds: npt.NDArray[np.int64]) -> Hashes:
    """One hash for the parts between each two bounds, whatever their order, and their number."""
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(parts, dtype=np.uint64)])
    lengths = np.diff(bounds).view(np.uint64)
    return mixed(mixed(lengths + _NEXT) ^ (sums[bounds[1:]] - sums[bounds[:-1]]))


def _elements(values: Any) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """The elements of lists, and where each list begins among them."""
    if kinds.is_fixed_size_list(values.type):
        size = values.type.list_size
        bounds = np.arange(len(values) + 1, dtype=np.int64) * size
        return values.values[values.offset * size : (values.offset + len(values)) * size], bounds
    bounds = values.offsets.to_numpy().astype(np.int64)
    return values.values[bounds[0] : bounds[-1]], bounds - bounds[0]


def _is_list(kind: pa.DataType) -> bool:
    return bool(kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind))


def _is_octets(kind: pa.DataType) -> bool:
    return bool(
        kinds.is_string(kind)
        or kinds.is_large_string(kind)
        or kinds.is_binary(kind)
        or kinds.is_large_binary(kind)
        or kinds.is_fixed_size_binary(kind)
    )


def _is_decimal(kind: pa.DataType) -> bool:
    return bool(kinds.is_decimal128(kind) or kinds.is_decimal256(kind))


def _is_integer(kind: pa.DataType) -> bool:
    return bool(kinds.is_integer(kind) or (kinds.is_temporal(kind) and not kinds.is_interval(kind)))


_HASHES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Hashes]], ...] = (
    (lambda kind: isinstance(kind, pa.BaseExtensionType), lambda values: _hashes(values.storage)),
    (kinds.is_dictionary, lambda values: _hashes(values.dictionary_decode())),
    (kinds.is_boolean, _booleans),
    (_is_integer, _integers),
    (kinds.is_floating, _floats),
    (_is_decimal, _decimals),
    (_is_octets, _octets),
    (kinds.is_struct, _structs),
    (kinds.is_map, _maps),
    (_is_list, _lists),
)
