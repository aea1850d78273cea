"""How much memory each observing worker may take, so that all of them fit into the operator's container.

Called by `cli.operator_process` at start. Reads what the kernel says of control groups; imposes nothing: each
worker does that to itself (`limits`).
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
"""Bytes below which a worker is of no use: Python with Polars and PyArrow takes 170 MiB of them."""
_OWN_PART, _OWN_LEAST = 4, 256 << 20
"""The operator's own process keeps this part of the memory, and at least so many bytes."""
_MOST_WITHOUT_LIMIT = 2 << 30
"""Bytes that a worker may take on a machine that it shares with others, whatever there is."""
_NO_LIMIT = 1 << 62
"""Control groups of version 1 without a limit name a number of about this size."""
_SYSTEM = Path("/")


@dataclass(frozen=True, slots=True)
class Share:
    """What the workers may take.

    Attributes:
        workers: how many fit.
        memory_bytes: what each of them may take.
    """

    workers: int
    memory_bytes: int


def container_bytes(system: Path = _SYSTEM) -> int | None:
    """The memory limit of the control group that this process is in, or of one above it; None without one.

    Args:
        system: the root of the file system.
    """
    found = [limit for path in _limit_files(system) if (limit := _limit(path)) is not None]
    return min(found, default=None)


def machine_bytes() -> int:
    """The memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def share(container: int | None, machine: int, wanted: int) -> Share:
    """Divides the memory: a part stays with the operator's own process, and each worker gets the same.

    Args:
        container: bytes that the container may take, None without a limit.
        machine: bytes that the machine has.
        wanted: how many workers there should be. There are fewer where each would get less than `LEAST`.

    Raises:
        InvalidOption: not a single one fits.
    """
    total = machine if container is None else min(container, machine)
    left = total - max(total // _OWN_PART, _OWN_LEAST)
    workers = min(wanted, left // LEAST)
    if workers < 1:
        raise InvalidOption(
            LOOKS,
            f"the operator may take {total >> 20} MiB of memory, in which no process fits that looks at "
            "tables; raise the memory limit of its container (resources.limits.memory) to at least "
            f"{_OWN_LEAST + LEAST >> 20} MiB",
        )
    each = left // workers
    return Share(workers, each if container is not None else min(each, _MOST_WITHOUT_LIMIT))


def _limit_files(system: Path) -> Iterator[Path]:
    """The limits of this process's groups and of all above them, in both versions of control groups.

    A container mostly sees its own group as the root, whatever path the kernel names; where it does not, the
    groups above are limits as well.
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
    """The controllers of each hierarchy (none of version 2's), and the path of this process's group in it."""
    with suppress(OSError, UnicodeDecodeError):
        for line in listing.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            yield [each for each in controllers.split(",") if each], path


def _limit(path: Path) -> int | None:
    with suppress(OSError, ValueError):
        found = int(path.read_text(encoding="ascii"))
        return found if 0 < found < _NO_LIMIT else None
    return None
