"""Hostile tables before real observing workers: each costs its own answer, and the next one is answered.

The limits are smaller than the chart's, so that what grows is found with little.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from cluster.hostile.metadata import HOSTILE, burn_processor
from lithify.controller.observing.pool import ObserverPool
from lithify.errors import CorruptTable, Failure, InvalidOption, LithifyError, ProcessLost, UnsupportedTable
from support.observing.watching import PATIENCE, pool_in, request_for, resident_mebibytes, target_of
from support.small_tables import SmallTable

pytestmark = pytest.mark.asyncio(loop_scope="module")

MEBIBYTES = 384
SECONDS = 30.0
"""Of the clock, for one look; of processor time half of it."""
AT_LIMITS = {"a manifest of as many entries as it may have"}
"""What may need more memory than there is; the others are found out before."""
HARMLESS = {
    "a manifest list of 2^39 files",
    "an interval of 10^18 days",
    "a ratio beyond all numbers",
}
"""What a look makes sense of."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ObserverPool]:
    """One worker for all tests."""
    folder = tmp_path_factory.mktemp("pool")
    async with pool_in(
        folder, workers=1, memory_bytes=MEBIBYTES << 20, processor_seconds=SECONDS / 2
    ) as pool:
        yield pool


def made(folder: Path, name: str = "db.t") -> SmallTable:
    table = SmallTable(folder, name).create()
    table.append()
    table.append("a")
    return table


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    return made(tmp_path_factory.mktemp("healthy"))


async def is_looked_at(pool: ObserverPool, table: SmallTable) -> bool:
    found = await pool.observe(request_for(target_of(table), is_full=True), SECONDS)
    return found is not None and found.snapshot == str(table.commits)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("what", HOSTILE)
async def test_a_hostile_table_costs_its_own_answer(
    what: str, pool: ObserverPool, healthy: SmallTable, tmp_path: Path
) -> None:
    table = made(tmp_path)
    HOSTILE[what](table)
    error: LithifyError | None = None
    try:
        await pool.observe(request_for(target_of(table)), SECONDS)
    except LithifyError as raised:
        error = raised

    if what in HARMLESS:
        assert error is None
    elif what in AT_LIMITS:
        assert isinstance(error, ProcessLost | CorruptTable)
    else:
        assert isinstance(error, CorruptTable | InvalidOption | UnsupportedTable), error
        assert error.failure is Failure.USER
    assert len(str(error)) < 20_000
    assert await is_looked_at(pool, healthy)
    (pid,) = pool.pids
    assert resident_mebibytes(pid) < MEBIBYTES


async def test_processor_time_ends_a_look_that_the_clock_would_let_go_on(
    healthy: SmallTable, tmp_path: Path
) -> None:
    table = made(tmp_path)
    burn_processor(table)
    async with pool_in(tmp_path, workers=1, processor_seconds=2.0) as pool:
        begin = time.monotonic()
        with pytest.raises(ProcessLost) as raised:
            await pool.observe(request_for(target_of(table)), PATIENCE)
        assert "processor time" in raised.value.problem
        assert time.monotonic() - begin < PATIENCE / 2
        assert await is_looked_at(pool, healthy)


async def test_a_folder_of_hostile_tables_delays_no_healthy_one_beside_them(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    tables = [made(warehouse, f"db.t{number}") for number in range(len(HOSTILE))]
    for table, damage in zip(tables, HOSTILE.values(), strict=True):
        damage(table)
    healthy = made(warehouse, "db.healthy")
    async with pool_in(tmp_path, memory_bytes=MEBIBYTES << 20, processor_seconds=SECONDS / 2) as pool:
        looks = [
            asyncio.create_task(pool.observe(request_for(target_of(table)), SECONDS)) for table in tables
        ]
        begin = time.monotonic()
        assert await is_looked_at(pool, healthy)
        taken = time.monotonic() - begin
        found = await asyncio.gather(*looks, return_exceptions=True)
    assert taken < 2 * SECONDS
    assert all(isinstance(each, LithifyError) for each in found if isinstance(each, BaseException))
