"""The consumers of a table: how far each has read, and which have not moved for too long.

Called by `history` and, before anything is deleted, by `deleting`. A consumer keeps the snapshots, or the
changelogs, that it has still to read. Source: Paimon's `ConsumerManager`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lithify.columns.json_texts import parse_object
from lithify.errors import CorruptTable
from lithify.formats.paimon.table import PaimonTable
from lithify.io.small_files import MOST_SNAPSHOT

_NAME = re.compile(r"consumer-.+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Consumer:
    """The file of a consumer.

    Attributes:
        path: where it is.
        modified_seconds: when it was written; every snapshot that is read writes it again.
    """

    path: str
    modified_seconds: float


def consumers_of(table: PaimonTable) -> Iterator[Consumer]:
    """The consumers of a branch; none of them is read."""
    folder = f"{table.home}/consumer"
    for file in table.storage.list(folder):
        if _NAME.fullmatch(file.name) and not file.is_folder:
            yield Consumer(f"{folder}/{file.name}", file.modified_seconds)


def expired_consumers(
    consumers: Iterable[Consumer], now_millis: int, kept_millis: int | None
) -> tuple[Consumer, ...]:
    """The consumers that have not moved for longer than `consumer.expiration-time`; none without it."""
    if kept_millis is None:
        return ()
    before = now_millis - kept_millis
    return tuple(each for each in consumers if int(each.modified_seconds * 1000) < before)


def lowest_position(table: PaimonTable, consumers: Iterable[Consumer]) -> int | None:
    """The lowest snapshot that any of some consumers has still to read; None without consumers.

    Raises:
        CorruptTable: a consumer cannot be read.
    """
    texts = ((each.path, table.storage.read_text(each.path, MOST_SNAPSHOT)) for each in consumers)
    return min((_position(path, text) for path, text in texts if text is not None), default=None)


def _position(path: str, text: str) -> int:
    problem = "the consumer cannot be read, so it is unknown what it has still to read"
    try:
        found = parse_object(text).get("nextSnapshot")
    except ValueError as error:
        raise CorruptTable(path, f"{problem} ({error})") from error
    if isinstance(found, bool) or not isinstance(found, int):
        raise CorruptTable(path, f"{problem} (nextSnapshot is no whole number)")
    return found
