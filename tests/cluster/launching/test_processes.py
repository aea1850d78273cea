"""Drivers as real processes on real tables: life, death, adoption, and where credentials never stand."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import pytest_asyncio

from lithify.clock import SystemClock
from lithify.contract.outcome import Stage
from lithify.controller.driver import DriverOrder, DriverPhase, DriverState, Trouble
from lithify.controller.launching.descendants import descendants
from lithify.controller.launching.folder import DriverFolder
from lithify.controller.launching.process import ProcessLauncher, ProcessSettings
from lithify.errors import ClusterRefused, Failure, NotFound
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import TableAddress
from lithify.io.access_policy import UNBOUNDED
from lithify.resources.catalog import CatalogSpec, SecretReference
from lithify.resources.compaction import Reason
from lithify.resources.spark_template import SparkTemplate
from support.launching.orders import KEY, order
from support.orders_table import copy_of, make_orders, rows
from support.runs import LITHIFY, TESTS, Held, ShiftedClock

pytestmark = pytest.mark.spark

DEADLINE = 200.0
PASSWORD = "correct-horse-battery-staple"
SECRET = SecretReference(name="keys", options={"s3.secret-key": "key"})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> TableAddress:
    return make_orders(tmp_path_factory.mktemp("made"), commits=2)


@pytest.fixture
def table(made: TableAddress, tmp_path: Path) -> TableAddress:
    return copy_of(made, tmp_path / "warehouse")


async def secrets(namespace: str, reference: SecretReference) -> Mapping[str, str]:
    assert (namespace, reference) == (KEY.namespace, SECRET)
    return {"s3.secret-key": PASSWORD}


Make = Callable[..., ProcessLauncher]


@pytest_asyncio.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Makes launchers over one folder, each as if another operator had been started."""

    launchers: list[ProcessLauncher] = []

    def launcher(faults: str = "", clock: SystemClock | None = None, **settings: Any) -> ProcessLauncher:
        variables = {"LITHIFY_FAULTS": faults} if faults else {}
        made = ProcessSettings(tmp_path / "state", [LITHIFY, "drive"], variables=variables, **settings)
        launchers.append(ProcessLauncher(made, secrets, clock or SystemClock(), lambda _: UNBOUNDED))
        return launchers[-1]

    yield launcher
    for folder in DriverFolder.all(tmp_path / "state"):
        if (record := folder.record()) is not None:
            folder.send(record, signal.SIGKILL)
    for child in [child for made in launchers for child in made._children.values()]:
        child.wait(DEADLINE)


async def until(launcher: ProcessLauncher, holds: Callable[[DriverState], bool]) -> DriverState:
    """The driver's state once something holds of it."""
    deadline = monotonic() + DEADLINE
    while monotonic() < deadline:
        state = await launcher.observe(KEY)
        assert state is not None
        if holds(state):
            return state
        await asyncio.sleep(0.05)
    raise AssertionError(f"not in time: {state}")


async def gone(launcher: ProcessLauncher) -> None:
    """Returns once nothing is left of the driver: Spark's processes take a moment to end after it."""
    deadline = monotonic() + DEADLINE
    while await launcher.observe(KEY) is not None:
        assert monotonic() < deadline
        await asyncio.sleep(0.05)


async def reached(held: Held) -> None:
    """Returns when the driver is at the point; fails if it does not come there."""
    waiting = asyncio.create_task(asyncio.to_thread(held.reached))
    try:
        await asyncio.wait_for(asyncio.shield(waiting), DEADLINE)
    except TimeoutError:
        pipe = Path(f"{held.action.removeprefix('hold:')}.reached")
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))  # has the one who waits find nothing
        await waiting


def ended(state: DriverState) -> bool:
    return state.phase is DriverPhase.ENDED


def newest(table: TableAddress) -> int:
    snapshot = open_table(table).snapshots.latest()
    assert snapshot is not None
    return snapshot.id


