"""Answers questions about tables, inside a worker: the bridge to the format adapters.

Made by `worker`. Every failure is returned as one of our errors, without credentials in it. The adapters
import pypaimon and PyArrow, so the operator's own process never calls this module.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from lithify.clock import Clock, find_zone
from lithify.controller.observing.listing import wanted_tables
from lithify.controller.observing.request import NO_TABLES, ObservationRequest, PlanRequest, TableTarget
from lithify.controller.observing.secrets import without_secrets
from lithify.controller.observing.wire import FindRun, ListTables, Question, Reply, WorkerSettings
from lithify.errors import InvalidOption, LithifyError, in_fields
from lithify.settings import TIME_ZONE
from lithify.tables.format import TableAddress
from lithify.tables.registry import FORMATS, open_watch
from lithify.tables.watching import Filter, Look, TableWatch

_NO_THREAD = "can't start new thread"
"""Python's message if a new thread's stack does not fit into memory."""


class Answers:
    """Answers questions, and caches the tables that they were about."""

    def __init__(self, settings: WorkerSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._watches: dict[str, TableWatch] = {}
        # Import the most common format now: the first question's timeout should not include it.
        self._watch(FORMATS[0])

    def reply(self, question: Question) -> Reply:
        """Returns the answer, or the error."""
        try:
            return Reply(value=self._answer(question))
        except LithifyError as error:
            return Reply(error=without_secrets(in_fields(error), question.target))
        except MemoryError:
            raise
        except RuntimeError as error:
            if str(error) == _NO_THREAD:
                raise MemoryError(_NO_THREAD) from error
            return Reply(error=_bug(question, error))
        except Exception as error:  # noqa: BLE001  # the worker goes on, and the question has its answer
            return Reply(error=_bug(question, error))

    def _answer(self, question: Question) -> Any:
        address = _address(question.target)
        watch = self._watch(address.format)
        if isinstance(question, ObservationRequest):
            return watch.observe(_look(question, address))
        if isinstance(question, PlanRequest):
            # Observations, which are far more frequent, need none of what a plan imports.
            from lithify.controller.observing.planning import plan

            return plan(question, address, _zone(question.target.time_zone), self._clock)
        if isinstance(question, FindRun):
            return watch.find_run(address, question.run, question.since)
        if isinstance(question, ListTables):
            if not question.wanted.include:
                watch.check_catalog(address)
                return NO_TABLES
            return wanted_tables(watch.list_tables(address), question.wanted)
        raise TypeError(f"not a question: {type(question).__name__}")

    def _watch(self, name: str) -> TableWatch:
        """Returns the observer of a table format, created for the first table of it."""
        if name not in self._watches:
            folder, given = Path(self._settings.cache_folder), self._settings
            watch = open_watch(name, folder, given.cache_bytes, self._clock, given.most_open)
            self._watches[name] = watch
        return self._watches[name]


def _zone(name: str | None) -> ZoneInfo:
    try:
        return find_zone(name)
    except ValueError as error:
        raise InvalidOption(TIME_ZONE, str(error)) from error


def _address(target: TableTarget) -> TableAddress:
    return TableAddress(
        warehouse=target.warehouse,
        name=target.identifier,
        catalog_options=dict(target.catalog_options),
        overrides=dict(target.overrides),
        reach=target.reach,
        format=target.format,
    )


def _look(request: ObservationRequest, address: TableAddress) -> Look:
    idle = request.idle_seconds
    return Look(
        address=address,
        key=request.cache_key,
        zone=_zone(request.target.time_zone),
        known_uuid=request.known_uuid,
        known_snapshot=request.known_snapshot,
        is_full=request.is_full,
        reconsider=request.reconsider,
        wanted=Filter(
            tuple(dict(values) for values in request.partitions),
            None if idle is None else idle * 1000,
            dict(request.held),
        ),
    )


def _bug(question: Question, error: Exception) -> LithifyError:
    return without_secrets(LithifyError(_unexpected(question, error)), question.target)


def _unexpected(question: Question, error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    what = f"{question.target.identifier}: {type(question).__name__}"
    return f"{what} failed unexpectedly ({type(error).__name__}{where}: {error}); please report this"
