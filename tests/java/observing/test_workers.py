"""Real worker processes: they hang, are killed, grow, outlive nobody, and no other table notices."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lithify.controller.observing.request import PlanRequest
from lithify.controller.observing.share import LEAST
from lithify.errors import (
    CatalogUnavailable,
    Failure,
    LithifyError,
    NotFound,
    ProcessLimit,
    ProcessLost,
    TimedOut,
)
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.strategy import Strategy
from support.observing.watching import (
    PATIENCE,
    is_alive,
    is_worker,
    pool_in,
    request_for,
    resident_mebibytes,
    silent_catalog,
    target_of,
    until,
)
from support.rest_server import WAREHOUSE, RestServer
from support.small_tables import SmallTable

pytestmark = pytest.mark.asyncio

ORPHANED = """
import asyncio, os, signal, sys
from dataclasses import replace
from pathlib import Path
from support.observing.watching import pool_in, request_for, silent_catalog, until

async def main():
    with silent_catalog() as target:
        pool = pool_in(Path(sys.argv[1]), workers=4)
        targets = [replace(target, catalog=f"team/{name}") for name in ("one", "two")]
        tasks = [asyncio.create_task(pool.observe(request_for(each), 600)) for each in targets]
        await until(lambda: len(pool.pids) == 2)
        print(*pool.pids, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""

IMPORTS = """
import sys
from lithify.controller.observing import pool, process, request, secrets, wire
heavy = {"pyarrow", "pypaimon", "pandas", "polars", "numpy", "fastavro", "pyspark"} & set(sys.modules)
memory = [line for line in open("/proc/self/status") if line.startswith("VmRSS")]
print(sorted(heavy), int(memory[0].split()[1]) >> 10)
"""


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    table = SmallTable(tmp_path / "warehouse").create()
    table.append()
    return table


def children() -> set[int]:
    """The workers of this process that run."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return {pid for pid in map(int, listed.split()) if is_worker(pid)}


def python(script: str, *arguments: str) -> str:
    path = os.pathsep.join(str(Path(__file__).parents[2].parent / name) for name in ("operator", "tests"))
    ended = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    return ended.stdout.decode()


async def test_looks_and_errors_come_home_from_one_worker(table: SmallTable, tmp_path: Path) -> None:
    target = target_of(table)
    async with pool_in(tmp_path) as pool:
        found = await pool.observe(request_for(target), PATIENCE)
        assert found is not None
        assert (found.snapshot, found.files) == ("1", 4)
        pids = pool.pids
        known = request_for(target, known_uuid=found.table_uuid, known_snapshot=SnapshotId("1"))
        assert await pool.observe(known, PATIENCE) is None
        assert (await pool.list_tables(target, PATIENCE)).names == ("db.t",)
        assert await pool.find_run(target, "run-1", PATIENCE) is None
        (table.folder / "snapshot" / "snapshot-1").rename(table.folder / "aside")
        with pytest.raises(LithifyError) as raised:
            await pool.observe(request_for(target, is_full=True), PATIENCE)
        assert raised.value.failure is Failure.USER
        table.drop()
        with pytest.raises(NotFound) as missing:
            await pool.observe(request_for(target, is_full=True), PATIENCE)
        assert missing.value.what == "table"
        assert pool.pids == pids
        assert len(pids) == 1


async def test_who_hangs_is_killed_and_others_go_on_meanwhile(table: SmallTable, tmp_path: Path) -> None:
    async with pool_in(tmp_path) as pool:
        with silent_catalog() as silent:
            hanging = asyncio.create_task(pool.observe(request_for(silent), 2.5))
            await until(lambda: pool.pids)
            for _ in range(3):
                assert await pool.observe(request_for(target_of(table)), PATIENCE) is not None
            with pytest.raises(TimedOut) as raised:
                await hanging
            assert raised.value.seconds == 2.5
            assert "sesame" not in str(raised.value)
            (left,) = pool.pids
            await until(lambda: children() == {left})
            assert await pool.observe(request_for(target_of(table)), PATIENCE) is not None


async def test_a_worker_that_is_killed_costs_one_answer(table: SmallTable, tmp_path: Path) -> None:
    async with pool_in(tmp_path, workers=1) as pool:
        with silent_catalog() as silent:
            await pool.list_tables(target_of(table), PATIENCE)
            hanging = asyncio.create_task(pool.observe(request_for(silent), PATIENCE))
            (pid,) = pool.pids
            await asyncio.sleep(0)
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(ProcessLost) as raised:
                await hanging
        assert raised.value.failure is Failure.INFRASTRUCTURE
        assert str(int(signal.SIGKILL)) in raised.value.problem
        assert await pool.observe(request_for(target_of(table)), PATIENCE) is not None
        assert pool.pids.isdisjoint({pid})


async def test_a_worker_that_needs_too_much_memory_ends(table: SmallTable, tmp_path: Path) -> None:
    async with pool_in(tmp_path, memory_bytes=100 << 20) as pool:
        with pytest.raises(ProcessLost) as raised:
            await pool.observe(request_for(target_of(table)), PATIENCE)
    assert "memory" in raised.value.problem
    assert "100 MiB" in raised.value.problem


async def test_a_plan_at_a_limit_of_the_worker_is_told_from_a_worker_that_died(
    table: SmallTable, tmp_path: Path
) -> None:
    request = PlanRequest(target_of(table), Selection(strategy=Strategy.FULL))
    async with pool_in(tmp_path, memory_bytes=100 << 20) as pool:
        with pytest.raises(ProcessLimit):
            await pool.plan(request, PATIENCE)
    async with pool_in(tmp_path, workers=1, memory_bytes=LEAST) as pool:
        found = await pool.plan(request, PATIENCE)
        assert (found.snapshot, found.groups) == ("1", 4)
        assert await pool.observe(request_for(target_of(table)), PATIENCE) is not None


async def test_the_least_memory_of_a_worker_suffices(table: SmallTable, tmp_path: Path) -> None:
    async with pool_in(tmp_path, workers=1, memory_bytes=LEAST) as pool:
        for _ in range(2):
            found = await pool.observe(request_for(target_of(table), is_full=True), PATIENCE)
            assert found is not None
        (pid,) = pool.pids
        kernel = Path(f"/proc/{pid}/limits").read_text()
    assert re.search(rf"Max data size +{LEAST} +{LEAST} ", kernel)
    assert re.search(r"Max core file size +0 +0 ", kernel)


async def test_what_libraries_print_goes_nowhere(table: SmallTable, tmp_path: Path) -> None:
    async with pool_in(tmp_path) as pool:
        await pool.list_tables(target_of(table), PATIENCE)
        (pid,) = pool.pids
        assert {Path(f"/proc/{pid}/fd/{number}").readlink() for number in range(3)} == {Path(os.devnull)}


async def test_a_worker_that_has_grown_is_replaced(table: SmallTable, tmp_path: Path) -> None:
    async with pool_in(tmp_path, resident_bytes=1) as pool:
        assert (await pool.list_tables(target_of(table), PATIENCE)).names == ("db.t",)
        assert (await pool.list_tables(target_of(table), PATIENCE)).names == ("db.t",)
        assert pool.pids == frozenset()


async def test_an_idle_worker_ends(table: SmallTable, tmp_path: Path) -> None:
    async with pool_in(tmp_path, idle_seconds=0.3) as pool:
        await pool.list_tables(target_of(table), PATIENCE)
        (pid,) = pool.pids
        await until(lambda: not is_alive(pid))
        assert pool.pids == frozenset()


async def test_closing_kills_who_hangs(tmp_path: Path) -> None:
    pool = pool_in(tmp_path, workers=1)
    with silent_catalog() as silent:
        hanging = asyncio.create_task(pool.observe(request_for(silent), PATIENCE))
        await until(lambda: pool.pids)
        (pid,) = pool.pids
        await pool.close()
        with pytest.raises(ProcessLost):
            await hanging
        assert not is_alive(pid)


async def test_garbage_from_a_catalog_is_an_error_of_its_kind(table: SmallTable, tmp_path: Path) -> None:
    with RestServer(table.warehouse) as server:
        async with pool_in(tmp_path) as pool:
            target = target_of(table)
            target = replace(target, warehouse=WAREHOUSE, catalog_options=server.options)
            for reply in ((200, "<html>garbage"), (200, {"what": "ever"}), (500, "oops"), (204, "")):
                server.canned["config"] = reply
                with pytest.raises(LithifyError) as raised:
                    await pool.observe(request_for(target), PATIENCE)
                assert raised.value.failure is Failure.INFRASTRUCTURE, reply
                assert "sesame" not in str(raised.value)
            assert isinstance(raised.value, CatalogUnavailable)
            server.canned.clear()
            assert await pool.observe(request_for(target), PATIENCE) is not None
            assert len(pool.pids) == 1


async def test_credentials_are_neither_arguments_nor_environment(tmp_path: Path) -> None:
    with silent_catalog() as silent:
        async with pool_in(tmp_path) as pool:
            hanging = asyncio.create_task(pool.observe(request_for(silent), PATIENCE))
            await until(lambda: pool.pids)
            (pid,) = pool.pids
            await until(lambda: is_worker(pid))
            for file in ("cmdline", "environ"):
                assert b"sesame" not in Path(f"/proc/{pid}/{file}").read_bytes()
            hanging.cancel()
            await until(lambda: not is_alive(pid))


async def test_workers_do_not_outlive_the_operator(tmp_path: Path) -> None:
    pids = [int(pid) for pid in python(ORPHANED, str(tmp_path)).split()]
    assert len(pids) == 2
    await until(lambda: not any(is_alive(pid) for pid in pids))


async def test_operator_stays_small_and_its_workers_are_bounded(table: SmallTable, tmp_path: Path) -> None:
    """Measured: the operator's part 25 MiB, a worker 130 to 170 MiB once it has looked at a table."""
    heavy, mebibytes = python(IMPORTS).rsplit(maxsplit=1)
    assert heavy == "[]"
    assert int(mebibytes) < 60
    async with pool_in(tmp_path) as pool:
        await pool.observe(request_for(target_of(table)), PATIENCE)
        (pid,) = pool.pids
        assert 40 < resident_mebibytes(pid) < 300
