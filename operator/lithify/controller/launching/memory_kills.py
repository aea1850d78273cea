"""Number of processes that the kernel has killed for lack of memory where a driver process runs.

Called by `process`, before a driver starts and after it was killed: a higher count is the cause. A driver is
in the control group of the operator that started it, whose count excludes other users of the machine. Without
control groups the count is the machine's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_PROC, _GROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def memory_kills(proc: Path = _PROC, groups: Path = _GROUPS) -> int:
    """Number of killed processes of this control group, or else of this machine."""
    for path in (*_counters(proc, groups), proc / "vmstat"):
        count = _count(path)
        if count is not None:
            return count
    return 0


def _counters(proc: Path, groups: Path) -> Iterator[Path]:
    """Possible files of the group's count: in its own folder, or in the only one that a container sees."""
    for line in _lines(proc / "self" / "cgroup"):
        _, controllers, group = line.split(":", 2)
        folders = (group.lstrip("/"), "")
        if "memory" in controllers.split(","):
            yield from (groups / "memory" / folder / "memory.oom_control" for folder in folders)
        elif not controllers:
            yield from (groups / folder / "memory.events.local" for folder in folders)


def _count(path: Path) -> int | None:
    words = (line.split() for line in _lines(path))
    return next((int(pair[1]) for pair in words if len(pair) == 2 and pair[0] == "oom_kill"), None)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
