"""`lithify compact`: one run, on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from lithify.cli.arguments import json_option, pairs, size, strategy_option, table_arguments, table_options
from lithify.cli.output import SOME_BLOCKED, amount, emit, err, number
from lithify.cli.render_report import report_view
from lithify.job.driver import Request
from lithify.job.driver import compact as run_compaction
from lithify.job.report import Report
from lithify.job.spark import SparkRunner, SparkSettings
from lithify.job.steps import Commits
from lithify.rewriting.budget import Budget
from lithify.tables.format import Plan, Sizing, Task


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
@json_option
@click.pass_context
def compact(context: click.Context, /, as_json: bool, **options: Any) -> None:
    """Compact a table: one run."""
    arguments = table_arguments(options)
    task_size, commit_every = options["task_size"], options["commit_every"]
    request = Request(
        table=arguments.address,
        selection=arguments.selection,
        sizing=Sizing(
            task_bytes=None if task_size is None else size("--task-size", task_size),
            budget=Budget(size("--task-memory", options["task_memory"])),
        ),
        commits=Commits(None if commit_every is None else size("--commit-every", commit_every)),
        run=options["run_id"],
    )
    settings = SparkSettings(
        master=options["master"],
        conf=pairs("--spark-conf", options["spark_conf"]),
        zone=arguments.address.zone(),
        verbose=bool(context.obj),
    )
    with SparkRunner(settings) as runner, ProgressBar() as bar:
        report = run_compaction(request, runner, arguments.clock, bar)
    emit(as_json, report.to_dict(), lambda: report_view(report))
    if report.blocked:
        context.exit(SOME_BLOCKED)


class ProgressBar:
    """Shows on stderr how many tasks are done; an `Observer` of the driver and a context manager."""

    def __init__(self) -> None:
        console = err()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            redirect_stdout=False,
            redirect_stderr=False,  # the runner does that, to hide what Spark prints
        )
        self._what = "planning"
        self._bar = self._progress.add_task(self._what, total=None)

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def planned(self, plan: Plan, tasks: Sequence[Task]) -> None:
        """Starts the bar of a round."""
        size = sum(unit.read_bytes for unit in plan.units)
        what = f"merging {amount(size)} in {number(len(plan.units), 'bucket')}"
        self._what = what
        self._progress.update(self._bar, description=what, total=len(tasks), completed=0)

    def progressed(self, done: int) -> None:
        """Moves the bar."""
        self._progress.update(self._bar, completed=done)

    def committing(self) -> None:
        """Says so; the bar stays where it is."""
        self._progress.update(self._bar, description="committing")

    def committed(self, report: Report) -> None:
        """Leaves it to the report."""

    def blocked(self, report: Report) -> None:
        """Leaves it to the report."""

    def continued(self) -> None:
        """Says so; the bar goes on."""
        self._progress.update(self._bar, description=self._what)
