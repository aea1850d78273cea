"""Which base files a minor compaction keeps: rows of large ones are deleted by position.

Called by planning. What is small, or has many deleted rows already, is rewritten with the changes, as Amoro's
evaluators of partitions say (fragments, and segments above the duplicate ratio). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from lithify.formats.mixed.file_names import are_moved
from lithify.formats.mixed.trigger_options import MajorOptions
from lithify.formats.mixed.units import KeyedFile, Subtree


@dataclass(frozen=True, slots=True)
class KeepRule:
    """Tells which base files stay.

    Attributes:
        least_size: bytes from which on they may.
        most_deleted: the share of rows that position deletes may have deleted; None for any.
    """

    least_size: int
    most_deleted: float | None

    def keeps(self, each: KeyedFile) -> bool:
        """Whether a base file stays.

        Position deletes that may be about several files count for each of them.
        """
        if each.file.size < self.least_size:
            return False
        deleted = sum(delete.rows for delete in each.file.deletes)
        return self.most_deleted is None or deleted <= self.most_deleted * each.file.rows


def rule_of(options: MajorOptions, *, has_changes: bool) -> KeepRule:
    """The rule for a partition that is due.

    Without changes it is due because of its base files: then those with any deleted rows are rewritten.
    """
    return KeepRule(options.small_file_size, options.most_deleted if has_changes else 0.0)


def with_kept(part: Subtree, rule: KeepRule) -> Subtree:
    """Divides the base files of a subtree into rewritten ones and kept ones.

    Change files that version 0.4 has moved to base never stay: the change store may delete them. Of the files
    that stay, only those are mentioned that are older than a delete.
    """
    moved = are_moved(pa.array([each.file.path for each in part.base], pa.string())).tolist()
    stays = [rule.keeps(each) and not is_moved for each, is_moved in zip(part.base, moved, strict=True)]
    kept = [each for each, is_kept in zip(part.base, stays, strict=True) if is_kept]
    return replace(
        part,
        base=tuple(each for each, is_kept in zip(part.base, stays, strict=True) if not is_kept),
        kept=tuple(each for each in kept if each.transaction < part.last_delete),
    )
