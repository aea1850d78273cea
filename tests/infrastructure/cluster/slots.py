"""A number that each test node of a machine has for itself, and the names and addresses that follow from it.

Two nodes never collide, because a number is held by a lock that the kernel releases when its holder ends. The
addresses are of 198.18.0.0/15, which are set aside for tests of networks and lead nowhere.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import IO

from infrastructure.building.once import cache_home

LOCKS = Path("/run/lock")
SLOTS = 16
"""More nodes than any machine can carry."""


class NoSlot(Exception):
    """Every number is taken."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What belongs to one test node alone."""

    number: int

    @property
    def name(self) -> str:
        """Of its network device on this machine, of its control group, and of its folder of images."""
        return f"lithify{self.number}"

    @property
    def link(self) -> IPv4Network:
        """The network of two addresses between this machine and the node."""
        return IPv4Network(f"198.18.{4 * self.number}.0/30")

    @property
    def host_address(self) -> IPv4Address:
        """This machine's end."""
        return self.link[1]

    @property
    def address(self) -> IPv4Address:
        """The node's end."""
        return self.link[2]

    @property
    def pods(self) -> IPv4Network:
        """Addresses of pods."""
        return IPv4Network(f"198.18.{4 * self.number + 1}.0/24")

    @property
    def services(self) -> IPv4Network:
        """Addresses of services; the first is the API server's."""
        return IPv4Network(f"198.18.{4 * self.number + 2}.0/24")

    @property
    def images(self) -> Path:
        """containerd's folder, which is kept: images are imported once per machine, not once per node."""
        return cache_home("node") / f"containerd-{self.number}"


class HeldSlot:
    """The first free slot, held until it is let go or the process ends."""

    def __init__(self) -> None:
        self.slot, self._lock = _take()

    def release(self) -> None:
        """Lets somebody else have it."""
        self._lock.close()


def unheld() -> Iterator[Slot]:
    """The slots that nobody has, each held while it is looked at; not for a process that holds one itself."""
    for number in range(SLOTS):
        if (lock := _try(number)) is not None:
            with lock:
                yield Slot(number)


def _take() -> tuple[Slot, IO[str]]:
    for number in range(SLOTS):
        if (lock := _try(number)) is not None:
            return Slot(number), lock
    raise NoSlot(f"{SLOTS} test nodes run on this machine already")


def _try(number: int) -> IO[str] | None:
    LOCKS.mkdir(parents=True, exist_ok=True)
    lock = (LOCKS / f"lithify-node-{number}").open("w")
    try:
        # lockf's locks belong to this process alone: no program that it starts can hold one for longer.
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock
