"""Merges damaged bitmaps and sketches, and reads damaged deletion vectors; arguments: SEED COUNT MEBIBYTES.

Run by a test, because what the C++ libraries do with damage might end the process. Prints JSON: how often
what came of it, what nobody expects, and the longest time and most memory that one value took.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from resource import RLIMIT_AS, setrlimit
from time import monotonic

from pyroaring import BitMap

from lithify.engine.rewrite.row_positions import positions_between
from lithify.formats.paimon.deletion_vectors.bitmaps import (
    DeletionVector,
    bitmap_of,
    decode,
    encode,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.unions import UNIONS
from support.process import peak_bytes
from unit.formats.paimon.primary_key.merge_functions.test_unions import SOME, hll, theta_in_bits

_NUMBERS = (0, 1, 255, 4096, 65535, 65536, 1 << 31, (1 << 32) - 1)
_FLOATS = (0.0, -1.0, 1.5, 1e308, float("inf"), float("nan"))
POOLS: dict[str, Sequence[bytes]] = {
    **SOME,
    "theta_sketch": [
        *SOME["theta_sketch"],
        *(theta_in_bits(range(7, 7 * count, 7)) for count in (3, 9, 50, 5000)),
    ],
    "hll_sketch": [
        *SOME["hll_sketch"],
        *(
            hll(0, count, slots, kind, updatable=updatable)
            for count in (8, 30, 1000, 20_000)
            for slots in (5, 8)
            for kind in range(3)
            for updatable in (False, True)
        ),
    ],
    "vector": [
        encode(DeletionVector(BitMap(rows), is_wide))[0]
        for rows in ([3], range(0, 9000, 3), range(5000), [1, 70_000, 1 << 30])
        for is_wide in (False, True)
    ],
}


def damaged(rng: Random, content: bytes) -> bytes:
    """Other bytes, numbers and lengths in a value."""
    found = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5, 20])):
        if found:
            rng.choice(_CHANGES)(rng, found, rng.randrange(min(len(found), rng.choice([8, 16, 48, 10**6]))))
    return bytes(found)


def _byte(rng: Random, found: bytearray, place: int) -> None:
    found[place] = rng.choice([rng.randrange(256), 0, 1, 255, found[place] ^ 1 << rng.randrange(8)])


def _number(rng: Random, found: bytearray, place: int) -> None:
    width = rng.choice([2, 4])
    number = rng.choice([*_NUMBERS, rng.randrange(1 << 32)]) % (1 << 8 * width)
    found[place : place + width] = number.to_bytes(width, "little")


def _copy(rng: Random, found: bytearray, place: int) -> None:
    start, size = rng.randrange(len(found)), rng.randrange(1, 32)
    found[place : place + size] = found[start : start + size]


def _cut(rng: Random, found: bytearray, place: int) -> None:
    del found[place + rng.randrange(1 + len(found) - place) :]


def _more(rng: Random, found: bytearray, _place: int) -> None:
    found += rng.randbytes(rng.randrange(40))


_CHANGES: tuple[Callable[[Random, bytearray, int], None], ...] = (_byte, _byte, _number, _copy, _cut, _more)


def drawn_coupons(rng: Random) -> bytes:
    """An HLL sketch with a table of coupons, full or not, in which every number is possible."""
    places = rng.randrange(2, 10)
    count = rng.choice([1 << places, (1 << places) - 1, 1, rng.randrange((1 << places) + 1)])
    slots = rng.sample(range(1 << rng.choice([12, 26])), count)
    coupons = [rng.randrange(1, 64) << 26 | slot for slot in slots]
    compact = rng.random() < 0.5
    if not compact:
        coupons += [0] * ((1 << places) - count)
        rng.shuffle(coupons)
    flags = 8 if compact else 0
    head = bytes((3, 1, 7, rng.choice([4, 7, 12, 21]), places, flags, 0, 1 | rng.randrange(3) << 2))
    return head + struct.pack(f"<I{len(coupons)}I", count, *coupons)


def drawn_registers(rng: Random) -> bytes:
    """An HLL sketch with registers of 4 bits, whose other numbers are anything."""
    power = rng.choice([4, 5, 7])
    least = rng.choice([0, 1, 5, 40, 48])
    registers = [15 if rng.random() < 0.2 else rng.randrange(15) for _ in range(1 << power)]
    places = [slot for slot, value in enumerate(registers) if value == 15]
    coupons = [rng.randrange(least + 15, 64) << 26 | slot for slot in places]
    table = max(2, len(coupons).bit_length() + rng.choice([0, 0, 1]))
    head = bytes((10, 1, 7, power, table, 8 | rng.choice([0, 16]), least, 2))
    floats = struct.pack("<ddd", *rng.choices(_FLOATS, k=3))
    counts = struct.pack("<II", rng.choice([0, 1, 1 << power, (1 << 32) - 1]), len(coupons))
    packed = bytes(low | high << 4 for low, high in zip(registers[::2], registers[1::2], strict=True))
    return head + floats + counts + packed + struct.pack(f"<{len(coupons)}I", *coupons)


def value_of(rng: Random, kind: str) -> bytes:
    """A damaged or strange value."""
    if kind == "hll_sketch" and rng.random() < 0.4:
        return rng.choice([drawn_coupons, drawn_registers])(rng)
    return damaged(rng, rng.choice(POOLS[kind]))


def with_checksum(stored: bytes) -> bytes:
    """A vector whose length and checksum are right whatever is in it."""
    data = stored[4:-4]
    return struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def attempt(rng: Random, kind: str) -> str:
    """The outcome of one value."""
    value = value_of(rng, kind)
    try:
        if kind == "vector":
            use_vector(with_checksum(value) if rng.random() < 0.8 else value)
        else:
            pair = [value, rng.choice([rng.choice(POOLS[kind]), value_of(rng, kind)])]
            rng.shuffle(pair)
            merged = UNIONS[kind](*pair)
            UNIONS[kind](merged, merged)
    except ValueError:
        return "refused"
    return "read"


def use_vector(stored: bytes) -> None:
    """Does to a vector whatever a compaction does."""
    length = int.from_bytes(stored[:4], "big", signed=True)
    is_narrow = stored[4:8] == (1581511376).to_bytes(4, "big")
    vector = decode(stored, length if is_narrow else length + 8)
    assert vector.positions == BitMap.deserialize(vector.positions.serialize())
    positions_between(vector.positions, 0, 10_000)
    encode(vector.with_positions(bitmap_of([5])))


def main(seed: int, count: int, mebibytes: int) -> None:
    """Damages and uses the given number of values of each kind."""
    setrlimit(RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
    outcomes: Counter[str] = Counter()
    surprises, longest = [], 0.0
    for kind in POOLS:
        for number in range(seed, seed + count):
            print(f"{number} {kind}", file=sys.stderr, flush=True)
            start = monotonic()
            try:
                outcome = attempt(Random(f"{number} {kind}"), kind)
            except BaseException as error:  # noqa: BLE001  # whatever else it is, the test is to tell
                outcome = "wrong"
                surprises.append(f"{number} {kind}: {type(error).__name__}: {error}")
            outcomes[f"{kind} {outcome}"] += 1
            longest = max(longest, monotonic() - start)
    grown = peak_bytes() >> 20
    print(json.dumps({"outcomes": outcomes, "surprises": surprises, "longest": longest, "mebibytes": grown}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