@pytest.mark.asyncio
class TestAttempt:
    async def test_is_run_to_its_end_and_stays_until_it_is_let_go(
        self, make: Make, table: TableAddress
    ) -> None:
        before = rows(table)
        launcher = make()
        told: list[object] = []
        launcher.on_change(told.append)
        watching = asyncio.create_task(launcher.watch())

        started = await launcher.start(order(table.warehouse, uuid=open_table(table).uuid))
        state = await until(launcher, ended)

        assert (started.phase, started.attempt, started.uid) == (DriverPhase.STARTING, 1, state.uid)
        assert (state.exit_code, state.trouble, state.terminating) == (0, None, False)
        assert state.outcome is not None
        assert (state.outcome.reason, state.outcome.failure) == (Reason.COMPACTED, None)
        assert (state.outcome.base_snapshot_id, state.outcome.committed_snapshot_id) == ("2", "3")
        assert state.outcome.result is not None
        assert state.outcome.plan is not None
        assert (state.outcome.result.input_files, state.outcome.plan.files) == (8, 8)
        assert state.progress is not None
        assert (state.progress.stage, state.progress.done) == (Stage.COMMITTING, 4)
        assert rows(table).equals(before)
        assert (await launcher.start(order(table.warehouse, attempt=2))).uid == state.uid
        assert await launcher.all() == [(KEY, state.uid)]
        assert KEY in told

        await launcher.release(KEY, "another", remove=True)
        await launcher.release(KEY, state.uid, remove=False)
        assert await launcher.all() == []
        kept = await launcher.observe(KEY)
        assert kept is not None
        assert (kept.released, kept.outcome) == (True, state.outcome)
        await launcher.release(KEY, state.uid, remove=True)
        await gone(launcher)
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching

    async def test_another_table_of_the_name_is_left_alone(self, make: Make, table: TableAddress) -> None:
        launcher = make()
        await launcher.start(order(table.warehouse, uuid="another"))
        state = await until(launcher, ended)
        assert state.outcome is not None
        assert (state.outcome.reason, state.outcome.failure) == (Reason.TABLE_NOT_FOUND, Failure.USER)
        assert (state.exit_code, newest(table)) == (2, 2)

    async def test_that_has_committed_before_says_so(self, make: Make, table: TableAddress) -> None:
        launcher = make(faults="snapshot-written=kill")
        await launcher.start(order(table.warehouse))
        dead = await until(launcher, ended)
        assert (dead.outcome, dead.trouble, dead.exit_code) == (None, Trouble.DISRUPTED, -signal.SIGKILL)
        await launcher.release(KEY, dead.uid, remove=True)

        second = make()
        await second.start(order(table.warehouse, attempt=2))
        state = await until(second, ended)

        assert state.outcome is not None
        assert (state.outcome.attempt, state.outcome.reason) == (2, Reason.COMPACTED)
        assert (state.outcome.committed_snapshot_id, newest(table)) == ("3", 3)


