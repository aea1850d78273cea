"""The bucket of a row is the one that Java's writers choose, for every type that a key may have."""

from __future__ import annotations

import base64
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.columns.order import DAY_NANOS, EPOCH_DAY
from lithify.files.types import ColumnType, arrow_type
from lithify.formats.paimon.options.bucket_key import bucket_key
from lithify.formats.paimon.primary_key.buckets import buckets_of
from lithify.formats.paimon.schema.schema import Column, Schema
from lithify.formats.paimon.schema.type_texts import parse_type

pytestmark = pytest.mark.oracle

ROWS = 300
BUCKETS = 1009
"""A prime, so that most bits of a hash matter."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Draw = Callable[[random.Random], Any]


@dataclass(frozen=True)
class Kind:
    """A type of keys: how its raw values are drawn."""

    written: str
    draw: Draw

    @property
    def type(self) -> ColumnType:
        return parse_type(f"{self.written} NOT NULL")

    def in_json(self, value: Any) -> Any:
        """The form in which the oracle takes a value."""
        kind = self.type
        if kind.root == "DECIMAL":
            sign, digits = "-" * (value < 0), str(abs(value)).rjust(kind.scale + 1, "0")
            return f"{sign}{digits[: len(digits) - kind.scale]}.{digits[len(digits) - kind.scale :]}".rstrip(
                "."
            )
        if kind.is_binary:
            return base64.b64encode(value).decode()
        if kind.root == "DATE":
            return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
        if kind.is_timestamp:
            return self._moment(value)
        if kind.is_float:
            return repr(value).replace("inf", "Infinity")
        return value

    def _moment(self, value: int) -> str:
        per_second = 10**9 if self.type.is_nanos else 10**6 if self.type.precision > 3 else 10**3
        seconds, rest = divmod(value, per_second)
        moment = (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{moment}.{rest * (10**9 // per_second):09}"

    def in_arrow(self, values: Sequence[Any]) -> pa.Array:
        kind = self.type
        target = arrow_type(kind)
        if kind.root == "DECIMAL":
            unscaled = b"".join(value.to_bytes(16, "little", signed=True) for value in values)
            return pa.Array.from_buffers(target, len(values), [None, pa.py_buffer(unscaled)])
        if kind.is_nanos:
            pairs = [divmod(value, DAY_NANOS) for value in values]
            packed = [n.to_bytes(8, "little") + (d + EPOCH_DAY).to_bytes(4, "little") for d, n in pairs]
            return pa.array(packed, target)
        if kind.root in ("DATE", "TIME") or kind.is_timestamp:
            width = pa.int32() if kind.root in ("DATE", "TIME") else pa.int64()
            return pa.array(values, width).cast(target)
        return pa.array(values, target)


def integers(bits: int) -> Draw:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return lambda rng: rng.choice([0, 1, -1, low, high, rng.randint(low, high), rng.randint(-99, 99)])


def texts(longest: int, alphabet: str = "aß€𝄞\x00~z") -> Draw:
    return lambda rng: "".join(
        rng.choices(alphabet, k=rng.choice([0, 1, 6, 7, 8, 9, rng.randint(0, longest)]))
    )


def octets(longest: int) -> Draw:
    return lambda rng: rng.randbytes(rng.choice([0, 1, 6, 7, 8, 9, 15, 16, 17, rng.randint(0, longest)]))


def decimals(precision: int) -> Draw:
    def draw(rng: random.Random) -> int:
        digits = rng.randint(1, precision)
        edge = rng.choice([0, 127, 128, 255, 256, 32767, 32768, 1 << 63, (1 << 63) - 1, 10**precision - 1])
        value = rng.choice([edge, rng.randrange(10**digits)])
        return rng.choice([1, -1]) * min(value, 10**precision - 1)

    return draw


def moments(per_second: int) -> Draw:
    return lambda rng: rng.choice(
        [0, -1, 1, rng.randint(-(10**9), 10**10) * per_second + rng.randrange(per_second)]
    )


def floats(width: type[np.floating[Any]]) -> Draw:
    return lambda rng: float(
        width(rng.choice([0.0, -0.0, 1.5, -1e-30, math.inf, -math.inf, rng.gauss(0, 1e6)]))
    )


KINDS = [
    Kind("BOOLEAN", lambda rng: rng.random() < 0.5),
    Kind("TINYINT", integers(8)),
    Kind("SMALLINT", integers(16)),
    Kind("INT", integers(32)),
    Kind("BIGINT", integers(64)),
    Kind("FLOAT", floats(np.float32)),
    Kind("DOUBLE", floats(np.float64)),
    Kind("DATE", lambda rng: rng.randint(-100_000, 100_000)),
    Kind("TIME(3)", lambda rng: rng.randrange(86_400_000)),
    Kind("DECIMAL(9, 2)", decimals(9)),
    Kind("DECIMAL(18, 0)", decimals(18)),
    Kind("DECIMAL(19, 4)", decimals(19)),
    Kind("DECIMAL(38, 10)", decimals(38)),
    Kind("TIMESTAMP(0)", lambda rng: rng.randint(-(10**9), 10**10) * 1000),
    Kind("TIMESTAMP(3)", moments(10**3)),
    Kind("TIMESTAMP(6)", moments(10**6)),
    Kind("TIMESTAMP(9)", moments(10**9)),
    Kind("TIMESTAMP(3) WITH LOCAL TIME ZONE", moments(10**3)),
    Kind("TIMESTAMP(6) WITH LOCAL TIME ZONE", moments(10**6)),
    Kind("STRING", texts(90)),
    Kind("VARCHAR(20)", texts(20)),
    Kind("BYTES", octets(5000)),
    Kind("VARBINARY(40)", octets(40)),
]
BY_NAME = {kind.written: kind for kind in KINDS}


@dataclass(frozen=True)
class Case:
    """A table: the types of its key, and the options that choose the bucket."""

    name: str
    key: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)


CASES = [
    *(Case(kind.written, (kind.written,)) for kind in KINDS),
    Case("several columns of one slot", ("INT", "BIGINT", "BOOLEAN")),
    Case(
        "several columns with tails", ("STRING", "DECIMAL(38, 10)", "TIMESTAMP(9)", "BYTES", "INT", "STRING")
    ),
    Case("57 columns, whose null bits take two words", ("INT",) * 57),
    Case("a bucket key in another order", ("STRING", "INT", "BIGINT"), {"bucket-key": "k2,k0"}),
    Case("mod of an INT", ("INT",), {"bucket-function.type": "mod"}),
    Case("mod of a BIGINT", ("BIGINT", "STRING"), {"bucket-function.type": "mod", "bucket-key": "k0"}),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_java_chooses_them(oracle: Oracle, case: Case, tmp_path: Path) -> None:
    kinds = [BY_NAME[written] for written in case.key]
    names = [f"k{number}" for number in range(len(kinds))]
    rng = random.Random(case.name)
    values = [[kind.draw(rng) for kind in kinds] for _ in range(ROWS)]
    table = Table(tmp_path, "db.t")
    columns = {name: f"{kind.written} NOT NULL" for name, kind in zip(names, kinds, strict=True)}
    oracle.create_table(table, columns, names, options={"bucket": "-2", **case.options})
    rows = [["+I", *(kind.in_json(value) for kind, value in zip(kinds, row, strict=True))] for row in values]

    schema = Schema(
        id=0,
        columns=tuple(
            Column(n, name, kind.type) for n, (name, kind) in enumerate(zip(names, kinds, strict=True))
        ),
        primary_key=tuple(names),
        partition_keys=(),
        options=case.options,
    )
    arrays = [kind.in_arrow(column) for kind, column in zip(kinds, zip(*values, strict=True), strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    sliced = pa.RecordBatch.from_arrays([pa.concat_arrays([array, array]) for array in arrays], names=names)
    for count in (1, 7, BUCKETS):
        expected = oracle.buckets_of(table, rows, count)
        assert buckets_of(bucket_key(schema), batch, count).tolist() == expected
        assert buckets_of(bucket_key(schema), sliced.slice(ROWS - 5, ROWS), count).tolist() == [
            *expected[-5:],
            *expected[:-5],
        ]
