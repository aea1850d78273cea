"""Steps of others at a chosen moment of a run: between its tasks, at a fault point, around a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lithify import faults
from lithify.clock import Clock
from lithify.engine.run.runner import InlineRunner, Progress
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.protocol.results import TaskResult
from lithify.io.storage import Storage

Step = Callable[[], object]
Method = tuple[type, str]


class Meanwhile(InlineRunner):
    """Runs tasks in this process; others take a step before or after the first of them are run."""

    def __init__(self, *, before: Step | None = None, after: Step | None = None) -> None:
        self._before = before
        self._after = after

    def run(self, tasks: Sequence[MergeTask], clock: Clock, progress: Progress) -> list[TaskResult]:
        """Runs all tasks to their end."""
        before, after = self._before, self._after
        self._before = self._after = None
        if before is not None:
            before()
        results = super().run(tasks, clock, progress)
        if after is not None:
            after()
        return results


class HeldStorage(Storage):
    """Waits in front of its first file, as `support.runs.Held` asks for, and tells when it is there."""

    def __init__(self, storage: Storage, action: str) -> None:
        super().__init__(storage._access, storage.roots)
        self._action = action

    def create(self, path: str) -> pa.NativeFile:
        """Opens a new file for writing."""
        faults._act(self._action, 0)
        file = super().create(path)
        Path(f"{self._action.removeprefix('hold:')}.written").write_text("written")
        return file


def step_at(monkeypatch: pytest.MonkeyPatch, point: str, step: Step) -> None:
    """Others take a step when this process comes to a fault point for the first time."""

    def act(action: str, attempt: int) -> None:
        if action == "step":
            monkeypatch.delenv("LITHIFY_FAULTS")
            step()

    monkeypatch.setattr(faults, "_act", act)
    monkeypatch.setenv("LITHIFY_FAULTS", f"{point}=step")


def steps_at(monkeypatch: pytest.MonkeyPatch, steps: Mapping[str, Step]) -> None:
    """Others take a step whenever this process comes to a fault point; `steps` has one for each point."""

    def act(action: str, attempt: int) -> None:
        del attempt
        if action:
            steps[action]()

    monkeypatch.setattr(faults, "_act", act)
    monkeypatch.setenv("LITHIFY_FAULTS", ";".join(f"{point}={point}" for point in steps))


def step_before(monkeypatch: pytest.MonkeyPatch, method: Method, step: Step, **which: Any) -> None:
    """Others take a step right before one call of a method; which one, `_beside` says."""
    _beside(monkeypatch, method, before=step, **which)


def step_after(monkeypatch: pytest.MonkeyPatch, method: Method, step: Step, **which: Any) -> None:
    """Others take a step right after one call of a method; which one, `_beside` says."""
    _beside(monkeypatch, method, after=step, **which)


def _beside(
    monkeypatch: pytest.MonkeyPatch,
    method: Method,
    *,
    before: Step = lambda: None,
    after: Step = lambda: None,
    matches: Callable[..., bool] = lambda *_: True,
    call: int = 1,
) -> None:
    """Takes steps beside one call of a method: the first, or a later one with arguments that match."""
    real = getattr(*method)
    calls = count(1)

    @wraps(real)
    def stepping(self: object, *arguments: Any, **named: Any) -> Any:
        is_meant = matches(*arguments) and next(calls) == call
        if is_meant:
            before()
        result = real(self, *arguments, **named)
        if is_meant:
            after()
        return result

    monkeypatch.setattr(*method, stepping)
