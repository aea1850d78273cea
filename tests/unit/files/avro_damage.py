"""Reads damaged Avro data files in bounded memory; arguments: SEED COUNT MEBIBYTES.

Run by a test, because what fastavro and the codecs do with damage might end the process. Prints JSON: how
often what came of it, what nobody expects, and the longest time and most memory that one file took.

Rows other than those written are unexpected where the file says that it is damaged: Snappy, bzip2 and xz have
checksums, and the header and the heads of blocks are checked. One bit in a block of another codec may be
another value, but never another number of rows.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from resource import RLIMIT_AS, setrlimit
from time import monotonic
from typing import Any

import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.files.avro.container import blocks, read_header
from lithify.files.model import InputFile
from lithify.formats.paimon.data_files.reader import FileRun
from support.damage import damaged_avro, damaged_bytes
from support.data_files import input_file, reading, write
from support.manifests import schema
from support.process import peak_bytes

SCHEMA = schema(
    [
        *(("id", "BIGINT NOT NULL"), ("text", "STRING"), ("number", "INT"), ("price", "DECIMAL(20, 3)")),
        *(
            ("flag", "BOOLEAN"),
            ("ratio", "DOUBLE"),
            ("at", "TIMESTAMP(6)"),
            ("day", "DATE"),
            ("raw", "BYTES"),
        ),
        ("list", {"type": "ARRAY", "element": "INT"}),
        ("map", {"type": "MAP", "key": "STRING", "value": "BIGINT"}),
        ("row", {"type": "ROW", "fields": [{"id": 20, "name": "x", "type": "INT"}]}),
        ("vector", {"type": "VECTOR", "element": "FLOAT", "length": 3}),
    ],
    ["id"],
)
CODECS = ("null", "deflate", "zstd", "snappy", "bzip2", "xz")
WITH_CHECKSUM = ("snappy", "bzip2", "xz")


@dataclass(frozen=True, slots=True)
class Written:
    """A file as it was written; `first` is the offset of the bytes of its first block."""

    codec: str
    file: InputFile
    content: bytes
    first: int
    rows: pa.Table


def some_rows(first: int, last: int) -> list[dict[str, Any]]:
    return [
        {
            "id": n,
            "text": None if n % 7 == 0 else f"text {n}" * (n % 4),
            "number": n * 3,
            "price": Decimal(n) / 8 if n % 3 else None,
            "flag": n % 2 == 0,
            "ratio": n / 3,
            "at": datetime(2020, 1, 1) + timedelta(seconds=n),
            "day": date(2020, 1, 1) + timedelta(days=n),
            "raw": bytes([n % 256]) * 3,
            "list": [n, None, n + 1] if n % 5 else None,
            "map": {f"k{n}": n} if n % 4 else {},
            "row": {"x": n} if n % 6 else None,
            "vector": [1.0, float(n), 2.0] if n % 9 else None,
        }
        for n in range(first, last)
    ]


def written(folder: Path) -> list[Written]:
    return [one_written(folder, codec) for codec in CODECS]


def one_written(folder: Path, codec: str) -> Written:
    options = {"file.format": "avro", "file.compression": codec}
    file = input_file(folder, write(folder, SCHEMA, [some_rows(0, 200)], options))
    content = Path(file.path).read_bytes()
    source = pa.BufferReader(content)
    first = next(iter(blocks(source, read_header(source)))).start
    return Written(codec, file, content, first, rows_of(file))


def rows_of(file: InputFile) -> pa.Table:
    """The rows as a task reads them, after it has estimated the memory for that."""
    how = reading([file], [SCHEMA], SCHEMA.primary_key)
    run = FileRun([file], how)
    assert run.overhead >= 0
    return pa.Table.from_batches([piece.rows for piece in run.pieces(1 << 16)], how.schema)


def damaged(rng: Random, file: Written) -> tuple[str, bytes]:
    """Where a file is damaged (what is `known` is checked), and its bytes."""
    draw = rng.random()
    if draw < 0.4:
        return "inside", damaged_avro(rng, file.content)
    if draw < 0.7:
        head, rest = file.content[: file.first], file.content[file.first :]
        return "known", damaged_bytes(rng, head) + rest
    kind = "known" if file.codec in WITH_CHECKSUM else "inside"
    return kind, damaged_bytes(rng, file.content)


def outcome_of(file: Written, kind: str, content: bytes) -> str:
    """The outcome of reading; it begins with `wrong` if nobody expects it."""
    path = Path(file.file.path)
    path.write_bytes(content)
    try:
        rows = rows_of(replace(file.file, size=len(content)))
    except CorruptTable as error:
        return "refused" if error.path == file.file.path else "wrong file"
    rows.validate()
    if rows.equals(file.rows):
        return "same"
    return "other values" if kind == "inside" and rows.num_rows == file.rows.num_rows else "wrong rows"


def main(seed: int, count: int, mebibytes: int) -> None:
    """Damages and reads the given number of files."""
    outcomes: Counter[str] = Counter()
    surprises, longest = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        files = written(Path(folder))
        setrlimit(RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
        for number in range(seed, seed + count):
            rng = Random(number)
            file = rng.choice(files)
            kind, content = damaged(rng, file)
            print(f"{number} {file.codec} {kind}", file=sys.stderr, flush=True)
            start = monotonic()
            try:
                outcome = outcome_of(file, kind, content)
            except BaseException as error:  # noqa: BLE001  # whatever else it is, the test is to tell
                outcome = f"wrong: {type(error).__name__}: {error}"
            longest = max(longest, monotonic() - start)
            outcomes[outcome.partition(":")[0]] += 1
            if outcome.startswith("wrong"):
                surprises.append(f"{number} {file.codec} {kind}: {outcome}")
    grown = peak_bytes() >> 20
    print(json.dumps({"outcomes": outcomes, "surprises": surprises, "longest": longest, "mebibytes": grown}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
