"""Several committers at once, and a server that is killed under them: every commit is whole, and one wins."""

from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.racing import CONTEXT, DEADLINE, Outcomes, commit_on, mark, race, started
from infrastructure.objectstore.tables import IMPATIENT, address, java_table, run, small_table
from infrastructure.oracle.client import Oracle
from lithify.engine.attempts.ages import SAFE_AGE
from lithify.errors import LithifyError
from support.crashes import SETTLED
from support.small_tables import SmallTable
from support.tables import append, journals, stray_files

ROUNDS, FEWER_ROUNDS = 1000, 100
KILLS = int(os.environ.get("LITHIFY_TEST_KILLS", "12"))
"""How often the server is killed; LITHIFY_TEST_KILLS=500 is thorough."""


def deltas(table: SmallTable) -> dict[int, str]:
    """What is in the place of each snapshot; each of them is whole."""
    return {number: table.snapshot(number)["deltaManifestList"] for number in table.numbers}


def test_of_two_committers_one_wins_each_round(bucket: Bucket) -> None:
    table = small_table(bucket)
    first = table.numbers[-1]
    barrier = CONTEXT.Barrier(2)
    rounds = ROUNDS if bucket.server.kind == "S3" else FEWER_ROUNDS
    racers = {who: started(race, address(bucket), who, barrier, rounds) for who in ("left", "right")}

    outcomes: dict[str, Outcomes] = {}
    for who, (process, told) in racers.items():
        outcomes[who] = told.get(timeout=DEADLINE)
        process.join(DEADLINE)

    bucket.fetch()
    in_place = deltas(table)
    assert list(in_place)[-1] == first + rounds
    for number in range(first + 1, first + rounds + 1):
        won = {who for who in racers if outcomes[who][number] == "OURS"}
        lost = {who for who in racers if outcomes[who][number] == "OUTRUN"}
        assert (len(won), len(lost)) == (1, 1)
        assert in_place[number] == mark(*won, number)
    for who in racers:
        assert list(outcomes[who].values()).count("OURS") > 0


def test_snapshots_are_whole_and_nobody_is_wrong_about_them_when_the_server_is_killed(s3: Bucket) -> None:
    table = small_table(s3)
    first = table.numbers[-1]
    stop = CONTEXT.Event()
    where = address(s3, **IMPATIENT)
    committers = {who: started(commit_on, where, who, stop) for who in ("left", "right")}
    dice = random.Random(5)

    while len(table.numbers) < first + 20:
        time.sleep(0.02)
    for _ in range(KILLS):
        time.sleep(dice.uniform(0.01, 0.2))
        s3.server.kill()
        s3.server.start()
    stop.set()
    outcomes = {who: told.get(timeout=DEADLINE) for who, (_, told) in committers.items()}
    for process, _ in committers.values():
        process.join(DEADLINE)

    in_place = deltas(table)
    assert list(in_place) == list(range(1, len(in_place) + 1))
    for who, believed in outcomes.items():
        for number, outcome in believed.items():
            is_mine = in_place.get(number) == mark(who, number)
            assert outcome != "OURS" or is_mine
            assert outcome not in ("OUTRUN", "LOST", "FAILED") or not is_mine


@pytest.mark.oracle
def test_runs_during_which_the_server_is_killed_change_no_row_and_leave_no_orphan(
    oracle: Oracle, s3: Bucket
) -> None:
    table = java_table(oracle, s3, commits=2)
    dice = random.Random(7)

    for number in range(max(3, KILLS // 2)):
        append(oracle, table, f"late{number}")
        rows = oracle.read(table)
        with ThreadPoolExecutor(1) as other:
            running = other.submit(attempt, s3)
            time.sleep(dice.uniform(0.05, 0.6))
            s3.server.kill()
            running.result(DEADLINE)
        s3.server.start()
        assert oracle.read(table) == rows

    rows = oracle.read(table)
    # A question to the store that was never answered is left for a day.
    for later in (*(number * SETTLED for number in range(5)), SAFE_AGE + SETTLED):
        run(s3, shift=later)
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def attempt(s3: Bucket) -> None:
    """A run that may fail."""
    with suppress(LithifyError):
        run(s3, options=IMPATIENT, max_rounds=1)
