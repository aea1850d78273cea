"""Answers questions about tables, inside a worker: the bridge to the format adapters.

Made by `worker`. Every failure is returned as one of our errors, without credentials in it. The adapters
import pypaimon and PyArrow, so the operator's own process never calls this module.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from lithify.clock import Clock
from lithify.controller.observing.listing import wanted_tables
from lithify.controller.observing.replies import check_value
from lithify.controller.observing.request import NO_TABLES, PlanRequest
from lithify.controller.observing.secrets import without_secrets
from lithify.controller.observing.wire import FindRun, ListTables, Question, Reply, WorkerSettings
from lithify.errors import CorruptTable, LithifyError, in_fields
from lithify.formats.adapters import FORMATS
from lithify.formats.protocol.observing import ObservationRequest, TableObserver
from lithify.formats.registry import has_nested_namespaces, open_observer

_NO_THREAD = "can't start new thread"
"""Python's message if a new thread's stack does not fit into memory."""


class Answers:
    """Answers questions, and caches the tables that they were about."""

    def __init__(self, settings: WorkerSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._observers: dict[str, TableObserver] = {}
        # Import the most common format now: the first question's timeout should not include it.
        self._observer(FORMATS[0])

    def reply(self, question: Question) -> Reply:
        """Returns the answer, or the error."""
        try:
            return _checked(Reply(value=self._answer(question)), question)
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
        observer = self._observer(address.format)
        if isinstance(question, ObservationRequest):
            return observer.observe(question)
        if isinstance(question, PlanRequest):
            # Observations, which are far more frequent, need none of what a plan imports.
            from lithify.controller.observing.planning import plan

            return plan(question, self._clock)
        if isinstance(question, FindRun):
            return observer.find_run(address, question.run, question.since)
        if isinstance(question, ListTables):
            if not question.wanted.include:
                observer.check_catalog(address)
                return NO_TABLES
            is_deep = has_nested_namespaces(address.format)
            return wanted_tables(observer.list_tables(address), question.wanted, may_be_nested=is_deep)
        raise TypeError(f"not a question: {type(question).__name__}")

    def _observer(self, name: str) -> TableObserver:
        """Returns the observer of a table format, created for the first table of it."""
        if name not in self._observers:
            folder, given = Path(self._settings.cache_folder), self._settings
            observer = open_observer(name, folder, given.cache_bytes, self._clock, given.most_open)
            self._observers[name] = observer
        return self._observers[name]


def _checked(reply: Reply, question: Question) -> Reply:
    """The reply, if the operator accepts it: whatever a table's or catalog's files say, it is theirs."""
    try:
        check_value(reply)
    except ValueError as error:
        address = question.address
        where = address.name or address.catalog_options.get("uri", address.warehouse)
        problem = f"its metadata has values that no table has ({str(error).partition(chr(10))[0]})"
        raise CorruptTable(where, problem) from error
    return reply


def _bug(question: Question, error: Exception) -> LithifyError:
    return without_secrets(LithifyError(_unexpected(question, error)), question.address)


def _unexpected(question: Question, error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    what = f"{question.address.name}: {type(question).__name__}"
    return f"{what} failed unexpectedly ({type(error).__name__}{where}: {error}); please report this"
