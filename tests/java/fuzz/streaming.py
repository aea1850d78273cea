"""Streaming readers of random histories: consumers, changelogs that outlive snapshots, and what streams give.

Called by `drawing` and `playing`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random

from infrastructure.oracle.client import Oracle, Table
from java.fuzz.engines import PARTIAL_UPDATE, is_associative
from java.fuzz.expiring import expires
from java.fuzz.history import (
    Alter,
    Branch,
    Consume,
    Expire,
    FastForward,
    History,
    JavaCompacts,
    Rescale,
    RollBack,
    Step,
    Write,
    with_beside,
)
from support.comparing.streams import Stream, audit_log, first_of_stream, in_any_order

CONSUMER = "reader"
DECOUPLED = "changelog.num-retained.min"
_RETAINED = 50
"""More than Paimon retains of snapshots, and than a history has."""
_IGNORED = "changelog-producer.row-deduplicate-ignore-fields"


def draw_readers(random: Random, steps: Sequence[Step]) -> tuple[dict[str, str], Sequence[Step]]:
    """Options of changelogs that outlive their snapshots, and steps in between of a reader; often neither.

    A branch has snapshots, consumers and changelogs of its own.
    """
    if any(isinstance(step, Branch | FastForward) for step in steps):
        return {}, steps
    options = {DECOUPLED: f"{_RETAINED}"} if random.random() < 0.2 else {}
    taken = [*steps]
    if random.random() < 0.3:
        for _ in range(random.choice([1, 2, 3])):
            taken.insert(random.randint(1, len(steps)), Consume(random.choice([1, 1, 2, None])))
    return options, taken


def is_decoupled(options: Mapping[str, str]) -> bool:
    """Whether changelogs outlive their snapshots."""
    return DECOUPLED in options


def assert_streams_agree(oracle: Oracle, ours: Table, java: Table, newest: int) -> None:
    """Readers of both tables get the same, whoever compacted: from a stream, the audit log, or its stream.

    A stream begins where the consumer stands, if there is one, else after the newest snapshot from before.
    Java compacts in one commit, we in one or in some; up to there, the tables have the same snapshots.
    """
    begin = _position(ours)
    start = newest + 1 if begin is None else min(begin, newest + 1)
    for mine, theirs in ((ours, java), (audit_log(ours), audit_log(java))):
        of_ours, of_java = (oracle.changelog(table, from_snapshot=start) for table in (mine, theirs))
        assert _by_commit(of_ours, newest) == _by_commit(of_java, newest)
    assert oracle.read(audit_log(ours)) == oracle.read(audit_log(java))


def _by_commit(stream: Stream, newest: int) -> Stream:
    """The rows of each snapshot; all that come after the newest one are those of the next."""
    found: Stream = {snapshot: rows for snapshot, rows in stream.items() if snapshot <= newest}
    rest = [row for snapshot, rows in stream.items() if snapshot > newest for row in rows]
    return {**found, **({newest + 1: in_any_order(rest)} if rest else {})}


def _position(table: Table) -> int | None:
    """The next snapshot of the consumer, if there is one."""
    progress = table.folder / "consumer" / f"consumer-{CONSUMER}"
    return int(json.loads(progress.read_text())["nextSnapshot"]) if progress.exists() else None


class Kept:
    """What a stream of a table gives before snapshots expire, and must give after that.

    Args:
        oracle: reads it.
        table: the table.
    """

    def __init__(self, oracle: Oracle, table: Table) -> None:
        self._oracle = oracle
        self._table = table
        self._start = first_of_stream(oracle, table)
        self._before = self._stream()

    def check(self) -> None:
        """Asserts that no event is missing."""
        assert self._stream() == self._before

    def _stream(self) -> Stream:
        return {} if self._start is None else self._oracle.changelog(self._table, from_snapshot=self._start)


def is_replayable(history: History) -> bool:
    """Whether all changes since the first snapshot, one by one, must make the rows of the table.

    An overwrite changes rows, and a rollback takes changes back, without an event. Columns that are not
    compared may be old, and rows that expire are not deleted. The top level of some compactions of Java is
    lower than that of the table, so that a later one takes its rows for new. Readers merge the rows of a
    partial update once more, which changes them where it is not associative, with Java alone as well.
    """
    options, steps = history.options, with_beside(history.steps)
    is_logged = options.get("changelog-producer") in ("lookup", "full-compaction")
    if not is_logged or _IGNORED in options or expires(options):
        return False
    if options.get("merge-engine") == PARTIAL_UPDATE and not is_associative(options):
        return False
    if any(isinstance(step, Rescale | RollBack | Branch | JavaCompacts) for step in steps):
        return False
    if any(isinstance(step, Write) and step.overwrites for step in steps):
        return False
    if any("set_option" not in c for step in steps if isinstance(step, Alter) for c in step.changes):
        return False
    return is_decoupled(options) or not any(isinstance(step, Expire) for step in steps)
