"""`lithify demo`: makes a messy table, compacts it on Spark, and shows what changed."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from lithify import library
from lithify.cli.arguments import format_option
from lithify.cli.output import err, number, out
from lithify.cli.progress_bar import ProgressBar
from lithify.cli.render_inspection import own_counts, pictures
from lithify.cli.render_report import report_view
from lithify.clock import SystemClock
from lithify.engine.run.spark import SparkSettings
from lithify.errors import CorruptTable, InvalidOption
from lithify.formats.adapters import FORMATS
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.registry import group_noun, open_table, sample_maker

_TABLE = "shop.orders"
_CLOCK = SystemClock()


@click.command()
@format_option
@click.option("--folder", help="Where to make the table. Default: a new temporary directory.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master URL.")
@click.option("--only-make", is_flag=True, help="Leave the table as messy as it is made.")
@click.pass_obj
def demo(verbose: bool, /, table_format: str, folder: str | None, master: str, *, only_make: bool) -> None:
    """Make a messy table, compact it on Spark, and show what changed."""
    samples = sample_maker(table_format)
    warehouse = _warehouse(folder)
    console = out()
    address = samples.address(warehouse, _TABLE)
    commits = number(samples.commits, "commit")
    console.print(Text(f"Making {_TABLE} in {warehouse}: {commits} {samples.story}."))
    with _bar("writing", samples.commits) as progress:
        samples.make_sample(address, progress)
    _show(console, address, f"Before: every commit left a file in each {group_noun(table_format)}")
    if only_make:
        console.print(Text(f"\nLook around: {_command('inspect', address)}"), soft_wrap=True)
        console.print(Text(f"Compact it:  {_command('compact', address)} --strategy full"), soft_wrap=True)
        return
    before = samples.read_sample(address)
    spark = SparkSettings(master=master, verbose=verbose)
    with ProgressBar(group_noun(table_format)) as bar:
        report = library.compact(address, Selection(strategy=Strategy.FULL), spark=spark, observer=bar)
    _show(console, address, "After")
    after = samples.read_sample(address)
    console.print(Text("\nReport", "bold"))
    console.print(report_view(report))
    if not before.rows.equals(after.rows):
        raise CorruptTable(warehouse, "the rows differ after the compaction: this is a bug, please report it")
    console.print(
        Text.assemble(
            f"\nThe same scan took {before.seconds:.2f} s before and takes ",
            (f"{after.seconds:.2f} s", "bold green"),
            f" now, and its {number(after.rows.num_rows, 'row')} are ",
            ("identical", "bold green"),
            f".\nLook around: {_command('inspect', address)}",
        )
    )


def _command(name: str, address: TableAddress) -> str:
    """A command as the reader can enter it: `lithify` may not be on the PATH, as after `make setup`."""
    program = "lithify" if shutil.which("lithify") else sys.argv[0]
    options = [f"--catalog-option {key}={value}" for key, value in address.catalog_options.items()]
    if address.format != FORMATS[0]:
        options.insert(0, f"--format {address.format}")
    return " ".join([program, name, f"--warehouse {address.warehouse} --table {_TABLE}", *options])


def _warehouse(folder: str | None) -> str:
    if folder is None:
        return tempfile.mkdtemp(prefix="lithify-demo-")
    path = Path(folder)
    if path.exists() and any(path.iterdir()):
        raise InvalidOption("--folder", f"{folder} is not empty")
    path.mkdir(parents=True, exist_ok=True)
    return str(path)


def _show(console: Console, address: TableAddress, title: str) -> None:
    inspection = open_table(address).inspect(Selection(), _CLOCK)
    parts: list[RenderableType] = [Text(f"\n{title}", "bold")]
    for group in inspection.groups:
        holds = ", ".join(own_counts(group)) or number(group.files, "file")
        parts.append(Text(f"{group.group}  {holds}"))
        parts += pictures(group)
    console.print(Group(*parts))


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr that is told how much is done."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn())
    console = err()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda done: progress.update(bar, completed=done)
