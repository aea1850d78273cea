"""The program that decodes files, with decoders that end their process; run instead of it."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lithify.files.decoding_process import serve


def ending(source: pa.NativeFile, arguments: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Some batches of one row, after which the process gets a signal if one is named."""
    for number in range(arguments["batches"]):
        yield pa.record_batch({"n": [number], "environment": [" ".join(os.environ)]})
    if "signal" in arguments:
        os.kill(os.getpid(), signal.Signals[arguments["signal"]])


def reading(source: pa.NativeFile, arguments: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """The bytes of a file."""
    yield pa.record_batch({"content": [source.read()]})


def rereading(source: pa.NativeFile, arguments: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """The bytes of a file, again and again."""
    for _ in range(arguments["batches"]):
        source.seek(0)
        yield pa.record_batch({"content": [source.read()]})


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(socket.socket(fileno=0), {"ending": ending, "reading": reading, "rereading": rereading})
