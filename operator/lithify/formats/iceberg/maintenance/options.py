"""Properties of how long snapshots are kept, and the history to which they apply.

Called by `snapshot_expiry` and `maintaining`. Names and defaults are those of Iceberg's TableProperties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lithify.errors import CorruptTable, InvalidOption
from lithify.formats.iceberg.maintenance.retention import History, RetentionRules
from lithify.formats.iceberg.properties import is_true, number_in
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.settings import table_option

SNAPSHOT_AGE = "history.expire.max-snapshot-age-ms"
LEAST = "history.expire.min-snapshots-to-keep"
REFERENCE_AGE = "history.expire.max-ref-age-ms"
GC = "gc.enabled"
_OVERRIDABLE = (SNAPSHOT_AGE, LEAST, REFERENCE_AGE)


def read_rules(properties: Mapping[str, str]) -> RetentionRules:
    """Reads how long snapshots are kept.

    Raises:
        InvalidOption: a value is no whole number, negative, or keeps no snapshot.
    """
    rules = RetentionRules()
    return RetentionRules(
        max_snapshot_age=number_in(properties, SNAPSHOT_AGE, rules.max_snapshot_age, least=0),
        min_snapshots=number_in(properties, LEAST, rules.min_snapshots, least=1),
        max_reference_age=number_in(properties, REFERENCE_AGE, rules.max_reference_age, least=0),
    )


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
