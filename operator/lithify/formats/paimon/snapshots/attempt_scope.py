"""The scope of an attempt at a Paimon table, as its journal records it.

Made by `step`, read by clean-up. Journals decide what is deleted, so the text is parsed strictly, and it
holds no directories that are used: `file_locations` derives these from partitions and buckets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from lithify.engine.attempts.attempt import Attempt
from lithify.engine.attempts.journal import Journal
from lithify.engine.attempts.journal_text import check_fields, number_in, text_in, value_of
from lithify.formats.paimon.model import POSTPONED
from lithify.io.file_names import is_file_name

_LONG = (1 << 63) - 1
_INT = (1 << 31) - 1
_MOST_PARTITION_DIGITS = 128 << 10
_MOST_ROOTS = 256
_MOST_URI = 4096
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_HEX = re.compile(r"(?:[0-9a-f]{2})*")


@dataclass(frozen=True, slots=True)
class JournalUnit:
    """One bucket of an attempt, and the names of the files that it replaces or upgrades.

    Attributes:
        partition: the partition as a BinaryRow, in hexadecimal digits.
        bucket: number of the bucket.
        inputs: names of the files; none for a bucket that only gets new files.
        folder: the bucket's directory in the table's folder, for releases that clean up by it. Never used as
            a path here: it may contain anything.
    """

    partition: str
    bucket: int
    inputs: tuple[str, ...]
    folder: str = ""


@dataclass(frozen=True, slots=True)
class ExternalRoots:
    """Directories outside the table's folder into which an attempt writes.

    Unlike that folder they are not copied or moved with its journals, and a copy of a table must not clean up
    files of the original there. Only directories that the table still names are cleaned up.

    Attributes:
        table: the table's folder when the attempt began.
        roots: the directories, as URIs; buckets have the same relative folder as in the table's folder.
    """

    table: str
    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttemptScope:
    """The base snapshot, the buckets and the directories of an attempt.

    Attributes:
        base_snapshot: the newest snapshot when it began.
        base_millis: commit time of that snapshot, to recognise a rolled-back table.
        units: its buckets.
        outside: its directories outside the table's folder.
    """

    base_snapshot: int
    base_millis: int
    units: tuple[JournalUnit, ...]
    outside: ExternalRoots | None = None


PaimonAttempt = Attempt[AttemptScope]
PaimonJournal = Journal[AttemptScope]


class AttemptScopes:
    """The JSON form of scopes; implements `ScopeFormat`."""

    @property
    def fields(self) -> frozenset[str]:
        """The names of the fields."""
        return frozenset(field.name for field in fields(AttemptScope))

    def to_json(self, scope: AttemptScope) -> Mapping[str, Any]:
        """The fields of a scope."""
        return asdict(scope)

    def parse(self, found: Mapping[str, Any]) -> AttemptScope:
        """Parses the fields of a scope.

        Raises:
            ValueError: a field is missing or invalid.
        """
        outside, units = found.get("outside"), value_of(list, found.get("units"), "units")
        return AttemptScope(
            base_snapshot=number_in(found, "base_snapshot", 0, _LONG),
            base_millis=number_in(found, "base_millis", -_LONG, _LONG),
            units=tuple(_unit(value_of(dict, unit, "a unit")) for unit in units),
            outside=None if outside is None else _outside(value_of(dict, outside, "outside")),
        )


def _unit(found: Mapping[str, Any]) -> JournalUnit:
    check_fields(found, JournalUnit.__dataclass_fields__)
    inputs = value_of(list, found.get("inputs"), "inputs")
    if not all(map(is_file_name, inputs)):
        raise ValueError("inputs has what is no name of a file")
    return JournalUnit(
        partition=text_in(found, "partition", _is_partition),
        bucket=POSTPONED if found.get("bucket") == POSTPONED else number_in(found, "bucket", 0, _INT),
        inputs=tuple(inputs),
        folder=text_in(found, "folder", _is_plain) if "folder" in found else "",
    )


def _outside(found: Mapping[str, Any]) -> ExternalRoots:
    check_fields(found, ExternalRoots.__dataclass_fields__)
    roots = value_of(list, found.get("roots"), "roots")
    if len(roots) > _MOST_ROOTS or not all(isinstance(root, str) and _is_plain(root) for root in roots):
        raise ValueError(f"roots are not up to {_MOST_ROOTS} directories")
    return ExternalRoots(text_in(found, "table", _is_plain), tuple(roots))


def _is_partition(text: str) -> bool:
    return len(text) <= _MOST_PARTITION_DIGITS and _HEX.fullmatch(text) is not None


def _is_plain(text: str) -> bool:
    return len(text) <= _MOST_URI and _CONTROL.search(text) is None
