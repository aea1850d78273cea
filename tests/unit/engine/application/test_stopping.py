"""A driver that is asked to stop ends, whatever its main thread does at that moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from lithify.engine.application.stopping import STOPPED, Stopped, StopSignal
from support.cases import case
from support.runs import DEADLINE, TESTS

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    "kind",
    [
        case("signal", id="it blocks, and nothing interrupts the call"),
        case("finalizer", id="what the handler raises is swallowed"),
    ],
)
def test_a_signal_ends_the_process(kind: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "support.stopping", kind],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        timeout=DEADLINE,
        check=False,
    )
    assert ended.returncode == STOPPED


class TestListening:
    def test_leaves_the_interpreter_as_it_was(self) -> None:
        handler, descriptor = signal.getsignal(signal.SIGTERM), _wakeup_descriptor()
        try:
            with pytest.raises(Stopped), StopSignal().listening():
                signal.raise_signal(signal.SIGTERM)
            assert _wakeup_descriptor() == descriptor
        finally:
            signal.signal(signal.SIGTERM, handler)

    def test_other_signals_end_nothing(self) -> None:
        terminating = signal.getsignal(signal.SIGTERM)
        other = signal.signal(signal.SIGUSR1, lambda *_: None)
        try:
            stop = StopSignal()
            with stop.listening():
                signal.raise_signal(signal.SIGUSR1)
            assert not stop.requested
        finally:
            signal.signal(signal.SIGUSR1, other)
            signal.signal(signal.SIGTERM, terminating)


def _wakeup_descriptor() -> int:
    """The descriptor to which the interpreter writes signals, -1 for none."""
    descriptor = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(descriptor)
    return descriptor
