"""A table written with pypaimon whose history tests make as they like: commits, roll-backs, expiry, dropping.

What Paimon's engines do to a table's files is done to them here directly where pypaimon cannot do it:
snapshots are files, and the newest one is that of the highest number.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.schema_change import SchemaChange

from lithify.formats.protocol.address import TableAddress

COLUMNS = pa.schema(
    [
        pa.field("dt", pa.string(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        pa.field("v", pa.string()),
    ]
)
DAYS = ("a", "b")


@dataclass
class SmallTable:
    """A table of two days with two buckets each."""

    warehouse: Path
    name: str = "db.t"
    options: Mapping[str, str] = field(default_factory=dict)
    commits: int = 0

    @property
    def address(self) -> TableAddress:
        return TableAddress(str(self.warehouse), self.name)

    @property
    def folder(self) -> Path:
        database, table = self.name.split(".")
        return self.warehouse / f"{database}.db" / table

    def create(self) -> SmallTable:
        self.warehouse.mkdir(parents=True, exist_ok=True)
        catalog = CatalogFactory.create({"warehouse": str(self.warehouse)})
        catalog.create_database(self.name.split(".")[0], ignore_if_exists=True)
        options = {"bucket": "2", "write-only": "true", **self.options}
        schema = Schema.from_pyarrow_schema(
            COLUMNS, partition_keys=["dt"], primary_keys=["dt", "id"], options=options
        )
        catalog.create_table(self.name, schema, ignore_if_exists=False)
        return self

    def append(self, *days: str, keys: range = range(20)) -> None:
        """Upserts some keys of some days in one commit."""
        self._write(self._rows(days or DAYS, keys), None)

    def overwrite(self, day: str) -> None:
        """Replaces all rows of a day."""
        self._write(self._rows((day,), range(5)), {"dt": day})

    def set_option(self, key: str, value: str) -> None:
        """Gives the table a new schema, which is no commit."""
        catalog = CatalogFactory.create({"warehouse": str(self.warehouse)})
        catalog.alter_table(self.name, [SchemaChange.set_option(key, value)], ignore_if_not_exists=False)

    def grow_old(self, age: timedelta) -> None:
        """Makes all snapshots as if they had been committed so long ago."""
        millis = time.time_ns() // 1_000_000 - age // timedelta(milliseconds=1)
        for number in self.numbers:
            path = self.folder / "snapshot" / f"snapshot-{number}"
            path.write_text(json.dumps({**self.snapshot(number), "timeMillis": millis}))

    def drop(self) -> None:
        shutil.rmtree(self.folder)

    @property
    def numbers(self) -> list[int]:
        """The snapshots, ascending."""
        found = (self.folder / "snapshot").glob("snapshot-*")
        return sorted(int(path.name.removeprefix("snapshot-")) for path in found)

    def snapshot(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._path(number).read_text())
        return found

    def roll_back_to(self, number: int) -> None:
        for newer in self.numbers:
            if newer > number:
                self._path(newer).unlink()
        (self.folder / "snapshot" / "LATEST").write_text(str(number))

    def expire(self, *, keep: int) -> None:
        for older in self.numbers[:-keep]:
            self._path(older).unlink()

    def _path(self, number: int) -> Path:
        return self.folder / "snapshot" / f"snapshot-{number}"

    def _rows(self, days: tuple[str, ...], keys: range) -> pa.Table:
        self.commits += 1
        rows = [{"dt": day, "id": key, "v": f"{self.commits}"} for day in days for key in keys]
        return pa.Table.from_pylist(rows, COLUMNS)

    def _write(self, rows: pa.Table, overwritten: Mapping[str, str] | None) -> None:
        table = CatalogFactory.create({"warehouse": str(self.warehouse)}).get_table(self.name)
        builder = table.new_batch_write_builder()
        if overwritten is not None:
            builder = builder.overwrite(dict(overwritten))
        write, commit = builder.new_write(), builder.new_commit()
        try:
            write.write_arrow(rows)
            commit.commit(write.prepare_commit())
        finally:
            write.close()
            commit.close()
