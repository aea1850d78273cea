"""Plans a run inside a worker, as a driver would.

Imported by `answering` for the first plan. It is the only module of the controller that imports
`lithify.engine.run`; it must import nothing that starts Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from lithify.clock import Clock
from lithify.controller.observing.request import PlanRequest
from lithify.engine.run.dry_run import plan_only
from lithify.formats.protocol.observation import PlanFound
from lithify.formats.protocol.tasks import Sizing
from lithify.formats.registry import open_table


@dataclass(frozen=True, slots=True)
class _ZoneClock:
    """A clock in a time zone, None for the machine's."""

    clock: Clock
    zone: ZoneInfo | None

    def now(self) -> datetime:
        return self.clock.now().astimezone(self.zone)

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)


def plan(request: PlanRequest, clock: Clock) -> PlanFound:
    """Returns the plan of a run.

    Raises:
        NotFound: there is no such table, or another one has its name now.
        UserError: the request or the table cannot be served.
        CorruptTable: metadata of the table is missing or broken.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    zoned = _ZoneClock(clock, request.address.zone())
    table = open_table(request.address)
    return plan_only(table, request.selection, zoned, Sizing(request.task_bytes))
