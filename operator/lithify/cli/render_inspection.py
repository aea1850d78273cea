"""Renders an inspection, for people and as JSON: the figures of every bucket, and what its triggers say.

Figures that only some kinds of tables have, and pictures of the parts of their files, are as the format
declares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lithify.amounts import bytes_text
from lithify.cli.output import blocked_lines, number
from lithify.formats.declarations import Block, Breakdown
from lithify.formats.declared import known_blocks
from lithify.formats.protocol.inspection import GroupBlock, GroupInspection, TableInspection

_BLOCK = "▇"
_WIDEST = 40


def inspection_view(inspection: TableInspection, limit: int, noun: str = "bucket") -> RenderableType:
    """The whole inspection, the busiest groups first; `noun` is what their format calls these."""
    shown = sorted(inspection.groups, key=lambda group: (-_busyness(group), group.group))[:limit]
    parts: list[RenderableType] = [_headline(inspection, noun)]
    parts += [_unsupported(inspection)] if inspection.unsupported else []
    parts += blocked_lines(inspection.blocked, limit)
    parts += [group_view(group) for group in shown]
    hidden = len(inspection.groups) - len(shown)
    if hidden:
        parts.append(Text(f"… and {number(hidden, f'more {noun}')}; --limit shows more", "dim"))
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
    common = {each.name: getattr(group, each.name) for each in fields(group) if each.name != "blocks"}
    of_kind: dict[str, Any] = {}
    for declared, block in _blocks_of(group):
        if declared.breakdown is not None:
            of_kind[declared.breakdown.name] = block.parts
        of_kind |= block.figures
    triggers = [asdict(verdict) for verdict in group.triggers]
    return {"bucket": common.pop("group"), **of_kind, **common, "triggers": triggers}


def group_view(group: GroupInspection) -> RenderableType:
    """One bucket: its numbers, the parts of its files, its triggers."""
    deletes = "unknown" if group.delete_ratio is None else f"{group.delete_ratio:.1%}"
    counts = [*own_counts(group), number(group.files, "file")]
    title = Text.assemble(
        ("\n" + group.group, "bold"),
        f"  {', '.join(counts)}, "
        f"{bytes_text(group.bytes)}, {number(group.small_files, 'small file')}, deletes {deletes}",
    )
    return Group(title, *pictures(group), _triggers(group))


def own_counts(group: GroupInspection) -> list[str]:
    """The figures that only groups of its kind of table have, as people read them."""
    return [
        number(block.figures[figure.name], figure.noun, figure.plural)
        for declared, block in _blocks_of(group)
        for figure in declared.group_figures
    ]


def pictures(group: GroupInspection) -> list[RenderableType]:
    """A picture of the parts of its files, for each block that has parts."""
    return [
        parts_picture(declared.breakdown, block.parts)
        for declared, block in _blocks_of(group)
        if declared.breakdown is not None
    ]


def parts_picture(breakdown: Breakdown, parts: Sequence[Mapping[str, int]]) -> RenderableType:
    """The parts as bars, a block a file until they get too many."""
    grid = Table.grid(padding=(0, 2))
    most = max((part["files"] for part in parts), default=0)
    for part in parts:
        which, files = part[breakdown.part], part["files"]
        blocks = _BLOCK * max(1, round(files * min(1, _WIDEST / most)))
        note = f"{number(files, 'file')}, {bytes_text(part['bytes'])}, {number(part['rows'], 'row')}"
        colour = "yellow" if which == breakdown.unmerged else "green"
        grid.add_row(f"  {breakdown.part} {which}", Text(blocks, colour), Text(note, "dim"))
    return grid


def _busyness(group: GroupInspection) -> int:
    """What the busiest groups have most of: the first figure of their kind, or files where there is none."""
    for declared, block in _blocks_of(group):
        for figure in declared.group_figures[:1]:
            return block.figures[figure.name]
    return group.files


def _blocks_of(group: GroupInspection) -> list[tuple[Block, GroupBlock]]:
    """The blocks of a group with what its format has declared of them."""
    return [(found, group.blocks[name]) for name, found in known_blocks().items() if name in group.blocks]


def _headline(inspection: TableInspection, noun: str) -> Text:
    groups = inspection.groups
    where = f"snapshot {inspection.snapshot}" if inspection.snapshot else "no snapshot yet"
    due = sum(group.due is not None for group in groups)
    return Text.assemble(
        (inspection.table, "bold"),
        f"  {where}, {number(len(groups), noun)}, "
        f"{number(sum(group.files for group in groups), 'file')}, "
        f"{bytes_text(sum(group.bytes for group in groups))}, ",
        (f"{number(due, noun)} due for a minor compaction", "yellow" if due else "green"),
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
