"""The state in which a table was last observed, and its text in the cache.

Part of what `cache` stores. What a format remembers besides, such as the snapshots that the table keeps, are
its details: it gives their JSON form (`DetailsFormat`), and nothing here looks into them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from lithify.formats.protocol.model import SnapshotId

Details = TypeVar("Details")

_FORMAT = 7
"""The form of the whole cache; older releases had 1 to 6."""


@dataclass(frozen=True, slots=True)
class TableKey:
    """What has to be the same for a cache to be of use.

    Attributes:
        uuid: the table's identity.
        schema_id: the schema under which its files were read.
        home: the place of its snapshots, for formats whose tables have several, such as branches.
    """

    uuid: str
    schema_id: int
    home: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotMark:
    """A snapshot, with what distinguishes it from another one of the same id.

    Attributes:
        id: its id.
        version: differs where an id is used again, for example after a rollback; empty where ids never are.
        millis: commit time, in milliseconds since the epoch.
    """

    id: SnapshotId
    version: str
    millis: int


@dataclass(frozen=True, slots=True)
class TableState(Generic[Details]):
    """A table in one snapshot.

    Attributes:
        table: the table.
        newest: the snapshot; None if the table had none.
        details: what its format remembers besides.
        terms: the options with which its groups were judged, see `Judge.terms`.
        judged_millis: when, in milliseconds since the epoch; figures hold from then on.
    """

    table: TableKey
    newest: SnapshotMark | None
    details: Details
    terms: str = ""
    judged_millis: int = 0


class DetailsFormat(Protocol[Details]):
    """The JSON form of a format's details."""

    def to_json(self, details: Details) -> Mapping[str, Any]:
        """The fields of some details."""
        ...

    def parse(self, fields: Mapping[str, Any]) -> Details:
        """Parses the fields of some details.

        Raises:
            ValueError, LookupError, TypeError, AttributeError: they have another form.
        """
        ...


def to_text(state: TableState[Details], layout: str, details: DetailsFormat[Details]) -> bytes:
    """The text of a state, with the layout of the cache and the boot of the machine."""
    content = {
        "format": _FORMAT,
        "layout": layout,
        "boot": _boot(),
        "table": astuple(state.table),
        "newest": state.newest and astuple(state.newest),
        "details": dict(details.to_json(state.details)),
        "terms": state.terms,
        "judged": state.judged_millis,
    }
    return json.dumps(content).encode()


def parse_text(text: bytes, layout: str, details: DetailsFormat[Details]) -> TableState[Details]:
    """Parses the text of a state.

    Raises:
        ValueError: it is of another release or layout, or from before the machine was started.
        LookupError, TypeError, AttributeError: it has another form.
    """
    content = json.loads(text)
    if (content["format"], content["layout"], content["boot"]) != (_FORMAT, layout, _boot()):
        raise ValueError("of another release or format, or from before the machine was started")
    newest = content["newest"]
    return TableState(
        table=TableKey(*content["table"]),
        newest=newest and SnapshotMark(*newest),
        details=details.parse(content["details"]),
        terms=content["terms"],
        judged_millis=content["judged"],
    )


def _boot() -> str:
    """Identifies the boot of the machine; empty if the system does not provide it."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""
