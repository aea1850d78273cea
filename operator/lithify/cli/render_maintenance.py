"""Renders the report of a run of maintenance, for people and as JSON.

Formats name their figures (`dataFiles`): what they are called here follows from these names.
"""

from __future__ import annotations

import re
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from lithify.cli.output import number
from lithify.engine.run.maintaining import MaintenanceReport
from lithify.formats.protocol.maintenance import MaintenanceKind

_CAPITAL = re.compile(r"(?=[A-Z])")


_VERBS = {
    MaintenanceKind.MERGE_MANIFESTS: ("rewrote", "would rewrite"),
    MaintenanceKind.EXPIRE_PARTITIONS: ("dropped", "would drop"),
    MaintenanceKind.MANAGE_TAGS: ("changed", "would change"),
}
_DELETES = ("deleted", "would delete")


def maintenance_view(report: MaintenanceReport) -> RenderableType:
    """What was or would be done, the oldest snapshot that is left, and some of the files."""
    told = ", ".join(_amount(name, count) for name, count in report.figures.items() if count)
    if not told:
        left = "the table has no snapshot" if report.oldest is None else f"the oldest is {report.oldest}"
        return Text.assemble((report.table, "bold"), f"  nothing to do ({left})")
    left = "" if report.oldest is None else f"; the oldest snapshot that is left is {report.oldest}"
    done, would = _VERBS.get(report.kind, _DELETES)
    verb = would if report.is_dry_run else done
    line = Text.assemble((report.table, "bold"), f"  {verb} ", (told, "green"), left)
    return Text("\n").join([line, *(Text(f"  {path}", "dim") for path in report.samples)])


def maintenance_dict(report: MaintenanceReport) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "table": report.table,
        "kind": report.kind.value,
        "status": report.status,
        "figures": {_spelled(name, "_"): count for name, count in report.figures.items()},
        "oldest_snapshot": report.oldest,
        "samples": [*report.samples],
    }


def _amount(name: str, count: int) -> str:
    return number(count, _spelled(name, " ").removesuffix("s"))


def _spelled(name: str, joint: str) -> str:
    """A name in camelCase with its words apart."""
    return joint.join(_CAPITAL.split(name)).lower()
