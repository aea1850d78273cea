"""Merge-on-read of keyed tables in plain Polars: what a reader must give, without any of Arctic's code.

Used by tests that compare readers and compactions with it. It takes from its caller which files are live, and
reads names and rows itself. It holds all rows in memory.

A row of base or of an insert file dies if an unmerged delete row of its key is in the same partition, in the
same node or one above or below it, and has a strictly larger (transaction, offset). Position deletes come
first. Rows of one key without a delete between them all stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import polars as pl

from infrastructure.arctic.model import KeyedFile, KeyedTable

_NAME = re.compile(r"(\d+)-(B|I|ED|PD|IED)-(\d+)-\d+-\d+-.*")
_END = 2**63 - 1
"""Offset of all base rows: a delete of their own transaction does not hit them."""


class PositionRule(Enum):
    """Which base files a file of position deletes applies to, by the nodes in their names."""

    SAME_NODE = "up to 0.4"
    ABOVE = "since 0.5"


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A live file, and what its name says."""

    file: KeyedFile
    kind: str
    node: int
    transaction: int

    def is_related(self, other: NamedFile) -> bool:
        """Whether both are of one partition, and one's node is the other's or above it."""
        same = self.file.partition == other.file.partition
        return same and (is_below(self.node, other.node) or is_below(other.node, self.node))


def is_below(node: int, other: int) -> bool:
    """Whether a node is another one or in its subtree: the low bits of the index lead down from the root."""
    depth, others = node.bit_length() - 1, other.bit_length() - 1
    return depth >= others and (node - other) % (1 << others) == 0


def named(file: KeyedFile, *, in_change: bool) -> NamedFile:
    """What the name of a file says in its store; plain names are the root's."""
    found = _NAME.fullmatch(Path(file.path).name)
    if found is None:
        transaction = (file.sequence or 0) if in_change else 0
        return NamedFile(file, "I" if in_change else "B", 1, transaction)
    kind = found[2] if in_change or found[2] != "I" else "B"
    transaction = int(found[3])
    if in_change and transaction == 0:
        transaction = file.sequence or 0
    return NamedFile(file, kind, int(found[1]), transaction)


def stored_line(table: KeyedTable) -> dict[str, int]:
    """The line by partition, as base stores it up to 0.6.0: in a property."""
    folder = table.base / "metadata"
    version = (folder / "version-hint.text").read_text().strip()
    properties = json.loads((folder / f"v{version}.metadata.json").read_text())["properties"]
    partitions = json.loads(properties.get("table.partition-properties", "{}"))
    return {path: int(held["max-txId"]) for path, held in partitions.items() if "max-txId" in held}


def merge_on_read(
    base: Iterable[KeyedFile],
    change: Iterable[KeyedFile],
    line: Mapping[str, int],
    key: Sequence[str],
    rule: PositionRule = PositionRule.SAME_NODE,
) -> pl.DataFrame:
    """All rows that a reader must give, in any order.

    Args:
        base: live files of base, position deletes among them.
        change: live files of the change store.
        line: sequence numbers by partition; change files of a partition up to it are in base.
        key: columns of the primary key.
        rule: how position deletes are matched.
    """
    unmerged = [file for file in change if (file.sequence or 0) > line.get(file.partition, -1)]
    changed = [named(file, in_change=True) for file in unmerged]
    based = [named(file, in_change=False) for file in base]
    deletes = [file for file in changed if file.kind == "ED"]
    positions = [file for file in based if file.kind == "PD" or file.file.content == "POSITION_DELETES"]
    frames = [
        _living(rows, [each for each in deletes if each.is_related(file)], key)
        for file, rows in _data(changed, based, positions, rule)
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


def _data(
    changed: Sequence[NamedFile],
    based: Sequence[NamedFile],
    positions: Sequence[NamedFile],
    rule: PositionRule,
) -> Iterator[tuple[NamedFile, pl.DataFrame]]:
    """Data files with their rows and these rows' `_transaction` and `_file_offset`."""
    for file in based:
        if file not in positions:
            rows = _at(_without_positions(file, positions, rule), file.transaction)
            yield file, rows.with_columns(_file_offset=pl.lit(_END))
    for file in changed:
        if file.kind == "I":
            yield file, _at(_rows(file), file.transaction)


def _without_positions(file: NamedFile, positions: Sequence[NamedFile], rule: PositionRule) -> pl.DataFrame:
    applying = [each for each in positions if _applies(each, file, rule)]
    rows = _rows(file).with_row_index("_pos")
    if applying:
        frames = [_rows(each).select("file_path", "pos") for each in applying]
        deleted = pl.concat(frames).filter(pl.col("file_path") == file.file.path)["pos"]
        rows = rows.filter(~pl.col("_pos").cast(pl.Int64).is_in(deleted.implode()))
    return rows.drop("_pos")


def _applies(delete: NamedFile, file: NamedFile, rule: PositionRule) -> bool:
    is_newer = (delete.file.sequence or 0) >= (file.file.sequence or 0)
    same = is_newer and delete.file.partition == file.file.partition
    if rule is PositionRule.SAME_NODE:
        return same and delete.node == file.node
    return same and is_below(file.node, delete.node)


def _living(rows: pl.DataFrame, deletes: Sequence[NamedFile], key: Sequence[str]) -> pl.DataFrame:
    bare = rows.drop("_transaction", "_file_offset")
    if not deletes:
        return bare
    frames = [
        _at(_rows(each), each.transaction).select(*key, "_transaction", "_file_offset") for each in deletes
    ]
    hit = rows.with_row_index("_row").join(pl.concat(frames), on=list(key), suffix="_deleted")
    newer = pl.col("_transaction_deleted") > pl.col("_transaction")
    same = pl.col("_transaction_deleted") == pl.col("_transaction")
    later = same & (pl.col("_file_offset_deleted") > pl.col("_file_offset"))
    dead = hit.filter(newer | later)["_row"].unique()
    return bare.with_row_index("_row").filter(~pl.col("_row").is_in(dead.implode())).drop("_row")


def _at(rows: pl.DataFrame, transaction: int) -> pl.DataFrame:
    return rows.with_columns(_transaction=pl.lit(transaction, pl.Int64))


def _rows(file: NamedFile) -> pl.DataFrame:
    """All columns of a file; a base file that was an insert file has offsets, too, which do not count."""
    rows = pl.read_parquet(file.file.path.removeprefix("file:"))
    return rows.drop("_file_offset") if file.kind == "B" and "_file_offset" in rows.columns else rows
