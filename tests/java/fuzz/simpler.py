"""What simpler histories there are of one of a Paimon table that fails: called by `shrinking`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from java.fuzz.history import Alter, Compact, History, Step, Write


def simpler(history: History) -> Iterator[History]:
    """Histories of which one thing is left out, or is less."""
    for number in reversed(range(len(history.steps))):
        yield replace(history, steps=history.steps[:number] + history.steps[number + 1 :])
    for name in history.options:
        if name not in ("bucket", "file.format"):
            yield replace(history, options=_without(history.options, name))
    for name in history.values:
        yield replace(history, values=_without(history.values, name))
    for name in history.key if len(history.key) > 1 else ():
        yield replace(history, key=_without(history.key, name))
    if history.partition:
        yield replace(history, partition={}, moving=())
    if history.moving:
        yield replace(history, moving=())
    for number, step in enumerate(history.steps):
        for less in _simpler(step):
            yield replace(history, steps=(*history.steps[:number], less, *history.steps[number + 1 :]))


def _simpler(step: Step) -> Iterator[Step]:
    if isinstance(step, Write) and step.rows > 1:
        yield replace(step, rows=step.rows // 2)
        yield replace(step, rows=step.rows - 1)
    if isinstance(step, Write) and (step.overwrites or step.compacts):
        yield replace(step, overwrites=False, compacts=False)
    if isinstance(step, Alter) and len(step.changes) > 1:
        for number in range(len(step.changes)):
            yield replace(step, changes=step.changes[:number] + step.changes[number + 1 :])
    if isinstance(step, Compact):
        for number in range(len(step.beside)):
            yield replace(step, beside=step.beside[:number] + step.beside[number + 1 :])
        if step.early:
            yield replace(step, early=False)
        if (step.task_bytes, step.step_bytes) != (None, None):
            yield replace(step, task_bytes=None, step_bytes=None)


def _without(of: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in of.items() if key != name}
