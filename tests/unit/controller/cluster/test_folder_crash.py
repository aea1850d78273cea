"""A process that is killed while it writes leaves a folder that the next one reads: all that was done."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from lithify.resources.names import COMPACTION
from unit.controller.cluster.folders import Folder, table, the_table

TESTS = Path(__file__).parents[3]
WRITER = Path(__file__).with_name("writing.py")


def write_and_kill(folder: Path, steps: int, rest: int) -> list[int]:
    """Kills a writer some time after so many steps; returns the steps that it was certain of."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "operator")])}
    command = [sys.executable, str(WRITER), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        lines = [writer.stdout.readline() for _ in range(steps)]
        assert all(lines), writer.stderr.read().decode()
        # Not a wait for anything: it moves the moment of death to wherever the writer happens to be.
        for _ in range(rest):
            os.sched_yield()
        writer.kill()
        lines += writer.stdout.readlines()
    return [int(line) for line in lines if line.endswith(b"\n")]


@pytest.mark.asyncio
@pytest.mark.thorough
async def test_killed_at_any_moment(folder: Folder) -> None:
    folder.save("a.yaml", table())
    folder.api.read_changes()
    known = await the_table(folder)
    chance, version, done = random.Random(7), int(known["metadata"]["resourceVersion"]), 0
    for _ in range(3):
        folder.close()
        certain = write_and_kill(folder.path, chance.randint(2, 12), chance.randint(0, 3000))
        found = await the_table(folder)
        assert folder.api.problems() == []
        assert found["metadata"]["uid"] == known["metadata"]["uid"]
        assert found["status"]["runs"] >= max(certain[-1], done)
        assert int(found["metadata"]["resourceVersion"]) > version
        done, version = found["status"]["runs"], int(found["metadata"]["resourceVersion"])
        runs = {one["metadata"]["name"] for one in await folder.api.list(COMPACTION)}
        assert {f"run-{number}" for number in certain[-2:]} <= runs
