"""Which snapshot each LakeTable's status names, followed by one `kubectl get --watch`.

Asking for each table again and again would take more of the machine than the operator does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from infrastructure.cluster.kubectl import Kubectl

_LINE = '{.metadata.name}{" "}{.status.observation.snapshotId}{"\\n"}'
_START_SECONDS = 120.0


@dataclass
class Snapshots:
    """When statuses came to name snapshots.

    Attributes:
        seen: the snapshot that the status of each LakeTable names.
    """

    seen: dict[str, str] = field(default_factory=dict)
    _awaited: dict[tuple[str, str], asyncio.Future[float]] = field(default_factory=dict)

    async def until(self, table: str, snapshot: int, seconds: float) -> float:
        """When (monotonic) the status of a table first named a snapshot; asked before that is so."""
        found = self._awaited[table, str(snapshot)] = asyncio.get_running_loop().create_future()
        async with asyncio.timeout(seconds):
            return await found

    def take(self, line: str) -> None:
        """Takes in what kubectl has printed of one change."""
        table, _, snapshot = line.strip().partition(" ")
        self.seen[table] = snapshot
        waiting = self._awaited.pop((table, snapshot), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(time.monotonic())


@asynccontextmanager
async def watched(kubectl: Kubectl, namespace: str, tables: int) -> AsyncIterator[Snapshots]:
    """Follows all LakeTables of a namespace, of which there are so many."""
    process = await asyncio.create_subprocess_exec(
        str(kubectl.program),
        f"--kubeconfig={kubectl.kubeconfig}",
        f"--cache-dir={kubectl.cache}",
        f"--namespace={namespace}",
        # In chunks, kubectl would print lists of tables.
        *("get", "laketables", "--watch", "--chunk-size=0", "-o", f"jsonpath={_LINE}"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    snapshots = Snapshots()
    assert process.stdout is not None
    following = asyncio.create_task(_follow(process.stdout, snapshots))
    try:
        async with asyncio.timeout(_START_SECONDS):
            while len(snapshots.seen) < tables:
                assert not following.done(), "kubectl ended"
                await asyncio.sleep(0.1)
        yield snapshots
    finally:
        process.kill()
        await process.wait()
        await following


async def _follow(lines: asyncio.StreamReader, snapshots: Snapshots) -> None:
    async for line in lines:
        snapshots.take(line.decode())
