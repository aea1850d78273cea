"""The text of a journal and the names of journals; refuses everything that `journal` does not write.

Called by `journal`. Pure. Anyone who may write to a table's folder can put a journal there, and journals
decide what is deleted. So they contain little: what belongs to the attempt (its prefix, in a fixed form), its
partitions and buckets, and the files that it replaces. `file_locations` derives directories from partitions
and buckets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeVar

from lithify.formats.paimon.layout.file_locations import POSTPONED
from lithify.formats.paimon.names.file_names import (
    PREFIX,
    is_file_name,
    is_prefix,
    shown,
)
from lithify.formats.protocol.model import RUN_ID

T = TypeVar("T")

MOST_CHARACTERS = 256 << 20
"""Characters of a journal: two million inputs."""
_CHARACTERS_AN_OBJECT = 8
"""Minimum of characters per JSON object; a real journal has many times as many on average."""
_FREE_OBJECTS = 1000
_LONG = (1 << 63) - 1
_INT = (1 << 31) - 1
_MOST_ATTEMPTS = 999_999_999
_MOST_PARTITION_DIGITS = 128 << 10
_MOST_ROOTS = 256
_MOST_URI = 4096
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_RUN_ID = re.compile(RUN_ID)
_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_OPEN_NAME = re.compile(rf"(?P<run>{RUN_ID})-(?P<number>[0-9]{{1,9}})\.json")
_COMMITTED_NAME = re.compile(
    rf"(?P<run>{RUN_ID})-(?P<number>[0-9]{{1,9}})"
    rf"\.committed-(?P<snapshot>[0-9]{{1,18}})-(?P<since>[0-9]{{1,11}})-(?P<prefix>{PREFIX})"
)


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
class Attempt:
    """One try of a run.

    Attributes:
        run: id of the run.
        number: counts the attempts of the run from 1.
        prefix: prefix of the UUIDs in the names of all its files, unique to the attempt.
        base_snapshot: the newest snapshot when it began.
        base_millis: commit time of that snapshot, to recognise a rolled-back table.
        started: when the attempt began (ISO 8601 with offset).
        units: its buckets.
        condemned: since when it must not commit, because its files are deleted (ISO 8601 with offset).
        outside: its directories outside the table's folder.
    """

    run: str
    number: int
    prefix: str
    base_snapshot: int
    base_millis: int
    started: str
    units: tuple[JournalUnit, ...]
    condemned: str | None = None
    outside: ExternalRoots | None = None

    @property
    def stem(self) -> str:
        """Common prefix of the names of its journals, up to the first dot."""
        return f"{self.run}-{self.number}"

    def age(self, now: datetime) -> timedelta:
        """Time since it began."""
        return now - datetime.fromisoformat(self.started)

    def condemned_for(self, now: datetime) -> timedelta:
        """Time since it was condemned."""
        return now - datetime.fromisoformat(self.condemned or now.isoformat())


@dataclass(frozen=True, slots=True)
class CommittedName:
    """Parsed journal name of a committed attempt: prefix, snapshot, and time."""

    prefix: str
    snapshot: int
    since: datetime


def is_run_id(run: str) -> bool:
    """Whether a run id can be part of file names."""
    return _RUN_ID.fullmatch(run) is not None


def is_open_name(name: str) -> bool:
    """Whether it is the journal name of an attempt not yet recorded as committed."""
    return _OPEN_NAME.fullmatch(name) is not None


def is_like_a_journal(name: str) -> bool:
    """Whether a name looks like a journal's, genuine or forged."""
    return name.endswith(".json") or ".committed-" in name


def parse_committed_name(name: str) -> CommittedName | None:
    """Parses the journal name of a committed attempt; None for any other name."""
    match = _COMMITTED_NAME.fullmatch(name)
    if match is None:
        return None
    since = datetime.fromtimestamp(int(match["since"]), UTC)
    return CommittedName(match["prefix"], int(match["snapshot"]), since)


def to_json(attempt: Attempt) -> str:
    """The text of a journal."""
    return json.dumps(asdict(attempt), indent=1)


