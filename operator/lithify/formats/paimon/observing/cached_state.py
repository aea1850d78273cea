"""What is cached of a Paimon table between observations: columns of its files, and its snapshots and indexes.

Used by `observed_table` and the modules that it calls; `engine.observe` stores it and looks into none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lithify.engine.observe.cache import ObservationCache
from lithify.engine.observe.layout import Layout
from lithify.engine.observe.state import TableState
from lithify.formats.paimon.manifests.entry_selection import Place
from lithify.formats.paimon.manifests.vector_columns import VECTOR_COLUMNS
from lithify.formats.paimon.model import PLACE

FILES = pa.schema(
    {
        "partition": pa.binary(),
        "bucket": pa.int32(),
        "name": pa.string(),
        "size": pa.int64(),
        "rows": pa.int64(),
        "min_key": pa.binary(),
        "max_key": pa.binary(),
        "min_sequence": pa.int64(),
        "max_sequence": pa.int64(),
        "schema_id": pa.int64(),
        "level": pa.int32(),
        "created_millis": pa.int64(),
        "delete_rows": pa.int64(),
        "earliest": pa.int64(),
        **{field.name: field.type for field in VECTOR_COLUMNS},
    }
)
"""The cached columns of each file: what planning needs."""


@dataclass(frozen=True, slots=True)
class Removal:
    """Files that a snapshot removed.

    Attributes:
        bytes: their size, as far as older snapshots still reference them.
        millis: when it was committed.
        compactor: its commit user, if somebody else than Lithify compacted by it; else empty.
    """

    bytes: int
    millis: int
    compactor: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotHistory:
    """The snapshots that the table keeps.

    Attributes:
        oldest: number of the oldest.
        oldest_millis: when it was committed.
        removed: by snapshot, what it removed.
    """

    oldest: int
    oldest_millis: int
    removed: Mapping[int, Removal] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PaimonDetails:
    """What is remembered of a table's newest snapshot, besides its files.

    Attributes:
        index_types: its index types.
        history: the snapshots that existed then; None if there was none.
        appended: snapshots since the last full compaction, if the table counts them.
        vector_files: the index files of deletion vectors, each with its bucket, if planning depends on them.
    """

    index_types: frozenset[str] = frozenset()
    history: SnapshotHistory | None = None
    appended: tuple[int, ...] = ()
    vector_files: frozenset[tuple[Place, str]] = frozenset()


PaimonState = TableState[PaimonDetails]
PaimonCache = ObservationCache[PaimonDetails]


class _DetailsFormat:
    """The JSON form of details; implements `DetailsFormat`."""

    def to_json(self, details: PaimonDetails) -> Mapping[str, Any]:
        """The fields of some details."""
        history = details.history
        return {
            "indexes": sorted(details.index_types),
            "history": history and [history.oldest, history.oldest_millis, _removals_to_json(history)],
            "appended": details.appended,
            "vectors": [
                [partition.hex(), bucket, name] for (partition, bucket), name in sorted(details.vector_files)
            ],
        }

    def parse(self, fields: Mapping[str, Any]) -> PaimonDetails:
        """Parses the fields of some details; errors are those of a wrong form."""
        history = fields["history"]
        return PaimonDetails(
            index_types=frozenset(fields["indexes"]),
            history=history
            and SnapshotHistory(
                history[0], history[1], {number: Removal(*removal) for number, *removal in history[2]}
            ),
            appended=tuple(fields["appended"]),
            vector_files=frozenset(
                ((bytes.fromhex(partition), bucket), name) for partition, bucket, name in fields["vectors"]
            ),
        )


def _removals_to_json(history: SnapshotHistory) -> list[list[int | str]]:
    return [[number, each.bytes, each.millis, each.compactor] for number, each in history.removed.items()]


LAYOUT = Layout(
    name="paimon 2",
    files=FILES,
    group=PLACE,
    file=(*PLACE, "name", "level"),  # an upgraded file is another one at its new level
    details=_DetailsFormat(),
    nothing=PaimonDetails(),
)
"""How the files of Paimon tables are cached."""
