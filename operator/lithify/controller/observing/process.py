"""One worker process as the operator's process sees it: started, asked one question at a time, killed.

Made by `pool`, which decides when. Imports nothing of the table formats. Nothing waits inline for a worker's
death: a process that waits for a dead disk cannot even be killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from contextlib import suppress

from lithify.controller.observing.replies import read_reply
from lithify.controller.observing.wire import (
    HEADER,
    MOST_REPLY,
    TOO_MUCH_MEMORY,
    Reply,
    WorkerSettings,
    framed,
)
from lithify.errors import ProcessLimit, ProcessLost, TimedOut
from lithify.settings import LOOKS

_WORKER = "lithify.controller.observing.worker"
_LEAN = {
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Environment variables with which libraries use less memory; metadata needs none of their threads."""
_STARTING = "starting an observing worker"
_CHUNK = 1 << 16
_ENDING = 1.0
"""Seconds to wait for the exit code of a lost process."""


class WorkerProcess:
    """A worker. It accepts questions once it is ready."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._settings: WorkerSettings | None = None
        self.answered = 0
        self.resident_bytes = 0

    @classmethod
    async def start(cls) -> WorkerProcess:
        """Starts a worker.

        Raises:
            ProcessLost: the system refuses.
        """
        try:
            process = await create_subprocess_exec(
                sys.executable, "-P", "-m", _WORKER, stdin=PIPE, stdout=PIPE, env={**os.environ, **_LEAN}
            )
        except OSError as error:
            raise ProcessLost(_STARTING, f"the system refuses ({error})") from error
        return cls(process)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it is known to have ended."""
        replies = self._process.stdout
        return self._process.returncode is not None or replies is None or replies.at_eof()

    async def be_ready(self, settings: WorkerSettings, seconds: float) -> None:
        """Sends the worker its settings and waits until it accepts questions.

        Raises:
            ProcessLost: it ended, or took longer.
        """
        self._settings = settings
        try:
            await self.ask(framed(settings), _STARTING, seconds)
        except TimedOut as error:
            raise ProcessLost(_STARTING, str(error)) from error
        self.answered = 0

    async def ask(self, message: bytes, what: str, seconds: float) -> Reply:
        """Asks a question. Unless a reply arrives, the worker is killed, because its state is unknown.

        Args:
            message: the question, framed.
            what: what is asked, for people.
            seconds: timeout of the answer.

        Raises:
            TimedOut: it took longer.
            ProcessLost: the worker ended; a ProcessLimit if it did so at one of its limits.
        """
        try:
            async with asyncio.timeout(seconds):
                reply = await self._exchange(message)
        except TimeoutError as error:
            self.kill()
            raise TimedOut(what, seconds) from error
        except (EOFError, OSError, ValueError) as error:
            raise await self._lost(what) from error
        except BaseException:
            self.kill()
            raise
        self.answered += 1
        self.resident_bytes = reply.resident_bytes
        return reply

    def kill(self) -> None:
        """Kills it."""
        with suppress(ProcessLookupError):
            self._process.kill()
        self.let_go()

    def let_go(self) -> None:
        """Closes its input, at which it ends by itself."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def wait(self) -> None:
        """Waits until it has ended and its pipes are closed; no question may be active."""
        while self._process.stdout is not None and await self._process.stdout.read(_CHUNK):
            pass
        await self._process.wait()

    async def _exchange(self, message: bytes) -> Reply:
        questions, replies = self._process.stdin, self._process.stdout
        if questions is None or replies is None:
            raise EOFError
        questions.write(message)
        await questions.drain()
        size = int.from_bytes(await replies.readexactly(HEADER))
        if size > MOST_REPLY:
            raise EOFError
        return read_reply(await replies.readexactly(size))

    async def _lost(self, what: str) -> ProcessLost:
        """The error that describes how the worker ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENDING):
                await self._process.wait()
        code = self._process.returncode
        self.kill()
        settings = self._settings
        if settings is not None and code in _LIMITS:
            limit = _LIMITS[code].format(settings.memory_bytes >> 20, settings.processor_seconds)
            return ProcessLimit(what, limit)
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
        return ProcessLost(what, f"the worker {how} before it answered")


_MEMORY = (
    "the worker needed more memory than its limit of {0} MiB; raise the memory limit of the operator's "
    "container, or have it observe fewer tables at a time ("
    f"{LOOKS.field})"
)
_LIMITS = {
    TOO_MUCH_MEMORY: _MEMORY,
    -signal.SIGABRT: f"a library ended the worker, usually for lack of memory; if so, {_MEMORY}",
    -signal.SIGXCPU: "the worker needed more than the limit of {1:g} s of processor time for an answer",
}
"""The limit behind an exit code of a worker."""
