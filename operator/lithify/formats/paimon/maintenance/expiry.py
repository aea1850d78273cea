"""Plans the expiry of snapshots: the files that go with them, in the order in which they are deleted.

Called by `snapshot_expiry`. Reads metadata and writes nothing. What may go is what Java looks at: the files
that the deltas of the range remove, the changelogs of the snapshots that go, and the metadata that these
name. Of that stays what any holder names that stays (`history`): Java asks the last tag before a snapshot
and the first snapshot that stays, which is the same for every history that Paimon itself makes; a branch
whose tag is gone loses files to Java, and not here.

Files of the snapshots that go may be missing: an earlier run may have been killed after it deleted them.
Files of those that stay must be there, or nothing goes; except those of other branches, which Java breaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import UnsupportedTable
from lithify.formats.paimon.deletion_vectors.index_files import DELETION_VECTORS
from lithify.formats.paimon.maintenance.history import Held, History
from lithify.formats.paimon.maintenance.live_names import live_names, read_manifests
from lithify.formats.paimon.maintenance.named_files import IndexFile, NamedFiles, Reference, both, read_named
from lithify.formats.paimon.maintenance.plan import NOTHING, Doomed, ExpiryPlan
from lithify.formats.paimon.maintenance.removed_files import (
    FILES,
    added_files,
    names_of,
    paths_of,
    removed_files,
    unless_named,
)
from lithify.formats.paimon.manifests.entry_columns import empty
from lithify.formats.paimon.names.file_names import INDEX_FOLDER
from lithify.formats.paimon.options.option_reader import OptionReader
from lithify.formats.paimon.snapshots.holders import Holding
from lithify.formats.paimon.table import PaimonTable

_STATISTICS_FOLDER = "statistics"
_WITH_DATA = "index-file-in-data-file-dir"
_INDEX_KINDS = ("HASH", DELETION_VECTORS)
"""The index files whose place this release knows; others are of whole tables."""


def plan_expiry(table: PaimonTable, history: History, end: int) -> ExpiryPlan:
    """Plans the expiry of all snapshots of a branch before an existing one.

    Raises:
        MissingFile: a file that must stay is missing already.
        CorruptTable: metadata cannot be read, so it is unknown what must stay.
        UnsupportedTable: a file that would go is of a kind whose place is unknown.
    """
    times = history.times
    earliest = end if times is None else times.earliest
    own = history.snapshots
    going = [own[number] for number in sorted(own) if earliest <= number < end]
    return ExpiryPlan(
        snapshots=tuple(each.id for each in going),
        end=own.get(end),
        latest=history.latest or 0,
        doomed=_doomed(table, history, going, own.get(end)),
        seen=frozenset(each.holder for each in history.held),
        hint=end if going or (times is not None and history.hint not in own) else None,
    )


def _doomed(table: PaimonTable, history: History, going: list[Snapshot], end: Snapshot | None) -> Doomed:
    if not going or end is None:
        return NOTHING
    references = [_reference(table, each) for each in history.kept(end.id)]
    kept = read_named(table, references)
    named = read_named(table, [Reference(each, may_be_broken=True) for each in going])
    removed = _removed(table, [*going[1:], end], both(named, kept))
    added = _added(table, going, named)
    candidates = names_of(pa.concat_tables([removed, added]))
    live = live_names(table, references, kept, candidates)
    return Doomed(
        data=paths_of(table, unless_named(removed, live)),
        changelog=paths_of(table, unless_named(added, live)),
        **metadata_paths(table, named, kept),
    )


def _reference(table: PaimonTable, held: Held) -> Reference:
    """What a holder that stays needs. Other branches may be broken; nobody can read what is missing."""
    return Reference(
        held.snapshot,
        has_changelog=held.holder.kind is not Holding.TAG,
        may_be_broken=held.holder.home != table.home,
    )


def _removed(table: PaimonTable, snapshots: Iterable[Snapshot], named: NamedFiles) -> pa.Table:
    """The files that each of some snapshots removed from the one before.

    Where a manifest is missing, nothing: it might add a file again that another one removes.
    """
    found = [FILES.empty_table()]
    for each in snapshots:
        manifests = named.by_list[each.delta_manifest_list]
        frames = _frames(table, manifests)
        if len(frames) == len(manifests):
            found.append(removed_files(pa.concat_tables([empty(), *frames])))
    return pa.concat_tables(found)


def _added(table: PaimonTable, snapshots: Iterable[Snapshot], named: NamedFiles) -> pa.Table:
    """The changelog files of some snapshots."""
    lists = [name for each in snapshots for name in Reference(each).changelog_lists]
    return added_files(pa.concat_tables([empty(), *_frames(table, named.manifests_in(lists))]))


def _frames(table: PaimonTable, manifests: Sequence[str]) -> list[pa.Table]:
    """The entries of some manifests, in their order, without those that are missing."""
    return [entries for _, entries in read_manifests(table, manifests)]


def metadata_paths(table: PaimonTable, going: NamedFiles, kept: NamedFiles) -> dict[str, tuple[str, ...]]:
    """The paths of the metadata files that go: those that nothing names that stays."""
    indexes = {name: file for name, file in going.index_files.items() if name not in kept.index_files}
    manifests = (going.manifests - kept.manifests) | (going.by_index.keys() - kept.by_index.keys())
    return {
        "indexes": tuple(_index_path(table, name, indexes[name]) for name in sorted(indexes)),
        "statistics": tuple(
            f"{table.root}/{_STATISTICS_FOLDER}/{name}" for name in sorted(going.statistics - kept.statistics)
        ),
        "manifests": tuple(table.manifests.path(name) for name in sorted(manifests)),
        "lists": tuple(
            table.manifests.path(name) for name in sorted(going.by_list.keys() - kept.by_list.keys())
        ),
    }


def _index_path(table: PaimonTable, name: str, file: IndexFile) -> str:
    if file.kind not in _INDEX_KINDS:
        problem = f"index file {name} of kind {file.kind}: this release does not know where it lies"
        raise UnsupportedTable(table.name, (problem,), "expired")
    if file.external_path is not None:
        table.storage.root_of(file.external_path)
        return file.external_path
    is_with_data = OptionReader(table.stored_options).boolean(_WITH_DATA, default=False)
    bucket = table.bucket_id(file.partition, file.bucket)
    return f"{table.folder(bucket) if is_with_data else f'{table.root}/{INDEX_FOLDER}'}/{name}"
