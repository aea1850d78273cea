"""`lithify expire`: deletes snapshots that nobody keeps, and the files that only they need."""

from __future__ import annotations

from typing import Any

import click

from lithify import library
from lithify.cli.arguments import address_options, json_option, table_address
from lithify.cli.output import emit
from lithify.cli.render_maintenance import maintenance_dict, maintenance_view
from lithify.formats.protocol.maintenance import MaintenanceKind


@click.command()
@address_options
@click.option("--dry-run", is_flag=True, help="Show what would be deleted; delete nothing.")
@json_option
def expire(as_json: bool, dry_run: bool, **options: Any) -> None:
    """Expire snapshots of a table, by its options of how long they are kept."""
    report = library.maintain(table_address(options), MaintenanceKind.EXPIRE_SNAPSHOTS, dry_run=dry_run)
    emit(as_json, maintenance_dict(report), lambda: maintenance_view(report))
