"""`lithify inspect`: shows the files of a table by bucket, and what each trigger says about them."""

from __future__ import annotations

from typing import Any

import click

from lithify import library
from lithify.cli.arguments import json_option, table_arguments, table_options
from lithify.cli.output import SOME_BLOCKED, emit
from lithify.cli.render_inspection import inspection_dict, inspection_view
from lithify.formats.registry import group_noun


@click.command()
@table_options
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Number of buckets to show, the busiest first.",
)
@json_option
@click.pass_context
def inspect(context: click.Context, /, limit: int, as_json: bool, **options: Any) -> None:
    """Show partitions, buckets, levels, sorted runs, small files, deletes and triggers."""
    arguments = table_arguments(options)
    address = arguments.address
    inspection = library.inspect(address, arguments.selection)
    emit(
        as_json,
        inspection_dict(inspection),
        lambda: inspection_view(inspection, limit, group_noun(address.format)),
    )
    if inspection.blocked:
        context.exit(SOME_BLOCKED)
