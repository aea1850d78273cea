"""Fixtures for tests that need an S3 server; a test that uses one is marked `s3` by itself."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from infrastructure.objectstore.server import S3Server


@dataclass(frozen=True, slots=True)
class Bucket:
    """An empty bucket of a server that a test may stop and kill.

    Attributes:
        server: it.
        name: of the bucket.
    """

    server: S3Server
    name: str

    @property
    def url(self) -> str:
        """What paths in it begin with."""
        return f"s3://{self.name}"

    @property
    def folder(self) -> Path:
        """Where its objects are as files."""
        return self.server.buckets / self.name

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Catalog options that reach it, through another endpoint if one is given."""
        return self.server.options(endpoint)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need the server, so that `-m "not s3"` leaves them out."""
    for item in items:
        if {"s3", "s3_server"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.s3)


@pytest.fixture(scope="module")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server for a module's tests; one that a test has ended is started again for the next."""
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server) -> Bucket:
    """The server with a fresh bucket."""
    if not s3_server.is_running:
        s3_server.start()
    name = f"test-{secrets.token_hex(4)}"
    s3_server.create_bucket(name)
    return Bucket(s3_server, name)
