"""Drivers that disagree about the time, and requests that arrive when their driver has long given up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import Answered, Asked, Forward, Late, S3Proxy
from infrastructure.objectstore.tables import IMPATIENT, address, java_table, run
from infrastructure.oracle.client import Oracle, Table
from lithify.engine.attempts.clean_up import recover
from lithify.errors import StorageUnavailable
from lithify.formats.paimon.commit.remains import PaimonRemains
from lithify.formats.paimon.opening import open_table
from support.crashes import SETTLED
from support.runs import ShiftedClock
from support.tables import journals, stray_files

pytestmark = pytest.mark.oracle

FAST = timedelta(days=2)


@pytest.fixture
def table(oracle: Oracle, s3: Bucket) -> Table:
    return java_table(oracle, s3, commits=2)


def test_a_driver_whose_clock_is_fast_deletes_no_file_of_a_run_that_is_committing(
    oracle: Oracle, s3: Bucket, table: Table
) -> None:
    """It comes after the run's last look at its journal, while the snapshot is under way."""
    rows = oracle.read(table)

    def clean_up_first(asked: Asked, forward: Forward) -> Answered | None:
        recover(PaimonRemains(open_table(address(s3))), ShiftedClock(FAST))
        return forward()

    with S3Proxy(s3.server) as proxy:
        proxy.steps = [clean_up_first]
        assert run(s3, proxy.endpoint).status == "Compacted"

    assert oracle.read(table) == rows
    for later in range(4):
        run(s3, shift=FAST + later * SETTLED)
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def is_manifest_put(asked: Asked) -> bool:
    return asked.method == "PUT" and "/manifest/" in asked.key


def test_manifests_that_arrive_after_their_run_has_failed_go(
    oracle: Oracle, s3: Bucket, table: Table
) -> None:
    rows, late = oracle.read(table), Late()
    with S3Proxy(s3.server, is_manifest_put) as proxy:
        proxy.always = late.keep
        with pytest.raises(StorageUnavailable):
            run(s3, proxy.endpoint, options=IMPATIENT)
    assert set(late.arrive()) == {200}
    assert stray_files(oracle, table) != set()

    for later in (timedelta(), SETTLED, 2 * SETTLED, 3 * SETTLED):
        run(s3, shift=later)

    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())
