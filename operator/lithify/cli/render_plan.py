"""Renders a plan, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lithify.amounts import bytes_text
from lithify.cli.output import blocked_lines, number
from lithify.formats.protocol.planning import Plan, WorkUnit
from lithify.formats.protocol.strategy import NO_TRIGGER

_NUMBERS = ("rewrite", "bytes", "upgrade")
"""Columns that are aligned on the right."""
_FIGURES = ("to level", *_NUMBERS)
_REASON = "reason"
_ANY_WIDTH = 10_000
_REASON_WIDTH = 40
"""Characters of a line of reasons below which a table is too narrow for them."""


def plan_view(table: str, plan: Plan | None) -> RenderableType:
    """The units of a plan, each with its reason, how many buckets rest, and which cannot be compacted."""
    if plan is None:
        return Text(f"{table} has no snapshot yet: nothing to do")
    headline = Text.assemble(
        (table, "bold"),
        f"  snapshot {plan.snapshot_id}: {number(len(plan.units), 'bucket')} to compact, "
        f"{bytes_text(sum(unit.read_bytes for unit in plan.units))} to read",
    )
    rests = [Text(f"{number(count, 'bucket')}: {reason}", "dim") for reason, count in plan.resting.items()]
    if plan.deferred:
        rests.append(Text(f"{number(plan.deferred, 'bucket')}: has work, planned when these are done", "dim"))
    if not plan.units and NO_TRIGGER in plan.resting:
        rests.append(Text("lithify inspect shows how far each trigger is from firing", "dim"))
    blocked = blocked_lines([block.told for block in plan.blocks], len(plan.blocks))
    return Group(headline, *([_Units(plan.units)] if plan.units else []), *rests, *blocked)


def plan_dict(table: str, plan: Plan | None) -> dict[str, Any]:
    """The plan as plain data."""
    if plan is None:
        return {"table": table, "snapshot": None, "units": [], "resting": {}, "left": 0, "blocked": []}
    return {
        "table": table,
        "snapshot": plan.snapshot_id,
        "units": [_unit_dict(unit) for unit in plan.units],
        "resting": dict(plan.resting),
        "left": plan.deferred,
        "blocked": [asdict(block.told) for block in plan.blocks],
    }


@dataclass(frozen=True, slots=True)
class _Units:
    """The units of a plan: a table with a row each, or some lines each where a table is too wide."""

    units: Sequence[WorkUnit]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        grid = _table(self.units)
        needed = Measurement.get(console, options.update(max_width=_ANY_WIDTH), grid).minimum
        if needed <= options.max_width:
            yield grid
        else:
            for unit in self.units:
                yield from _lines(unit)


def _table(units: Sequence[WorkUnit]) -> Table:
    """A row a unit; the level only where files have levels. Only reasons are broken into lines."""
    grid = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    rows = [_cells(unit) for unit in units]
    columns = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    for column in columns:
        if column == _REASON:
            grid.add_column(column, min_width=_REASON_WIDTH)
        else:
            width = max(cell_len(str(text)) for text in (column, *(row[column] for row in rows)))
            grid.add_column(column, justify="right" if column in _NUMBERS else "left", width=width)
    for row in rows:
        grid.add_row(*(None if row[column] is None else Text(str(row[column])) for column in columns))
    return grid


def _lines(unit: WorkUnit) -> Iterator[RenderableType]:
    """The bucket, its trigger with the figures, and the reason."""
    cells = _cells(unit)
    yield Text(unit.group.path, overflow="fold")
    figures = [f"{name} {cells[name]}" for name in _FIGURES if cells[name] is not None]
    for text in (", ".join([unit.trigger, *figures]), unit.reason):
        yield Padding(Text(text, "dim"), (0, 0, 0, 2))


def _cells(unit: WorkUnit) -> dict[str, str | None]:
    return {
        "bucket": unit.group.path,
        "trigger": unit.trigger,
        "to level": None if unit.output_level is None else str(unit.output_level),
        "rewrite": number(unit.rewritten_files, "file"),
        "bytes": bytes_text(unit.read_bytes),
        "upgrade": number(unit.upgraded_files, "file"),
        _REASON: unit.reason,
    }


def _unit_dict(unit: WorkUnit) -> dict[str, Any]:
    return {
        "bucket": unit.group.path,
        "trigger": unit.trigger,
        "detail": unit.reason,
        "output_level": unit.output_level,
        "drops_deletes": unit.drop_deletes,
        "bytes": unit.read_bytes,
        "rewrites": [list(names) for names in unit.rewrites],
        "upgrades": list(unit.upgrades),
    }
