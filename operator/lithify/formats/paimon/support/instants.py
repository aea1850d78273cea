"""Why instants in ORC files cannot be read: nothing in the files tells the time zone of their writers.

Called by `reasons`. Java's legacy form of TIMESTAMP_LTZ in ORC is local time, and ORC files name the writer's
time zone only if they have a TIMESTAMP column. The reader refuses files that name another zone than UTC; here
the time zone that the table was declared with decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from lithify.files.types import ColumnType
from lithify.formats.paimon.schema.schema import Schema

_LEGACY = "orc.timestamp-ltz.legacy.type"
_FORMATS = "file.format"
_UTC = frozenset({"UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT"})


def instant_refusals(schema: Schema, time_zone: str | None) -> Iterator[str]:
    """The reasons, none for tables whose writers are declared to be in UTC or whose files name their zone.

    Args:
        schema: the table's schema.
        time_zone: the declared time zone of the table's writers; None if nobody declared one.
    """
    written = " ".join(value for key, value in schema.options.items() if key.startswith(_FORMATS))
    is_legacy = schema.options.get(_LEGACY, "true").strip().lower() != "false"
    if time_zone is None or time_zone in _UTC or not is_legacy or "orc" not in written.lower():
        return
    if any("TIMESTAMP" in _roots(column.type) for column in schema.columns):
        return
    for column in schema.columns:
        if "TIMESTAMP_LTZ" in _roots(column.type):
            yield (
                f"column {column.name} as TIMESTAMP_LTZ in ORC files of writers in {time_zone}: without a "
                f"TIMESTAMP column these files do not tell their time zone ({_LEGACY} = true)"
            )


def _roots(column: ColumnType) -> frozenset[str]:
    """The roots of a type and of its parts."""
    return frozenset({column.root}).union(*(_roots(part.type) for part in column.fields))
