"""What an expiry may override and which tables it refuses, and the history of a table.

Called by `snapshot_expiry` and `maintaining`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lithify.errors import CorruptTable, InvalidOption
from lithify.formats.iceberg.maintenance.retention import History
from lithify.formats.iceberg.properties import is_true
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata
from lithify.formats.iceberg.table.retention_rules import (
    LEAST,
    REFERENCE_AGE,
    SNAPSHOT_AGE,
    RetentionRules,
    read_rules,
)
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.settings import table_option

GC = "gc.enabled"
_OVERRIDABLE = (SNAPSHOT_AGE, LEAST, REFERENCE_AGE)


def rules_of(metadata: TableMetadata, overrides: Mapping[str, str]) -> RetentionRules:
    """How long a table keeps snapshots, by its properties and those that replace them.

    Raises:
        InvalidOption: see `read_rules`.
    """
    return read_rules({**metadata.properties, **overrides})


def check_overrides(overrides: Mapping[str, str]) -> None:
    """Checks that a run overrides nothing but how long snapshots are kept.

    Raises:
        InvalidOption: it does.
    """
    for key in overrides:
        if key not in _OVERRIDABLE:
            problem = f"it cannot be overridden for an expiry, only {', '.join(_OVERRIDABLE)} can"
            raise InvalidOption(table_option(key), problem)


def expiry_refusals(table: IcebergTable) -> Iterator[str]:
    """Every reason why the snapshots of a table cannot be expired, none if they can.

    Tables that cannot be compacted are refused, too.
    """
    yield from table.refusals
    if table.branch != MAIN:
        yield f"branch {table.branch}: snapshots of all branches expire together; name the table alone"
    if not is_true(table.metadata.properties, GC, "true"):
        yield f"{GC} = {table.metadata.properties[GC]}: other tables may need its files"


def history_of(metadata: TableMetadata) -> History:
    """The snapshots and references of a table.

    Raises:
        CorruptTable: a reference names a snapshot that does not exist, or the log has another form.
    """
    for each in metadata.refs.values():
        if each.snapshot not in metadata.snapshots:
            problem = f"{each.name} names the snapshot {each.snapshot}, which does not exist"
            raise CorruptTable(metadata.file or metadata.location, problem)
    try:
        log = metadata.json.get("snapshot-log") or ()
        moments = tuple((int(each["timestamp-ms"]), int(each["snapshot-id"])) for each in log)
    except (KeyError, TypeError, ValueError) as error:
        problem = f"its snapshot-log has no snapshots with times ({type(error).__name__}: {error})"
        raise CorruptTable(metadata.file or metadata.location, problem) from error
    return History(metadata.snapshots, metadata.refs, moments)
