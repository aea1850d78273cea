"""An operator that starts one driver, says its uid, and waits to be killed; run by `test_processes`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

from lithify.clock import SystemClock
from lithify.controller.launching.process import ProcessLauncher, ProcessSettings
from lithify.io.access_policy import UNBOUNDED
from lithify.resources.catalog import SecretReference
from support.launching.orders import order
from support.runs import LITHIFY


async def no_secrets(namespace: str, reference: SecretReference) -> Mapping[str, str]:
    raise AssertionError(f"{namespace}/{reference.name} was not asked for")


async def main(state: str, warehouse: str, faults: str) -> None:
    settings = ProcessSettings(Path(state), [LITHIFY, "drive"], variables={"LITHIFY_FAULTS": faults})
    started = await ProcessLauncher(settings, no_secrets, SystemClock(), lambda _: UNBOUNDED).start(
        order(warehouse)
    )
    print(started.uid, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
