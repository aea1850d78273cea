"""`lithify manage-tags`: creates and deletes the tags of a table that are due."""

from __future__ import annotations

from typing import Any

import click

from lithify import library
from lithify.cli.arguments import address_options, json_option, table_address
from lithify.cli.output import emit
from lithify.cli.render_maintenance import maintenance_dict, maintenance_view
from lithify.formats.protocol.maintenance import MaintenanceKind


@click.command("manage-tags")
@address_options
@click.option("--dry-run", is_flag=True, help="Show which tags would be created and deleted; change none.")
@json_option
def manage_tags(as_json: bool, dry_run: bool, **options: Any) -> None:
    """Create and delete tags of a table by its option tag.automatic-creation and their own time."""
    report = library.maintain(table_address(options), MaintenanceKind.MANAGE_TAGS, dry_run=dry_run)
    emit(as_json, maintenance_dict(report), lambda: maintenance_view(report))
