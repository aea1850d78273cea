"""Isolates the errors of single groups, so that the other groups are still compacted.

Used by planners and steps of adapters. An error about the files of one group blocks only that group. Every
other error (the store, the catalog, memory, the whole table) propagates and ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from lithify.engine.tasks.blocked_groups import GROUP_ERRORS, GroupError, blocked_group
from lithify.errors import MissingFile
from lithify.formats.protocol.model import GroupId
from lithify.formats.protocol.results import Block

Group = TypeVar("Group", bound=GroupId)


class FailedGroups(Generic[Group]):
    """Collects the errors of groups while they are planned or rewritten.

    Attributes:
        errors: the error of each group that failed.

    Args:
        table: the table's name.
        fingerprint: the fingerprint of all files of a group in the snapshot that was planned on.
        has_moved_on: whether the newest snapshot has a group without the missing file.
    """

    def __init__(
        self,
        table: str,
        fingerprint: Callable[[Group], str],
        has_moved_on: Callable[[Group, MissingFile], bool],
    ) -> None:
        self._table = table
        self._fingerprint = fingerprint
        self._has_moved_on = has_moved_on
        self.errors: dict[Group, GroupError] = {}

    @contextmanager
    def isolate(self, group: Group) -> Iterator[None]:
        """Records an error about the group's files instead of raising it; other errors propagate."""
        try:
            yield
        except GROUP_ERRORS as error:
            # A missing file takes precedence: it may only mean that the group has changed.
            if group not in self.errors or isinstance(error, MissingFile):
                self.errors[group] = error

    def sorted_out(self) -> tuple[tuple[Block, ...], dict[Group, str]]:
        """The blocked groups in path order, and the groups in conflict with the reason.

        A group is in conflict if its missing file is not in the newest snapshot either: another writer has
        compacted the group and expired the file.
        """
        conflicts = {
            group: f"{error.path} was compacted and expired by others"
            for group, error in self.errors.items()
            if isinstance(error, MissingFile) and self._has_moved_on(group, error)
        }
        blocked = sorted(self.errors.keys() - conflicts.keys(), key=lambda group: group.path)
        return tuple(self._block(group) for group in blocked), conflicts

    def _block(self, group: Group) -> Block:
        error = self.errors[group]
        told = blocked_group(self._table, group.path, error, self._fingerprint(group))
        return Block(group, error, told)
