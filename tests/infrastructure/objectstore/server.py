"""An S3 server over a folder: versitygw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from infrastructure.objectstore.binaries import PROGRAMS
from infrastructure.objectstore.store_server import StoreServer

ACCESS_KEY = "test-access-key"
SECRET_KEY = "test-secret-key"  # of a server that only tests can reach
REGION = "us-east-1"


class S3Server(StoreServer):
    """A server whose buckets are the folders in `folder / "buckets"`.

    Args:
        folder: where its buckets, its logs and the list of its requests are; created if need be.
        address: of this machine, to listen on.
        port: to listen on; a free one if 0. It stays the same over restarts.
        program: its binary; the one that was built for this machine if None.
        prefix: what to start it with, such as a command that enters a network namespace.
    """

    kind = "S3"
    secret = SECRET_KEY
    health = "/healthz"

    def __init__(
        self,
        folder: Path,
        address: str = "127.0.0.1",
        port: int = 0,
        program: Path | None = None,
        prefix: tuple[str, ...] = (),
    ) -> None:
        super().__init__(folder, address, port, prefix)
        self._program = program or PROGRAMS.built() / "s3-server"
        self.buckets.mkdir(parents=True, exist_ok=True)

    @property
    def buckets(self) -> Path:
        """The folder whose folders are the buckets."""
        return self.folder / "buckets"

    def command(self) -> Sequence[str]:
        """How it is started."""
        where = ("--listen", f"{self.address}:{self.port}", "--log", str(self.folder / "requests.log"))
        return (str(self._program), *where, str(self.buckets))

    def environment(self) -> Mapping[str, str]:
        """With which variables."""
        return {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Catalog options that reach it, through another endpoint if one is given."""
        return {
            "s3.endpoint": endpoint or self.endpoint,
            "s3.access-key": ACCESS_KEY,
            "s3.secret-key": SECRET_KEY,
            "s3.region": REGION,
            "s3.path.style.access": "true",
        }

    def create_bucket(self, name: str) -> str:
        """Makes an empty bucket and returns its URL."""
        (self.buckets / name).mkdir()
        return f"s3://{name}"


class OssServer(S3Server):
    """The same server with the conditions of Alibaba Cloud OSS: a double, because OSS cannot be had here."""

    kind = "OSS"

    def command(self) -> Sequence[str]:
        """How it is started."""
        program, *others = super().command()
        return (program, "--oss", *others)

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Catalog options that reach it, through another endpoint if one is given."""
        return {
            "fs.oss.endpoint": endpoint or self.endpoint,
            "fs.oss.accessKeyId": ACCESS_KEY,
            "fs.oss.accessKeySecret": SECRET_KEY,
            "fs.oss.region": REGION,
        }

    def create_bucket(self, name: str) -> str:
        """Makes an empty bucket and returns its URL."""
        return super().create_bucket(name).replace("s3://", "oss://", 1)
