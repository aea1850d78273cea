"""Fixtures for tests that need an S3 server; a test that uses one is marked `s3` by itself."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from infrastructure.objectstore.azure_server import AzureServer
from infrastructure.objectstore.gcs_server import GcsServer
from infrastructure.objectstore.server import OssServer, S3Server
from infrastructure.objectstore.store_server import StoreServer
from lithify.io.objects.files import ObjectFiles
from lithify.io.objects.stores import settings_for
from lithify.io.small_files import MOST_MANIFEST


@dataclass(frozen=True, slots=True)
class Bucket:
    """An empty bucket of a server that a test may stop and kill.

    Attributes:
        server: it.
        name: of the bucket.
        url: what paths in it begin with.
        folder: where its objects are as files. On S3 the server's own files; on others a copy, which is
            `published` and `fetched`.
    """

    server: StoreServer
    name: str
    url: str
    folder: Path

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Catalog options that reach it, through another endpoint if one is given."""
        return self.server.options(endpoint)

    @property
    def is_copied(self) -> bool:
        """Whether the folder is a copy."""
        return not isinstance(self.server, S3Server)

    def publish(self) -> None:
        """Makes the store hold what the folder holds."""
        if self.is_copied:
            files = self._files()
            here = {
                path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()
            }
            bucket, _ = files.bucket(self.url)
            for name in here:
                bucket.write(name, (self.folder / name).read_bytes())
            files.delete_all([f"{self.url}/{name}" for name in {*files.names_below(self.url)} - here])

    def fetch(self) -> None:
        """Makes the folder hold what the store holds."""
        if self.is_copied:
            shutil.rmtree(self.folder)
            self.folder.mkdir()
            files = self._files()
            for name in files.names_below(self.url):
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(files.read(f"{self.url}/{name}", MOST_MANIFEST))

    def _files(self) -> ObjectFiles:
        return ObjectFiles(settings_for(self.url, self.options()))


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line("markers", "stores(*names): the stores on which a test with `bucket` runs")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need the server, so that `-m "not s3"` leaves them out."""
    for item in items:
        if {"s3", "s3_server", "bucket", "any_server"} & set(getattr(item, "fixturenames", ())):
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
    return Bucket(s3_server, name, s3_server.create_bucket(name), s3_server.buckets / name)


@pytest.fixture(scope="session")
def any_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StoreServer]:
    """A server of each store; one that a test has ended is started again for the next."""
    with _SERVERS[request.param](tmp_path_factory.mktemp(request.param)) as server:
        yield server


@pytest.fixture
def bucket(any_server: StoreServer, tmp_path: Path) -> Bucket:
    """A fresh bucket on each of the stores in turn."""
    if not any_server.is_running:
        any_server.start()
    name = f"test-{secrets.token_hex(4)}"
    url = any_server.create_bucket(name)
    own = any_server.buckets if isinstance(any_server, S3Server) else tmp_path
    (own / name).mkdir(exist_ok=True)
    return Bucket(any_server, name, url, own / name)


@pytest.hookimpl
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test with `bucket` on each store, or on those that its marker `stores` names."""
    if "any_server" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("stores")
        stores = list(_SERVERS) if marker is None else marker.args
        metafunc.parametrize("any_server", stores, indirect=True, scope="session")


_SERVERS: Mapping[str, type[StoreServer]] = {
    "gcs": GcsServer,
    "azure": AzureServer,
    "oss": OssServer,
    "s3": S3Server,
}
