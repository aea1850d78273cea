"""`lithify top`: what compactions have taken, by namespace, policy or table."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from lithify.cli.arguments import json_option
from lithify.cli.cluster_arguments import connection_options
from lithify.cli.output import emit
from lithify.cli.render_top import Payer, UsageReport, report_of, usage_dict, usage_view
from lithify.controller.cluster.client import connect, load_configuration
from lithify.errors import InvalidResource
from lithify.resources.names import LAKE_TABLE
from lithify.resources.reading import read_object
from lithify.resources.table import LakeTable


@click.command()
@connection_options
@click.option(
    "--by",
    type=click.Choice([payer.value for payer in Payer]),
    default=Payer.TABLE.value,
    show_default=True,
    help="What to add up by.",
)
@json_option
def top(as_json: bool, **options: Any) -> None:
    """Show what compactions have taken so far, the most expensive first. Reads LakeTables only."""
    report = asyncio.run(_report(options))
    emit(as_json, usage_dict(report), lambda: usage_view(report))


async def _report(options: dict[str, Any]) -> UsageReport:
    configuration = await load_configuration(options["kubeconfig"], options["context"])
    async with connect(configuration, namespaces=options["namespaces"]) as api:
        bodies = await api.list(LAKE_TABLE)
    tables, unreadable = [], 0
    for body in bodies:
        try:
            table = read_object(LAKE_TABLE, body)
        except InvalidResource:
            unreadable += 1
            continue
        assert isinstance(table, LakeTable)  # noqa: S101  # the kind that was asked for
        tables.append(table)
    return report_of(tables, Payer(options["by"]), unreadable)
