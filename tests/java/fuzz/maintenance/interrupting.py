"""Ends a run of maintenance at a random moment, or lets others take a step there.

A run ends at its n-th deletion, because the file system refuses it or because the process is killed, or at a
fault point. After that it deletes nothing more.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any

import pytest

from lithify import faults
from lithify.errors import StorageError

Step = Callable[[], object]


class Killed(BaseException):
    """The process is gone."""


INTERRUPTIONS = (Killed, StorageError, OSError)
"""How an interrupted run ends."""


@contextmanager
def disturbed(random: Random, points: Sequence[str], step: Callable[[str], None]) -> Iterator[None]:
    """Within it a run may be interrupted, or others take a step at one of its fault points."""
    how = random.choices(["not", "deletion", "kill", "step"], [4, 3, 2, 2])[0]
    with pytest.MonkeyPatch.context() as patched:
        if how == "deletion":
            _fail_deletions(patched, random.choice([0, 1, 2, 3, 5, 8, 13]), is_killed=random.random() < 0.5)
        elif how != "not":
            point = random.choice(points)
            _act_at(patched, point, _kill if how == "kill" else partial(step, point))
        yield


def _fail_deletions(patched: pytest.MonkeyPatch, count: int, *, is_killed: bool) -> None:
    """Lets a number of files be deleted, and no more."""
    unlink, left = os.unlink, count

    def refuse(path: str | bytes | os.PathLike[str], *, dir_fd: int | None = None) -> None:
        nonlocal left
        if not is_killed and ".lithify-" in str(path):
            unlink(path, dir_fd=dir_fd)
            return
        left -= 1
        if left < 0:
            raise Killed if is_killed else OSError(errno.EIO, os.strerror(errno.EIO))
        unlink(path, dir_fd=dir_fd)

    patched.setattr(os, "unlink", refuse)


def _act_at(patched: pytest.MonkeyPatch, point: str, step: Step) -> None:
    """Does something when this process comes to a fault point for the first time."""
    done = False

    def act(action: str, attempt: int) -> None:
        nonlocal done
        del attempt
        if action and not done:
            done = True
            step()

    patched.setattr(faults, "_act", act)
    patched.setenv("LITHIFY_FAULTS", f"{point}=step")


def _kill() -> None:
    raise Killed


class InOrder(Executor):
    """Does at once what it is given: threads would delete in another order each time, and start slowly."""

    def __init__(self, max_workers: int) -> None:
        del max_workers

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """See the base."""
        done: Future[Any] = Future()
        try:
            done.set_result(function(*given, **named))
        except Exception as error:  # noqa: BLE001  # as executors do
            done.set_exception(error)
        return done


@contextmanager
def in_order() -> Iterator[None]:
    """Within it no thread is started by what reads and deletes several files at a time."""
    with pytest.MonkeyPatch.context() as patched:
        for name, module in [*sys.modules.items()]:
            if (
                name.startswith("lithify.")
                and getattr(module, "ThreadPoolExecutor", None) is ThreadPoolExecutor
            ):
                patched.setattr(module, "ThreadPoolExecutor", InOrder)
        yield
