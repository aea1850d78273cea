"""How the memory of a container is divided between the operator and its workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.observing.share import LEAST, Share, container_bytes, machine_bytes, share
from lithify.errors import InvalidOption
from support.cases import case

MIB = 1 << 20
UNLIMITED = str((1 << 63) - 4096)


def system(folder: Path, groups: str, limits: dict[str, str]) -> Path:
    """A file system root with what the kernel says of control groups."""
    for path, text in {"proc/self/cgroup": groups, **limits}.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return folder


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        case("0::/", {"sys/fs/cgroup/memory.max": "2147483648"}, 2 << 30, id="version 2, own root"),
        case("0::/", {"sys/fs/cgroup/memory.max": "max"}, None, id="version 2 without a limit"),
        case(
            "0::/kubepods/pod1/c",
            {
                "sys/fs/cgroup/kubepods/pod1/c/memory.max": "max",
                "sys/fs/cgroup/kubepods/pod1/memory.max": str(5 * MIB),
                "sys/fs/cgroup/kubepods/memory.max": str(9 * MIB),
            },
            5 * MIB,
            id="version 2, a group above is tighter",
        ),
        case(
            "4:cpu,cpuacct:/a\n3:memory:/kubepods/c\n0::/",
            {"sys/fs/cgroup/memory/memory.limit_in_bytes": str(7 * MIB)},
            7 * MIB,
            id="version 1, the host's path is not visible",
        ),
        case(
            "3:memory:/c\n0::/",
            {"sys/fs/cgroup/memory/c/memory.limit_in_bytes": UNLIMITED},
            None,
            id="version 1 without a limit",
        ),
        case("garbage:", {}, None, id="garbage"),
        case("0::/", {"sys/fs/cgroup/memory.max": "many"}, None, id="no number"),
    ],
)
def test_the_limit_of_a_container(
    tmp_path: Path, groups: str, limits: dict[str, str], expected: int | None
) -> None:
    if groups == "garbage:":
        assert container_bytes(tmp_path) is None
        return
    assert container_bytes(system(tmp_path, groups, limits)) == expected


@pytest.mark.parametrize(
    ("container", "machine", "looks", "expected"),
    [
        case(2048, 16_000, 2, Share(2, 768 * MIB), id="the chart's defaults"),
        case(1024, 16_000, 2, Share(2, 384 * MIB), id="half of them"),
        case(800, 16_000, 2, Share(2, 272 * MIB), id="just enough"),
        case(700, 16_000, 2, Share(1, 444 * MIB), id="one of two fits"),
        case(8192, 4096, 2, Share(2, 1536 * MIB), id="the machine has less than the limit"),
        case(None, 64_000, 2, Share(2, 2048 * MIB), id="a large machine without a limit"),
        case(32_768, 64_000, 2, Share(2, 12_288 * MIB), id="a large container"),
    ],
)
def test_what_each_worker_may_take(container: int | None, machine: int, looks: int, expected: Share) -> None:
    assert share(None if container is None else container * MIB, machine * MIB, looks) == expected


@given(
    total=st.integers(512, 1 << 17).map(lambda mebibytes: mebibytes * MIB),
    looks=st.integers(1, 64),
    is_limited=st.booleans(),
)
def test_all_workers_and_the_operator_fit(total: int, looks: int, is_limited: bool) -> None:
    found = share(total if is_limited else None, total, looks)

    assert 1 <= found.workers <= looks
    assert found.memory_bytes >= LEAST
    assert found.workers * found.memory_bytes <= total - max(total // 4, 256 * MIB)


def test_a_container_in_which_no_worker_fits_is_refused_with_what_it_takes() -> None:
    with pytest.raises(InvalidOption) as raised:
        share(300 * MIB, 16 << 30, 2)
    assert raised.value.option == "--looks"
    assert "300 MiB" in str(raised.value)
    assert "512 MiB" in str(raised.value)


def test_the_machine_says_how_much_it_has() -> None:
    assert machine_bytes() > 256 * MIB
