"""A worker process: reads questions about tables from its standard input, answers on its standard output.

Started by `process` as `python -m`. It ends when its input does, so it never outlives the operator, and when
it exceeds its limits of memory or processor time (`limits`). Output and logs of libraries are discarded once
it accepts questions: they may contain credentials, or text planted by a hostile table.
"""

from __future__ import annotations

import logging
import os
import signal
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import sleep
from typing import BinaryIO

from lithify.clock import SystemClock
from lithify.controller.observing.limits import allow_processor, limit_process
from lithify.controller.observing.wire import (
    HEADER,
    TOO_MUCH_MEMORY,
    Question,
    Reply,
    WorkerSettings,
    receive,
)
from lithify.io.guard import guard

_MEMORY_CHECKED = 0.2
"""Seconds between two checks of the worker's own memory."""


def main() -> None:
    """Answers questions until there are no more."""
    questions, replies = _take_over_streams()
    _be_quiet()
    _be_ended_first()
    settings: WorkerSettings = receive(questions)
    limit_process(settings.memory_bytes, settings.cache_bytes)
    if settings.addresses is not None:
        guard(settings.addresses)
    try:
        _answer_all(settings, questions, replies)
    except MemoryError:
        os._exit(TOO_MUCH_MEMORY)


def _answer_all(settings: WorkerSettings, questions: BinaryIO, replies: BinaryIO) -> None:
    Thread(target=_watch_memory, args=(settings.memory_bytes,), daemon=True).start()
    asked: SimpleQueue[Question] = SimpleQueue()
    Thread(target=_listen, args=(questions, asked), daemon=True).start()
    # Imported after the listener has started: importing takes seconds, and the operator may end during it.
    from lithify.controller.observing.answering import Answers
    from lithify.controller.observing.replies import write_reply

    def send(reply: Reply) -> None:
        data = write_reply(replace(reply, resident_bytes=resident_bytes()))
        replies.write(len(data).to_bytes(HEADER) + data)
        replies.flush()

    answers = Answers(settings, SystemClock())
    send(Reply())
    _be_mute()
    while True:
        question = asked.get()
        allow_processor(settings.processor_seconds)
        send(answers.reply(question))


def resident_bytes() -> int:
    """The resident memory of this process, 0 where the system does not report it."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def _take_over_streams() -> tuple[BinaryIO, BinaryIO]:
    """Reserves input and output for messages; other code reads nothing and its output is discarded."""
    questions, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nowhere, stream)
    return questions, replies


def _be_quiet() -> None:
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    # Ctrl-C is meant for the operator, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _be_mute() -> None:
    """Discards stderr from now on; before, it may say why the worker cannot start."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _be_ended_first() -> None:
    """If memory runs short, the kernel should choose this process rather than the operator's."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _listen(questions: BinaryIO, asked: SimpleQueue[Question]) -> None:
    """Passes questions on; ends the process, whatever it is doing, when the operator is gone."""
    try:
        while True:
            asked.put(receive(questions))
    except BaseException:  # noqa: BLE001  # there is nobody left to be told
        os._exit(0)


def _watch_memory(limit: int) -> None:
    while True:
        if resident_bytes() > limit:
            os._exit(TOO_MUCH_MEMORY)
        sleep(_MEMORY_CHECKED)


if __name__ == "__main__":
    main()
