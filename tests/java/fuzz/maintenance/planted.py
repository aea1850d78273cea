"""Faults that are planted into maintenance, to see that the histories find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from java.fuzz.maintenance.history import MaintenanceHistory
from java.fuzz.maintenance.iceberg_history import IcebergHistory
from java.fuzz.maintenance.paimon_history import PaimonHistory
from lithify.formats.iceberg.maintenance import doomed_files, names_in_use, snapshot_expiry
from lithify.formats.iceberg.maintenance.retention import History as IcebergReferences
from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent
from lithify.formats.paimon.maintenance import deleting, orphan_removal
from lithify.formats.paimon.maintenance import names_in_use as paimon_names
from lithify.formats.paimon.maintenance import snapshot_expiry as paimon_expiry
from lithify.formats.paimon.maintenance.history import Held, History
from lithify.formats.paimon.snapshots.holders import Holder, Holding

Patch = pytest.MonkeyPatch


def _expiry_asks_only(patch: Patch, is_asked: Callable[[History, Holder], bool]) -> None:
    real = History.kept

    def kept(self: History, *given: Any) -> list[Held]:
        return [each for each in real(self, *given) if is_asked(self, each.holder)]

    patch.setattr(History, "kept", kept)


def _orphans_ask_only(patch: Patch, is_asked: Callable[[Holder, str], bool]) -> None:
    real = paimon_names.holders_of

    def holders_of(storage: Any, root: str, home: str) -> Iterator[Holder]:
        return (each for each in real(storage, root, home) if is_asked(each, root))

    patch.setattr(paimon_names, "holders_of", holders_of)


def _read_names_once(patch: Patch, reader: type[Any]) -> None:
    real = reader.unread
    patch.setattr(reader, "unread", lambda self: iter(()) if self.has_read else real(self))


def _iceberg_keeps_only(patch: Patch, is_kept: Callable[[Any, Any], bool]) -> None:
    """The files of some of the snapshots that stay are not looked at."""
    real = doomed_files.doomed_files

    def doomed(reader: Any, roots: Any, before: Any, after: Any, more: Any = ()) -> Any:
        fewer = [
            replace(each, snapshots={key: one for key, one in each.snapshots.items() if is_kept(each, one)})
            for each in after
        ]
        return replace(real(reader, roots, before, fewer, more), read=frozenset())

    patch.setattr(snapshot_expiry, "doomed_files", doomed)
    patch.setattr(snapshot_expiry.SnapshotExpiry, "_still_doomed", lambda _, __, doomed: doomed)


def _without_tags(metadata: Any) -> IcebergReferences:
    found = _HISTORY_OF(metadata)
    return replace(
        found, references={name: each for name, each in found.references.items() if each.is_branch}
    )


_HISTORY_OF = snapshot_expiry.history_of


def _is_of_main(metadata: Any, snapshot: Any) -> bool:
    return snapshot.id in {each.id for each in metadata.ancestry("main")}


def _is_referenced(metadata: Any, snapshot: Any) -> bool:
    return any(snapshot.id in {each.id for each in metadata.ancestry(name)} for name in metadata.refs)


PAIMON: dict[str, Callable[[Patch], object]] = {
    "expiry ignores tags": lambda patch: _expiry_asks_only(
        patch, lambda _, holder: holder.kind is not Holding.TAG
    ),
    "expiry ignores branches": lambda patch: _expiry_asks_only(
        patch, lambda history, holder: holder.home == history.home
    ),
    "expiry ignores changelogs": lambda patch: _expiry_asks_only(
        patch, lambda _, holder: holder.kind is not Holding.CHANGELOG
    ),
    "expiry ignores readers": lambda patch: patch.setattr(paimon_expiry, "lowest_position", lambda *_: None),
    "expiry does not look again": lambda patch: patch.setattr(deleting, "check_current", lambda *_: None),
    "orphan removal ignores tags": lambda patch: _orphans_ask_only(
        patch, lambda holder, _: holder.kind is not Holding.TAG
    ),
    "orphan removal ignores branches": lambda patch: _orphans_ask_only(
        patch, lambda holder, root: holder.home == root
    ),
    "orphan removal does not look again": lambda patch: _read_names_once(patch, paimon_names.NamesInUse),
    "orphan removal finds nothing": lambda patch: patch.setattr(
        orphan_removal, "written_before", lambda *_: 0
    ),
}
ICEBERG: dict[str, Callable[[Patch], object]] = {
    "expiry ignores tags": lambda patch: patch.setattr(snapshot_expiry, "history_of", _without_tags),
    "expiry ignores files of branches": lambda patch: _iceberg_keeps_only(patch, _is_of_main),
    "expiry ignores files of staged snapshots": lambda patch: _iceberg_keeps_only(patch, _is_referenced),
    "expiry does not look again": lambda patch: patch.setattr(
        snapshot_expiry.SnapshotExpiry, "_still_doomed", lambda _, __, doomed: doomed
    ),
    "expiry commits whatever others did": lambda patch: patch.setattr(
        snapshot_expiry.SnapshotExpiry, "_check_current", lambda *_: None
    ),
    "expiry deletes files of other tables": lambda patch: patch.setattr(
        doomed_files, "are_below", lambda paths, _: doomed_files.flags(doomed_files.pc.is_valid(paths))
    ),
    "orphan removal ignores deletes": lambda patch: patch.setattr(
        names_in_use.NamesInUse,
        "_names_in",
        lambda self, manifests: _NAMES_IN(
            self, [each for each in manifests if each.content is ManifestContent.DATA]
        ),
    ),
    "orphan removal does not look again": lambda patch: _read_names_once(patch, names_in_use.NamesInUse),
}
_NAMES_IN = names_in_use.NamesInUse._names_in

HISTORIES: dict[str, Callable[..., MaintenanceHistory]] = {"paimon": PaimonHistory, "iceberg": IcebergHistory}
PLANTED = {
    f"{format_}: {name}": (HISTORIES[format_], plant)
    for format_, faults in (("paimon", PAIMON), ("iceberg", ICEBERG))
    for name, plant in faults.items()
}
