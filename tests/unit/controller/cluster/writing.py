"""Writes to a folder until it is killed: `python writing.py FOLDER`. Prints each step once it is done."""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from pathlib import Path

from lithify.resources.names import COMPACTION, LAKE_TABLE, ObjectKey
from unit.controller.cluster.folders import ORDERS, Folder, run_of, the_table


async def write(folder: Folder) -> None:
    """Status, objects that come and go, over and over; each line a step that must last."""
    api = folder.api
    status = (await the_table(folder))["status"]
    for number in count(int(status.get("runs", 0)) + 1):
        patch = {"status": {"runs": number, "text": "x" * (number * 977 % 20000)}}
        await api.patch(LAKE_TABLE, ORDERS, patch, subresource="status")
        owner = await the_table(folder)
        await api.create(COMPACTION, "default", run_of(owner, f"run-{number}"))
        await api.delete(COMPACTION, ObjectKey("default", f"run-{number - 3}"))
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(write(Folder(Path(sys.argv[1]))))
