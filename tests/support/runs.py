"""Runs of Lithify in tests: in this process, or in one of its own that can be killed or held.

`run_inline` is the driver with the inline runner. `start` launches `python -m support.runs` as a real
process, with LITHIFY_FAULTS in its environment; what it printed is its report or its error.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from resource import RLIMIT_AS, setrlimit
from typing import Any

from infrastructure.oracle.client import Table
from lithify.clock import Clock, SystemClock
from lithify.engine.rewrite.budget import Budget
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner, Progress, TaskRunner
from lithify.engine.run.steps import Commits
from lithify.errors import LithifyError
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Sizing, Task
from support.copying import copying_from
from support.holding import Hold

TESTS = Path(__file__).resolve().parents[1]
DEADLINE = 120
NOTHING_TO_DO = {"num-sorted-run.compaction-trigger": "99"}
"""Options with which a minor compaction rests."""
LITHIFY = str(Path(sys.executable).with_name("lithify"))
"""The command, as it is installed beside this Python."""


class ShiftedClock(SystemClock):
    """The machine's clock, moved; it does not really sleep."""

    def __init__(self, shift: timedelta = timedelta()) -> None:
        super().__init__(UTC)
        self._shift = shift

    def now(self) -> datetime:
        return super().now() + self._shift

    def sleep(self, seconds: float) -> None:
        del seconds


class ShippingRunner(InlineRunner):
    """Sends tasks to itself one by one, as Spark sends them to executors."""

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        """Runs each as the process gets it that it was sent to."""
        return super().run([pickle.loads(pickle.dumps(task)) for task in tasks], clock, progress)


def compact_on_spark(warehouse: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Compacts `db.t` fully by the command line, on a Spark of its own; it prints its report as JSON."""
    what = ("--warehouse", warehouse, "--table", "db.t", "--strategy", "full", "--json")
    return subprocess.run(
        [LITHIFY, "compact", *what, "--master", "local[2]", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env=dict(os.environ),
    )


def request(table: Table, *, full: bool = True, **changes: Any) -> Request:
    """A request for the oracle's table; `options` are overrides, `catalog` its catalog's options, `uuid` the
    table's.

    Other changes are the request's fields.
    """
    address = TableAddress(
        uuid=changes.pop("uuid", None),
        warehouse=str(table.warehouse),
        name=str(table.name),
        catalog_options=changes.pop("catalog", dict(table.catalog)),
        overrides=changes.pop("options", {}),
        format=changes.pop("format", "paimon"),
    )
    strategy = Strategy.FULL if full else Strategy.MINOR
    selection = replace(changes.pop("selection", Selection()), strategy=strategy)
    return Request(address, selection, **changes)


def run_inline(
    table: Table, *, shift: timedelta = timedelta(), runner: TaskRunner | None = None, **changes: Any
) -> Report:
    """Compacts in this process."""
    return compact(request(table, **changes), runner or InlineRunner(), ShiftedClock(shift))


def clean_up(table: Table, *hours: float) -> list[Report]:
    """Runs that find nothing to compact, so many hours from now."""
    return [
        run_inline(table, full=False, options=NOTHING_TO_DO, shift=timedelta(hours=later)) for later in hours
    ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run in another process ended: its exit code (negative for a signal), report or error."""

    code: int
    report: dict[str, Any]
    error: str


class RunProcess:
    """A run in a process of its own."""

    def __init__(
        self,
        table: Table | TableAddress,
        faults: Mapping[str, str],
        arguments: Sequence[str],
        file_size_limit: int | None,
    ) -> None:
        environment = {
            **os.environ,
            "LITHIFY_FAULTS": ";".join(f"{point}={action}" for point, action in faults.items()),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH")))),
        }
        command = [sys.executable, "-m", "support.runs", str(table.warehouse), str(table.name), *arguments]
        if file_size_limit is not None:
            command = ["prlimit", f"--fsize={file_size_limit}", *command]
            # Python would leave what the limit cuts off of bytecode for all processes to come.
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self._process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def kill(self) -> Outcome:
        """Ends it as a machine does that is switched off."""
        self._process.kill()
        return self.wait()

    def wait(self) -> Outcome:
        """Waits for its end."""
        output, errors = self._process.communicate(timeout=DEADLINE)
        last = output.strip().splitlines()[-1:] or ["{}"]
        return Outcome(self._process.returncode, json.loads(last[0]), errors)


def start(
    table: Table | TableAddress,
    *arguments: str,
    faults: Mapping[str, str] | None = None,
    file_size_limit: int | None = None,
) -> RunProcess:
    """Starts a run in a process of its own. Arguments: see `main`.

    With a limit the kernel refuses to let any file grow beyond it, as a full disk would.
    """
    return RunProcess(table, faults or {}, arguments, file_size_limit)


class Held(Hold):
    """An armed point of a process that `start` launches with `action` behind the point's name."""

    def __init__(self, folder: Path) -> None:
        path = folder / "hold"
        super().__init__(path)
        self.action = f"hold:{path}"
        self.arm()


def resident(kind: str) -> int:
    """What the kernel says of this process's memory, in bytes: VmSize, VmRSS or VmHWM (the largest VmRSS)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{kind}:"))


def main(words: Sequence[str]) -> int:
    """Compacts inline and prints the report as JSON, with how much resident memory grew by."""
    parser = ArgumentParser()
    parser.add_argument("warehouse")
    parser.add_argument("table")
    parser.add_argument("--format", default="paimon")
    parser.add_argument("--minor", action="store_true")
    parser.add_argument("--run")
    parser.add_argument("--canary", action="store_true")
    parser.add_argument("--catalog", type=json.loads, default={}, help="options of the catalog, as JSON")
    parser.add_argument("--options", type=json.loads, default={}, help="options of the table, as JSON")
    parser.add_argument("--hours", type=float, default=0.0, help="by which the clock is ahead")
    parser.add_argument("--budget", type=int, default=Budget().total, help="bytes a merge may hold")
    parser.add_argument("--commit-every", type=int, help="bytes")
    parser.add_argument("--copy-from", type=int, help="bytes of the smallest row group that is copied")
    parser.add_argument("--headroom", type=int, help="bytes by which the address space may grow")
    given = parser.parse_args(words)
    sizing = Sizing(budget=Budget(given.budget))
    if given.headroom is not None:
        # An executor merges and decodes no manifests. Here one process does both: the threads and the address
        # space that Polars takes to decode them are not the merge's.
        open_table(request(Table(given.warehouse, given.table)).table).view(Selection())
        limit = resident("VmSize") + given.headroom
        setrlimit(RLIMIT_AS, (limit, limit))
    before = resident("VmRSS")
    try:
        with nullcontext() if given.copy_from is None else copying_from(given.copy_from):
            report = run_inline(
                Table(given.warehouse, given.table),
                shift=timedelta(hours=given.hours),
                full=not given.minor,
                run=given.run,
                canary=given.canary,
                sizing=sizing,
                commits=Commits(given.commit_every),
                catalog=given.catalog,
                options=given.options,
                format=given.format,
            )
    except LithifyError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return error.exit_code
    print(json.dumps({**report.to_dict(), "grown_by": resident("VmHWM") - before}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
