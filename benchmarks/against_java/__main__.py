"""Runs a benchmark and prints its figures; `--write` puts them into docs/benchmarks.md.

By default one table is compacted by Java Paimon and by us; with --planning, tables of many files are planned;
with --commits, one bucket is compacted while others commit all the time; with --copying, most row groups are
copied instead of decoded; with --append, tables without a key are compacted; with --changelogs, tables are
compacted with changelogs, lookups and deletion vectors; with --shared, small tables are compacted by a driver
each and by one for all; with --iceberg, tables of Iceberg are compacted by Spark and by us; with
--iceberg-planning, such of many files are planned; with --manifests, tables are planned before and after
their manifests are merged; with --keyed, a keyed table is merged by Arctic and by us; with --orphans, orphan
files are searched in tables of many files.
Java and ours are pinned to the same core wherever they are compared, one at a time.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

# One core for us too: these are read when the libraries are loaded, also by the processes that are started.
os.environ["POLARS_MAX_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["GOMAXPROCS"] = "1"

import pyarrow as pa

from against_java import (
    appending,
    changelogs,
    commits,
    compaction,
    copying,
    iceberg,
    iceberg_tables,
    keyed,
    manifests,
    orphans,
    page,
    planning,
    shared,
)
from against_java.table import LAYOUTS
from iceberg_metadata import figures as iceberg_planning
from support.invented.shape import Shape


def main() -> None:
    parser = ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    parser.add_argument("--repeats", type=int, help="by default 5, with --planning 3")
    rewriting = parser.add_argument_group("compacting a table")
    rewriting.add_argument("--table", choices=LAYOUTS, default="orders")
    rewriting.add_argument("--rows", type=int, help="other than the table usually has")
    rewriting.add_argument("--warmups", type=int, default=2)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--planning", action="store_true", help="plan tables of many files")
    kind.add_argument("--commits", action="store_true", help="commit to them while others do")
    kind.add_argument("--copying", action="store_true", help="one large run and few new keys")
    kind.add_argument("--append", action="store_true", help="tables without a key")
    kind.add_argument("--changelogs", action="store_true", help="changelogs, lookups, deletion vectors")
    kind.add_argument("--shared", action="store_true", help="small tables, alone and with one driver for all")
    kind.add_argument("--iceberg", action="store_true", help="Iceberg's tables, beside Spark")
    kind.add_argument("--iceberg-planning", action="store_true", help="plan Iceberg's tables of many files")
    kind.add_argument("--manifests", action="store_true", help="plan before and after manifests are merged")
    kind.add_argument("--keyed", action="store_true", help="a keyed table, beside Arctic 0.4.1")
    kind.add_argument("--orphans", action="store_true", help="search a table of many files for orphans")
    known = [case.name for case in iceberg_tables.cases()]
    parser.add_argument("--cases", nargs="*", choices=known, default=[], help="of --iceberg; by default all")
    parser.add_argument("--tables", type=int, default=20, help="tables that share a driver")
    usual, shape = Shape(), parser.add_argument_group("tables of many files")
    shape.add_argument("--files", type=int, default=usual.files)
    shape.add_argument("--buckets", type=int, default=usual.buckets)
    shape.add_argument("--due", type=float, default=usual.due, help="share of the buckets that are due")
    shape.add_argument("--every", type=float, default=3.0, help="seconds from one append to the next")
    given = parser.parse_args()
    name, figures = _figures(given)
    print(figures)
    if given.write:
        page.put(name, figures)


def _figures(given: Namespace) -> tuple[str, str]:
    """The name of what was asked for, and its figures."""
    if given.shared:
        return "shared", shared.compare(given.tables, given.rows, given.repeats or given.tables)
    if given.commits:
        return "commits", commits.compare((given.files // 5, given.files), given.every)
    return _figures_on_one_core(given)


def _figures_on_one_core(given: Namespace) -> tuple[str, str]:
    _pin_to_one_core()
    if given.iceberg:
        return "iceberg", iceberg.compare(given.rows, given.repeats or 3, given.cases)
    if given.iceberg_planning:
        figures = iceberg_planning.compare(iceberg_planning.SHAPES, given.repeats or 3)
        return "iceberg planning", figures
    if given.manifests:
        return "manifests", manifests.compare(given.files, given.repeats or 3)
    if given.keyed:
        return "keyed", keyed.compare(given.rows, given.repeats or 3)
    if given.append:
        return "append", appending.compare(given.rows, given.repeats or 3)
    if given.copying:
        return "copying", copying.compare(given.rows, given.repeats or 3)
    if given.changelogs:
        return "changelogs", changelogs.compare(given.rows, given.repeats or 3)
    if given.planning or given.orphans:
        return _of_many_files(given)
    return given.table, compaction.compare(given.table, given.rows, given.warmups, given.repeats or 5)


def _of_many_files(given: Namespace) -> tuple[str, str]:
    shape = Shape(given.files, given.buckets, due=given.due)
    if given.orphans:
        return "orphans", orphans.compare(shape, given.repeats or 2)
    return "planning", planning.compare(planning.beside(shape), given.repeats or 3)


def _pin_to_one_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


if __name__ == "__main__":
    main()
