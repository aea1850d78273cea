"""Checks serialized HLL sketches before the C++ library reads them, which trusts what they say.

Called by `hll_sketches`. A sketch begins as a list or a hash set of *coupons*: a slot (26 bits) and its
value (6 bits). Larger ones have a register of 4, 6 or 8 bits for each slot; what does not fit 4 bits is
among coupons behind them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

LIST, SET, REGISTERS = range(3)
OUT_OF_ORDER: Final = 16
_FOUR_BITS, _SIX_BITS, _EIGHT_BITS = range(3)
_VERSION, _FAMILY = 1, 7
_PREAMBLE_INTS = {LIST: 2, SET: 3, REGISTERS: 10}
_EMPTY, _COMPACT = 4, 8
_LG_SLOTS = range(4, 22)
_LIST_LONGEST = 8
_LG_COUPONS = range(2, 22)
_VALUE_BITS, _SLOT_BITS, _LARGEST_VALUE = 6, 26, 63
_ELSEWHERE = 15
"""A register of 4 bits whose value is among the coupons."""

_Numbers = npt.NDArray[np.int64]


def mode_of(data: bytes) -> int:
    """Whether a checked sketch is a list, a set or registers."""
    return data[7] & 3


def check(data: bytes) -> None:
    """Checks that the content of a sketch agrees with its header.

    Raises:
        ValueError: it is not.
    """
    if len(data) < 8:
        raise ValueError(f"it has {len(data)} bytes")
    ints, version, family, lg_slots, lg_coupons, flags, _, modes = data[:8]
    mode, kind = modes & 3, modes >> 2
    if version != _VERSION or family != _FAMILY or _PREAMBLE_INTS.get(mode) != ints or kind > _EIGHT_BITS:
        raise ValueError(f"its version {version}, family {family} or mode {modes} is unknown")
    if lg_slots not in _LG_SLOTS or flags & ~(_EMPTY | _COMPACT | OUT_OF_ORDER):
        raise ValueError(f"it says that it has 2**{lg_slots} slots, and the flags {flags}")
    is_compact = bool(flags & _COMPACT)
    if mode == REGISTERS:
        _check_registers(data, kind, lg_slots, lg_coupons, is_compact=is_compact)
        return
    count = data[6] if mode == LIST else int.from_bytes(data[8:12], "little")
    room = _LIST_LONGEST if mode == LIST else _room(lg_coupons)
    found = _coupons(data, 4 * ints, count if is_compact else room)
    if mode == LIST:
        found = found[:count]
    found = found[found != 0]
    if count > room or len(found) != count or bool(flags & _EMPTY) != (mode == LIST and count == 0):
        raise ValueError(f"it says that it has {count} coupons, and has {len(found)}")
    _check_coupons(found, (1 << _SLOT_BITS) - 1)


def _check_registers(data: bytes, kind: int, lg_slots: int, lg_coupons: int, *, is_compact: bool) -> None:
    slots, count = 1 << lg_slots, int.from_bytes(data[36:40], "little")
    size = {_FOUR_BITS: slots // 2, _SIX_BITS: slots * 3 // 4 + 1, _EIGHT_BITS: slots}[kind]
    registers = np.frombuffer(_part(data, 40, size), np.uint8)
    if data[5] & _EMPTY or data[6] + _ELSEWHERE > _LARGEST_VALUE + 1:
        raise ValueError("its flags or its least value are wrong")
    if kind == _EIGHT_BITS and (registers > _LARGEST_VALUE).any():
        raise ValueError(f"a register has more than {_LARGEST_VALUE}")
    if kind != _FOUR_BITS:
        if count:
            raise ValueError("it has coupons, which only registers of 4 bits need")
        return
    nibbles = np.stack((registers & 15, registers >> 4), axis=1).reshape(-1)
    elsewhere = np.flatnonzero(nibbles == _ELSEWHERE)
    found = np.empty(0, np.int64)
    if count or (not is_compact and lg_coupons):
        room = _room(lg_coupons)
        found = _coupons(data, 40 + size, count if is_compact else room)
        found = found[found != 0]
        if count > room:
            raise ValueError(f"{count} coupons do not fit their table")
    _check_coupons(found, slots - 1)
    values = found >> _SLOT_BITS
    is_right = len(found) == count and np.array_equal(np.sort(found & (1 << _SLOT_BITS) - 1), elsewhere)
    if not is_right or (values < data[6] + _ELSEWHERE).any():
        raise ValueError("the coupons are not those of its registers")


def _check_coupons(coupons: _Numbers, last_slot: int) -> None:
    """Checks that coupons have valid slots and values, and that none occurs twice."""
    slots = coupons & (1 << _SLOT_BITS) - 1
    if (
        (coupons >> _SLOT_BITS == 0).any()
        or (slots > last_slot).any()
        or len(np.unique(coupons)) < len(coupons)
    ):
        raise ValueError("a coupon has no value, or is there twice")


def _room(lg_coupons: int) -> int:
    """The number of places in a table of coupons."""
    if lg_coupons not in _LG_COUPONS:
        raise ValueError(f"it says that its table has 2**{lg_coupons} places")
    return 1 << lg_coupons


def _coupons(data: bytes, start: int, count: int) -> _Numbers:
    return np.frombuffer(_part(data, start, 4 * count), "<u4").astype(np.int64)


def _part(data: bytes, start: int, size: int) -> bytes:
    if start + size > len(data):
        raise ValueError(f"it has {len(data)} bytes, and needs {start + size}")
    return data[start : start + size]
