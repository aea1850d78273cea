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

_CAPITAL = re.compile(r"(?=[A-Z])")


def maintenance_view(report: MaintenanceReport) -> RenderableType:
    """One line: what was or would be deleted, and the oldest snapshot that is left."""
    told = ", ".join(_amount(name, count) for name, count in report.figures.items() if count)
    if not told:
        left = "the table has no snapshot yet" if report.oldest is None else f"the oldest is {report.oldest}"
        return Text.assemble((report.table, "bold"), f"  nothing to do: no snapshot may expire now ({left})")
    verb = "would delete" if report.is_dry_run else "deleted"
    left = f"; the oldest snapshot that is left is {report.oldest}"
    return Text.assemble((report.table, "bold"), f"  {verb} ", (told, "green"), left)


def maintenance_dict(report: MaintenanceReport) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "table": report.table,
        "status": report.status,
        "deleted": {_spelled(name, "_"): count for name, count in report.figures.items()},
        "oldest_snapshot": report.oldest,
    }


def _amount(name: str, count: int) -> str:
    return number(count, _spelled(name, " ").removesuffix("s"))


def _spelled(name: str, joint: str) -> str:
    """A name in camelCase with its words apart."""
    return joint.join(_CAPITAL.split(name)).lower()
