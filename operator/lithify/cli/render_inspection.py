"""How an inspection looks in a terminal: a picture of every bucket's levels, and what its triggers say."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lithify.cli.inspection import BucketInspection, Inspection, LevelSummary
from lithify.cli.output import amount, blocked_lines, number

_BLOCK = "▇"
_WIDEST = 40


def inspection_view(inspection: Inspection, limit: int) -> RenderableType:
    """The whole inspection, the busiest buckets first."""
    shown = sorted(inspection.buckets, key=lambda bucket: (-bucket.sorted_runs, bucket.bucket))[:limit]
    parts: list[RenderableType] = [_headline(inspection)]
    parts += [_unsupported(inspection)] if inspection.unsupported else []
    parts += blocked_lines(inspection.blocked, limit)
    parts += [bucket_view(bucket) for bucket in shown]
    hidden = len(inspection.buckets) - len(shown)
    if hidden:
        parts.append(Text(f"… and {number(hidden, 'more bucket')}; --limit shows more", "dim"))
    return Group(*parts)


def bucket_view(bucket: BucketInspection) -> RenderableType:
    """One bucket: its numbers, its levels, its triggers."""
    deletes = "unknown" if bucket.delete_ratio is None else f"{bucket.delete_ratio:.1%}"
    title = Text.assemble(
        ("\n" + bucket.bucket, "bold"),
        f"  {number(bucket.sorted_runs, 'sorted run')}, {number(bucket.files, 'file')}, "
        f"{amount(bucket.bytes)}, {number(bucket.small_files, 'small file')}, deletes {deletes}",
    )
    return Group(title, levels_picture(bucket.levels), _triggers(bucket))


def levels_picture(levels: Sequence[LevelSummary]) -> RenderableType:
    """The non-empty levels as bars, a block a file until they get too many."""
    grid = Table.grid(padding=(0, 2))
    most = max((level.files for level in levels), default=0)
    for level in levels:
        blocks = _BLOCK * max(1, round(level.files * min(1, _WIDEST / most)))
        note = f"{number(level.files, 'file')}, {amount(level.bytes)}, {number(level.rows, 'row')}"
        colour = "yellow" if level.level == 0 else "green"
        grid.add_row(f"  level {level.level}", Text(blocks, colour), Text(note, "dim"))
    return grid


def _headline(inspection: Inspection) -> Text:
    buckets = inspection.buckets
    where = f"snapshot {inspection.snapshot}" if inspection.snapshot else "no snapshot yet"
    due = sum(bucket.due is not None for bucket in buckets)
    return Text.assemble(
        (inspection.table, "bold"),
        f"  {where}, {number(len(buckets), 'bucket')}, "
        f"{number(sum(bucket.files for bucket in buckets), 'file')}, "
        f"{amount(sum(bucket.bytes for bucket in buckets))}, ",
        (f"{number(due, 'bucket')} due for a minor compaction", "yellow" if due else "green"),
    )


def _unsupported(inspection: Inspection) -> Text:
    reasons = "".join(f"\n  {reason}" for reason in inspection.unsupported)
    return Text(f"This release cannot compact it:{reasons}", "red")


def _triggers(bucket: BucketInspection) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for verdict in bucket.triggers:
        says = Text("fires", "yellow") if verdict.fired else Text("quiet", "dim")
        grid.add_row(f"  {verdict.trigger}", says, Text(verdict.detail, "dim"))
    return grid
