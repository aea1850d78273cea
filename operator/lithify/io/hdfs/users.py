"""The user whom requests to HDFS name: one at a time in a process, because the client takes it from there.

Used by `client` around every request. Without Kerberos a user is a mere name. The client reads it from the
environment whenever it connects, and an observing worker serves Catalogs with different ones. So requests of
one user wait until those of another have ended, and the name changes in between.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

_VARIABLE = "HADOOP_USER_NAME"
_OWN = os.environ.get(_VARIABLE)

_changed = Condition()
_current: list[str | None] = [_OWN]
_requests: list[int] = [0]


def shown(user: str | None) -> str:
    """The name that requests get, for messages."""
    try:
        return user or _OWN or getpass.getuser()
    except (KeyError, OSError):  # no entry in the list of users, as in many containers
        return "of this process"


@contextmanager
def acting_as(user: str | None) -> Iterator[None]:
    """Waits until the process may name a user, and keeps that name inside the block.

    Blocks must be short, and must not wait for each other.

    Args:
        user: the user, None for the process's own.
    """
    wanted = user or _OWN
    with _changed:
        _changed.wait_for(lambda: _requests[0] == 0 or _current[0] == wanted)
        if _current[0] != wanted:
            _name(wanted)
        _requests[0] += 1
    try:
        yield
    finally:
        with _changed:
            _requests[0] -= 1
            _changed.notify_all()


def _name(user: str | None) -> None:
    if user is None:
        os.environ.pop(_VARIABLE, None)
    else:
        os.environ[_VARIABLE] = user
    _current[0] = user
