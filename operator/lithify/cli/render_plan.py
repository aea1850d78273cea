"""Renders a plan, for people and as JSON.

Details stand where they belong by their kind: attributes beside the trigger, amounts beside the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lithify.amounts import bytes_text
from lithify.cli.output import blocked_lines, number
from lithify.formats.protocol.details import Detail, as_fields
from lithify.formats.protocol.planning import Plan, WorkUnit
from lithify.formats.protocol.strategy import NO_TRIGGER

_TRIGGER, _REASON = "trigger", "reason"
_ANY_WIDTH = 10_000
_REASON_WIDTH = 40
"""Characters of a line of reasons below which a table is too narrow for them."""


def plan_view(table: str, plan: Plan | None, noun: str) -> RenderableType:
    """The units of a plan, each with its reason, how many groups rest, and which cannot be compacted.

    Args:
        table: the table's name.
        plan: the plan; None if the table has no snapshot.
        noun: what the format calls a group.
    """
    if plan is None:
        return Text(f"{table} has no snapshot yet: nothing to do")
    headline = Text.assemble(
        (table, "bold"),
        f"  snapshot {plan.snapshot_id}: {number(len(plan.units), noun)} to compact, "
        f"{bytes_text(sum(unit.read_bytes for unit in plan.units))} to read",
    )
    rests = [Text(f"{number(count, noun)}: {reason}", "dim") for reason, count in plan.resting.items()]
    if plan.deferred:
        rests.append(Text(f"{number(plan.deferred, noun)}: has work, planned when these are done", "dim"))
    if not plan.units and NO_TRIGGER in plan.resting:
        rests.append(Text("lithify inspect shows how far each trigger is from firing", "dim"))
    blocked = blocked_lines([block.told for block in plan.blocks], len(plan.blocks), noun)
    return Group(headline, *([_Units(plan.units, noun)] if plan.units else []), *rests, *blocked)


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
        "blocked": [block.told.to_dict() for block in plan.blocks],
    }


@dataclass(frozen=True, slots=True)
class _Units:
    """The units of a plan: a table with a row each, or some lines each where a table is too wide."""

    units: Sequence[WorkUnit]
    noun: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        grid = _table(self.units, self.noun)
        needed = Measurement.get(console, options.update(max_width=_ANY_WIDTH), grid).minimum
        if needed <= options.max_width:
            yield grid
        else:
            for unit in self.units:
                yield from _lines(unit)


def _table(units: Sequence[WorkUnit], noun: str) -> Table:
    """A row a unit; a detail that no unit has gets no column. Only reasons are broken into lines."""
    grid = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    rows = [{noun: unit.group.path, **_cells(unit)} for unit in units]
    names = {name: None for row in rows for name in row}
    columns = [name for name in names if any(row.get(name) is not None for row in rows)]
    amounts = {name for unit in units for name in _amounts(unit)}
    for column in columns:
        if column == _REASON:
            grid.add_column(column, min_width=_REASON_WIDTH)
        else:
            width = max(cell_len(str(text)) for text in (column, *(row.get(column) for row in rows)))
            grid.add_column(column, justify="right" if column in amounts else "left", width=width)
    for row in rows:
        texts = (row.get(column) for column in columns)
        grid.add_row(*(None if text is None else Text(text) for text in texts))
    return grid


def _lines(unit: WorkUnit) -> Iterator[RenderableType]:
    """The group, its trigger with the figures, and the reason."""
    cells = _cells(unit)
    yield Text(unit.group.path, overflow="fold")
    figures = [f"{name} {text}" for name, text in cells.items() if text and name not in (_TRIGGER, _REASON)]
    for text in (", ".join([unit.trigger, *figures]), unit.reason):
        yield Padding(Text(text, "dim"), (0, 0, 0, 2))


def _cells(unit: WorkUnit) -> dict[str, str | None]:
    return {
        _TRIGGER: unit.trigger,
        **_texts(_attributes(unit.details)),
        **_amounts(unit),
        _REASON: unit.reason,
    }


def _amounts(unit: WorkUnit) -> dict[str, str | None]:
    """The figures that add up; their columns are aligned on the right."""
    own = {"rewrite": number(unit.rewritten_files, "file"), "bytes": bytes_text(unit.read_bytes)}
    return {**own, **_texts(_summed(unit.details))}


def _attributes(details: Sequence[Detail]) -> list[Detail]:
    return [detail for detail in details if not detail.kind.total]


def _summed(details: Sequence[Detail]) -> list[Detail]:
    return [detail for detail in details if detail.kind.total]


def _texts(details: Sequence[Detail]) -> Mapping[str, str | None]:
    """The details that people see, by their labels."""
    return {detail.kind.label: detail.text for detail in details if detail.kind.label}


def _unit_dict(unit: WorkUnit) -> dict[str, Any]:
    return {
        "bucket": unit.group.path,
        "trigger": unit.trigger,
        "detail": unit.reason,
        **as_fields(_attributes(unit.details)),
        "bytes": unit.read_bytes,
        "rewrites": [list(names) for names in unit.rewrites],
        **as_fields(_summed(unit.details)),
    }
