"""`lithify merge-manifests`: rewrites many small manifests of a table as few sorted ones."""

from __future__ import annotations

from typing import Any

import click

from lithify import library
from lithify.cli.arguments import address_options, json_option, table_address
from lithify.cli.output import emit
from lithify.cli.render_maintenance import maintenance_dict, maintenance_view
from lithify.formats.protocol.maintenance import MaintenanceKind


@click.command("merge-manifests")
@address_options
@click.option("--dry-run", is_flag=True, help="Show what would be rewritten; write nothing.")
@json_option
def merge_manifests(as_json: bool, dry_run: bool, **options: Any) -> None:
    """Merge the manifests of a table, so that its readers plan faster."""
    report = library.maintain(table_address(options), MaintenanceKind.MERGE_MANIFESTS, dry_run=dry_run)
    emit(as_json, maintenance_dict(report), lambda: maintenance_view(report))
