"""Names of the files of attempts: the prefix of all, journals, heartbeats, stop files, temporary files. Pure.

Anyone who may write to a table's folder can put files there, and clean-up deletes by name. So only names of
exactly the form that attempts use are recognised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from lithify.formats.protocol.model import RUN_ID
from lithify.io.file_names import is_file_name
from lithify.io.local_files import TEMPORARY

PREFIX_LENGTH = 24
"""Length of an attempt's prefix: the first four groups of a version-4 UUID with dashes; 12 digits follow."""

HEX = "[0-9a-f]"
PREFIX = rf"{HEX}{{8}}-{HEX}{{4}}-4{HEX}{{3}}-[89ab]{HEX}{{3}}-"
"""Pattern of a prefix."""
ANY_UUID = rf"{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}"
"""Pattern of a UUID of any version."""

_PREFIX = re.compile(PREFIX)
_RUN_ID = re.compile(RUN_ID)
_STEM = re.escape(TEMPORARY)
_TEMPORARY = re.compile(rf"{_STEM}(?:(?:alive|stop)-{RUN_ID}-[0-9]{{1,9}}|probe-{ANY_UUID}|.+\.{ANY_UUID})")
_OPEN_NAME = re.compile(rf"(?P<run>{RUN_ID})-(?P<number>[0-9]{{1,9}})\.json")
_COMMITTED_NAME = re.compile(
    rf"(?P<run>{RUN_ID})-(?P<number>[0-9]{{1,9}})"
    rf"\.committed-(?P<snapshot>[0-9]{{1,19}})-(?P<since>[0-9]{{1,11}})-(?P<prefix>{PREFIX})"
)


@dataclass(frozen=True, slots=True)
class CommittedName:
    """Parsed journal name of a committed attempt: prefix, snapshot, and time."""

    prefix: str
    snapshot: int
    since: datetime


def writer_id(prefix: str, writer: int, attempt: int = 0) -> str:
    """The UUID in the file names of one writer: one attempt of a task, or one try of a commit."""
    return f"{prefix}{writer & 0xFFFFF:05x}{attempt & 0xFFFFFFF:07x}"


def sign_of(journal: str) -> str:
    """The name of an attempt's heartbeat file, from the name of its journal.

    Without a journal it is deleted like other temporary files that a crash leaves behind.
    """
    return f"{TEMPORARY}alive-{journal.removesuffix('.json')}"


def stop_file_of(journal: str) -> str:
    """The name of an attempt's stop file, likewise."""
    return f"{TEMPORARY}stop-{journal.removesuffix('.json')}"


def is_prefix(text: str) -> bool:
    """Whether a text has the form of an attempt's prefix."""
    return _PREFIX.fullmatch(text) is not None


def is_run_id(run: str) -> bool:
    """Whether a run id can be part of file names."""
    return _RUN_ID.fullmatch(run) is not None


def is_temporary(name: str) -> bool:
    """Whether it is the name of a temporary file that a crash may leave behind."""
    return is_file_name(name) and _TEMPORARY.fullmatch(name) is not None


def is_open_name(name: str) -> bool:
    """Whether it is the journal name of an attempt not yet recorded as committed."""
    return _OPEN_NAME.fullmatch(name) is not None


def is_like_a_journal(name: str) -> bool:
    """Whether a name looks like a journal's, genuine or forged."""
    return name.endswith(".json") or ".committed-" in name


def parse_committed_name(name: str) -> CommittedName | None:
    """Parses the journal name of a committed attempt; None for any other name."""
    match = _COMMITTED_NAME.fullmatch(name)
    if match is None:
        return None
    since = datetime.fromtimestamp(int(match["since"]), UTC)
    return CommittedName(match["prefix"], int(match["snapshot"]), since)
