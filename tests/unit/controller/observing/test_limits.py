"""Kernel limits: real processes that impose them on themselves and then want more."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys

import pytest

from support.cases import case

BEGIN = """
import resource
from lithify.controller.observing.limits import allow_processor, limit_process
limit_process(192 << 20, 1 << 20)
"""
BUSY = """
def holding_the_interpreter():
    sum(range(1 << 40))  # one call of C code that no thread can interrupt
"""


def ended(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BEGIN + script], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    "script",
    [
        case("bytearray(1 << 30)", id="bytes"),
        case("[bytes(1000) for _ in range(1 << 20)]", id="many objects"),
        case("import numpy; numpy.ones(1 << 28)", id="numpy"),
        case("import pyarrow as pa; pa.allocate_buffer(1 << 30)", id="Arrow"),
        case("import mmap; mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE)", id="private mapping"),
    ],
)
def test_memory_is_refused_by_the_kernel(script: str) -> None:
    found = ended(script)

    assert found.returncode == 1
    assert "MemoryError" in found.stderr or "Cannot allocate memory" in found.stderr


@pytest.mark.thorough
def test_one_call_that_never_ends_is_ended_by_its_processor_time() -> None:
    found = ended(f"{BUSY}\nallow_processor(0.5)\nholding_the_interpreter()")

    assert found.returncode == -signal.SIGXCPU


@pytest.mark.thorough
def test_each_question_has_processor_time_of_its_own() -> None:
    found = ended(
        """
import time
for _ in range(3):
    begin = time.process_time()
    allow_processor(1.0)
    while time.process_time() < begin + 0.7:
        pass
print(resource.getrlimit(resource.RLIMIT_CPU)[0])
"""
    )

    assert found.returncode == 0
    assert int(found.stdout) >= 3


def test_files_cores_and_descriptors() -> None:
    found = ended(
        """
print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE))
import tempfile
with tempfile.TemporaryFile() as file:
    file.write(bytes(2 << 20))
"""
    )

    assert found.stdout.split("\n")[0].startswith("(0, 0) (1024, 1024)")
    assert "OSError" in found.stderr
    assert "File too large" in found.stderr


def test_a_tighter_limit_of_the_system_stays() -> None:
    script = BEGIN.replace(
        "limit_process(", "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); limit_process("
    )
    found = subprocess.run(
        [sys.executable, "-c", f"{script}\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert found.stdout.strip() == "(64, 64)"
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 64, "it holds for the other process alone"
