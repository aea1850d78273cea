"""Plans the expiry of snapshots and changelogs: the files that go with them, in the order of their deletion.

Called by `snapshot_expiry`. Reads metadata and writes nothing. What may go is what Java looks at: the files
that the deltas of the range remove, the changelogs of the snapshots that go, and the metadata that these
name. Of that stays what any holder names that stays (`history`): Java asks the last tag before a snapshot
and the first snapshot that stays, which is the same for every history that Paimon itself makes; a branch
whose tag is gone loses files to Java, and not here.

A changelog that outlives its snapshot has its own files, and needs nothing else. In a table without changelog
files it is the data files that the snapshot's delta appended, so these stay until the changelog goes, also
where a compaction has removed them.

Files of the snapshots that go may be missing: an earlier run may have been killed after it deleted them.
Files of those that stay must be there, or nothing goes; except those of other branches, which Java breaks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.snapshot.snapshot import Snapshot

from lithify.columns.column_groups import listed
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.deletion_vectors.index_files import DELETION_VECTORS
from lithify.formats.paimon.maintenance.going import Going
from lithify.formats.paimon.maintenance.history import Held, History
from lithify.formats.paimon.maintenance.live_names import live_names, read_manifests
from lithify.formats.paimon.maintenance.named_files import (
    IndexFile,
    NamedFiles,
    Part,
    Reference,
    both,
    read_named,
)
from lithify.formats.paimon.maintenance.plan import NOTHING, Doomed, ExpiryPlan
from lithify.formats.paimon.maintenance.removed_files import (
    FILES,
    added_files,
    compacted_only,
    names_of,
    paths_of,
    removed_files,
    unless_named,
)
from lithify.formats.paimon.manifests.entry_columns import empty
from lithify.formats.paimon.manifests.live_entries import live_of
from lithify.formats.paimon.names.file_names import INDEX_FOLDER
from lithify.formats.paimon.options.option_reader import OptionReader
from lithify.formats.paimon.snapshots.holders import Holding
from lithify.formats.paimon.table import PaimonTable

_PARTS = {Holding.SNAPSHOT: Part.WHOLE, Holding.TAG: Part.STATE, Holding.CHANGELOG: Part.CHANGELOG}
_STATISTICS_FOLDER = "statistics"
_WITH_DATA = "index-file-in-data-file-dir"
_INDEX_KINDS = ("HASH", DELETION_VECTORS)
"""The index files whose place this release knows; others are of whole tables."""


def plan_expiry(table: PaimonTable, history: History, going: Going) -> ExpiryPlan:
    """Plans the expiry of snapshots, changelogs and consumers of a branch.

    Raises:
        MissingFile: a file that must stay is missing already.
        CorruptTable: metadata cannot be read, so it is unknown what must stay.
        UnsupportedTable: a file that would go is of a kind whose place is unknown.
    """
    own = history.snapshots
    is_hint_right = not going.snapshots and (history.times is None or history.hint in own)
    is_changelog_hint_right = going.changelog_end in (None, history.changelog_hints[0])
    return ExpiryPlan(
        snapshots=tuple(going.snapshots),
        end=own.get(going.end),
        latest=history.latest or 0,
        doomed=_doomed(table, history, going),
        seen=frozenset(each.holder for each in history.held),
        hint=None if is_hint_right else going.end,
        changelogs=tuple(going.changelogs),
        becoming=frozenset(going.becoming),
        changelog_hint=None if is_changelog_hint_right else going.changelog_end,
        consumers=going.consumers,
        unread=going.unread,
    )


def _doomed(table: PaimonTable, history: History, going: Going) -> Doomed:
    end = history.snapshots.get(going.end)
    if end is None or not (going.snapshots or going.changelogs):
        return NOTHING
    holders = history.kept(going.snapshots, going.changelogs)
    references = [*(_reference(table, each) for each in holders), *going.left]
    kept = read_named(table, references)
    deltas = [Reference(each, may_be_broken=True) for each in going.snapshots.values()]
    named = read_named(table, [*deltas, *going.leaving])
    removed = _removed(table, [*going.snapshots.values(), end][1:], both(named, kept), going.keeps_appended)
    unread = _removed(table, going.deltas, named)
    added = _added(table, going.leaving, named)
    candidates = names_of(pa.concat_tables([removed, unread, added]))
    live = live_names(table, references, kept, candidates)
    data = paths_of(table, unless_named(removed, live))
    return Doomed(
        data=pc.unique(
            pa.concat_arrays([data, _existing(table, paths_of(table, unless_named(unread, live)))])
        ),
        changelog=paths_of(table, unless_named(added, live)),
        **metadata_paths(table, named.of(going.leaving), kept),
    )


def plan_tag_files(table: PaimonTable, history: History, names: Collection[str]) -> Doomed:
    """The files that go with tags of a branch, by their file names: those that no other holder needs.

    A tag of a snapshot that another holder has takes no files with it, so it is not looked at.

    Raises:
        MissingFile: a file that must stay is missing already.
        CorruptTable: metadata cannot be read, so it is unknown what must stay.
        UnsupportedTable: a file that would go is of a kind whose place is unknown.
    """
    going = [each for each in history.held if _is_tag_among(each, history, names)]
    holders = [each for each in history.held if each not in going]
    held = {
        each.snapshot.delta_manifest_list for each in holders if each.holder.kind is not Holding.CHANGELOG
    }
    leaving = [
        Reference(each.snapshot, Part.STATE, may_be_broken=True)
        for each in going
        if each.snapshot.delta_manifest_list not in held
    ]
    if not leaving:
        return NOTHING
    references = [_reference(table, each) for each in holders]
    kept, named = read_named(table, references), read_named(table, leaving)
    states = [_state(table, each, both(named, kept)) for each in leaving]
    files = pa.concat_tables([FILES.empty_table(), *states])
    live = live_names(table, references, kept, names_of(files))
    return replace(
        NOTHING, data=paths_of(table, unless_named(files, live)), **metadata_paths(table, named, kept)
    )


def _is_tag_among(held: Held, history: History, names: Collection[str]) -> bool:
    holder = held.holder
    return holder.kind is Holding.TAG and holder.home == history.home and holder.name in names


def _state(table: PaimonTable, reference: Reference, named: NamedFiles) -> pa.Table:
    """The files of a tag; none if a manifest is missing, so that an earlier run has deleted them."""
    manifests = named.manifests_in(reference.lists)
    frames = _frames(table, manifests)
    if len(frames) < len(manifests) or not all(name in named.by_list for name in reference.lists):
        return FILES.empty_table()
    return live_of([empty(), *frames]).select(FILES.names)


def _reference(table: PaimonTable, held: Held) -> Reference:
    """What a holder that stays needs.

    Other branches may be broken, and changelogs whose expiry was killed: nobody can read what is missing.
    """
    kind, is_other = held.holder.kind, held.holder.home != table.home
    return Reference(held.snapshot, _PARTS[kind], may_be_broken=is_other or kind is Holding.CHANGELOG)


def _removed(
    table: PaimonTable, snapshots: Iterable[Snapshot], named: NamedFiles, is_compacted_only: bool = False
) -> pa.Table:
    """The files that each of some snapshots removed from the one before.

    Where a manifest is missing, nothing: it might add a file again that another one removes. Files that a
    snapshot appended are left out if they are the changelog of one, see `Going.keeps_appended`.
    """
    found = [FILES.empty_table()]
    for each in snapshots:
        manifests = named.manifests_in([each.delta_manifest_list])
        frames = _frames(table, manifests)
        if len(frames) == len(manifests):
            entries = pa.concat_tables([empty(), *frames])
            found.append(removed_files(compacted_only(entries) if is_compacted_only else entries))
    return pa.concat_tables(found)


def _added(table: PaimonTable, references: Iterable[Reference], named: NamedFiles) -> pa.Table:
    """The changelog files of some snapshots."""
    lists = [name for each in references for name in each.changelog_lists]
    return added_files(pa.concat_tables([empty(), *_frames(table, named.manifests_in(lists))]))


def _existing(table: PaimonTable, paths: pa.Array) -> pa.Array:
    """The paths that have files: what a compaction had written went with the snapshots already."""
    return paths.filter(pa.array(table.storage.exist(listed(paths)), pa.bool_()))


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
