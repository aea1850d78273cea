"""`lithify compact`: one run, on Spark."""

from __future__ import annotations

from typing import Any

import click

from lithify import library
from lithify.cli.arguments import json_option, pairs, size, strategy_option, table_arguments, table_options
from lithify.cli.output import SOME_BLOCKED, emit
from lithify.cli.progress_bar import ProgressBar
from lithify.cli.render_report import report_view
from lithify.engine.rewrite.budget import Budget
from lithify.engine.run.spark import SparkSettings
from lithify.engine.run.steps import Commits
from lithify.formats.protocol.tasks import Sizing
from lithify.formats.registry import group_noun


@click.command()
@table_options
@strategy_option
@click.option("--master", default="local[*]", show_default=True, help="Spark master URL.")
@click.option("--spark-conf", multiple=True, metavar="KEY=VALUE", help="Spark setting. Repeatable.")
@click.option("--task-memory", default="384mb", show_default=True, help="Memory of one task's merge.")
@click.option("--task-size", help="About how much one task reads. Default: four target file sizes.")
@click.option(
    "--commit-every",
    metavar="SIZE",
    help="Commit when so much is read, for example 20GiB. Default: about every five minutes.",
)
@click.option(
    "--run-id",
    help="Id of the run. Given again, the run goes on where it ended; it does nothing twice.",
)
@click.option(
    "--canary",
    is_flag=True,
    help="First compact a copy, a branch, and go on only if other code reads the same rows from it.",
)
@json_option
@click.pass_context
def compact(context: click.Context, /, as_json: bool, **options: Any) -> None:
    """Compact a table: one run."""
    arguments = table_arguments(options)
    task_size, commit_every = options["task_size"], options["commit_every"]
    sizing = Sizing(
        task_bytes=None if task_size is None else size("--task-size", task_size),
        budget=Budget(size("--task-memory", options["task_memory"])),
    )
    commits = Commits(None if commit_every is None else size("--commit-every", commit_every))
    settings = SparkSettings(
        master=options["master"],
        conf=pairs("--spark-conf", options["spark_conf"]),
        zone=arguments.address.zone(),
        verbose=bool(context.obj),
    )
    with ProgressBar(group_noun(arguments.address.format)) as bar:
        report = library.compact(
            arguments.address,
            arguments.selection,
            run=options["run_id"],
            sizing=sizing,
            commits=commits,
            spark=settings,
            observer=bar,
            canary=options["canary"],
        )
    emit(as_json, report.to_dict(), lambda: report_view(report))
    if report.blocked:
        context.exit(SOME_BLOCKED)
