"""A name server of an attacker: one address when the operator checks, another one when it connects.

The resolver is the system's own; a mount namespace gives one process another name server.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from threading import Thread

import pytest

from cluster.hostile.catalogs import listening

HERE = "127.0.0.153"
PUBLIC = "93.184.216.34"
_A = 1

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root, for a mount namespace"
)


class NameServer:
    """Answers questions for addresses of a name with a public address and 127.0.0.1, in turns."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HERE, 53))
        self._thread = Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while (received := self._socket.recvfrom(512))[0]:
            self._socket.sendto(self._answer(received[0]), received[1])

    def _answer(self, query: bytes) -> bytes:
        end = query.index(0, 12)
        kind = int.from_bytes(query[end + 1 : end + 3])
        question = query[12 : end + 5]
        records = self._record(query[13:end].decode("latin-1")) if kind == _A else b""
        counts = b"\x00\x01" + len(records[:1]).to_bytes(2) + bytes(4)
        return query[:2] + b"\x85\x80" + counts + question + records

    def _record(self, name: str) -> bytes:
        self.asked[name] += 1
        address = PUBLIC if self.asked[name] % 2 else "127.0.0.1"
        return b"\xc0\x0c\x00\x01\x00\x01" + bytes(4) + b"\x00\x04" + socket.inet_aton(address)

    def close(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"", (HERE, 53))
        self._thread.join()
        self._socket.close()


@pytest.fixture
def name_server() -> Iterator[NameServer]:
    server = NameServer()
    yield server
    with suppress(OSError):
        server.close()


SCRIPT = """
    import sys
    from lithify.errors import LithifyError
    from lithify.io.addresses import read_policy
    from lithify.io.guard import guard
    from lithify.formats.paimon.catalog.connecting import list_tables

    guard(read_policy([], "10.96.0.1"))
    way, port = sys.argv[1:]
    url = f"http://{way}.rebinding.example:{port}"
    if way == "rest":
        where, options = "w", {"metastore": "rest", "uri": url, "token.provider": "bear", "token": "t"}
    else:
        keys = {"s3.access-key": "a", "s3.secret-key": "b", "s3.path.style.access": "true"}
        where, options = "s3://lake/w", {**keys, "s3.endpoint": url, "lithify.s3.patience-seconds": "0"}
    try:
        list_tables(where, options)
    except LithifyError as error:
        print(type(error).__name__)
"""


@pytest.mark.parametrize("way", ["rest", "s3"])
def test_names_that_change_between_check_and_connection_lead_nowhere(
    name_server: NameServer, tmp_path: Path, way: str
) -> None:
    resolver = tmp_path / "resolv.conf"
    resolver.write_text(f"nameserver {HERE}\noptions timeout:2 attempts:1\n", encoding="ascii")
    python = [sys.executable, "-c", dedent(SCRIPT), way]
    mounted = f'mount --bind {resolver} /etc/resolv.conf && exec "$@"'
    with listening() as listener:
        command = ["unshare", "--mount", "sh", "-c", mounted, "sh", *python, str(listener.port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert listener.connections == 0
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() in (["OutOfReach"], ["NotAllowed"], ["StorageError"])
    assert sum(name_server.asked.values()) >= 2, "the name was resolved again, and led here"
