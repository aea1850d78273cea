"""Run inside of the operator's image by tests: looks at tables as the operator does. Prints JSON.

Reads targets from its first argument. They are asked for twice: through a pool with real workers, whose
answers are printed, and in this process, so that what that imports is known.
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module, metadata
from typing import Any

from lithify.clock import SystemClock
from lithify.controller.observing.pool import ObserverPool, PoolSettings
from lithify.controller.observing.wire import FindRun, ListTables, WorkerSettings
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observing import ObservationRequest
from lithify.io.access_policy import UNBOUNDED

COMMANDS = ("operator", "release", "inspect", "plan")
CATALOGS = ("glue", "hive")
"""Catalogs of Iceberg of which there is no server here: that their modules can be imported has to do."""
PATIENCE = 120.0


async def ask(targets: dict[str, TableAddress]) -> dict[str, Any]:
    """What workers answer, by the name of the target."""
    answers = {}
    async with ObserverPool(PoolSettings(WorkerSettings("/tmp/kept"))) as pool:
        for name, target in targets.items():
            seen = await pool.observe(ObservationRequest(target, cache_key=name), PATIENCE)
            assert seen is not None
            listed = await pool.list_tables(target, PATIENCE)
            found = await pool.find_run(target, "nobody's", PATIENCE)
            answers[name] = {
                "snapshot": seen.snapshot,
                "files": seen.files,
                "listed": listed.names,
                "run": found,
            }
    return answers


def used(targets: dict[str, TableAddress]) -> set[str]:
    """The packages that this process imports for the commands and for the same questions."""
    for command in COMMANDS:
        import_module(f"lithify.cli.{command}")
    answers = import_module("lithify.controller.observing.answering").Answers(
        WorkerSettings("/tmp/kept-here"), SystemClock()
    )
    for name, target in targets.items():
        for question in (
            ObservationRequest(target, cache_key=name),
            FindRun(target, "nobody's", None),
            ListTables(target),
        ):
            assert answers.reply(question).error is None
    for catalog in CATALOGS:
        import_module(f"lithify.formats.iceberg.catalog.{catalog}")
    imported = {name.partition(".")[0] for name in sys.modules}
    providers = metadata.packages_distributions()
    return {package.lower() for name in imported for package in providers.get(name, ())}


def main() -> None:
    targets = {
        name: TableAddress(*target, format=kind, reach=UNBOUNDED)
        for name, (kind, *target) in json.loads(sys.argv[1]).items()
    }
    answers = asyncio.run(ask(targets))
    needed = used(targets)
    installed = {package.metadata["Name"].lower() for package in metadata.distributions()}
    print(json.dumps({"answers": answers, "unused": sorted(installed - needed), "used": sorted(needed)}))


if __name__ == "__main__":
    main()
