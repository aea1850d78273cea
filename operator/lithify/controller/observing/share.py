"""Memory of each observing worker, so that all of them fit into the operator's container.

Called by `cli.operator_process` at start. Reads the kernel's control groups; imposes nothing: each worker
limits itself (`limits`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lithify.errors import InvalidOption
from lithify.settings import LOOKS

LEAST = 256 << 20
"""The least bytes with which a worker can work: Python with Polars and PyArrow takes 170 MiB of them."""
_OWN_PART, _OWN_LEAST = 4, 256 << 20
"""Part of the memory that is reserved for the operator's own process, and the least bytes of it."""
_MOST_WITHOUT_LIMIT = 2 << 30
"""Maximum bytes of a worker on a machine that it shares with others."""
_NO_LIMIT = 1 << 62
"""Control groups of version 1 without a limit report a number of about this size."""
_SYSTEM = Path("/")


@dataclass(frozen=True, slots=True)
class Share:
    """The workers' share of memory.

    Attributes:
        workers: number of workers that fit.
        memory_bytes: limit of each.
    """

    workers: int
    memory_bytes: int


def container_bytes(system: Path = _SYSTEM) -> int | None:
    """The memory limit of this process's control group, or of one above it; None without a limit.

    Args:
        system: the root of the file system.
    """
    found = [limit for path in _limit_files(system) if (limit := _limit(path)) is not None]
    return min(found, default=None)


def machine_bytes() -> int:
    """The memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def share(container: int | None, machine: int, wanted: int) -> Share:
    """Divides the memory: a part is the operator's own, and each worker gets the same share of the rest.

    Args:
        container: limit of the container in bytes, None without a limit.
        machine: memory of the machine in bytes.
        wanted: number of workers wanted. There are fewer where each would get less than `LEAST`.

    Raises:
        InvalidOption: not a single one fits.
    """
    total = machine if container is None else min(container, machine)
    left = total - max(total // _OWN_PART, _OWN_LEAST)
    workers = min(wanted, left // LEAST)
    if workers < 1:
        raise InvalidOption(
            LOOKS,
            f"the operator's limit of {total >> 20} MiB of memory leaves too little for a worker; "
            "raise the memory limit of its container (resources.limits.memory) to at least "
            f"{_OWN_LEAST + LEAST >> 20} MiB",
        )
    each = left // workers
    return Share(workers, each if container is not None else min(each, _MOST_WITHOUT_LIMIT))


def _limit_files(system: Path) -> Iterator[Path]:
    """The limits of this process's groups and of all above them, in both versions of control groups.

    A container usually sees its own group as the root, whatever path the kernel reports; otherwise the groups
    above are limits as well.
    """
    groups = system / "sys/fs/cgroup"
    for controllers, path in _own_groups(system / "proc/self/cgroup"):
        if not controllers:
            folder, name = groups, "memory.max"
        elif "memory" in controllers:
            folder, name = groups / "memory", "memory.limit_in_bytes"
        else:
            continue
        inner = PurePosixPath(path.lstrip("/"))
        yield from (folder / each / name for each in (inner, *inner.parents))


def _own_groups(listing: Path) -> Iterator[tuple[list[str], str]]:
    """The controllers of each hierarchy (none in version 2), and the path of this process's group in it."""
    with suppress(OSError, UnicodeDecodeError):
        for line in listing.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            yield [each for each in controllers.split(",") if each], path


def _limit(path: Path) -> int | None:
    with suppress(OSError, ValueError):
        found = int(path.read_text(encoding="ascii"))
        return found if 0 < found < _NO_LIMIT else None
    return None
