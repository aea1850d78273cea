"""Settings of HDFS in a catalog's options, under the names of Hadoop. Pure.

Read by `io.objects.stores` like those of the other stores. Each name may have Paimon's prefix `hadoop.`.
Files of Hadoop's configuration are not read: a Catalog names the name nodes itself, or its path does.
`kerberos` reads who logs in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from lithify.errors import InvalidOption
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.io.hdfs import kerberos
from lithify.io.hdfs.kerberos import AUTHENTICATION, Login, read_login
from lithify.io.locations import ObjectPath, Store
from lithify.io.objects.settings import (
    PATIENCE_SECONDS,
    Dialect,
    first,
    read_boolean,
    read_patience,
)
from lithify.settings import catalog_option

PATIENCE = "lithify.hdfs.patience-seconds"
"""The option for how long requests are retried that no name node answers."""
USER = "hadoop.username"
NAME_NODES = "dfs.ha.namenodes."
RPC_ADDRESS = "dfs.namenode.rpc-address."
REPLICATION = "dfs.replication"
HOST_NAMES = "dfs.client.use.datanode.hostname"
PROXY_PROVIDER = "dfs.client.failover.proxy.provider."

_PREFIXES = ("", "hadoop.")
_USERS = (USER, "hdfs.user")
_IGNORED = (
    *("fs.defaultFS", "dfs.nameservices", "fs.hdfs.impl"),
    *("hadoop.rpc.protection", "dfs.data.transfer.protection"),
    *("dfs.namenode.kerberos.principal", "dfs.namenode.kerberos.principal.pattern"),
)
"""Known to other clients: what paths without a name node mean, which class connects, what servers tell us."""
_READ = (AUTHENTICATION, REPLICATION, HOST_NAMES, *_IGNORED)

OPTION_NAMES = frozenset(
    {*_USERS, *kerberos.OPTION_NAMES, *(f"{prefix}{name}" for prefix in _PREFIXES for name in _READ)}
)
"""The options that are read here, except PATIENCE and those of one name service."""
FAMILIES = tuple(
    f"{prefix}{name}" for prefix in _PREFIXES for name in (NAME_NODES, RPC_ADDRESS, PROXY_PROVIDER)
)
"""What the names of options of one name service begin with."""
DIALECT = Dialect(
    name=Store.HDFS,
    missing=frozenset(),
    no_bucket=frozenset(),
    rejected=frozenset(),
    passing=frozenset(),
    endpoint=f"{RPC_ADDRESS}<name service>.<name node>",
    credentials=USER,
    form="hdfs://namenode:8020/path, or hdfs://nameservice/path",
    condition="a rename without overwriting",
)

_PORT = 8020
_NAME_NODE = re.compile(r"(?P<host>[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?)(:(?P<port>[1-9][0-9]{0,4}))?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,127}")


@dataclass(frozen=True, slots=True)
class NameNode:
    """The address of a name node."""

    host: str
    port: int = _PORT

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class HdfsSettings:
    """How to reach HDFS.

    Attributes:
        name_nodes: those of each name service, in the order in which they are asked.
        user: whom requests name without Kerberos, None for the process's own user. Nothing proves it.
        login: how the process logs in with Kerberos, None without it.
        replication: replicas of new files, None for the name node's default.
        uses_host_names: whether data nodes are reached by their names instead of their addresses.
        patience: seconds for which requests are retried that no name node answers.
        reach: paths on name nodes that may be accessed.
    """

    name_nodes: tuple[tuple[str, tuple[NameNode, ...]], ...] = ()
    user: str | None = None
    login: Login | None = None
    replication: int | None = None
    uses_host_names: bool = False
    patience: float = PATIENCE_SECONDS
    reach: AccessPolicy = UNBOUNDED

    store: ClassVar[Store] = Store.HDFS
    dialect: ClassVar[Dialect] = DIALECT

    def name_nodes_of(self, root: ObjectPath) -> tuple[NameNode, ...]:
        """The name nodes of a cluster: those of its name service, or the one that the path names.

        Raises:
            InvalidOption: the port is none.
        """
        services = dict(self.name_nodes)
        if root.bucket in services:
            return services[root.bucket]
        return (_name_node("warehouse", root.bucket),)

    def keys_of(self, root: ObjectPath) -> None:
        """No credentials of a Catalog: a keytab is a file of drivers, and the operator has its own."""


def is_option(name: str) -> bool:
    """Whether an option is read here."""
    return name in OPTION_NAMES or name.startswith(FAMILIES)


def read_settings(options: Mapping[str, str], reach: AccessPolicy = UNBOUNDED) -> HdfsSettings:
    """Parses a catalog's options; `reach` says which paths on name nodes may be accessed.

    Raises:
        InvalidOption: an option is invalid.
    """
    user = first(options, _USERS)
    if user is not None and not _USER.fullmatch(user):
        raise InvalidOption(catalog_option(USER), "it is no name of a user")
    login = read_login(options, first(options, _names(AUTHENTICATION)))
    if user is not None and login is not None:
        raise InvalidOption(catalog_option(USER), "with Kerberos, the principal says who asks")
    return HdfsSettings(
        name_nodes=tuple(_read_services(options)),
        user=user,
        login=login,
        replication=_read_replication(first(options, _names(REPLICATION))),
        uses_host_names=read_boolean(HOST_NAMES, first(options, _names(HOST_NAMES))),
        patience=read_patience(options, PATIENCE),
        reach=reach,
    )


def _read_services(options: Mapping[str, str]) -> Iterable[tuple[str, tuple[NameNode, ...]]]:
    """The name services of options with name nodes; each of these needs an address."""
    for prefix in _names(NAME_NODES):
        for name in sorted(options):
            if name.startswith(prefix):
                service = name.removeprefix(prefix)
                ids = [each.strip() for each in options[name].split(",") if each.strip()]
                if not service or not ids:
                    raise InvalidOption(catalog_option(name), "it names no name nodes of a name service")
                yield service, tuple(_address(options, f"{service}.{each}") for each in ids)


def _address(options: Mapping[str, str], name_node: str) -> NameNode:
    names = _names(f"{RPC_ADDRESS}{name_node}")
    text = first(options, names)
    if text is None:
        raise InvalidOption(catalog_option(names[0]), "it is missing: each name node needs its address")
    return _name_node(names[0], text)


def _name_node(name: str, text: str) -> NameNode:
    found = _NAME_NODE.fullmatch(text)
    port = int(found["port"] or _PORT) if found else 0
    if found is None or not 0 < port < 1 << 16:
        raise InvalidOption(catalog_option(name), f"'{text}' is not of the form host:port")
    return NameNode(found["host"].lower(), port)


def _read_replication(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= 512:
        raise InvalidOption(catalog_option(REPLICATION), f"'{text}' is no number of replicas from 1 to 512")
    return int(text)


def _names(name: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{name}" for prefix in _PREFIXES)
