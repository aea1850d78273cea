"""Answers that no name node gives: the client panics over some, and the process goes on."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Thread

import pytest

from lithify.errors import StorageUnavailable
from lithify.io.hdfs.kerberos import AUTHENTICATION
from lithify.io.hdfs.settings import PATIENCE
from lithify.io.object_storage import files_of
from lithify.io.objects.stores import settings_for

SUCCESS = b"\x08\xdf\xff\xff\xff\x0f\x10\x00"
"""The header of an answer in a login (call -33)."""
WRAP = b"\x10\x05"
"""A step of a login that never is the first."""


@pytest.fixture
def name_node() -> Iterator[str]:
    """One that answers every login in the wrong order."""
    parts = b"".join(bytes([len(part)]) + part for part in (SUCCESS, WRAP))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    asking, _ = server.accept()
                except OSError:
                    return
                with asking:
                    asking.sendall(len(parts).to_bytes(4, "big") + parts)
                    while asking.recv(1 << 16):  # else its end would overtake the answer
                        pass

        thread = Thread(target=serve)
        thread.start()
        yield f"hdfs://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_panic_of_the_client_is_an_error_like_others(name_node: str) -> None:
    files = files_of(settings_for(name_node, {AUTHENTICATION: "kerberos", PATIENCE: "0.1"}))
    for _ in range(2):
        with pytest.raises(StorageUnavailable, match="panic"):
            files.has_file(f"{name_node}/x")
