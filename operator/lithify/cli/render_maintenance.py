"""Renders the report of a run of maintenance, for people and as JSON.

Formats name their figures (`dataFiles`): what they are called here follows from these names.
"""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from lithify.amounts import figure_noun, words_of
from lithify.cli.output import number
from lithify.engine.run.maintaining import MaintenanceReport
from lithify.formats.protocol.maintenance import FOREIGN_FILES, MaintenanceKind

_VERBS = {
    MaintenanceKind.MERGE_MANIFESTS: ("rewrote", "would rewrite"),
    MaintenanceKind.EXPIRE_PARTITIONS: ("dropped", "would drop"),
    MaintenanceKind.MANAGE_TAGS: ("changed", "would change"),
    MaintenanceKind.ROLL_BACK: ("undid", "would undo"),
}
_DELETES = ("deleted", "would delete")


def maintenance_view(report: MaintenanceReport, state: str = "") -> RenderableType:
    """What was or would be done, and some of the files.

    Args:
        report: the report.
        state: the table's state after it; empty for the oldest snapshot that is left.
    """
    figures = {name: count for name, count in report.figures.items() if count}
    foreign = figures.pop(FOREIGN_FILES, 0)
    told = ", ".join(number(count, figure_noun(name)) for name, count in figures.items())
    alone = f"; {number(foreign, 'file')} outside of the table's folders left alone" if foreign else ""
    samples = [Text(f"  {path}", "dim") for path in report.samples]
    if not told:
        oldest = "the table has no snapshot" if report.oldest is None else f"the oldest is {report.oldest}"
        line = Text.assemble((report.table, "bold"), f"  nothing to do ({state or oldest}){alone}")
        return Text("\n").join([line, *samples])
    oldest = "" if report.oldest is None else f"; the oldest snapshot that is left is {report.oldest}"
    left = f"; {state}" if state else oldest
    done, would = _VERBS.get(report.kind, _DELETES)
    verb = would if report.is_dry_run else done
    line = Text.assemble((report.table, "bold"), f"  {verb} ", (told, "green"), f"{alone}{left}")
    return Text("\n").join([line, *samples])


def maintenance_dict(report: MaintenanceReport) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "table": report.table,
        "kind": report.kind.value,
        "status": report.status,
        "figures": {words_of(name, "_"): count for name, count in report.figures.items()},
        "oldest_snapshot": report.oldest,
        "samples": [*report.samples],
    }
