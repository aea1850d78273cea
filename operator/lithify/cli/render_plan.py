"""How a plan looks, for people and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lithify.cli.output import amount, blocked_lines, number
from lithify.planning.merge_tree.plan import Unit
from lithify.tables.paimon.primary_key.planning import RunPlan
from lithify.tables.paimon.table import PaimonTable


def plan_view(table: PaimonTable, plan: RunPlan | None) -> RenderableType:
    """The units of a plan, each with its reason, how many buckets rest, and which cannot be compacted."""
    if plan is None:
        return Text(f"{table.name} has no snapshot yet: nothing to do")
    headline = Text.assemble(
        (table.name, "bold"),
        f"  snapshot {plan.view.snapshot_id}: {number(len(plan.units), 'bucket')} to compact, "
        f"{amount(sum(unit.read_bytes for unit in plan.units))} to read",
    )
    grid = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("bucket", "trigger", "to level", "rewrite", "bytes", "upgrade", "reason"):
        grid.add_column(column, justify="right" if column in ("rewrite", "bytes", "upgrade") else "left")
    for unit in plan.units:
        grid.add_row(*_cells(unit))
    rests = [Text(f"{number(count, 'bucket')}: {reason}", "dim") for reason, count in _rests(plan).items()]
    blocked = blocked_lines(plan.blocked, len(plan.blocked))
    return Group(headline, *([grid] if plan.units else []), *rests, *blocked)


def plan_dict(table: PaimonTable, plan: RunPlan | None) -> dict[str, Any]:
    """The plan as plain data."""
    if plan is None:
        return {"table": table.name, "snapshot": None, "units": [], "resting": {}, "blocked": []}
    return {
        "table": table.name,
        "snapshot": plan.view.snapshot_id,
        "units": [_unit_dict(unit) for unit in plan.units],
        "resting": _rests(plan),
        "blocked": [asdict(bucket) for bucket in plan.blocked],
    }


def _cells(unit: Unit) -> list[RenderableType]:
    rewritten = sum(len(rewrite.files) for rewrite in unit.work.rewrites)
    return [
        Text(str(unit.bucket)),
        unit.verdict.trigger.value,
        str(unit.output_level),
        number(rewritten, "file"),
        amount(unit.read_bytes),
        number(len(unit.work.upgrades), "file"),
        Text(unit.verdict.detail),
    ]


def _unit_dict(unit: Unit) -> dict[str, Any]:
    return {
        "bucket": str(unit.bucket),
        **{key: value for key, value in asdict(unit.verdict).items() if key != "fired"},
        "output_level": unit.output_level,
        "drops_deletes": unit.drop_deletes,
        "bytes": unit.read_bytes,
        "rewrites": [[file.name for file in rewrite.files] for rewrite in unit.work.rewrites],
        "upgrades": [file.name for file in unit.work.upgrades],
    }


def _rests(plan: RunPlan) -> dict[str, int]:
    return dict(Counter(rest.reason for rest in plan.rests))
