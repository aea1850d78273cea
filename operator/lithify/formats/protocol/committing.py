"""Committing to a table in any format: steps, each committed together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lithify.clock import Clock
from lithify.formats.protocol.details import DetailKind
from lithify.formats.protocol.results import Block, StepOutcome, TaskResult
from lithify.formats.protocol.tasks import Task


class CommitStep(Protocol):
    """The part of a run that is committed together. From `begin` on, a later run can find all of its files.

    Order of calls: run `tasks`, run `followers`, then `finish`, `commit` and `clean`; or `give_up` at any
    time before `commit` returns.
    """

    has_stragglers: bool
    """Whether a task may still be running somewhere; set by the run."""

    @property
    def number(self) -> int:
        """Number of the step in its run, counting steps before a restart."""
        ...

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks of the step."""
        ...

    def beat(self) -> None:
        """Writes a heartbeat."""
        ...

    def stop_lost(self) -> None:
        """Stops the tasks of groups that others have changed; does nothing where the format cannot tell.

        Called now and then while tasks run. Such groups are conflicts of the step's outcome.
        """
        ...

    def followers(self, results: Sequence[TaskResult]) -> Sequence[Task]:
        """Tasks to run after all of `tasks` are done."""
        ...

    def finish(self, results: Sequence[TaskResult], followed: Sequence[TaskResult]) -> Sequence[Block]:
        """Accepts the tasks' results; returns the groups that their tasks found to be blocked.

        Raises:
            LithifyError: a task failed for a reason that affects more than its own group.
        """
        ...

    def commit(self, to_come: int) -> StepOutcome:
        """Commits the step; `to_come` is the number of groups of the run's plan not yet begun.

        Raises:
            CommitUnknown: it cannot be determined whether the commit succeeded.
            CommitOutrun: every try lost to a concurrent commit.
        """
        ...

    def clean(self) -> Sequence[str]:
        """Deletes uncommitted files and the step's records; returns why something could not be deleted."""
        ...

    def give_up(self) -> None:
        """Ends a step that can no longer be committed."""
        ...


class CommittedTable(Protocol):
    """How work on a table is committed."""

    @property
    def reported(self) -> Sequence[DetailKind]:
        """The details that reports of its groups have."""
        ...

    def check_again(self, units: Sequence[Any]) -> Mapping[Any, str]:
        """Groups whose units can no longer be committed, with the reason."""
        ...

    def begin(
        self, plan: Any, tasks: Mapping[Any, Sequence[Any]], run: str, after: int, clock: Clock
    ) -> CommitStep:
        """Begins a step with all units of a plan; `after` is the number of the run's last step."""
        ...
