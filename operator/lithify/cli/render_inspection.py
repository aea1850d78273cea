"""Renders an inspection, for people and as JSON: the levels of every bucket, and what its triggers say.

What is common to all kinds of tables comes first; a kind without levels has no picture of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lithify.amounts import bytes_text
from lithify.cli.output import blocked_lines, number
from lithify.formats.protocol.inspection import GroupInspection, LevelSummary, TableInspection

_BLOCK = "▇"
_WIDEST = 40


def inspection_view(inspection: TableInspection, limit: int) -> RenderableType:
    """The whole inspection, the busiest buckets first."""
    shown = sorted(inspection.groups, key=lambda group: (-_busyness(group), group.group))[:limit]
    parts: list[RenderableType] = [_headline(inspection)]
    parts += [_unsupported(inspection)] if inspection.unsupported else []
    parts += blocked_lines(inspection.blocked, limit)
    parts += [group_view(group) for group in shown]
    hidden = len(inspection.groups) - len(shown)
    if hidden:
        parts.append(Text(f"… and {number(hidden, 'more bucket')}; --limit shows more", "dim"))
    return Group(*parts)


def inspection_dict(inspection: TableInspection) -> dict[str, Any]:
    """The inspection as plain data."""
    return {
        "table": inspection.table,
        "snapshot": inspection.snapshot,
        "primary_key": inspection.primary_key,
        "partition_keys": inspection.partition_keys,
        "unsupported": inspection.unsupported,
        "buckets": [_group_dict(group) for group in inspection.groups],
        "blocked": [group.to_dict() for group in inspection.blocked],
    }


def _group_dict(group: GroupInspection) -> dict[str, Any]:
    """A group, with the figures of its kind of table beside the common ones."""
    common = asdict(group)
    return {"bucket": common.pop("group"), **(common.pop("merge_tree") or {}), **common}


def group_view(group: GroupInspection) -> RenderableType:
    """One bucket: its numbers, its levels, its triggers."""
    deletes = "unknown" if group.delete_ratio is None else f"{group.delete_ratio:.1%}"
    tree = group.merge_tree
    runs = "" if tree is None else f"{number(tree.sorted_runs, 'sorted run')}, "
    title = Text.assemble(
        ("\n" + group.group, "bold"),
        f"  {runs}{number(group.files, 'file')}, "
        f"{bytes_text(group.bytes)}, {number(group.small_files, 'small file')}, deletes {deletes}",
    )
    levels = [] if tree is None else [levels_picture(tree.levels)]
    return Group(title, *levels, _triggers(group))


def levels_picture(levels: Sequence[LevelSummary]) -> RenderableType:
    """The non-empty levels as bars, a block a file until they get too many."""
    grid = Table.grid(padding=(0, 2))
    most = max((level.files for level in levels), default=0)
    for level in levels:
        blocks = _BLOCK * max(1, round(level.files * min(1, _WIDEST / most)))
        note = f"{number(level.files, 'file')}, {bytes_text(level.bytes)}, {number(level.rows, 'row')}"
        colour = "yellow" if level.level == 0 else "green"
        grid.add_row(f"  level {level.level}", Text(blocks, colour), Text(note, "dim"))
    return grid


def _busyness(group: GroupInspection) -> int:
    """What the busiest groups have most of: sorted runs, or files where there are none."""
    return group.files if group.merge_tree is None else group.merge_tree.sorted_runs


def _headline(inspection: TableInspection) -> Text:
    groups = inspection.groups
    where = f"snapshot {inspection.snapshot}" if inspection.snapshot else "no snapshot yet"
    due = sum(group.due is not None for group in groups)
    return Text.assemble(
        (inspection.table, "bold"),
        f"  {where}, {number(len(groups), 'bucket')}, "
        f"{number(sum(group.files for group in groups), 'file')}, "
        f"{bytes_text(sum(group.bytes for group in groups))}, ",
        (f"{number(due, 'bucket')} due for a minor compaction", "yellow" if due else "green"),
    )


def _unsupported(inspection: TableInspection) -> Text:
    reasons = "".join(f"\n  {reason}" for reason in inspection.unsupported)
    return Text(f"This release cannot compact it:{reasons}", "red")


def _triggers(group: GroupInspection) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for verdict in group.triggers:
        says = Text("fires", "yellow") if verdict.fired else Text("quiet", "dim")
        grid.add_row(f"  {verdict.trigger}", says, Text(verdict.detail, "dim"))
    return grid
