"""The files that the benchmark rewrites: rows as tables of events have them, and deletes of a fifth of them.

Files are written by PyArrow with the layout of Iceberg's Java writer: one row group per file unless it is
large, zstd, pages of 20,000 rows, field ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lithify.formats.iceberg.data_files.schema import Schema, parse_schema
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.vectors import write_vectors
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, Partition
from lithify.io.local_storage import local_storage

_NOWHERE = Partition(0)
_ID = b"PARQUET:field_id"
SCHEMA: Schema = parse_schema(
    {
        "schema-id": 0,
        "fields": [
            {"id": number, "name": name, "required": False, "type": kind}
            for number, (name, kind) in enumerate(
                [
                    ("id", "long"),
                    ("ts", "timestamptz"),
                    ("qty", "int"),
                    ("price", "decimal(10, 2)"),
                    ("amount", "double"),
                    ("cat", "string"),
                    ("name", "string"),
                    ("d", "date"),
                    ("flag", "boolean"),
                ],
                1,
            )
        ],
    }
)


@dataclass(frozen=True, slots=True)
class Shape:
    """How many rows there are, in how many files."""

    rows: int = 5_000_000
    files: int = 200


def write_files(folder: Path, shape: Shape) -> tuple[DataFile, ...]:
    """Writes the data files."""
    folder.mkdir(parents=True)
    each = shape.rows // shape.files
    rng = np.random.default_rng(7)
    return tuple(
        _written(folder / f"{number:05}.parquet", _rows(number * each, each, rng), number)
        for number in range(shape.files)
    )


def _written(path: Path, rows: pa.Table, number: int) -> DataFile:
    pq.write_table(
        rows,
        path,
        compression="zstd",
        compression_level=3,
        data_page_size=1 << 20,
        write_batch_size=20_000,
        row_group_size=4_000_000,
        store_schema=False,
        store_decimal_as_integer=True,
        use_dictionary=["cat", "name", "d", "qty"],
        write_page_index=True,
    )
    first_row_id = number * rows.num_rows
    return DataFile(
        str(path), path.stat().st_size, rows.num_rows, "parquet", 1 + number // 50, _NOWHERE, first_row_id
    )


def _rows(first: int, rows: int, rng: np.random.Generator) -> pa.Table:
    ids = np.arange(first, first + rows)
    amount = rng.gamma(2.0, 50.0, rows)
    columns = [
        pa.array(ids),
        pa.array(1_700_000_000_000_000 + ids * 1000 + rng.integers(0, 900, rows)).view(
            pa.timestamp("us", "UTC")
        ),
        pa.array(rng.integers(0, 1000, rows, dtype=np.int32)),
        pa.array(rng.integers(0, 1_000_000, rows)).cast(pa.decimal128(21, 2)).cast(pa.decimal128(10, 2)),
        pa.array(amount, mask=rng.random(rows) < 0.02),
        pa.array([f"category-{number}" for number in range(40)]).take(pa.array(rng.integers(0, 40, rows))),
        pa.array([f"name-{number:05}" for number in range(5000)]).take(pa.array(rng.integers(0, 5000, rows))),
        pa.array((19_000 + ids // 100_000).astype(np.int32)).view(pa.date32()),
        pa.array(rng.random(rows) < 0.5),
    ]
    return pa.table(columns, schema=SCHEMA.file_schema())


def _deleted(file: DataFile, rng: np.random.Generator) -> np.ndarray:
    return np.flatnonzero(rng.random(file.rows) < 0.2)


def with_positions(folder: Path, files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
    """The files with a position delete file each."""
    folder.mkdir()
    rng = np.random.default_rng(11)
    return tuple(
        replace(file, deletes=(_positions(folder / f"{number:05}.parquet", file, _deleted(file, rng)),))
        for number, file in enumerate(files)
    )


def _positions(path: Path, file: DataFile, positions: np.ndarray) -> DeleteFile:
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), nullable=False, metadata={_ID: b"2147483546"}),
            pa.field("pos", pa.int64(), nullable=False, metadata={_ID: b"2147483545"}),
        ]
    )
    paths = pa.array([file.path]).take(pa.array(np.zeros(len(positions), dtype=np.int64)))
    pq.write_table(pa.table([paths, pa.array(positions)], schema=schema), path, compression="zstd")
    size = path.stat().st_size
    content = Content.POSITION_DELETES
    return DeleteFile(str(path), size, len(positions), content, "parquet", 9, _NOWHERE, (), file.path)


def with_vectors(folder: Path, files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
    """The files with a deletion vector each."""
    folder.mkdir()
    rng = np.random.default_rng(11)
    storage, path = local_storage([str(folder)]), str(folder / "vectors.puffin")
    bitmaps = {file.path: bitmap_of(_deleted(file, rng)) for file in files}
    written = write_vectors(storage, path, bitmaps)
    size = Path(path).stat().st_size
    return tuple(replace(file, deletes=(DeleteFile(path, size, *_place(file, written)),)) for file in files)


def _place(file: DataFile, written: Mapping[str, object]) -> Iterator[object]:
    place = written[file.path]
    yield from (place.positions, Content.POSITION_DELETES, "puffin", 9, _NOWHERE, (), file.path)  # type: ignore[attr-defined]
    yield from (place.offset, place.length)  # type: ignore[attr-defined]


def with_equality(folder: Path, files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
    """The files with equality deletes of a fifth of the ids, in ten files that apply to all."""
    folder.mkdir()
    rng = np.random.default_rng(11)
    schema = pa.schema([pa.field("id", pa.int64(), metadata={_ID: b"1"})])
    rows = sum(file.rows for file in files)
    deletes = []
    for number, ids in enumerate(np.array_split(rng.permutation(rows)[: rows // 5], 10)):
        path = folder / f"{number:05}.parquet"
        pq.write_table(pa.table([pa.array(ids)], schema=schema), path, compression="zstd")
        size = path.stat().st_size
        deletes.append(
            DeleteFile(str(path), size, len(ids), Content.EQUALITY_DELETES, "parquet", 9, _NOWHERE, (1,))
        )
    return tuple(replace(file, deletes=tuple(deletes)) for file in files)
