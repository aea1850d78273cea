"""Divides a picked unit's files into those rewritten together and those that change level in metadata.

Called by `plan`. Follows Paimon's `MergeTreeCompactTask` and the rules of `MergeTreeCompactManager` for
dropping deletes. A file is only upgraded if its rows need no change: never to the top level while it may hold
deletes, never while it has expired rows, never when the table requires every file to be rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.merge_tree.sections import Section, partition_sections
from lithify.formats.paimon.planning.universal.levels import Levels


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Adjacent sections that one rolling writer turns into new files of the output level."""

    sections: tuple[Section, ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All input files."""
        return tuple(file for section in self.sections for file in section.files)

    @property
    def size(self) -> int:
        """Bytes of all input files."""
        return sum(section.size for section in self.sections)


@dataclass(frozen=True, slots=True)
class UnitWork:
    """The rewrites and the upgrades of one unit, each in key order."""

    rewrites: tuple[Rewrite, ...]
    upgrades: tuple[DataFile, ...]


def drops_deletes(levels: Levels, output_level: int, policy: MergeTreeOptions) -> bool:
    """Whether deletes may be dropped: no older data lies below the output, or it is deleted there, too."""
    is_lowest = output_level >= levels.highest_non_empty
    return output_level != 0 and (is_lowest or policy.has_vectors)


def work_of_unit(
    files: Iterable[DataFile],
    output_level: int,
    levels: Levels,
    policy: MergeTreeOptions,
    expired_before: int | None = None,
) -> UnitWork:
    """Divides the files of a unit into rewrites and upgrades.

    Files are walked in key order and none is skipped: a large file that overlaps no other ends the rewrite in
    progress, because output before and after it must not come from one writer. Rows with a time before
    `expired_before` (seconds since the epoch) have expired.
    """
    return _Walk(output_level, levels.max_level, policy, expired_before).over(partition_sections(files))


def work_of_top_files(files: Iterable[DataFile]) -> UnitWork:
    """Rewrites each file of the top level separately (Paimon's `FileRewriteCompactTask`)."""
    return UnitWork(tuple(Rewrite((Section(((file,),)),)) for file in files), ())


class _Walk:
    """Gathers candidates for one rewrite and flushes them at every large non-overlapping file."""

    def __init__(
        self, output_level: int, max_level: int, policy: MergeTreeOptions, expired_before: int | None
    ) -> None:
        self._output_level = output_level
        self._to_top = output_level == max_level
        self._policy = policy
        self._expired_before = expired_before
        self._candidates: list[Section] = []
        self._rewrites: list[Rewrite] = []
        self._upgrades: list[DataFile] = []

    def over(self, sections: Iterable[Section]) -> UnitWork:
        for section in sections:
            files = section.files
            if len(section.runs) > 1 or files[0].size < self._policy.small_file_size:
                self._candidates.append(section)
            else:
                self._flush()
                self._upgrade(section)
        self._flush()
        return UnitWork(tuple(self._rewrites), tuple(self._upgrades))

    def _flush(self) -> None:
        if len(self._candidates) == 1 and len(self._candidates[0].runs) == 1:
            self._upgrade(self._candidates[0])
        elif self._candidates:
            self._rewrites.append(Rewrite(tuple(self._candidates)))
        self._candidates = []

    def _upgrade(self, lone: Section) -> None:
        """Upgrades the single file of a section, or rewrites it if a metadata change is not enough."""
        (file,) = lone.files
        if self._needs_rewrite(file):
            self._rewrites.append(Rewrite((lone,)))
        elif file.level != self._output_level:
            self._upgrades.append(file)

    def _needs_rewrite(self, file: DataFile) -> bool:
        """Whether moving a file changes its rows, so that a metadata change is not enough."""
        policy = self._policy
        is_new = file.level == 0
        loses_deletes = self._to_top or (policy.has_vectors and is_new)
        holds_deletes = loses_deletes and file.may_hold_deletes
        must_look_up = is_new and policy.looks_up and not self._to_top
        changes_format = is_new and self._output_level in policy.reformatted
        is_asked_for = policy.force_rewrite or file.has_expired_rows(self._expired_before)
        return holds_deletes or must_look_up or changes_format or is_asked_for