@pytest.mark.asyncio
class TestStop:
    async def test_ends_gracefully_without_a_trace_or_an_outcome(
        self, make: Make, table: TableAddress, tmp_path: Path
    ) -> None:
        held = Held(tmp_path)
        launcher = make(faults=f"tasks-done={held.action}")
        files = sorted(Path(table.warehouse).rglob("bucket-*/*.parquet"))
        started = await launcher.start(order(table.warehouse))
        await reached(held)

        await launcher.stop(KEY, "another")
        assert not (await until(launcher, lambda _: True)).terminating
        await launcher.stop(KEY, started.uid)
        state = await until(launcher, ended)

        assert (state.terminating, state.outcome, state.trouble) == (True, None, None)
        assert state.exit_code == 128 + signal.SIGTERM
        assert newest(table) == 2
        assert list(Path(table.warehouse).rglob("lithify/attempts/*.json")) == []
        assert sorted(Path(table.warehouse).rglob("bucket-*/*.parquet")) == files

    async def test_lets_a_commit_come_to_its_end(
        self, make: Make, table: TableAddress, tmp_path: Path
    ) -> None:
        held = Held(tmp_path)
        launcher = make(faults=f"snapshot-written={held.action}")
        started = await launcher.start(order(table.warehouse))
        await reached(held)
        await launcher.stop(KEY, started.uid)
        await asyncio.to_thread(held.release)
        state = await until(launcher, ended)
        assert state.outcome is not None
        assert (state.outcome.reason, state.outcome.failure) == (Reason.COMPACTED, None)
        assert (state.exit_code, state.outcome.committed_snapshot_id) == (0, "3")

    async def test_kills_after_the_time_of_grace(
        self, make: Make, table: TableAddress, tmp_path: Path
    ) -> None:
        held = Held(tmp_path)
        launcher = make(faults=f"snapshot-written={held.action}", grace_seconds=60.0)
        started = await launcher.start(order(table.warehouse))
        await reached(held)
        await launcher.stop(KEY, started.uid)
        await launcher.stop(KEY, started.uid)
        assert not ended(await until(launcher, lambda _: True))

        await make(clock=ShiftedClock(timedelta(minutes=2))).stop(KEY, started.uid)
        state = await until(launcher, ended)

        assert (state.exit_code, state.terminating) == (-signal.SIGKILL, True)
        assert state.outcome is None

    async def test_removal_of_a_driver_that_lives_waits_for_its_end(
        self, make: Make, table: TableAddress, tmp_path: Path
    ) -> None:
        held = Held(tmp_path)
        launcher = make(faults=f"tasks-done={held.action}")
        started = await launcher.start(order(table.warehouse))
        await reached(held)
        await launcher.release(KEY, started.uid, remove=True)
        deadline = monotonic() + DEADLINE
        while (await launcher.observe(KEY)) is not None and monotonic() < deadline:
            await asyncio.sleep(0.05)
        assert await launcher.observe(KEY) is None


