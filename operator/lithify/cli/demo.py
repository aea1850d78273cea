"""`lithify demo`: makes a messy table, compacts it on Spark, and shows what changed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from lithify.cli.compact import ProgressBar
from lithify.cli.inspection import inspect_table
from lithify.cli.output import err, number, out
from lithify.cli.render_inspection import levels_picture
from lithify.cli.render_report import report_view
from lithify.clock import SystemClock
from lithify.errors import CorruptTable, InvalidOption
from lithify.job.driver import Request, compact
from lithify.job.spark import SparkRunner, SparkSettings
from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.address import Selection, TableAddress
from lithify.tables.paimon.catalog.opening import open_table
from lithify.tables.paimon.sample import Mess, make_table, read_table

_TABLE = "shop.orders"
_CLOCK = SystemClock()


@click.command()
@click.option("--folder", help="Where to make the table. Default: a new temporary directory.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master URL.")
@click.option("--only-make", is_flag=True, help="Leave the table as messy as it is made.")
@click.pass_obj
def demo(verbose: bool, /, folder: str | None, master: str, *, only_make: bool) -> None:
    """Make a messy Paimon table, compact it on Spark, and show what changed."""
    warehouse = _warehouse(folder)
    console = out()
    address = TableAddress(warehouse, _TABLE)
    mess = Mess()
    commits = number(mess.changes + 1, "commit")
    console.print(Text(f"Making {_TABLE} in {warehouse}: {commits} that insert, change and delete."))
    with _bar("writing", mess.changes + 1) as progress:
        make_table(warehouse, _TABLE, mess, progress)
    _show(console, address, "Before: every commit left a file in each bucket")
    if only_make:
        return
    before, slow = read_table(warehouse, _TABLE)
    with SparkRunner(SparkSettings(master=master, verbose=verbose)) as runner, ProgressBar() as bar:
        report = compact(Request(address, Selection(strategy=Strategy.FULL)), runner, _CLOCK, bar)
    _show(console, address, "After")
    after, fast = read_table(warehouse, _TABLE)
    console.print(Text("\nReport", "bold"))
    console.print(report_view(report))
    if not before.equals(after):
        raise CorruptTable(warehouse, "the rows differ after the compaction: this is a bug, please report it")
    console.print(
        Text.assemble(
            "\nThe same scan is ",
            (f"{slow / fast:.0f} times faster", "bold green"),
            f", and its {number(after.num_rows, 'row')} are ",
            ("identical", "bold green"),
            f".\nLook around: lithify inspect --warehouse {warehouse} --table {_TABLE}",
        )
    )


def _warehouse(folder: str | None) -> str:
    if folder is None:
        return tempfile.mkdtemp(prefix="lithify-demo-")
    path = Path(folder)
    if path.exists() and any(path.iterdir()):
        raise InvalidOption("--folder", f"{folder} is not empty")
    path.mkdir(parents=True, exist_ok=True)
    return str(path)


def _show(console: Console, address: TableAddress, title: str) -> None:
    inspection = inspect_table(open_table(address), Selection(), _CLOCK)
    parts: list[RenderableType] = [Text(f"\n{title}", "bold")]
    for bucket in inspection.buckets:
        parts.append(Text(f"{bucket.bucket}  {number(bucket.sorted_runs, 'sorted run')}"))
        parts.append(levels_picture(bucket.levels))
    console.print(Group(*parts))


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr that is told how much is done."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn())
    console = err()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda done: progress.update(bar, completed=done)
