"""A file that ends the process that decodes it is named; the process of the reader goes on."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from lithify.errors import CorruptTable
from lithify.files import isolated_reading
from lithify.files.isolated_reading import IsolatedReading

pytestmark = pytest.mark.thorough


TESTS = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def decoders(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(isolated_reading, "_PROGRAM", "support.ending_decoders")
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    isolated_reading._server.cache_clear()
    yield
    isolated_reading._server.cache_clear()


def source() -> pa.NativeFile:
    return pa.BufferReader(b"content")


def numbers(batches: Iterator[pa.RecordBatch]) -> list[int]:
    return [number for batch in batches for number in batch["n"].to_pylist()]


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGFPE", "SIGPROF"])
def test_death_of_the_process_is_damage_of_the_file(name: str) -> None:
    isolated = IsolatedReading()
    batches = isolated.batches("bad.orc", source(), "ending", {"batches": 2, "signal": name})

    with pytest.raises(CorruptTable) as caught:
        numbers(batches)

    assert caught.value.path == "bad.orc"
    assert numbers(isolated.batches("good.orc", source(), "ending", {"batches": 2})) == [0, 1]


def test_file_that_ended_the_process_is_named_when_another_is_asked_for() -> None:
    isolated = IsolatedReading()
    good = isolated.batches("good.orc", source(), "ending", {"batches": 5})
    assert next(good)["n"].to_pylist() == [0]
    bad = isolated.batches("bad.orc", source(), "ending", {"batches": 1, "signal": "SIGSEGV"})
    assert next(bad)["n"].to_pylist() == [0]

    with pytest.raises(CorruptTable) as caught:
        numbers(good)

    assert caught.value.path == "bad.orc"


def test_process_that_is_killed_is_a_lack_of_memory() -> None:
    batches = IsolatedReading().batches("f.orc", source(), "ending", {"batches": 0, "signal": "SIGKILL"})

    with pytest.raises(MemoryError):
        next(batches)


def test_process_has_no_credentials() -> None:
    (batch,) = IsolatedReading().batches("f.orc", source(), "ending", {"batches": 1})

    assert "AWS_SECRET_ACCESS_KEY" not in batch["environment"][0].as_py().split()


def test_bytes_are_those_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"local")
    isolated = IsolatedReading()

    with io.FileIO(path) as local:
        (mine,) = isolated.batches("local", local, "reading", {})
        (other,) = isolated.batches("remote", source(), "reading", {})

    assert (mine["content"].to_pylist(), other["content"].to_pylist()) == ([b"local"], [b"content"])


def test_error_of_the_source_is_passed_on() -> None:
    class Refusing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise PermissionError(13, "refused")

    refusing = pa.PythonFile(Refusing(b"content"), mode="r")

    with pytest.raises(PermissionError):
        next(IsolatedReading().batches("f.orc", refusing, "reading", {}))


def test_threads_that_share_a_reader_get_the_rows_of_their_own_files() -> None:
    isolated = IsolatedReading()

    def read(number: int) -> list[str]:
        content = pa.BufferReader(f"{number}".encode() * 1000)
        (batch,) = isolated.batches(f"{number}.orc", content, "reading", {})
        return [each.decode() for each in batch["content"].to_pylist()]

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(read, range(200)))

    assert found == [[f"{number}" * 1000] for number in range(200)]


def test_file_that_is_closed_while_it_is_read_ahead_does_not_harm_the_next_one() -> None:
    isolated = IsolatedReading()
    abandoned = isolated.batches("abandoned.orc", source(), "rereading", {"batches": 3})
    assert next(abandoned)["content"].to_pylist() == [b"content"]
    abandoned.close()

    (batch,) = isolated.batches("next.orc", pa.BufferReader(b"other"), "reading", {})

    assert batch["content"].to_pylist() == [b"other"]


def test_file_that_ends_the_process_after_it_was_closed_is_named() -> None:
    isolated = IsolatedReading()
    abandoned = isolated.batches("abandoned.orc", source(), "ending", {"batches": 1, "signal": "SIGSEGV"})
    next(abandoned)
    abandoned.close()

    with pytest.raises(CorruptTable) as raised:
        list(isolated.batches("next.orc", source(), "reading", {}))

    assert raised.value.path == "abandoned.orc"


def test_request_may_be_larger_than_what_a_connection_takes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"local")

    with io.FileIO(path) as local:
        (batch,) = IsolatedReading().batches("local", local, "reading", {"streams": [*range(1_000_000)]})

    assert batch["content"].to_pylist() == [b"local"]


def test_server_that_is_gone_is_started_again() -> None:
    assert numbers(IsolatedReading().batches("f.orc", source(), "ending", {"batches": 1})) == [0]
    isolated_reading._server(isolated_reading.os.getpid()).shutdown(isolated_reading.socket.SHUT_RDWR)

    assert numbers(IsolatedReading().batches("f.orc", source(), "ending", {"batches": 1})) == [0]
