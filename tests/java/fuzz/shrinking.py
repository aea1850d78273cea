"""Cuts a history that fails down to what it takes to fail in the same way; knows no format.

The tests of each kind of history say how one is played, and which simpler ones there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import extract_tb
from typing import TypeVar

History = TypeVar("History")


def cut_down(
    history: History,
    play: Callable[[History, Path], object],
    simpler: Callable[[History], Iterable[History]],
) -> str:
    """The least of a history that fails as all of it does, and how, as text.

    Args:
        history: a history that has failed.
        play: plays one in an empty folder.
        simpler: the histories of which one thing is left out.
    """

    def fails(history: History) -> str | None:
        with TemporaryDirectory(prefix="lithify-fuzz-") as folder:
            try:
                play(history, Path(folder))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                *_, last = extract_tb(error.__traceback__)
                return f"{type(error).__name__} in {last.name}, line {last.lineno}"
        return None

    failure = fails(history)
    if failure is None:
        return "it failed, and not again"
    return f"{failure}: {smallest(history, fails, simpler, failure)}"


def smallest(
    history: History,
    fails: Callable[[History], str | None],
    simpler: Callable[[History], Iterable[History]],
    failure: str,
) -> History:
    """A history of which nothing can be left out that is tried here; fails with the same words."""
    while True:
        smaller = next((each for each in simpler(history) if fails(each) == failure), None)
        if smaller is None:
            return history
        history = smaller
