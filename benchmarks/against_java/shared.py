"""Compacts small tables with a driver each and with one driver for all, as `lithify drive` is started.

What counts is the processor time of the whole process tree: Python, Spark's JVM and Python workers. Orders
go through a pipe and the drivers run their tasks themselves, as those of the process launcher do.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from against_java.page import ON_ONE_CORE, markdown
from against_java.table import LAYOUTS, make
from against_java.tree import core_seconds
from infrastructure.oracle.client import Oracle, Table
from lithify.contract.order import write_instructions
from lithify.contract.outcome import Outcome, read_outcome
from lithify.controller.driver import DriverOrder
from lithify.controller.launching.ordering import instructions_of, shared_instructions
from lithify.resources.compaction import Reason
from support.launching.orders import order
from support.runs import LITHIFY

ROWS_OF_5_MIB = 180_000
_MASTER = "local[1]"


def compare(tables: int, rows: int | None, alone: int) -> str:
    """The figures, in Markdown.

    Args:
        tables: how many share a driver.
        rows: of each, before they are merged; None for about 5 MiB.
        alone: how many are compacted with a driver each; the others would take the same.
    """
    with (
        tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder,
        Oracle.start(heap="2g", jvm_args=ON_ONE_CORE) as oracle,
    ):
        original = make(oracle, Path(folder) / "original", LAYOUTS["orders"], rows or ROWS_OF_5_MIB)
        size = sum(file.size for file in oracle.files(original))
        rows_before = oracle.digest(original)
        each = _copies(original, Path(folder) / "alone", alone)
        print(f"{alone} tables of {size >> 10} KiB, a driver each", file=sys.stderr)
        single = [_alone(one, Path(folder) / one.uid) for one in each]
        together = _copies(original, Path(folder) / "shared", tables)
        print(f"{tables} tables, one driver", file=sys.stderr)
        shared = _shared(together, Path(folder) / "members")
        for one in (each[0], together[-1]):
            found = Table(Path(one.table.warehouse), one.table.name)
            assert oracle.digest(found) == rows_before, f"the rows of {found} differ"
    return _figures(size, single, shared, tables)


def _copies(original: Table, warehouse: Path, count: int) -> list[DriverOrder]:
    """Orders for copies of a table in one warehouse."""
    database, name = original.name.split(".")
    source = Path(original.warehouse) / f"{database}.db" / name
    orders = []
    for number in range(count):
        target = f"{name}_{number}"
        shutil.copytree(source, warehouse / f"{database}.db" / target)
        uid = f"{warehouse.name}-{number}"
        orders.append(order(warehouse, uid=uid, name=f"{database}.{target}"))
    return orders


def _alone(one: DriverOrder, place: Path) -> float:
    text = write_instructions(instructions_of(one, master=_MASTER, conf={}, credentials={}))
    seconds = core_seconds([LITHIFY, "drive"], text, LITHIFY_OUTCOME=str(place))
    _check([read_outcome(place.read_text())])
    return seconds


def _shared(orders: Sequence[DriverOrder], folder: Path) -> float:
    folder.mkdir()
    lead = instructions_of(orders[0], master=_MASTER, conf={}, credentials={})
    text = write_instructions(shared_instructions(lead, orders))
    outcome = str(folder / "outcome")
    seconds = core_seconds([LITHIFY, "drive"], text, LITHIFY_OUTCOME=outcome, LITHIFY_MEMBERS=str(folder))
    _check([read_outcome((folder / f"{one.uid}.json").read_text()) for one in orders])
    return seconds


def _check(outcomes: Sequence[Outcome | None]) -> None:
    for outcome in outcomes:
        assert outcome is not None
        assert outcome.reason is Reason.COMPACTED, json.dumps(outcome.message)


def _figures(size: int, single: Sequence[float], shared: float, tables: int) -> str:
    alone, each = sum(single) / len(single), shared / tables
    head = ["", "core-seconds a table", "drivers"]
    rows = [
        ["a driver each", f"{alone:.2f}", str(len(single))],
        [f"**one driver for {tables} tables**", f"{each:.2f}", "1"],
    ]
    text = f"Tables of {size / (1 << 20):.1f} MiB in 6 files. **{alone / each:.1f} times** less."
    return f"{markdown([head, *rows])}\n\n{text}"
