"""Unions of serialized 32-bit Roaring bitmaps, byte for byte as Java's RoaringBitmap 1.2 writes them.

Called by `unions` and `long_bitmaps`. The union itself is CRoaring's. The two libraries differ in one case:
where a run takes part, Java keeps runs whose size equals that of an array, and CRoaring does not.

A bitmap has a *container* for each value of the upper 16 bits, with the lower 16 bits of its members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

_WITH_RUNS: Final = 12347
_WITHOUT_RUNS: Final = 12346
_OFFSETS_FROM = 4
"""Bitmaps with runs have offsets only if they have at least this many containers."""
_LARGEST_ARRAY = 4096
_BITMAP_BYTES = 8192
MOST_CONTAINERS = 1 << 16


class Kind(IntEnum):
    """The kind of a container; the numbers are those of Java's 64-bit bitmaps."""

    RUNS = 0
    BITMAP = 1
    ARRAY = 2


@dataclass(frozen=True, slots=True)
class Container:
    """A set of 16-bit numbers.

    Attributes:
        kind: its kind.
        cardinality: how many numbers it has.
        content: the content as in the file; that of runs begins with their number.
    """

    kind: Kind
    cardinality: int
    content: bytes


class Cursor:
    """Reads little-endian values from bytes, one after the other."""

    __slots__ = ("_data", "_place")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def take(self, size: int) -> bytes:
        """The next bytes.

        Raises:
            ValueError: fewer are left.
        """
        end = self._place + size
        if size < 0 or end > len(self._data):
            raise ValueError(f"it ends after {len(self._data)} bytes, within a value")
        taken, self._place = self._data[self._place : end], end
        return taken

    def integer(self, size: int, *, signed: bool = False) -> int:
        """The next integer of this many bytes.

        Raises:
            ValueError: fewer bytes are left.
        """
        return int.from_bytes(self.take(size), "little", signed=signed)

    def container(self, kind: Kind, cardinality: int) -> Container:
        """The next container; the cardinality, which the file says elsewhere, is not needed for runs.

        Raises:
            ValueError: the cardinality does not fit the kind, or too few bytes are left.
        """
        if kind is Kind.RUNS:
            start = self.take(2)
            runs = self.take(4 * int.from_bytes(start, "little"))
            lengths = np.frombuffer(runs, "<u2")[1::2].astype(np.int64)
            return Container(kind, int(lengths.sum()) + len(lengths), start + runs)
        is_bitmap = cardinality > _LARGEST_ARRAY
        if is_bitmap != (kind is Kind.BITMAP) or not 0 < cardinality <= MOST_CONTAINERS:
            raise ValueError(f"a container of {cardinality} values is said to be of the kind {kind.name}")
        return Container(kind, cardinality, self.take(_BITMAP_BYTES if is_bitmap else 2 * cardinality))


def union(accumulator: bytes, value: bytes) -> bytes:
    """The union of two bitmaps.

    Raises:
        ValueError: one of them is no bitmap.
    """
    from pyroaring import BitMap

    if not accumulator or not value:
        raise ValueError("it is empty")
    bitmap = BitMap.deserialize(accumulator)
    bitmap |= BitMap.deserialize(value)
    bitmap.run_optimize()
    merged: bytes = bitmap.serialize()
    runs = _keys_of_runs(accumulator) | _keys_of_runs(value)
    return _with_equal_runs(merged, runs) if runs else merged


def split(data: bytes) -> tuple[list[int], list[Container]]:
    """The keys and the containers of a bitmap.

    Raises:
        ValueError: it is no bitmap.
    """
    cursor = Cursor(data)
    keys, cardinalities, runs = _header(cursor)
    if not runs.any() or len(keys) >= _OFFSETS_FROM:
        cursor.take(4 * len(keys))
    containers = [
        cursor.container(_kind(is_run=is_run, cardinality=cardinality), cardinality)
        for cardinality, is_run in zip(cardinalities, runs.tolist(), strict=True)
    ]
    return keys, containers


def join(keys: Sequence[int], containers: Sequence[Container]) -> bytes:
    """The bitmap of these containers."""
    runs = np.array([each.kind is Kind.RUNS for each in containers], dtype=bool)
    if runs.any():
        start = (_WITH_RUNS | (len(keys) - 1) << 16).to_bytes(4, "little")
        start += np.packbits(runs, bitorder="little").tobytes()
    else:
        start = _WITHOUT_RUNS.to_bytes(4, "little") + len(keys).to_bytes(4, "little")
    described = np.array([[key, each.cardinality - 1] for key, each in zip(keys, containers, strict=True)])
    start += described.astype("<u2").tobytes()
    if not runs.any() or len(keys) >= _OFFSETS_FROM:
        sizes = np.array([len(each.content) for each in containers], dtype=np.int64)
        offsets = len(start) + 4 * len(keys) + np.cumsum(sizes) - sizes
        start += offsets.astype("<u4").tobytes()
    return start + b"".join(each.content for each in containers)


def _header(cursor: Cursor) -> tuple[list[int], list[int], npt.NDArray[np.bool_]]:
    """The key and the cardinality of each container, and a mask of those that are runs."""
    cookie = cursor.integer(4)
    has_runs = cookie & 0xFFFF == _WITH_RUNS
    if not has_runs and cookie != _WITHOUT_RUNS:
        raise ValueError(f"it begins with the number {cookie}")
    count = (cookie >> 16) + 1 if has_runs else cursor.integer(4)
    runs = np.zeros(count if count <= MOST_CONTAINERS else 0, dtype=bool)
    if has_runs:
        marks = np.frombuffer(cursor.take((count + 7) // 8), np.uint8)
        runs = np.unpackbits(marks, bitorder="little", count=count).astype(bool)
    described = np.frombuffer(cursor.take(4 * count), "<u2").astype(np.int64)
    return described[::2].tolist(), (described[1::2] + 1).tolist(), runs


def _kind(*, is_run: bool, cardinality: int) -> Kind:
    if is_run:
        return Kind.RUNS
    return Kind.BITMAP if cardinality > _LARGEST_ARRAY else Kind.ARRAY


def _keys_of_runs(data: bytes) -> set[int]:
    """The keys of the containers that are runs."""
    if data[:2] != _WITH_RUNS.to_bytes(2, "little"):
        return set()
    keys, _, runs = _header(Cursor(data))
    return {key for key, is_run in zip(keys, runs.tolist(), strict=True) if is_run}


def _with_equal_runs(data: bytes, keys_of_runs: set[int]) -> bytes:
    """Makes runs of the arrays at these keys that have two numbers for each run."""
    keys, cardinalities, runs = _header(Cursor(data))
    candidates = [
        number
        for number, (key, cardinality) in enumerate(zip(keys, cardinalities, strict=True))
        if not runs[number] and cardinality <= _LARGEST_ARRAY and cardinality % 2 == 0 and key in keys_of_runs
    ]
    if not candidates:
        return data
    containers = split(data)[1]
    for number in candidates:
        containers[number] = _as_runs_if_equal(containers[number])
    return join(keys, containers)


def _as_runs_if_equal(container: Container) -> Container:
    numbers = np.frombuffer(container.content, "<u2").astype(np.int64)
    begins = np.flatnonzero(np.append(True, np.diff(numbers) != 1))
    if 2 * len(begins) != container.cardinality:
        return container
    lengths = np.diff(begins, append=len(numbers)) - 1
    content = np.stack((numbers[begins], lengths), axis=1).astype("<u2").tobytes()
    return Container(Kind.RUNS, container.cardinality, len(begins).to_bytes(2, "little") + content)
