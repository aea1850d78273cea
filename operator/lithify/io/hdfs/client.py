"""Connects to HDFS through hdfs-native, and gives every request an end.

Used by `cluster`, which knows what to ask for. The client waits for name nodes for ever, so each request is
given up when its time is over (`threads`). It sends a request that changes something exactly once, except to
a name node that says that it is on standby, or to one that it could not connect to. Everything else is
repeated here, where that is safe.
"""

from __future__ import annotations

from collections.abc import Callable
from random import random
from threading import Lock
from time import monotonic, sleep
from typing import TypeVar

# Not the public classes around it: theirs complete a file that was given up when it is collected as garbage.
from hdfs_native._internal import RawClient

from lithify.errors import StorageUnavailable
from lithify.io.addresses import as_address
from lithify.io.guard import admit, is_guarded
from lithify.io.hdfs.answers import translated
from lithify.io.hdfs.kerberos import AUTHENTICATION, OWN_LOGIN, Login
from lithify.io.hdfs.settings import HOST_NAMES, NAME_NODES, RPC_ADDRESS, HdfsSettings, NameNode
from lithify.io.hdfs.threads import within
from lithify.io.hdfs.users import acting_as, shown
from lithify.io.locations import ObjectPath

RPC_SECONDS = 30.0
"""Seconds to wait for the answer of a name node."""
DATA_SECONDS = 120.0
"""Seconds in which data nodes give or take a few MiB; the client tries another one after a quarter of it."""
_SERVICE = "lithify"
"""What the client calls the name nodes of a cluster."""
_NO_FILES = "/dev/null"
"""The folder of Hadoop's configuration; else the client would look for one in the environment."""
_SECURE = {AUTHENTICATION: "kerberos", "dfs.data.transfer.protection": "privacy"}
"""The second has the client prove itself to data nodes, too; how the connection is protected, they say."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0

Answer = TypeVar("Answer")
Request = Callable[[RawClient], Answer]


class Client:
    """Sends requests to one cluster.

    Args:
        root: the cluster.
        settings: how to reach it.

    Raises:
        InvalidOption: the path names no name node.
    """

    def __init__(self, root: ObjectPath, settings: HdfsSettings) -> None:
        self._settings = settings
        self._name_nodes = settings.name_nodes_of(root)
        self._login = _trusted(settings.login)
        self._user = shown(settings.user) if self._login is None else self._login.shown
        self._connected: RawClient | None = None
        self._lock = Lock()

    def once(self, path: str, request: Request[Answer], seconds: float | None = None) -> Answer:
        """Sends a request once, and waits as long as for a name node unless another time is given.

        Raises:
            OutOfReach: the process may not connect to one of the name nodes.
            StorageUnavailable: there was no answer, so it is unknown whether it was or will be carried out.
            FileNotFoundError, FileExistsError, LithifyError: see `answers.translated`.
        """
        with acting_as(self._settings.user):
            client = self._client()
            try:
                return within(seconds or RPC_SECONDS, lambda: request(client))
            except (OSError, RuntimeError) as error:
                raise translated(path, self._user, error) from None

    def patiently(self, path: str, request: Request[Answer], seconds: float | None = None) -> Answer:
        """Sends a request that may be carried out several times until it is answered, or patience is over.

        Raises:
            OutOfReach, FileNotFoundError, FileExistsError, LithifyError: see `once`.
        """
        deadline, pause = monotonic() + self._settings.patience, _FIRST_PAUSE
        while True:
            try:
                return self.once(path, request, seconds)
            except StorageUnavailable:
                if monotonic() + pause > deadline:
                    raise
            self._forget()
            sleep(pause * (0.5 + random() / 2))  # noqa: S311
            pause = min(2 * pause, _LONGEST_PAUSE)

    def run(self, path: str, work: Callable[[], Answer], seconds: float) -> Answer:
        """Does something with a file that is open; errors are those of `once`."""
        return self.once(path, lambda _: work(), seconds)

    def _client(self) -> RawClient:
        with self._lock:
            if self._connected is None:
                login = self._login or OWN_LOGIN
                self._connected = RawClient(
                    f"hdfs://{_SERVICE}",
                    self._configuration(),
                    _NO_FILES,
                    login.principal,
                    login.keytab,
                    login.cache,
                )
            return self._connected

    def _forget(self) -> None:
        """Has a guarded process look up the name nodes again: they may have moved."""
        if is_guarded():
            with self._lock:
                self._connected = None

    def _configuration(self) -> dict[str, str]:
        names = [f"nn{number}" for number in range(len(self._name_nodes))]
        addresses = {
            f"{RPC_ADDRESS}{_SERVICE}.{name}": _admitted(name_node)
            for name, name_node in zip(names, self._name_nodes, strict=True)
        }
        return {
            **addresses,
            f"{NAME_NODES}{_SERVICE}": ",".join(names),
            "dfs.client.failover.max.attempts": str(len(names) - 1),
            "dfs.client.failover.sleep.max.millis": "200",
            "dfs.client.socket-timeout": str(int(DATA_SECONDS * 1000 / 4)),
            HOST_NAMES: str(self._settings.uses_host_names).lower(),
            **(_SECURE if self._login is not None else {}),
        }


def _trusted(login: Login | None) -> Login | None:
    """How this process logs in: the operator never opens a keytab that a Catalog names, it has its own."""
    return OWN_LOGIN if login is not None and is_guarded() else login


def _admitted(name_node: NameNode) -> str:
    """The address of a name node; in a guarded process the one that was checked, not its name.

    Raises:
        OutOfReach: the process may not connect there.
    """
    found = admit(name_node.host, name_node.port)
    if not found:
        return str(name_node)
    address = as_address(found[0])
    return (
        f"[{found[0]}]:{name_node.port}"
        if address and address.version == 6
        else f"{found[0]}:{name_node.port}"
    )
