"""Answers questions about tables, inside a worker: the bridge to the format adapters.

Made by `worker`. Whatever goes wrong comes back as one of our errors, without credentials in it. The
adapters import pypaimon and PyArrow, so the operator's own process never asks here.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from lithify.clock import Clock
from lithify.controller.observing.listing import wanted_tables
from lithify.controller.observing.request import NO_TABLES, PlanRequest
from lithify.controller.observing.secrets import without_secrets
from lithify.controller.observing.wire import FindRun, ListTables, Question, Reply, WorkerSettings
from lithify.errors import LithifyError, in_fields
from lithify.tables.registry import FORMATS, open_watch
from lithify.tables.watching import ObservationRequest, TableWatch

_NO_THREAD = "can't start new thread"
"""What Python says where the stack of a thread does not fit into memory."""


class Answers:
    """Knows the tables that it was asked about."""

    def __init__(self, settings: WorkerSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._watches: dict[str, TableWatch] = {}
        # The time-out of the first question is not for the imports of the format that most tables have.
        self._watch(FORMATS[0])

    def reply(self, question: Question) -> Reply:
        """The answer, or why there is none."""
        try:
            return Reply(value=self._answer(question))
        except LithifyError as error:
            return Reply(error=without_secrets(in_fields(error), question.address))
        except MemoryError:
            raise
        except RuntimeError as error:
            if str(error) == _NO_THREAD:
                raise MemoryError(_NO_THREAD) from error
            return Reply(error=_bug(question, error))
        except Exception as error:  # noqa: BLE001  # the worker goes on, and the question has its answer
            return Reply(error=_bug(question, error))

    def _answer(self, question: Question) -> Any:
        address = question.address
        watch = self._watch(address.format)
        if isinstance(question, ObservationRequest):
            return watch.observe(question)
        if isinstance(question, PlanRequest):
            # Looks, of which there are many more, need none of what a plan imports.
            from lithify.controller.observing.planning import plan

            return plan(question, self._clock)
        if isinstance(question, FindRun):
            return watch.find_run(address, question.run, question.since)
        if isinstance(question, ListTables):
            if not question.wanted.include:
                watch.check_catalog(address)
                return NO_TABLES
            return wanted_tables(watch.list_tables(address), question.wanted)
        raise TypeError(f"not a question: {type(question).__name__}")

    def _watch(self, name: str) -> TableWatch:
        """What looks at the tables of a format; made when the first of them is asked for."""
        if name not in self._watches:
            folder, given = Path(self._settings.cache_folder), self._settings
            watch = open_watch(name, folder, given.cache_bytes, self._clock, given.most_open)
            self._watches[name] = watch
        return self._watches[name]


def _bug(question: Question, error: Exception) -> LithifyError:
    return without_secrets(LithifyError(_unexpected(question, error)), question.address)


def _unexpected(question: Question, error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    what = f"{question.address.name}: {type(question).__name__}"
    return f"{what} failed unexpectedly ({type(error).__name__}{where}: {error}); please report this"
