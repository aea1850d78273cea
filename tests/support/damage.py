"""Damage to Paimon's metadata files: what disks, broken writers and hostile ones do to them. Seeded.

Real files of all versions (`paimon_versions`) are damaged as they are or, because compression hides what is
inside, in their decompressed blocks, their schemas and the fields of their JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa

from lithify.files.avro.container import (
    block,
    blocks,
    decompress,
    new_header,
    read_header,
)

_NUMBERS = (0, 1, -1, 2, 127, 128, 1 << 16, 1 << 20, 10**8, 1 << 31, 1 << 40, (1 << 62) - 1, -(1 << 62))
_TYPES: tuple[Any, ...] = (
    *("int", "long", "string", "bytes", "null", "boolean", "double", ["null", "long"], ["null", "string"]),
    {"type": "array", "items": "null"},
    {"type": "array", "items": ["null", "int"]},
    {"type": "map", "values": "int"},
    {"type": "fixed", "name": "x", "size": 1 << 30},
    {"type": "record", "name": "q", "fields": []},
    *(5, None, [], {}),
)
_VALUES: tuple[Any, ...] = (
    None,
    1,
    -1,
    "",
    "x",
    "a/b",
    1.5,
    True,
    [],
    {},
    1 << 70,
    "9" * 5000,
    {"a": 1},
    [1],
)
_OPTIONS = (
    *("num-levels", "bucket", "num-sorted-run.compaction-trigger", "num-sorted-run.stop-trigger"),
    *("target-file-size", "compaction.size-ratio", "compaction.max-size-amplification-percent"),
    *("compaction.optimization-interval", "compaction.total-size-threshold", "compaction.small-file-ratio"),
    *(
        "compaction.incremental-size-threshold",
        "compaction.offpeak.start.hour",
        "compaction.offpeak.end.hour",
    ),
    *("compaction.offpeak-ratio", "snapshot.time-retained", "snapshot.num-retained.max"),
    *("parquet.block.size", "file.block-size", "file.format", "file.format.per.level", "file.compression"),
    *("manifest.target-file-size", "manifest.merge-min-count", "commit.max-retries", "commit.timeout"),
    *("commit.min-retry-wait", "commit.max-retry-wait", "data-file.external-paths", "sequence.field"),
    *("data-file.external-paths.strategy", "data-file.external-paths.weights", "partition.default-name"),
    *("data-file.path-directory", "data-file.prefix", "write-only", "merge-engine", "bucket-key"),
    *(
        "metadata.stats-mode",
        "metadata.stats-keep-first-n-columns",
        "fields.v.stats-mode",
        "deletion-vectors.enabled",
    ),
    *(
        "changelog-producer",
        "variant.shreddingSchema",
        "file-index.bloom-filter.columns",
        "orc.compress.size",
    ),
    *("parquet.bloom.filter.expected.ndv#id", "parquet.bloom.filter.fpp#id", "full-compaction.delta-commits"),
)
_OPTION_VALUES: tuple[Any, ...] = (
    *(
        "0",
        "1",
        "-1",
        "2147483647",
        "2147483648",
        str(1 << 63),
        str(1 << 80),
        "9" * 5000,
        "1e308",
        "nan",
        "inf",
    ),
    *(
        "",
        " ",
        "x",
        "true",
        "0 b",
        "1 b",
        f"{1 << 62} tb",
        "1 d",
        f"{10**18} d",
        "9999999 d",
        "1 ns",
        "0:avro",
    ),
    *(
        "0:avro",
        ",".join(f"{level}:avro" for level in range(3000)),
        "a/../../b",
        "\x00",
        "\ud800",
        "file:/x,s3://b/y",
    ),
    *(None, 5, [], {}, "[" * 5000, "truncate(99999999999)", "none", "\u0663", "1_000"),
)
_HINTS = (
    *(
        b"",
        b"9" * 5000,
        b"-1",
        b"\xff\xfe",
        b"1e3",
        b" 3 ",
        "\u0663".encode(),
        b"99",
        b"0",
        b"9" * 19,
        b"1\0",
    ),
)


def damaged_bytes(rng: Random, content: bytes) -> bytes:
    """Flips, cuts, repeats and overwrites a few bytes, also with numbers of any size."""
    found = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        if found:
            rng.choice(_BYTES)(rng, found, rng.randrange(len(found)))
    return bytes(found)


def damaged_avro(rng: Random, content: bytes) -> bytes:
    """Damages the rows of an Avro file, how many it says there are, and its schema; mostly what is inside."""
    if rng.random() < 0.25:
        return damaged_bytes(rng, content)
    source = pa.BufferReader(content)
    header = read_header(source)
    schema = damaged_schema(rng, header.schema) if rng.random() < 0.4 else header.schema
    head, marker = new_header(schema, "null")
    parts = []
    for found in blocks(source, header):
        data = decompress(header.codec, content[found.start : found.start + found.size])
        rows = found.rows if rng.random() < 0.8 else max(0, found.rows + rng.choice([-1, 1, 5, 10**6]))
        parts.append(block(rows, damaged_bytes(rng, data) if rng.random() < 0.8 else data, marker))
    return head + b"".join(parts)


def damaged_schema(rng: Random, schema: Any) -> Any:
    """Another type, name or number of fields somewhere in a schema."""
    if isinstance(schema, list):
        return [damaged_schema(rng, part) for part in schema] if rng.random() < 0.8 else schema[::-1]
    if not isinstance(schema, dict) or "fields" not in schema:
        return rng.choice(_TYPES)
    fields = [dict(field) for field in schema["fields"]]
    field = rng.choice(fields)
    change = rng.randrange(6)
    if change == 0:
        field["type"] = rng.choice(_TYPES)
    elif change == 1:
        fields.remove(field)
    elif change == 2:
        field["name"] = rng.choice(["x", "", "_KIND", "a b", None, 5])
    else:
        field["type"] = damaged_schema(rng, field["type"])
    return {**schema, "fields": fields}


def damaged_json(rng: Random, content: bytes) -> bytes:
    """Other values in a JSON object, or none, also one level deeper; or other bytes."""
    if rng.random() < 0.3:
        return damaged_bytes(rng, content)
    found = json.loads(content)
    for _ in range(rng.randrange(1, 4)):
        target = found
        lists = [value for value in found.values() if isinstance(value, list)]
        nested = [each for value in lists for each in value if isinstance(each, dict) and each]
        if nested and rng.random() < 0.5:
            target = rng.choice(nested)
        name = rng.choice(sorted(target) or ["id"])
        target[name] = rng.choice([*_VALUES, "DECIMAL(99, 1)", {"type": "ROW"}, f"VARCHAR({'9' * 5000})"])
        if rng.random() < 0.3:
            del target[name]
    return json.dumps(found).encode()


def damaged_options(rng: Random, content: bytes) -> bytes:
    """Absurd values of options in a schema."""
    found = json.loads(content)
    options = found.setdefault("options", {})
    for _ in range(rng.randrange(1, 4)):
        options[rng.choice(_OPTIONS)] = rng.choice(_OPTION_VALUES)
    return json.dumps(found).encode()


def damaged_hint(rng: Random, content: bytes) -> bytes:
    """Anything but what the hint was."""
    return rng.choice([hint for hint in _HINTS if hint != content])


def _flip(rng: Random, found: bytearray, place: int) -> None:
    found[place] ^= 1 << rng.randrange(8)


def _cut(rng: Random, found: bytearray, place: int) -> None:
    del found[place : place + rng.choice([1, 2, 16, 100, len(found)])]


def _overwrite(rng: Random, found: bytearray, place: int) -> None:
    found[place : place + rng.choice([0, 1, 1, 2])] = _as_long(rng.choice(_NUMBERS))


def _fill(rng: Random, found: bytearray, place: int) -> None:
    found[place:place] = b"\xff" * rng.choice([1, 5, 9, 10, 11, 200])


def _repeat(rng: Random, found: bytearray, place: int) -> None:
    start = rng.randrange(len(found))
    found[place:place] = found[start : start + rng.randrange(1, 64)]


_BYTES: tuple[Callable[[Random, bytearray, int], None], ...] = (_flip, _cut, _overwrite, _fill, _repeat)


def _as_long(value: int) -> bytes:
    number, parts = (value << 1) ^ (value >> 63), bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
