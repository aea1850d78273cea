"""Drivers as processes that several Compactions share.

Used by `process`, which owns folders and processes. The folder of a shared driver has a name that no
Compaction can have. Beside the usual files it holds outcomes of single runs, and requests to stop them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lithify.contract.order import Instructions, write_instructions
from lithify.controller.driver import DriverOrder, DriverState, Member, SharedDriver
from lithify.controller.launching.folder import DriverFolder, MemberRecord, Record
from lithify.controller.launching.ordering import shared_instructions
from lithify.resources.names import ObjectKey

_SUFFIX = "+shared"


class DriverProcesses(Protocol):
    """What drivers of one run and shared ones have in common: their folders and processes."""

    async def instructions(self, order: DriverOrder) -> Instructions:
        """The instructions of a driver.

        Raises:
            ClusterRefused: its settings, or its credentials, are invalid.
        """
        ...

    async def begin(
        self, key: ObjectKey, order: DriverOrder, text: str, members: tuple[MemberRecord, ...] = ()
    ) -> DriverState:
        """Starts a process in the folder of a key, unless it has one."""
        ...

    def folder(self, key: ObjectKey) -> DriverFolder:
        """The folder of a key."""
        ...

    def unreleased(self) -> list[tuple[DriverFolder, Record]]:
        """The folders of drivers that have not been released."""
        ...

    async def observe(self, key: ObjectKey) -> DriverState | None:
        """The state of the driver in the folder of a key; None if there is none."""
        ...

    async def stop(self, key: ObjectKey, driver_uid: str) -> None:
        """Asks a driver to end; after the grace period it is killed."""
        ...

    async def release(self, key: ObjectKey, driver_uid: str, *, remove: bool) -> None:
        """Releases a driver whose outcome is recorded."""
        ...


def shared_key(lead: ObjectKey) -> ObjectKey:
    """The key of the folder of the driver that is named after a Compaction."""
    return ObjectKey(lead.namespace, f"{lead.name}{_SUFFIX}")


def is_shared(key: ObjectKey) -> bool:
    """Whether a folder is that of a shared driver."""
    return key.name.endswith(_SUFFIX)


class SharedProcesses:
    """The `SharedDrivers` of a launcher of processes."""

    def __init__(self, launcher: DriverProcesses) -> None:
        self._launcher = launcher

    async def start(self, orders: Sequence[DriverOrder]) -> None:
        """Starts a driver, unless one of that name exists.

        Raises:
            ClusterRefused: its settings, or its credentials, are invalid.
            ClusterUnavailable: the machine could not start it.
        """
        lead = orders[0]
        instructions = shared_instructions(await self._launcher.instructions(lead), orders)
        members = tuple(MemberRecord(name=one.key.name, uid=one.uid) for one in orders)
        text = write_instructions(instructions)
        await self._launcher.begin(shared_key(lead.key), lead, text, members)

    async def observe(self, lead: ObjectKey) -> SharedDriver | None:
        """The driver of a name; None if there is none."""
        key = shared_key(lead)
        folder, state = self._launcher.folder(key), await self._launcher.observe(key)
        record = folder.record()
        if state is None or record is None or record.uid != state.uid:
            return None
        members = tuple(Member(ObjectKey(lead.namespace, one.name), one.uid) for one in record.members)
        return SharedDriver(lead, state, members, folder.shared_outcomes(), folder.stopped())

    async def stop_member(self, driver: SharedDriver, uid: str) -> None:
        """Leaves a marker file for the driver."""
        folder = self._launcher.folder(shared_key(driver.lead))
        if _is_of(folder.record(), driver):
            folder.stop_member(uid)

    async def stop(self, driver: SharedDriver) -> None:
        """Asks the driver to end; after the grace period it is killed."""
        await self._launcher.stop(shared_key(driver.lead), driver.state.uid)

    async def release(self, driver: SharedDriver) -> None:
        """Releases the driver; its folder is kept for a while."""
        await self._launcher.release(shared_key(driver.lead), driver.state.uid, remove=False)

    async def all(self) -> list[SharedDriver]:
        """Returns the shared drivers that have not been released."""
        leads = [_lead_of(folder) for folder, record in self._launcher.unreleased() if record.members]
        found = [await self.observe(lead) for lead in leads]
        return [driver for driver in found if driver is not None]


def _lead_of(folder: DriverFolder) -> ObjectKey:
    return ObjectKey(folder.key.namespace, folder.key.name.removesuffix(_SUFFIX))


def _is_of(record: Record | None, driver: SharedDriver) -> bool:
    return record is not None and record.uid == driver.state.uid
