"""`lithify plan`: what a run would do, and why; nothing is written."""

from __future__ import annotations

from typing import Any

import click

from lithify import library
from lithify.cli.arguments import json_option, strategy_option, table_arguments, table_options
from lithify.cli.output import SOME_BLOCKED, emit
from lithify.cli.render_plan import plan_dict, plan_view
from lithify.formats.registry import group_noun


@click.command()
@table_options
@strategy_option
@json_option
@click.pass_context
def plan(context: click.Context, /, as_json: bool, **options: Any) -> None:
    """Show the plan of a run and the reason for each unit. Nothing is written."""
    arguments = table_arguments(options)
    name, planned = arguments.address.name, library.plan(arguments.address, arguments.selection)
    noun = group_noun(arguments.address.format)
    emit(as_json, plan_dict(name, planned), lambda: plan_view(name, planned, noun))
    if planned is not None and planned.blocks:
        context.exit(SOME_BLOCKED)
