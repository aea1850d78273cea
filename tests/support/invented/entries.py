"""Manifest entries of invented files, as Avro records with all that Java writes of a file.

Used by `table`. Rows of key bounds and statistics are made in bulk: an example is encoded once, and what
differs from file to file is put over it at its offsets, an array a field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lithify.files.types import ColumnType, Raw
from lithify.formats.paimon.manifests.entries import ADD, APPEND_SOURCE, COMPACT_SOURCE
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.type_texts import parse_type
from support.invented.shape import Batch, Numbers

COLUMNS = {
    "dt": "STRING NOT NULL",
    "shop_id": "INT NOT NULL",
    "order_id": "BIGINT NOT NULL",
    "customer_id": "BIGINT",
    "status": "STRING",
    "city": "STRING",
    "product": "STRING",
    "quantity": "INT",
    "price": "DECIMAL(10, 2)",
    "created": "TIMESTAMP(6)",
    "paid": "BOOLEAN",
    "comment": "STRING",
}
"""Orders, as `make bench` compacts them, in partitions of a day."""

ROWS_PER_ROUND = 1 << 20
"""Sequence numbers that a commit takes in one bucket."""
_ORDERS_OF_A_SHOP = 1 << 20
_CREATED_MILLIS = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp()) * 1000
_MEBIBYTE = 1 << 20

_LOWEST: dict[str, Raw] = {
    "dt": b"2026-01-01",
    "shop_id": 0,
    "order_id": 0,
    "customer_id": 0,
    "status": b"CLOSED",
    "city": b"Aachen",
    "product": b"product-00000000",
    "quantity": 1,
    "price": 100,
    "created": 0,
    "paid": 0,
    "comment": b"0000000000000000",
}
_HIGHEST: dict[str, Raw] = {
    **_LOWEST,
    "shop_id": (1 << 20) - 1,
    "order_id": _ORDERS_OF_A_SHOP - 1,
    "status": b"SENT",
    "city": b"Zwickau",
    "product": b"product-00001999",
    "quantity": 20,
    "paid": 1,
}

Changed: TypeAlias = Mapping[str, NDArray[Any]]


class Rows:
    """Makes BinaryRows of some columns that are those of an example but for some fields.

    Args:
        names: the columns.
        example: their values; texts of more than seven bytes may be changed to others of the same length.
    """

    def __init__(self, names: Sequence[str], example: Mapping[str, Raw]) -> None:
        types = [parse_type(COLUMNS[name]) for name in names]
        row = encode_row([example[name] for name in names], types)
        slots = 4 + (len(names) + 63 + 8) // 64 * 8
        self._example = np.frombuffer(row, np.uint8)
        self._offsets = {
            name: _offset(row, slots + 8 * field, column)
            for field, (name, column) in enumerate(zip(names, types, strict=True))
        }

    def make(self, count: int, changed: Changed) -> list[bytes]:
        """Rows with an array element each in the changed columns; timestamps are milliseconds."""
        rows = np.tile(self._example, (count, 1))
        for name in self._offsets.keys() & changed.keys():
            values = np.ascontiguousarray(changed[name])
            at = self._offsets[name]
            rows[:, at : at + values.itemsize] = values.view(np.uint8).reshape(count, -1)
        width, content = rows.shape[1], rows.tobytes()
        return [content[start : start + width] for start in range(0, len(content), width)]


class Entries:
    """Makes the entries of one table.

    Args:
        key: the columns of the key but for the partition's: `order_id`, or `shop_id` before it; none in a
            table without a key.
        total_buckets: of each partition; -1 in a table without buckets.
        seed: the same seed gives the same entries for the same batches in the same order.
    """

    def __init__(self, key: Sequence[str], total_buckets: int, seed: int) -> None:
        self._is_composite = len(key) > 1
        self._total_buckets = total_buckets
        self._random = np.random.default_rng([seed, 4])
        self._key = Rows(key, _LOWEST)
        self._lowest, self._highest = Rows(list(COLUMNS), _LOWEST), Rows(list(COLUMNS), _HIGHEST)
        self._nulls = [0] * (len(COLUMNS) - 1)
        self._key_nulls = [0] * len(key)

    def records(self, batch: Batch) -> Iterator[dict[str, Any]]:
        """The entries of a batch, each adding a file."""
        partition = encode_row([batch.day.encode()], [parse_type(COLUMNS["dt"])])
        count = len(batch)
        low, high = self._keys(batch.low), self._keys(batch.high)
        is_new = batch.level == 0
        rows = self._random.integers(1000, ROWS_PER_ROUND, count)
        sizes = self._random.integers(1, 4 if is_new else 120, count) * _MEBIBYTE + rows % _MEBIBYTE
        nulls = rows // self._random.integers(2, 9, count)
        deletes = rows // 100 if is_new and self._key_nulls else np.zeros(count, np.int64)
        columns = zip(
            self._names(count),
            batch.buckets.tolist(),
            self._key.make(count, low),
            self._key.make(count, high),
            self._lowest.make(count, {**low, **self._values(batch.day, count)}),
            self._highest.make(count, {**high, **self._values(batch.day, count, above=1 << 30)}),
            rows.tolist(),
            sizes.tolist(),
            nulls.tolist(),
            deletes.tolist(),
            strict=True,
        )
        first = batch.round * ROWS_PER_ROUND
        created = _CREATED_MILLIS + batch.round * 60_000
        for name, bucket, min_key, max_key, lowest, highest, number, size, null, deleted in columns:
            yield {
                "_VERSION": 2,
                "_KIND": ADD,
                "_PARTITION": partition,
                "_BUCKET": bucket,
                "_TOTAL_BUCKETS": self._total_buckets,
                "_FILE": {
                    "_FILE_NAME": name,
                    "_FILE_SIZE": size,
                    "_ROW_COUNT": number,
                    "_MIN_KEY": min_key,
                    "_MAX_KEY": max_key,
                    "_KEY_STATS": _stats(min_key, max_key, self._key_nulls),
                    "_VALUE_STATS": _stats(lowest, highest, [*self._nulls, null]),
                    "_MIN_SEQUENCE_NUMBER": first,
                    "_MAX_SEQUENCE_NUMBER": first + number - 1,
                    "_SCHEMA_ID": 0,
                    "_LEVEL": batch.level,
                    "_EXTRA_FILES": [],
                    "_CREATION_TIME": created,
                    "_DELETE_ROW_COUNT": deleted,
                    "_EMBEDDED_FILE_INDEX": None,
                    "_FILE_SOURCE": APPEND_SOURCE if is_new else COMPACT_SOURCE,
                    "_VALUE_STATS_COLS": None,
                    "_EXTERNAL_PATH": None,
                    "_FIRST_ROW_ID": None,
                    "_WRITE_COLS": None,
                    "_WRITE_COLS_SEQUENCES": None,
                },
            }

    def _keys(self, numbers: Numbers) -> Changed:
        """What key numbers are as keys; both forms have the order of the numbers."""
        if not self._is_composite:
            return {"order_id": numbers}
        return {"shop_id": numbers // _ORDERS_OF_A_SHOP, "order_id": numbers % _ORDERS_OF_A_SHOP}

    def _values(self, day: str, count: int, above: int = 0) -> Changed:
        """Bounds of columns that are no keys, random but for the day."""
        random = self._random
        return {
            "dt": np.full(count, day.encode()),
            "customer_id": above + random.integers(0, 1 << 20, count),
            "price": above + random.integers(0, 1 << 16, count),
            "created": _CREATED_MILLIS - (1 << 31) + above + random.integers(0, 1 << 29, count),
            "comment": np.frombuffer(random.bytes(8 * count).hex().encode(), "S16"),
        }

    def _names(self, count: int) -> list[str]:
        """Names as Java gives them, `data-<UUID of version 4>-0.parquet`."""
        text = self._random.bytes(16 * count).hex()
        ids = (text[start : start + 32] for start in range(0, len(text), 32))
        return [
            f"data-{each[:8]}-{each[8:12]}-4{each[13:16]}-8{each[17:20]}-{each[20:]}-0.parquet"
            for each in ids
        ]


def _stats(lowest: bytes, highest: bytes, nulls: list[int]) -> dict[str, Any]:
    return {"_MIN_VALUES": lowest, "_MAX_VALUES": highest, "_NULL_COUNTS": nulls}


def _offset(row: bytes, slot: int, column: ColumnType) -> int:
    """Where the bytes of a field's value are: in its slot, or where the slot points to."""
    is_long_text = column.is_bytes and not row[slot + 7] & 0x80
    if is_long_text or (column.is_timestamp and column.precision > 3):
        return 4 + int.from_bytes(row[slot + 4 : slot + 8], "little")
    return slot
