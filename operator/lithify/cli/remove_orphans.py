"""`lithify remove-orphans`: lists files of a table that nothing names, and deletes them with `--delete`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import click

from lithify import library
from lithify.cli.arguments import address_options, json_option, table_address
from lithify.cli.output import emit
from lithify.cli.render_maintenance import maintenance_dict, maintenance_view
from lithify.errors import InvalidOption
from lithify.formats.protocol.maintenance import DEFAULT_SETTINGS, MaintenanceKind, MaintenanceSettings
from lithify.settings import ORPHAN_AGE

_AGE = re.compile(r"\s*([0-9]{1,6})\s*(d|h)\s*", re.ASCII)


@click.command()
@address_options
@click.option(
    "--older-than",
    default=f"{DEFAULT_SETTINGS.orphan_age.days}d",
    show_default=True,
    metavar="AGE",
    help="Only files that were written so long ago, as 3d or 36h; at least a day.",
)
@click.option(
    "--most-share",
    type=float,
    default=DEFAULT_SETTINGS.most_share,
    show_default=True,
    help="Delete nothing if this share of the table's files or bytes would go.",
)
@click.option("--delete", is_flag=True, help="Delete the files. Without it they are only listed.")
@json_option
def remove_orphans(as_json: bool, delete: bool, older_than: str, most_share: float, **options: Any) -> None:
    """List files in a table's folder that no snapshot, tag or branch names; with --delete, delete them."""
    settings = MaintenanceSettings(orphan_age=_age(older_than), most_share=most_share)
    address = table_address(options)
    report = library.maintain(address, MaintenanceKind.REMOVE_ORPHANS, settings, dry_run=not delete)
    emit(as_json, maintenance_dict(report), lambda: maintenance_view(report))


def _age(text: str) -> timedelta:
    found = _AGE.fullmatch(text)
    if found is None:
        raise InvalidOption(ORPHAN_AGE, f"'{text}' is no age such as 3d or 36h")
    number = int(found[1])
    return timedelta(days=number) if found[2] == "d" else timedelta(hours=number)