class Operator:
    """A process that starts a driver and then only waits to be killed."""

    def __init__(self, state: Path, warehouse: str, faults: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.launching.operator", str(state), warehouse, faults],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.driver_uid = self._process.stdout.readline().strip()

    def kill(self) -> None:
        self._process.kill()
        with self._process:
            self._process.wait(DEADLINE)


@pytest.mark.asyncio
async def test_outlives_its_operator_and_is_adopted_by_the_next(
    make: Make, table: TableAddress, tmp_path: Path
) -> None:
    held = Held(tmp_path)
    operator = Operator(tmp_path / "state", table.warehouse, f"tasks-done={held.action}")
    await reached(held)
    operator.kill()

    launcher = make()
    assert await launcher.all() == [(KEY, operator.driver_uid)]
    again = await launcher.start(order(table.warehouse))
    assert (again.uid, again.phase) == (operator.driver_uid, DriverPhase.RUNNING)
    assert again.progress is not None
    assert again.progress.stage is Stage.RUNNING
    await asyncio.to_thread(held.release)
    state = await until(launcher, ended)

    assert state.outcome is not None
    assert (state.outcome.reason, newest(table)) == (Reason.COMPACTED, 3)
    assert (state.exit_code, state.trouble) == (None, None)


@pytest.mark.asyncio
async def test_credentials_are_in_the_pipe_only(make: Make, table: TableAddress, tmp_path: Path) -> None:
    held = Held(tmp_path)
    catalog = CatalogSpec(warehouse=table.warehouse, secret_ref=SECRET)
    launcher = make(faults=f"tasks-done={held.action}")
    started = await launcher.start(order(catalog=catalog))
    await reached(held)

    record = DriverFolder(tmp_path / "state", KEY).record()
    assert record is not None
    session = [path for path in Path("/proc").glob("[0-9]*") if _session(path) == record.pid]
    said = [_said(path / name) for path in session for name in ("cmdline", "environ")]
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(session) > 1
    assert b"LITHIFY_OUTCOME" in b"".join(said)
    assert not any(PASSWORD.encode() in text for text in (*said, *written))

    await launcher.stop(KEY, started.uid)
    await until(launcher, ended)


def _said(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""  # one of the short-lived processes around Spark


def _session(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except OSError:
        return None


@pytest.mark.asyncio
class TestRefused:
    @pytest.mark.parametrize(
        "spark",
        [
            pytest.param(SparkTemplate(conf={"spark.master": "local"}), id="a setting that is not theirs"),
            pytest.param(SparkTemplate(task_memory="4Gi"), id="tasks that need more than executors have"),
        ],
    )
    async def test_a_driver_with_refused_settings_is_not_started(
        self, make: Make, spark: SparkTemplate
    ) -> None:
        launcher = make()
        with pytest.raises(ClusterRefused):
            await launcher.start(order(spark=spark))
        assert await launcher.observe(KEY) is None

    async def test_secret_without_the_key(self, tmp_path: Path) -> None:
        async def missing(namespace: str, reference: SecretReference) -> Mapping[str, str]:
            raise NotFound("key", "key in Secret shop/keys")

        launcher = ProcessLauncher(ProcessSettings(tmp_path, [LITHIFY, "drive"]), missing, SystemClock())
        with pytest.raises(ClusterRefused):
            await launcher.start(order(catalog=CatalogSpec(warehouse="/w", secret_ref=SECRET)))
        assert await launcher.observe(KEY) is None


@pytest.mark.asyncio
async def test_second_start_at_the_same_moment_starts_nothing(
    make: Make, table: TableAddress, tmp_path: Path
) -> None:
    attempts: list[DriverOrder] = [order(table.warehouse, attempt=number) for number in range(1, 6)]
    launchers = [make() for _ in attempts]
    states = await asyncio.gather(
        *(launcher.start(attempt) for launcher, attempt in zip(launchers, attempts, strict=True))
    )
    assert len({state.uid for state in states}) == 1
    assert len({state.attempt for state in states}) == 1
    state = await until(launchers[0], ended)
    assert state.outcome is not None
    assert newest(table) == 3


@pytest.mark.asyncio
async def test_driver_whose_operator_dies_before_the_order_does_nothing(tmp_path: Path) -> None:
    done = subprocess.run([LITHIFY, "drive"], input=b'{"run": "r', capture_output=True, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


LEAVES_ONE = """
import os, subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-c", "import signal, sys, time; {ignores}; print(1, flush=True); time.sleep(600)"],
    stdout=subprocess.PIPE, process_group=0, pass_fds=(),
)
child.stdout.readline()
print(child.pid, flush=True)
{then}
"""
"""A driver that starts a process in a group of its own, as Spark does, which outlives it."""
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
DIES = "os.kill(os.getpid(), 9)"
ENDS = "import signal; signal.pause()"


def is_running(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has waited for has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.asyncio
class TestWhatADriverLeaves:
    @pytest.mark.parametrize("ignores", [pytest.param("1", id="hears"), pytest.param(DEAF, id="deaf")])
    @pytest.mark.parametrize(
        "is_stopped", [pytest.param(False, id="dies-by-itself"), pytest.param(True, id="is-cancelled")]
    )
    async def test_ends_before_the_driver_counts_as_ended(
        self, tmp_path: Path, ignores: str, is_stopped: bool
    ) -> None:
        then = ENDS if is_stopped else DIES
        program = LEAVES_ONE.replace("{ignores}", ignores).replace("{then}", then)
        settings = ProcessSettings(tmp_path / "state", [sys.executable, "-c", program])
        clock = ShiftedClock(timedelta())
        launcher = ProcessLauncher(settings, secrets, clock)

        started = await launcher.start(order("file:///nowhere"))
        log = DriverFolder(tmp_path / "state", KEY).log_file
        await until(launcher, lambda _: log.read_text().strip().isdigit())
        left = int(log.read_text())
        if is_stopped:
            await launcher.stop(KEY, started.uid)
        if ignores == DEAF:
            pid = int(started.name.removeprefix("process "))
            while is_running(pid):
                await asyncio.sleep(0.01)
            # Asked to end, twice in the same moment; a clock that goes on has it killed.
            await launcher.observe(KEY)
            state = await launcher.observe(KEY)
            assert state is not None
            assert (state.phase, is_running(left)) == (DriverPhase.STARTING, True)
            clock._shift = timedelta(seconds=6)
        await until(launcher, ended)

        assert not is_running(left)

    async def test_is_told_from_a_process_that_is_somebody_elses(self) -> None:
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
            assert descendants("0" * 32) == []
            other.kill()
