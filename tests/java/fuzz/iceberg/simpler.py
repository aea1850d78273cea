"""What simpler histories there are of one of an Iceberg table that fails: called by `shrinking`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from java.fuzz.iceberg.history import Append, Compact, History, Step


def simpler(history: History) -> Iterator[History]:
    """Histories of which one thing is left out, or is less."""
    for number in reversed(range(len(history.steps))):
        yield replace(history, steps=history.steps[:number] + history.steps[number + 1 :])
    for name in history.properties:
        yield replace(history, properties=_without(history.properties, name))
    for name in history.columns:
        yield replace(history, columns=_without(history.columns, name))
    if history.partitions:
        yield replace(history, partitions=history.partitions[:-1])
    for number, step in enumerate(history.steps):
        for less in _less(step):
            yield replace(history, steps=(*history.steps[:number], less, *history.steps[number + 1 :]))


def _less(step: Step) -> Iterator[Step]:
    if isinstance(step, Append) and step.format != "parquet":
        yield replace(step, format="parquet")
    if isinstance(step, Append) and step.count > 1:
        yield replace(step, count=step.count // 2)
    if isinstance(step, Compact):
        yield from _less_of_run(step)


def _less_of_run(step: Compact) -> Iterator[Compact]:
    for number in range(len(step.beside)):
        yield replace(step, beside=step.beside[:number] + step.beside[number + 1 :])
    for name in step.options:
        yield replace(step, options=_without(step.options, name))
    plain = Compact(step.full, step.options, on_branch=step.on_branch, beside=step.beside)
    if plain != step:
        yield plain
    usual: dict[str, Any] = {
        "task_bytes": None,
        "step_bytes": None,
        "budget": Compact(step.full).budget,
        "joins": "",
        "on_branch": False,
    }
    for name, value in usual.items():
        if getattr(step, name) != value:
            yield replace(step, **{name: value})


def _without(of: Mapping[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in of.items() if key != name}
