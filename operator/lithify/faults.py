"""Named points at which tests kill a real process, hold it, or make it fail.

Production code calls `failpoint` where a crash or a concurrent writer is most dangerous. The call does
nothing unless LITHIFY_FAULTS is set to `point=action` pairs separated by `;`, with these actions:

    kill          SIGKILL to this process
    raise:ERRNO   an OSError with that number, in the first attempt of a task only
    fill:MIB      allocate that much memory for a moment
    hold:PATH     write to the named pipe PATH.reached as soon as it is read, then wait until PATH.go is
                  written to; if PATH.reached does not exist, or is removed before it was read, go on

The points are in `POINTS`, `CANARY_POINTS`, `CARRYING_POINTS` and `MAINTENANCE_POINTS`; an unknown one in the
environment is an error, so that no test waits for it.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

EVERY_RUN = (
    "planned",
    "journal-written",
    "file-written",
    "tasks-done",
    "prepared",
    "snapshot-written",
    "leftovers-deleted",
    "step-done",
    "condemned",
    "orphans-deleted",
)
"""Points that runs on tables of every format come to, the last two while they clean up after others."""

CANARY_POINTS = ("canary-copied", "canary-compacted", "canary-passed", "canary-branch-deleted")
"""Points of canaries: when the copy is made, when it is compacted, when its rows are known to be the same,
and when its branch is gone but the files that only it named are not."""

POINTS = (*EVERY_RUN, "rows-spilled", "manifests-merged", "manifests-written", "hint-written")
"""All points of runs: also those of merges that are larger than memory, and of formats with manifests and
hints."""

CARRYING_POINTS = ("map-written", "late-deletes-read", "late-deletes-written")
"""Points of runs that carry deletes over which land while they rewrite files: when a task has written its
map, and in each try of the commit."""

EXPIRY_POINTS = (
    "expiry-planned",
    "expired-consumers-deleted",
    "expired-files-deleted",
    "expired-manifests-deleted",
    "expired-lists-deleted",
    "expired-changelog-deleted",
    "changelog-kept",
    "expired-snapshot-deleted",
    "expired-snapshots-deleted",
)
"""Points that an expiry of snapshots comes to, in this order: before it checks its plan, after each phase of
its deletion, after each changelog, before and after each snapshot, and before the hints move."""

TAG_POINTS = ("tags-planned", "tag-created", "tag-deleted")
"""Points that a change of tags comes to: before it checks its plan, after each tag. Files of tags go in the
phases of `EXPIRY_POINTS`."""

ORPHAN_POINTS = ("orphans-planned", "orphans-removed")
"""Points of a removal of orphan files: before it deletes, and after each portion that it has deleted."""

JOURNALED_EXPIRY_POINTS = (
    "expiry-planned",
    "expiry-recorded",
    "expiry-committed",
    "expired-files-deleted",
    "expired-manifests-deleted",
    "expired-lists-deleted",
)
"""Points of an expiry that commits first, in this order: before it begins, when its journal is written, when
the snapshots have left the metadata, and after each phase of its deletion."""

ROLLBACK_POINTS = (
    "rollback-planned",
    "rollback-hint-written",
    "rolled-back-tag-deleted",
    "rolled-back-snapshot-deleted",
    "rolled-back-snapshots-deleted",
)
"""Points that a rollback of a Paimon table comes to, in this order: before it checks its plan, when the
LATEST hint has moved, after each tag and each snapshot, and before it looks for commits of others."""

MAINTENANCE_POINTS = frozenset(
    {*EXPIRY_POINTS, *JOURNALED_EXPIRY_POINTS, *ORPHAN_POINTS, *ROLLBACK_POINTS, *TAG_POINTS}
)
"""All points of maintenance."""

_VARIABLE = "LITHIFY_FAULTS"
_POLL_SECONDS = 0.02


def failpoint(point: str, attempt: int = 0) -> None:
    """Marks a point; `attempt` counts the tries of a task from 0."""
    setting = os.environ.get(_VARIABLE)
    if setting:
        _act(_actions(setting).get(point, ""), attempt)


def _actions(setting: str) -> dict[str, str]:
    actions = dict(pair.split("=", 1) for pair in setting.split(";"))
    unknown = actions.keys() - {*POINTS, *CANARY_POINTS, *CARRYING_POINTS, *MAINTENANCE_POINTS}
    if unknown:
        raise ValueError(f"{_VARIABLE} names unknown points: {sorted(unknown)}")
    return actions


def _act(action: str, attempt: int) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action.startswith("raise:") and attempt == 0:
        number = int(action.removeprefix("raise:"))
        raise OSError(number, f"{os.strerror(number)} ({errno.errorcode[number]}, asked for by {_VARIABLE})")
    elif action.startswith("fill:"):
        _fill(int(action.removeprefix("fill:")) << 20)
    elif action.startswith("hold:"):
        _hold(action.removeprefix("hold:"))


def _hold(path: str) -> None:
    # Never blocks in `open`: who is blocked there is not woken when the pipe is removed.
    with suppress(FileNotFoundError):  # nobody is held here, or no longer
        while not _is_announced(f"{path}.reached"):
            time.sleep(_POLL_SECONDS)
        Path(f"{path}.go").read_text(encoding="utf-8")


def _is_announced(path: str) -> bool:
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return False  # ENXIO: nobody reads
    try:
        return os.write(pipe, b"reached") > 0
    except BrokenPipeError:
        return False
    finally:
        os.close(pipe)


def _fill(size: int) -> None:
    """Makes the process use that many bytes; they must not be zero to be resident."""
    taken = b"x" * size
    del taken
