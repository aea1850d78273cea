"""Runs actors step by step in one chosen order, and enumerates all orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Semaphore, Thread

Pause = Callable[[], None]
Actor = Callable[[Pause], None]
"""Does its work and calls the pause before each step that others can see."""

Choose = Callable[[int], int]
"""Picks one of so many actors that have not ended."""

_DEADLINE = 60.0


class _Worker:
    """An actor in a thread that runs only between `step` and its next pause."""

    def __init__(self, actor: Actor) -> None:
        self._go, self._paused = Semaphore(0), Semaphore(0)
        self._actor = actor
        self._thread = Thread(target=self._run, daemon=True)
        self.error: BaseException | None = None
        self.has_ended = False
        self._thread.start()

    def step(self) -> None:
        self._go.release()
        assert self._paused.acquire(timeout=_DEADLINE), "an actor neither pauses nor ends"
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        self._go.acquire()
        try:
            self._actor(self._pause)
        except BaseException as error:  # noqa: BLE001  # passed on by `step`
            self.error = error
        self.has_ended = True
        self._paused.release()

    def _pause(self) -> None:
        self._paused.release()
        self._go.acquire()


def interleave(actors: Sequence[Actor], choose: Choose) -> None:
    """Runs actors to their first pauses, then to their ends; at each step `choose` picks who goes on."""
    workers = [_Worker(actor) for actor in actors]
    for worker in workers:
        worker.step()
    while running := [worker for worker in workers if not worker.has_ended]:
        running[choose(len(running))].step()


def all_orders() -> Iterator[Choose]:
    """Choices for `interleave`, until every order has been taken; each must be used before the next."""
    taken: list[tuple[int, int]] = []
    while True:
        path, depth = taken, 0
        taken = []

        def choose(
            count: int, path: list[tuple[int, int]] = path, taken: list[tuple[int, int]] = taken
        ) -> int:
            chosen = path[len(taken)][0] if len(taken) < len(path) else 0
            taken.append((chosen, count))
            return chosen

        yield choose
        depth = len(taken)
        while depth and taken[depth - 1][0] + 1 == taken[depth - 1][1]:
            depth -= 1
        if not depth:
            return
        taken = [*taken[: depth - 1], (taken[depth - 1][0] + 1, taken[depth - 1][1])]
