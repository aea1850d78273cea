"""The control group below which all pods of a test node are, in whichever hierarchies the machine has.

Versions 1, 2 and both together; the kubelet and runc do the rest. Used by the node's supervisor.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Iterator
from pathlib import Path

MOUNTS = Path("/proc/mounts")
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
"""What the kubelet asks for; the memory of pods is what our tests look at."""
REMOVE_SECONDS = 10.0
POLL_SECONDS = 0.02


def problem() -> str | None:
    """Says why no control groups can be made here, None if they can."""
    found = list(_mounted())
    if not found:
        return "a node needs control groups, and none are mounted"
    if missing := [name for name in CONTROLLERS if not any(name in has for _, has in found)]:
        return f"a node needs control groups, and the machine has no controller {', '.join(missing)}"
    probe = f"lithify-probe-{secrets.token_hex(4)}"
    try:
        make(probe)
    except OSError as refused:
        return f"a node needs control groups, and none can be made: {refused}"
    finally:
        remove(probe)
    return None


def make(name: str) -> None:
    """Makes a group in every hierarchy.

    Raises:
        OSError: the machine does not allow it.
    """
    for folder in _hierarchies():
        switches = folder / "cgroup.subtree_control"
        if switches.exists():
            available = (folder / "cgroup.controllers").read_text().split()
            switches.write_text(" ".join(f"+{each}" for each in CONTROLLERS if each in available))
        (folder / name).mkdir(exist_ok=True)


def remove(name: str) -> None:
    """Ends what is left in a group, and removes it.

    Raises:
        TimeoutError: the kernel still counts processes in it.
    """
    deadline = time.monotonic() + REMOVE_SECONDS
    for folder in _hierarchies():
        while not _removed(folder / name):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{folder / name} still has processes")
            time.sleep(POLL_SECONDS)


def _removed(group: Path) -> bool:
    for folder, _, _ in os.walk(group, topdown=False):
        try:
            for pid in (Path(folder) / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            Path(folder).rmdir()
        except OSError:
            continue
    return not group.exists()


def _hierarchies() -> Iterator[Path]:
    return (folder for folder, _ in _mounted())


def _mounted() -> Iterator[tuple[Path, frozenset[str]]]:
    """Where hierarchies are, and which controllers each has."""
    for line in MOUNTS.read_text().splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind == "cgroup":
            yield Path(folder), frozenset(options.split(","))
        elif kind == "cgroup2":
            yield Path(folder), frozenset((Path(folder) / "cgroup.controllers").read_text().split())
