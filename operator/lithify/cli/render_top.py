"""What compactions have taken, added up from the statuses of LakeTables; as text and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lithify.amounts import bytes_text
from lithify.cli.output import number
from lithify.resources.table import LakeTable

_DECIMALS = 3


class Payer(StrEnum):
    """What usage is added up by."""

    NAMESPACE = "namespace"
    POLICY = "policy"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Usage:
    """What the compactions of some tables have taken.

    Attributes:
        namespace: namespace of the LakeTables; empty for all.
        policy: their policy; empty if they are added up over policies.
        table: the LakeTable; empty if several are added up.
        tables: number of tables.
        runs: number of Compactions that ended with a result.
        core_seconds: processor time of drivers and executors, their JVMs included.
        input_bytes: bytes read.
        output_bytes: bytes written.
    """

    namespace: str = ""
    policy: str = ""
    table: str = ""
    tables: int = 0
    runs: int = 0
    core_seconds: float = 0.0
    input_bytes: int = 0
    output_bytes: int = 0


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The report of `lithify top`.

    Attributes:
        payer: what it is added up by.
        usages: the most expensive first.
        total: of all tables.
        unreadable: number of LakeTables that could not be read, and are left out.
    """

    payer: Payer
    usages: tuple[Usage, ...]
    total: Usage
    unreadable: int = 0


def report_of(tables: Iterable[LakeTable], payer: Payer, unreadable: int = 0) -> UsageReport:
    """The usage of some LakeTables, added up."""
    groups: dict[tuple[str, str, str], list[LakeTable]] = {}
    everything = list(tables)
    for table in everything:
        groups.setdefault(_names(table, payer), []).append(table)
    usages = [_sum(members, *names) for names, members in groups.items()]
    usages.sort(key=lambda one: (-one.core_seconds, one.namespace, one.policy, one.table))
    return UsageReport(payer, tuple(usages), _sum(everything), unreadable)


def usage_dict(report: UsageReport) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "by": report.payer.value,
        "usages": [asdict(usage) for usage in report.usages],
        "total": asdict(report.total),
        "unreadable": report.unreadable,
    }


def usage_view(report: UsageReport) -> RenderableType:
    """The report as a table, with a line for the total."""
    if not report.usages:
        return Text("there are no LakeTables" if not report.unreadable else _left_out(report))
    grid = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    names = _columns(report.payer)
    for name in names:
        grid.add_column(name.upper())
    for name in ("RUNS", "CORE-SECONDS", "READ", "WRITTEN"):
        grid.add_column(name, justify="right")
    for usage in report.usages:
        grid.add_row(*(Text(str(getattr(usage, name))) for name in names), *_figures(usage))
    blanks = [""] * (len(names) - 1)
    grid.add_row("total", *blanks, *_figures(report.total), style="bold")
    return Group(grid, *([Text(_left_out(report), "yellow")] if report.unreadable else []))


def _names(table: LakeTable, payer: Payer) -> tuple[str, str, str]:
    """Namespace, policy and table, as far as they tell groups apart."""
    meta, policy = table.metadata, table.spec.policy_ref.name
    if payer is Payer.NAMESPACE:
        return meta.namespace, "", ""
    return meta.namespace, policy, meta.name if payer is Payer.TABLE else ""


def _columns(payer: Payer) -> Sequence[str]:
    columns = {
        Payer.NAMESPACE: ("namespace", "tables"),
        Payer.POLICY: ("namespace", "policy", "tables"),
        Payer.TABLE: ("namespace", "policy", "table"),
    }
    return columns[payer]


def _sum(tables: Sequence[LakeTable], namespace: str = "", policy: str = "", table: str = "") -> Usage:
    usages = [each.status.usage for each in tables]
    return Usage(
        namespace,
        policy,
        table,
        tables=len(tables),
        runs=sum(one.runs for one in usages),
        core_seconds=round(sum(one.core_seconds for one in usages), _DECIMALS),
        input_bytes=sum(one.input_bytes for one in usages),
        output_bytes=sum(one.output_bytes for one in usages),
    )


def _figures(usage: Usage) -> list[str]:
    sizes = (bytes_text(usage.input_bytes), bytes_text(usage.output_bytes))
    return [f"{usage.runs:,}", f"{usage.core_seconds:,.1f}", *sizes]


def _left_out(report: UsageReport) -> str:
    return f"{number(report.unreadable, 'LakeTable')} cannot be read and not counted"
