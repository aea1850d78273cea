"""`lithify expire-partitions`: drops partitions that are older than their table keeps them."""

from __future__ import annotations

from typing import Any

import click

from lithify import library
from lithify.cli.arguments import address_options, json_option, table_address
from lithify.cli.output import emit
from lithify.cli.render_maintenance import maintenance_dict, maintenance_view
from lithify.formats.protocol.maintenance import MaintenanceKind


@click.command("expire-partitions")
@address_options
@click.option("--dry-run", is_flag=True, help="Show which partitions would be dropped; drop none.")
@json_option
def expire_partitions(as_json: bool, dry_run: bool, **options: Any) -> None:
    """Drop partitions of a table that are due by its option partition.expiration-time."""
    report = library.maintain(table_address(options), MaintenanceKind.EXPIRE_PARTITIONS, dry_run=dry_run)
    emit(as_json, maintenance_dict(report), lambda: maintenance_view(report))
