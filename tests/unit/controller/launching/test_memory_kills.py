"""Kills for want of memory are counted where the driver runs, not wherever the machine lacks some."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lithify.controller.launching.memory_kills import memory_kills

MACHINE = {"proc/vmstat": "pgfault 1\noom_kill 19\n"}
OLD = {**MACHINE, "proc/self/cgroup": "9:cpu,cpuacct:/\n4:memory:/tenants/a\n0::/\n"}
NEW = {**MACHINE, "proc/self/cgroup": "0::/tenants/a\n"}


@pytest.mark.parametrize(
    ("files", "count"),
    [
        pytest.param({}, 0, id="nobody tells"),
        pytest.param(MACHINE, 19, id="no groups"),
        pytest.param(
            {**OLD, "g/memory/tenants/a/memory.oom_control": "under_oom 0\noom_kill 2\n"}, 2, id="v1"
        ),
        pytest.param({**OLD, "g/memory/memory.oom_control": "oom_kill 3\n"}, 3, id="v1 in a container"),
        pytest.param({**OLD, "g/memory/memory.oom_control": "under_oom 0\n"}, 19, id="v1 of an old kernel"),
        pytest.param({**NEW, "g/tenants/a/memory.events.local": "oom 1\noom_kill 4\n"}, 4, id="v2"),
        pytest.param({**NEW, "g/memory.events.local": "oom_kill 5\n"}, 5, id="v2 in a container"),
        pytest.param(NEW, 19, id="v2 without the memory controller"),
    ],
)
def test_the_nearest_count_is_taken(tmp_path: Path, files: Mapping[str, str], count: int) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert memory_kills(tmp_path / "proc", tmp_path / "g") == count


def test_this_machine_has_one() -> None:
    assert memory_kills() >= 0
