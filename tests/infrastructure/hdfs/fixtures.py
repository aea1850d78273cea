"""Fixtures for tests on HDFS: a cluster for each test process, and a folder of it for each test."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from infrastructure.hdfs.kerberos import load_library
from infrastructure.hdfs.proxy import RpcProxy
from infrastructure.hdfs.server import HdfsCluster
from infrastructure.oracle.client import Oracle, Table
from lithify.io.object_storage import files_of
from lithify.io.objects.files import StoreFiles
from lithify.io.objects.stores import settings_for
from lithify.io.small_files import MOST_MANIFEST
from support.tables import make_plain


@dataclass(frozen=True, slots=True)
class HdfsFolder:
    """An empty folder of a cluster.

    Attributes:
        cluster: it.
        path: of the folder in it.
        copies: a local folder, for copies of what is in it.
    """

    cluster: HdfsCluster
    path: str
    copies: Path

    @property
    def url(self) -> str:
        """The folder."""
        return f"{self.cluster.url}{self.path}"

    @property
    def table(self) -> Table:
        """A table in it, as Java names it."""
        return Table(self.url, "db.t")

    @property
    def files(self) -> StoreFiles:
        """Access to its files by our client."""
        return files_of(settings_for(self.url, self.cluster.options()))

    def names(self) -> set[str]:
        """The paths of all files in it, relative to it."""
        return set(self.files.names_below(self.url))

    def copy(self) -> Table:
        """The table in a fresh local copy, for what looks at local files."""
        shutil.rmtree(self.copies, ignore_errors=True)
        files = self.files
        for name in files.names_below(self.url):
            path = self.copies / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files.read(f"{self.url}/{name}", MOST_MANIFEST))
        return Table(self.copies, "db.t")

    def publish(self, folder: Path) -> None:
        """Puts the files of a local folder into it."""
        cluster, key = self.files.bucket(self.url)
        for path in folder.rglob("*"):
            if path.is_file():
                cluster.write(f"{key}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def through(self, proxy: RpcProxy) -> str:
        """The folder by way of a proxy."""
        return f"{proxy.url}{self.path}"


@pytest.fixture(scope="session")
def hdfs_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    """A cluster with one name node, which tests share: each uses a folder of its own."""
    with HdfsCluster(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


@pytest.fixture
def hdfs(hdfs_cluster: HdfsCluster, tmp_path: Path) -> HdfsFolder:
    """A fresh folder."""
    return HdfsFolder(hdfs_cluster, f"/test-{secrets.token_hex(4)}", tmp_path / "copy")


@pytest.fixture(scope="session")
def secure_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HdfsCluster, dict[str, str]]]:
    """A cluster that asks for Kerberos and encrypts, and the environment of processes that log in."""
    folder = tmp_path_factory.mktemp("secure-hdfs")
    variables = dict(load_library())
    with HdfsCluster(folder, protection="privacy") as cluster:
        variables["KRB5_CONFIG"] = str(cluster.realm.configure(folder / "krb5.conf"))
        variables["KRB5CCNAME"] = f"FILE:{folder / 'no-tickets'}"
        yield cluster, variables


@pytest.fixture
def secure_hdfs(
    secure_cluster: tuple[HdfsCluster, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> HdfsFolder:
    """A fresh folder of it."""
    cluster, variables = secure_cluster
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return HdfsFolder(cluster, f"/test-{secrets.token_hex(4)}", tmp_path / "copy")


@pytest.fixture
def hdfs_table(hdfs: HdfsFolder, oracle: Oracle) -> Table:
    """A table in the folder, which Java has made through its own file system."""
    return make_plain(oracle, hdfs.url, commits=2)
