"""Ids of snapshots, groups and runs, and verdicts of triggers, in any table format."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, NewType, Protocol

from lithify.errors import InvalidOption
from lithify.settings import RUN

SnapshotId = NewType("SnapshotId", str)
"""Id of a snapshot. Only the table's adapter can interpret it; other code compares ids for equality."""

MOST_SNAPSHOT_ID = 64
"""Maximum length of a snapshot id in characters; three 64-bit numbers fit."""

SNAPSHOT_ID = "[A-Za-z0-9._:-]+"
"""Pattern of snapshot ids in every format."""

RUN_ID = "[A-Za-z0-9-]{1,63}"
"""Pattern of run ids, which are part of file names."""


class GroupId(Protocol):
    """Identifies a group of files, the unit of decisions: a partition, or a part of one. Hashable."""

    @property
    def path(self) -> str:
        """Path as shown to people and used in the file system, for example `dt=2026-01-01/bucket-3`."""
        ...

    @property
    def partition(self) -> Hashable:
        """The partition: its typed values, or the adapter's encoding of them; the same for all its groups."""
        ...

    @property
    def division(self) -> int | str | None:
        """What tells the groups of a partition apart: a bucket, a node; None if there is only one."""
        ...


@dataclass(frozen=True, slots=True)
class TriggerVerdict:
    """Whether a trigger makes a group due.

    Attributes:
        trigger: name of the trigger, for example `SortedRuns`.
        fired: whether it makes the group due.
        detail: the numbers behind the answer, as a sentence for people.
    """

    trigger: str
    fired: bool
    detail: str


@dataclass(frozen=True, slots=True)
class BlockedGroup:
    """A group that cannot be compacted while its files stay the same.

    Attributes:
        group: path of the group.
        is_corrupt: whether the files contradict the metadata; False if this release does not support them.
        problem: the file or column at fault and what is wrong with it, as a sentence for people.
        fingerprint: identifies the group's files; see `fingerprint_of`.
    """

    group: str
    is_corrupt: bool
    problem: str
    fingerprint: str

    @classmethod
    def confirmed(cls, group: str, fingerprint: str) -> BlockedGroup:
        """A group that a run has found and that still has the same files; status knows its problem."""
        return cls(group, is_corrupt=True, problem="as found by a run", fingerprint=fingerprint)

    def to_dict(self) -> dict[str, Any]:
        """The group as plain data for JSON, where its path is called `bucket` in every format."""
        fields = asdict(self)
        return {"bucket": fields.pop("group"), **fields}


def check_run_id(run: str) -> None:
    """Checks that the id of a run can be part of file names.

    Raises:
        InvalidOption: it cannot.
    """
    if re.fullmatch(RUN_ID, run) is None:
        raise InvalidOption(RUN, f"'{run}' is not up to 63 letters, digits and dashes")


def is_snapshot_id(text: str) -> bool:
    """Whether a text is a valid snapshot id; used to validate external input."""
    return len(text) <= MOST_SNAPSHOT_ID and re.fullmatch(SNAPSHOT_ID, text) is not None


def fingerprint_of(files: Iterable[tuple[str, int]]) -> str:
    """Identifies a set of data files, given as pairs of name and level: 16 hexadecimal digits."""
    lines = "\n".join(sorted(f"{level}/{name}" for name, level in files))
    return sha256(lines.encode()).hexdigest()[:16]
