"""`lithify rollback`: makes an older snapshot the newest one again, and says whose commits that undoes."""

from __future__ import annotations

from typing import Any

import click

from lithify import library
from lithify.cli.arguments import address_options, json_option, table_address
from lithify.cli.output import emit
from lithify.cli.render_maintenance import maintenance_dict, maintenance_view
from lithify.errors import CommitsWouldBeLost, InvalidOption, with_message
from lithify.formats.protocol.maintenance import MaintenanceKind, MaintenanceSettings
from lithify.formats.protocol.model import SnapshotId


@click.command()
@address_options
@click.option("--to", "snapshot", required=True, metavar="ID", help="The snapshot to go back to.")
@click.option(
    "--lose-commits",
    is_flag=True,
    help="Undo commits of writers, too, and not only compactions: they are lost.",
)
@click.option("--dry-run", is_flag=True, help="Show the commits that would be undone; change nothing.")
@json_option
def rollback(as_json: bool, dry_run: bool, lose_commits: bool, snapshot: str, **options: Any) -> None:
    """Roll a table back to an earlier snapshot; later snapshots are undone."""
    if options["overrides"]:
        raise InvalidOption("--option", "a rollback takes no table options")
    settings = MaintenanceSettings(snapshot=SnapshotId(snapshot.strip()), loses_commits=lose_commits)
    kind = MaintenanceKind.ROLL_BACK
    try:
        report = library.maintain(table_address(options), kind, settings, dry_run=dry_run)
    except CommitsWouldBeLost as error:
        raise with_message(error, f"{error}; to lose them, give --lose-commits") from error
    verb = "would be" if dry_run and report.status != "NothingToDo" else "is"
    state = f"snapshot {snapshot} {verb} the newest one"
    emit(as_json, maintenance_dict(report), lambda: maintenance_view(report, state))
