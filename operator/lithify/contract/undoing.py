"""The command that undoes a compaction, for people who read its status. Pure.

Made by the operator when a Compaction has committed, with the snapshot that was the newest one before. The
command can be copied into a shell as it is. It names no credentials: options that hold some take their values
from variables of the shell, which refuses to run the command while one is not set.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator

from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.redaction import credentials_in, is_telling
from lithify.resources.catalog import is_credential

_NO_NAME = re.compile(r"[^A-Za-z0-9]+")
_USER = re.compile(r"//[^/@\s]*@")
"""The part of a URI that names a user, and mostly a password."""


def undo_sentence(address: TableAddress, before: SnapshotId, secret_options: Collection[str] = ()) -> str:
    """Says how to undo a compaction, and how long that is possible.

    Args:
        address: the table, as the run was given it; its credentials are not shown.
        before: the newest snapshot before the run's first commit.
        secret_options: names of catalog options that come from a Secret.
    """
    return (
        f"To undo this compaction while snapshot {before} is kept: "
        f"{rollback_command(address, before, secret_options)}"
    )


def rollback_command(address: TableAddress, to: SnapshotId, secret_options: Collection[str] = ()) -> str:
    """The command that rolls a table back, quoted for a POSIX shell.

    It undoes compactions only: without `--lose-commits` it refuses if others have committed since.

    Args:
        address: the table; its overrides do not matter for a rollback.
        to: the snapshot to go back to.
        secret_options: names of catalog options that come from a Secret.
    """
    secret = frozenset(secret_options)
    words = [
        "lithify rollback",
        shlex.quote(f"--format={address.format}"),
        _word("--warehouse=", address.warehouse, "warehouse", is_secret=_has_user(address.warehouse)),
        shlex.quote(f"--table={address.name}"),
        *_catalog_options(address, secret),
        shlex.quote(f"--to={to}"),
    ]
    return " ".join(words)


def variable_of(option: str) -> str:
    """The variable of the shell from which the command takes the value of an option."""
    return f"LITHIFY_{_NO_NAME.sub('_', option).strip('_').upper()}"


def _catalog_options(address: TableAddress, secret: Collection[str]) -> Iterator[str]:
    """The options of the catalog as words of the shell, by name; credentials as variables."""
    for name, value in sorted(address.catalog_options.items()):
        is_secret = (
            name in secret
            or is_telling(name)
            or is_credential(name)
            or _has_user(value)
            or bool(credentials_in({name: value}))
        )
        yield _word(f"--catalog-option={name}=", value, name, is_secret=is_secret)


def _word(start: str, value: str, option: str, *, is_secret: bool) -> str:
    if not is_secret:
        return shlex.quote(f"{start}{value}")
    return f'{shlex.quote(start)}"${{{variable_of(option)}:?}}"'


def _has_user(value: str) -> bool:
    return _USER.search(value) is not None
