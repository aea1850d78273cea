"""Which partitions of a table are due, from their values or the time of their newest file.

Called by `partition_expiry`. Source: Paimon's `PartitionValuesTimeExpireStrategy`,
`PartitionUpdateTimeExpireStrategy` and `PartitionExpire`. A partition whose values say no time stays, as in
Java. Manifests are read one by one and summed by partition: memory depends on the number of partitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa

from lithify.clock import wall_millis
from lithify.columns.column_groups import ColumnGroups, integers, listed, taken
from lithify.errors import UnsupportedTable
from lithify.files.types import ColumnType
from lithify.formats.paimon.manifests.entries import ADD
from lithify.formats.paimon.names.date_patterns import parse_timestamp
from lithify.formats.paimon.names.partition_names import partition_texts
from lithify.formats.paimon.options.partition_expiry_options import ExpiryStrategy, PartitionExpiryOptions
from lithify.formats.paimon.rows.binary_row import decode_row
from lithify.formats.paimon.table import PaimonTable

_PLAIN_NAME = re.compile(r"\w+")
_SPECIAL = frozenset("$\\")
"""What means something else in a replacement of Java's `replaceAll`, with which values get into patterns."""


@dataclass(frozen=True, slots=True)
class PartitionFiles:
    """The files of a partition.

    Attributes:
        files: number of live files.
        newest_millis: local time at which the newest file was written, live or not.
    """

    files: int
    newest_millis: int


def partition_files(frames: Iterable[pa.Table]) -> dict[bytes, PartitionFiles]:
    """The files of each partition that has any, from the entries of all manifests of a snapshot."""
    found: dict[bytes, PartitionFiles] = {}
    for frame in frames:
        for partition, files, newest in _sums(frame):
            known = found.get(partition, PartitionFiles(0, newest))
            found[partition] = PartitionFiles(known.files + files, max(known.newest_millis, newest))
    return {partition: files for partition, files in found.items() if files.files > 0}


def _sums(frame: pa.Table) -> Iterator[tuple[bytes, int, int]]:
    if not len(frame):
        return
    groups = ColumnGroups(frame, ["partition"])
    partitions = listed(taken(frame.select(["partition"]), groups.firsts)["partition"])
    signs = np.where(integers(frame["kind"]) == ADD, 1, -1)
    newest = groups.max(integers(frame["created_millis"]))
    yield from zip(partitions, groups.sum(signs).tolist(), newest.tolist(), strict=True)


def due_partitions(
    table: PaimonTable, files: Mapping[bytes, PartitionFiles], options: PartitionExpiryOptions, now: datetime
) -> list[bytes]:
    """The partitions that expire, in the order of their texts, at most as many as may go at a time.

    Args:
        table: the table.
        files: the files of its partitions.
        options: when partitions expire.
        now: the present time in the zone of the table's times.

    Raises:
        UnsupportedTable: the pattern cannot be applied to the table's partition columns.
    """
    types, keys = table.schema.partition_types, table.schema.partition_keys
    _check_names(table, keys, options)
    texts = {partition: _texts(partition, types) for partition in files}
    if options.strategy is ExpiryStrategy.UPDATE_TIME:
        before_millis = newest_of_due(options, now)
        due = [each for each in texts if files[each].newest_millis < before_millis]
    else:
        before = _due_before(options, now)
        times = {each: partition_time(keys, texts[each], options) for each in texts}
        due = [each for each, time in times.items() if time is not None and time < before]
    default = table.options.locations.default_name
    due.sort(key=lambda each: _order(texts[each], default))
    return due[: options.most]


def newest_of_due(options: PartitionExpiryOptions, now: datetime) -> int:
    """The local time before which all files of a partition that is due by their time were written."""
    return wall_millis(_due_before(options, now))


def _due_before(options: PartitionExpiryOptions, now: datetime) -> datetime:
    """The local time before which that of a due partition is; the first of all if the calendar ends."""
    try:
        return now.replace(tzinfo=None) - options.kept
    except OverflowError:
        return datetime.min


def partition_time(
    keys: Sequence[str], texts: Sequence[str | None], options: PartitionExpiryOptions
) -> datetime | None:
    """The local time that the values of a partition say; None if they say none.

    Args:
        keys: the partition columns.
        texts: their values, None for null.
        options: how the values say it.
    """
    text = texts[0] if options.pattern is None else _in_pattern(options.pattern, keys, texts)
    if text is None:
        return None
    return parse_timestamp(text) if options.formatter is None else options.formatter.parse(text)


def _in_pattern(pattern: str, keys: Sequence[str], texts: Sequence[str | None]) -> str | None:
    for key, text in zip(keys, texts, strict=True):
        if text is None or _SPECIAL & {*text}:
            return None
        pattern = pattern.replace(f"${key}", text)
    return pattern


def _check_names(table: PaimonTable, keys: Sequence[str], options: PartitionExpiryOptions) -> None:
    odd = [key for key in keys if options.pattern is not None and not _PLAIN_NAME.fullmatch(key)]
    if odd:
        reason = (
            f"partition.timestamp-pattern and partition column '{odd[0]}': Java takes the name as a regular "
            "expression"
        )
        raise UnsupportedTable(table.name, (reason,), "expired")


def _texts(partition: bytes, types: Sequence[ColumnType]) -> list[str | None]:
    """The values of a partition as Java's `toString` has them; None for null, or where it is unknown."""
    try:
        texts = partition_texts(partition, types, legacy=True)
    except (ValueError, OverflowError):
        return [None] * len(types)
    values = decode_row(partition, types)
    return [
        value.decode("utf-8", errors="replace") if text is None and isinstance(value, bytes) else text
        for text, value in zip(texts, values, strict=True)
    ]


def _order(texts: Sequence[str | None], default: str) -> bytes:
    """Orders partitions as Java orders their joined texts, by UTF-16."""
    joined = ",".join(default if text is None else text for text in texts)
    return joined.encode("utf-16-be", errors="surrogatepass")
