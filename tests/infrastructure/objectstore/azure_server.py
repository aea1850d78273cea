"""Azure Blob storage for the tests: Azurite, Microsoft's own emulator, with its blobs in memory."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from http.client import HTTPConnection

from infrastructure.objectstore.binaries import AZURITE
from infrastructure.objectstore.store_server import StoreServer

ACCOUNT = "devstoreaccount1"
HOST = f"{ACCOUNT}.dfs.core.windows.net"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The key of every Azurite, which its documentation publishes."""
_VERSION = "2021-08-06"


class AzureServer(StoreServer):
    """A server of one account, whose name is the first part of each path."""

    kind = "Azure"
    secret = KEY

    def command(self) -> Sequence[str]:
        """How it is started."""
        where = ("--blobHost", self.address, "--blobPort", str(self.port))
        quiet = ("--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry")
        return (*AZURITE.command("azurite/dist/src/blob/main.js"), *where, *quiet)

    def environment(self) -> Mapping[str, str]:
        """With which variables."""
        return {}

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Catalog options that reach it, through another endpoint if one is given."""
        return {
            f"adls.connection-string.{HOST}": f"{endpoint or self.endpoint}/{ACCOUNT}",
            "adls.auth.shared-key.account.name": ACCOUNT,
            "adls.auth.shared-key.account.key": KEY,
        }

    def create_bucket(self, name: str) -> str:
        """Makes an empty container and returns its URL."""
        date = formatdate(usegmt=True)
        signed = f"x-ms-date:{date}\nx-ms-version:{_VERSION}\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
        text = f"PUT{12 * chr(10)}{signed}"
        signature = b64encode(hmac.digest(b64decode(KEY), text.encode(), "sha256")).decode()
        headers = {"x-ms-date": date, "x-ms-version": _VERSION, "Content-Length": "0"}
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{signature}"
        connection = HTTPConnection(self.address, self.port, timeout=10)
        connection.request("PUT", f"/{ACCOUNT}/{name}?restype=container", headers=headers)
        answer = connection.getresponse()
        assert answer.status == 201, answer.read()
        connection.close()
        return f"abfss://{name}@{HOST}"
