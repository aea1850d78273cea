"""Runs calls that may never return, each in a thread, and stops waiting for them in time.

Used by `client`: hdfs-native waits for name nodes for ever and cannot be interrupted. Its asynchronous twin
could be, but deadlocks with Python's global lock when a connection breaks under several requests. The threads
are daemons, so that none of them keeps the process alive.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Answer = TypeVar("Answer")
Work = Callable[[], Any]

_idle: list[_Worker] = []


def within(seconds: float, work: Callable[[], Answer]) -> Answer:
    """Calls a function and waits for it that long; after that it goes on unheeded.

    Raises:
        TimeoutError: it takes longer.
        RuntimeError: the client panics, as it does over some answers that no name node should give.
    """
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    future: Future[Answer] = Future()
    worker.begin(work, future)
    return future.result(seconds)


class _Worker:
    """A thread that does one thing after the other."""

    def __init__(self) -> None:
        self._next: SimpleQueue[tuple[Work, Future[Any]]] = SimpleQueue()
        Thread(target=self._work, daemon=True, name="hdfs").start()

    def begin(self, work: Work, future: Future[Any]) -> None:
        self._next.put((work, future))

    def _work(self) -> None:
        while True:
            self._do(*self._next.get())
            _idle.append(self)

    def _do(self, work: Work, future: Future[Any]) -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001  # whoever waits gets it
            future.set_exception(error)
        except BaseException:  # noqa: BLE001  # a panic of the client, which must not end the process
            future.set_exception(RuntimeError("panic"))
