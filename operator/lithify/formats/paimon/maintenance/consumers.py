"""The consumers of a table: how far each has read, and which have not moved for too long.

Called by `history`, by `rollback_planning` and, before anything is deleted, by `deleting`. A consumer keeps
the snapshots, or the changelogs, that it has still to read. Source: Paimon's `ConsumerManager`.
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
    """The consumers of a branch; none of them is read.

    One with a slash in its name, as `jobs/a`, lies in a folder, where Paimon's own expiry does not look.
    """
    top = f"{table.home}/consumer"
    folders = [top]
    while folders:
        folder = folders.pop()
        for file in table.storage.list(folder):
            path = f"{folder}/{file.name}"
            if folder == top and not _NAME.fullmatch(file.name):
                continue
            if file.is_folder:
                folders.append(path)
            else:
                yield Consumer(path, file.modified_seconds)


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
    return min((position for _, position in positions(table, consumers)), default=None)


def positions(table: PaimonTable, consumers: Iterable[Consumer]) -> Iterator[tuple[str, int]]:
    """The names of some consumers, each with the lowest snapshot that it has still to read.

    Raises:
        CorruptTable: a consumer cannot be read.
    """
    for each in consumers:
        text = table.storage.read_text(each.path, MOST_SNAPSHOT)
        if text is not None:
            yield each.path.rpartition("/consumer-")[2], _position(each.path, text)


def _position(path: str, text: str) -> int:
    problem = "the consumer cannot be read, so it is unknown what it has still to read"
    try:
        found = parse_object(text).get("nextSnapshot")
    except ValueError as error:
        raise CorruptTable(path, f"{problem} ({error})") from error
    if isinstance(found, bool) or not isinstance(found, int):
        raise CorruptTable(path, f"{problem} (nextSnapshot is no whole number)")
    return found
