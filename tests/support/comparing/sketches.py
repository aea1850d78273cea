"""Random serialized bitmaps and sketches, written by Java as users' jobs write them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from infrastructure.oracle.client import Oracle

_SMALL = 6000
"""Letters of base64."""


def draw_sketches(oracle: Oracle, function: str, random: Random, count: int) -> list[str]:
    """This many values for an aggregate function, in base64."""
    drawn = [{"function": function, **_DRAWN[function](random)} for _ in range(count)]
    return [str(each) for each in oracle.call("sketches", sketches=drawn)]


_small: dict[str, list[str]] = {}


def small_sketches(oracle: Oracle, function: str) -> list[str]:
    """A few dozen values that do not fill a merge's memory, always the same."""
    if function not in _small:
        drawn = draw_sketches(oracle, function, Random(function), 80)
        _small[function] = [each for each in drawn if len(each) < _SMALL]
    return _small[function]


def union_by_java(
    oracle: Oracle, function: str, values: Sequence[str | None], late: Sequence[int] = ()
) -> bytes | None:
    """What Java's function makes of values in base64, of which some come late in a sequence group."""
    made = oracle.call("aggregate", function=function, values=list(values), reversed=list(late))
    return None if made is None else b64decode(made)


def _numbers(random: Random, span: int) -> dict[str, Any]:
    """Arrays, bitmaps, runs, and what is between these."""
    base = random.choice([0, 0, 0, 65_536 - 50, random.randrange(2**20)])
    values: list[int] = []
    ranges: list[list[int]] = []
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        kind = random.choice(["few", "pairs", "range", "range", "many", "wide", "odd"])
        if kind == "few":
            values += [base + random.randrange(300) for _ in range(random.randrange(20))]
        elif kind == "pairs":
            firsts = [base + 3 * random.randrange(60) for _ in range(random.randrange(30))]
            values += [number + more for number in firsts for more in (0, 1)]
        elif kind == "range":
            first = base + random.randrange(200)
            ranges.append([first, first + random.choice([1, 2, 3, 5, 100, 5000, 70_000])])
        elif kind == "many":
            values += [base + random.randrange(65_536) for _ in range(random.choice([1000, 5000]))]
        elif kind == "wide":
            within = random.choice([2**20, 2**22, 2**25, 2**31, span // 2 - 1])
            values += [random.randrange(within) for _ in range(random.choice([3, 20, 60, 300]))]
        else:
            values += [base + 2 * number for number in range(random.choice([2048, 4096, 4097]))]
    signed = [(number + span // 2) % span - span // 2 for number in values]
    return {"values": [number if random.random() < 0.9 else ~number for number in signed], "ranges": ranges}


def _bitmap(random: Random) -> dict[str, Any]:
    return {**_numbers(random, 2**32), "form": random.choice(["usual", "usual", "raw", "early"])}


def _long_bitmap(random: Random) -> dict[str, Any]:
    return {**_numbers(random, 2**64), "form": random.choice(["usual", "usual", "raw", "early", "shrunk"])}


def _items(random: Random, counts: Sequence[int]) -> dict[str, Any]:
    first = random.choice([0, 0, random.randrange(3000), random.randrange(10**9)])
    return {"ranges": [[first, first + random.choice(counts)]]}


def _theta(random: Random) -> dict[str, Any]:
    return {
        **_items(random, [0, 0, 1, 1, 2, 5, 50, 1000, 4095, 4096, 4097, 5000, 9000]),
        "form": random.choice(["usual", "usual", "updatable", "unordered", "compressed"]),
        "nominal": random.choice([4096, 4096, 4096, 16, 512, 16_384]),
        "p": random.choice([1.0, 1.0, 1.0, 0.5, 0.01]),
    }


def _hll(random: Random) -> dict[str, Any]:
    return {
        **_items(random, [0, 1, 2, 5, 7, 8, 9, 20, 50, 100, 190, 200, 300, 500, 1000, 3000, 5000]),
        "form": random.choice(["usual", "usual", "updatable"]),
        "lg_k": random.choice([12, 12, 12, 4, 8, 10, 11, 14]),
        "type": random.choice(["HLL_4", "HLL_4", "HLL_6", "HLL_8"]),
    }


_DRAWN: Mapping[str, Callable[[Random], dict[str, Any]]] = {
    "rbm32": _bitmap,
    "rbm64": _long_bitmap,
    "theta_sketch": _theta,
    "hll_sketch": _hll,
}
SKETCHES = tuple(_DRAWN)
"""The functions that have such values."""
