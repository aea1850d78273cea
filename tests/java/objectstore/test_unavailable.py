"""A store that does not answer is unavailable, for a while and for everybody; no table vanishes by that."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.server import SECRET_KEY
from infrastructure.objectstore.tables import IMPATIENT, address, run, small_table
from lithify.errors import Failure, NotAllowed, NotFound, StorageUnavailable
from lithify.formats.paimon.catalog.connecting import list_tables
from lithify.formats.paimon.opening import open_table

BOUND_SECONDS = 15.0
"""Well above the second of patience that is asked for, also on a busy machine."""


@contextmanager
def stopped(bucket: Bucket) -> Iterator[str]:
    bucket.server.kill()
    yield bucket.server.endpoint


@contextmanager
def black_hole(bucket: Bucket) -> Iterator[str]:
    """Takes connections in, and nothing ever comes out."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=64)) as hole:
        yield f"http://127.0.0.1:{hole.getsockname()[1]}"


@contextmanager
def something_else(bucket: Bucket) -> Iterator[str]:
    """A server that speaks HTTP and has never heard of object stores."""

    class NotThere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<html>no such page</html>"
            self.send_response(404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), NotThere) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lithify.io.objects.bucket.SILENCE_SECONDS", 1)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("trouble", [stopped, black_hole, something_else], ids=lambda each: each.__name__)
@pytest.mark.parametrize("asked", ["a table", "the tables"])
@pytest.mark.usefixtures("quick")
def test_it_is_said_within_a_bounded_time(
    bucket: Bucket, trouble: Callable[[Bucket], Iterator[str]], asked: str
) -> None:
    small_table(bucket)
    with trouble(bucket) as endpoint:  # type: ignore[attr-defined]
        where = address(bucket, endpoint, **IMPATIENT)
        began = time.monotonic()

        with pytest.raises(StorageUnavailable) as caught:
            open_table(where) if asked == "a table" else list_tables(where.warehouse, where.catalog_options)

    assert time.monotonic() - began < BOUND_SECONDS
    assert caught.value.failure is Failure.INFRASTRUCTURE


def test_a_table_that_is_open_says_so_too_whatever_the_number_of_its_snapshot(s3: Bucket) -> None:
    """What pypaimon makes of a failure about `snapshot-133` is that there is no such file."""
    small_table(s3)
    table = open_table(address(s3, **IMPATIENT))
    s3.server.kill()

    for look in (
        table.snapshots.latest,
        lambda: table.snapshots.exists(133),
        lambda: table.snapshots.get(133),
    ):
        with pytest.raises(StorageUnavailable):
            look()


WRONG = {
    "S3": {"s3.secret-key": "wrong-secret"},
    "OSS": {"fs.oss.accessKeySecret": "wrong-secret"},
    "GCS": {"gcs.oauth2.token": "wrong-secret"},
    "Azure": {"adls.auth.shared-key.account.key": b64encode(b"wrong-secret").decode()},
}


def test_credentials_that_are_not_accepted(bucket: Bucket) -> None:
    small_table(bucket)
    [(name, wrong)] = WRONG[bucket.server.kind].items()

    with pytest.raises(NotAllowed) as caught:
        open_table(address(bucket, **{name: wrong}))

    assert wrong not in str(caught.value)


def test_what_does_not_exist(bucket: Bucket) -> None:
    small_table(bucket)

    with pytest.raises(NotFound) as no_folder:
        list_tables(f"{bucket.url}/sea", bucket.options())
    with pytest.raises(NotFound) as no_bucket:
        list_tables(f"{bucket.url.replace(bucket.name, 'no-such-bucket')}/lake", bucket.options())

    assert (no_folder.value.what, no_bucket.value.what) == ("warehouse", "warehouse")
    assert list_tables(f"{bucket.url}/lake", bucket.options()) == ("db.t",)


def test_a_short_outage_is_ridden_out(s3: Bucket) -> None:
    small_table(s3)
    table = open_table(address(s3))
    s3.server.kill()

    with ThreadPoolExecutor(1) as other:
        newest = other.submit(table.snapshots.latest)
        with pytest.raises(TimeoutError):
            newest.result(timeout=1)
        s3.server.start()

        assert newest.result() is not None


def test_no_secret_is_in_errors_logs_and_journals(bucket: Bucket, caplog: pytest.LogCaptureFixture) -> None:
    small_table(bucket)
    caplog.set_level("DEBUG")
    secrets = (bucket.server.secret, "a-very-secret-token")
    table = open_table(address(bucket, **IMPATIENT))

    run(bucket)
    bucket.fetch()
    bucket.server.kill()
    with pytest.raises(StorageUnavailable) as caught:
        table.snapshots.latest()

    told = (
        f"{caught.value}{caught.value!r}{table.storage.objects!r}{vars(table.storage.objects)!r}{caplog.text}"
    )
    kept = "".join(path.read_text(errors="replace") for path in bucket.folder.rglob("lithify/**/*.json"))
    assert not any(secret in told + kept for secret in secrets)


def test_storage_is_shipped_whole(bucket: Bucket) -> None:
    small_table(bucket)
    storage = open_table(address(bucket)).storage

    shipped = pickle.loads(pickle.dumps(storage))

    assert shipped.read_text(f"{bucket.url}/lake/db.db/t/snapshot/LATEST") == "2"


def test_the_command_says_it_with_its_exit_code(s3: Bucket) -> None:
    small_table(s3)
    s3.server.kill()
    options = [f"--catalog-option={key}={value}" for key, value in {**s3.options(), **IMPATIENT}.items()]
    command = [str(Path(sys.executable).with_name("lithify")), "plan", "--warehouse", f"{s3.url}/lake"]

    ended = subprocess.run(
        [*command, "--table", "db.t", *options], env=os.environ, capture_output=True, text=True, check=False
    )

    assert (ended.returncode, SECRET_KEY in ended.stdout + ended.stderr) == (1, False)
