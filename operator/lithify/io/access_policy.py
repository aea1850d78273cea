"""Paths for which the process's own rights may be used: its cloud identity and its local files.

Built by the command line from flags, carried with a table's address, enforced where tables are opened and
where object stores are accessed. Catalogs with credentials of their own need none of this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from os.path import realpath
from pathlib import PurePosixPath
from urllib.parse import unquote

from lithify.errors import OutOfReach
from lithify.io.locations import has_dots, local_path, object_path
from lithify.settings import OWN_IDENTITY

EVERY_NAMESPACE = "*"

_NAMESPACE = re.compile(r"\*|[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

Place = tuple[str, ...]
"""A location: kind of store, on object stores account and bucket, then the path's segments."""


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Paths for which the process's own rights may be used.

    Attributes:
        prefixes: allowed path prefixes; None allows all.
        with_endpoint: whether they may also be used at an endpoint that a catalog's options name.
    """

    prefixes: tuple[str, ...] | None = None
    with_endpoint: bool = True

    def covers(self, path: str) -> bool:
        """Whether the process's rights may be used for a path; compares whole segments."""
        if self.prefixes is None:
            return True
        place = _place(path)
        granted = map(_place, self.prefixes)
        return place is not None and any(one is not None and place[: len(one)] == one for one in granted)

    def check(self, path: str) -> None:
        """Refuses a path for which the process's rights may not be used.

        Raises:
            OutOfReach: they may not be used there.
        """
        if self.covers(path):
            return
        problem = (
            "the operator would have to use rights of its own there, because the Catalog brings no "
            "credentials; give it keys, or have who runs the operator allow it with "
        )
        raise OutOfReach(path, problem, OWN_IDENTITY)


UNBOUNDED = AccessPolicy()
"""For commands that people run themselves: no restriction."""
NOWHERE = AccessPolicy((), with_endpoint=False)
"""For Catalogs that bring credentials of their own."""
DRIVER = AccessPolicy(with_endpoint=False)
"""For driver pods: their own rights are those of a service account in their namespace."""


@dataclass(frozen=True, slots=True)
class OwnIdentity:
    """Where namespaces may use the operator's own rights: pairs of namespace (or `*`) and prefix."""

    grants: tuple[tuple[str, str], ...] = ()

    def reach(self, namespace: str) -> AccessPolicy:
        """The part of the operator's rights that tables of a namespace may use."""
        prefixes = (prefix for name, prefix in self.grants if name in (EVERY_NAMESPACE, namespace))
        return AccessPolicy(tuple(prefixes), with_endpoint=False)


def read_own_identity(entries: Iterable[str]) -> OwnIdentity:
    """Parses entries of the form NAMESPACE=PREFIX.

    Raises:
        ValueError: an entry does not have that form.
    """
    grants = []
    for entry in entries:
        namespace, equals, prefix = entry.strip().partition("=")
        if not equals or not _NAMESPACE.fullmatch(namespace):
            raise ValueError(f"'{entry}' does not begin with a namespace and =, or with *=")
        if _place(prefix) is None:
            raise ValueError(
                f"'{prefix}' is no path without dots of the form s3://bucket/path, gs://bucket/path, "
                "abfss://container@account.dfs.core.windows.net/path, hdfs://namenode:8020/path or /path"
            )
        grants.append((namespace, prefix))
    return OwnIdentity(tuple(grants))


def _place(path: str) -> Place | None:
    """The location of a path; None if it cannot be granted or is ambiguous."""
    if any(ord(letter) < 32 for letter in path):
        return None
    local = local_path(path)
    if local is not None:
        is_plain = local == path or unquote(local) == local
        return (
            ("file", *PurePosixPath(realpath(local)).parts[1:]) if is_plain and not has_dots(local) else None
        )
    there = object_path(path)
    return None if there is None else there.place
