"""Values of a fixed number of bytes as rows of bytes, and big-endian numbers among them. Pure.

Used where decimals, UUIDs and fixed binaries are encoded, hashed and compared. Formats store numbers in as
few bytes as possible, most significant first, in two's complement.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Octets = npt.NDArray[np.uint8]
"""A row of bytes for each value; shape (values, width)."""


def fixed_octets(values: pa.Array) -> Octets:
    """The bytes of values of a fixed width as Arrow has them: numbers little-endian, nulls any."""
    width = values.type.bit_width // 8
    if not len(values):
        return np.empty((0, width), dtype=np.uint8)
    data = np.frombuffer(values.buffers()[1], np.uint8, width * len(values), width * values.offset)
    return data.reshape(-1, width)


def decimal_words(values: pa.Array) -> npt.NDArray[np.int64]:
    """The unscaled values of decimals in words, the lower one first; shape (values, 2)."""
    return fixed_octets(values).view(np.int64)


def fixed_array(octets: Octets, valid: pa.Array | None = None) -> pa.Array:
    """Rows of bytes as fixed binaries.

    Args:
        octets: the rows.
        valid: booleans that tell which of them are not null; None for all.
    """
    marks = None if valid is None else pa.concat_arrays([valid]).buffers()[1]
    data = pa.py_buffer(np.ascontiguousarray(octets))
    return pa.Array.from_buffers(pa.binary(octets.shape[1]), len(octets), [marks, data])


def redundant_bytes(numbers: Octets) -> npt.NDArray[np.int64]:
    """The number of leading bytes of big-endian numbers that only repeat the sign of the others."""
    sign = _signs(numbers)
    repeats = (numbers[:, :-1] == sign) & ((numbers[:, 1:] ^ sign) < 0x80)
    found: npt.NDArray[np.int64] = np.cumprod(repeats, axis=1, dtype=np.int64).sum(axis=1)
    return found


def shortest(numbers: Octets) -> tuple[Octets, npt.NDArray[np.int64]]:
    """Big-endian numbers in as few bytes as possible, one after the other, and the length of each."""
    leading = redundant_bytes(numbers)
    used = np.arange(numbers.shape[1]) >= leading[:, None]
    return np.ascontiguousarray(numbers)[used], numbers.shape[1] - leading


def whole_numbers(values: pa.Array) -> npt.NDArray[np.int64]:
    """Integers, dates and times as 64-bit integers; 0 for null."""
    kind = values.type
    if pa.types.is_temporal(kind):
        values = values.view(pa.int64() if kind.bit_width > 32 else pa.int32())
    numbers: npt.NDArray[np.int64] = values.fill_null(0).to_numpy().astype(np.int64)
    return numbers


def number_bytes(number: int) -> bytes:
    """One number in as few bytes as possible, as Java's `BigInteger.toByteArray` has it."""
    magnitude = number if number >= 0 else ~number
    return number.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def widened(numbers: Octets, width: int) -> Octets:
    """Big-endian numbers with more bytes: their sign is repeated."""
    return np.concatenate([np.repeat(_signs(numbers), width - numbers.shape[1], axis=1), numbers], axis=1)


def ordered(numbers: Octets) -> Octets:
    """Big-endian numbers of one width as bytes whose order is theirs."""
    found = numbers.copy()
    found[:, 0] ^= 0x80
    return found


def _signs(numbers: Octets) -> Octets:
    return np.where(numbers[:, :1] & 0x80, 0xFF, 0).astype(np.uint8)