def parse_journal(text: str, name: str) -> Attempt:
    """Parses a journal.

    Args:
        text: text of the file.
        name: name of the file, which identifies the attempt.

    Raises:
        ValueError: it is not a journal, or that of another attempt.
    """
    attempt = _attempt(_object(text))
    if name.partition(".")[0] != attempt.stem:
        raise ValueError(f"it is the journal of {attempt.stem}")
    committed = parse_committed_name(name)
    if committed is not None and committed.prefix != attempt.prefix:
        raise ValueError("its name has another prefix than its text")
    return attempt


def _object(text: str) -> Mapping[str, Any]:
    """Parses JSON, with an object limit derived from the text's size: objects take much more memory."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has {len(text):,} characters")
    objects = text.count("{") + text.count("[")
    if objects > _FREE_OBJECTS + len(text) // _CHARACTERS_AN_OBJECT:
        raise ValueError(f"it has {objects:,} lists and objects in {len(text):,} characters")
    try:
        found = json.loads(text, parse_constant=_refuse, parse_float=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    return _of(dict, found, "it")


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{shown(text)} is no number of a journal")


def _attempt(found: Mapping[str, Any]) -> Attempt:
    _only(found, Attempt)
    condemned = found.get("condemned")
    outside = found.get("outside")
    return Attempt(
        run=_text(found, "run", is_run_id),
        number=_number(found, "number", 1, _MOST_ATTEMPTS),
        prefix=_text(found, "prefix", is_prefix),
        base_snapshot=_number(found, "base_snapshot", 0, _LONG),
        base_millis=_number(found, "base_millis", -_LONG, _LONG),
        started=_text(found, "started", _is_moment),
        units=tuple(_unit(_of(dict, unit, "a unit")) for unit in _of(list, found.get("units"), "units")),
        condemned=None if condemned is None else _text(found, "condemned", _is_moment),
        outside=None if outside is None else _outside(_of(dict, outside, "outside")),
    )


def _unit(found: Mapping[str, Any]) -> JournalUnit:
    _only(found, JournalUnit)
    inputs = _of(list, found.get("inputs"), "inputs")
    if not all(map(is_file_name, inputs)):
        raise ValueError("inputs has what is no name of a file")
    return JournalUnit(
        partition=_text(found, "partition", _is_partition),
        bucket=POSTPONED if found.get("bucket") == POSTPONED else _number(found, "bucket", 0, _INT),
        inputs=tuple(inputs),
        folder=_text(found, "folder", _is_plain) if "folder" in found else "",
    )


def _outside(found: Mapping[str, Any]) -> ExternalRoots:
    _only(found, ExternalRoots)
    roots = _of(list, found.get("roots"), "roots")
    if len(roots) > _MOST_ROOTS or not all(isinstance(root, str) and _is_plain(root) for root in roots):
        raise ValueError(f"roots are not up to {_MOST_ROOTS} directories")
    return ExternalRoots(_text(found, "table", _is_plain), tuple(roots))


def _only(found: Mapping[str, Any], kind: type) -> None:
    """An unknown field may matter to the release that wrote it."""
    unknown = found.keys() - kind.__dataclass_fields__.keys()  # type: ignore[attr-defined]  # a dataclass
    if unknown:
        raise ValueError(f"{shown(min(unknown))} is no field of a journal")


def _of(kind: type[T], value: object, name: str) -> T:
    if not isinstance(value, kind):
        raise ValueError(f"{name} is no {kind.__name__}")  # noqa: TRY004  # of the file, not of an argument
    return value


def _text(found: Mapping[str, Any], name: str, is_right: Callable[[str], bool]) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not is_right(value):
        raise ValueError(f"{name} is {shown(value)}")
    return value


def _number(found: Mapping[str, Any], name: str, low: int, high: int) -> int:
    value = found.get(name)
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} is no number from {low} to {high}")
    return value


def _is_partition(text: str) -> bool:
    return len(text) <= _MOST_PARTITION_DIGITS and _HEX.fullmatch(text) is not None


def _is_plain(text: str) -> bool:
    return len(text) <= _MOST_URI and _CONTROL.search(text) is None


def _is_moment(text: str) -> bool:
    """Whether it is a time with a zone, within a range in which times can be compared."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return False
    return moment.tzinfo is not None and 1970 < moment.year < 9000
