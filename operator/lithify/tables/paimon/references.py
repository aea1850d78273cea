"""Which files of an attempt anything at all refers to: snapshots, tags, changelogs, of all branches.

Called by `orphans` before it deletes. Thorough rather than fast: it reads every manifest that is reachable,
each once, and rather raises than misses one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import CorruptTable
from lithify.tables.paimon.table import PaimonTable

_HOLDERS = (("snapshot", "snapshot-"), ("tag", "tag-"), ("changelog", "changelog-"))
_LISTS = ("baseManifestList", "deltaManifestList", "changelogManifestList")


def referenced_names(table: PaimonTable, prefix: str) -> set[str]:
    """Names of data files, manifests and manifest lists with this prefix in them that something refers to.

    Raises:
        CorruptTable: something that should be readable is not, so nothing can be said.
    """
    names: set[str] = set()
    seen: set[str] = set()
    for path, lists in _manifest_lists(table):
        for name in lists - seen:
            seen.add(name)
            try:
                names |= _reachable(table, name, seen)
            except CorruptTable:
                if table.storage.read_text(path) is not None:
                    raise  # else the snapshot was expired while we were looking, and refers to nothing now
    return {name for name in names | seen if prefix in name}


def _manifest_lists(table: PaimonTable) -> Iterator[tuple[str, set[str]]]:
    """Every snapshot, tag and changelog: its path and the manifest lists that it names.

    First the newest snapshot as its catalog knows it: a server may be slow to write the file.
    """
    if newest := table.snapshots.latest():
        yield table.snapshots.path(newest.id), _lists_of(newest)
    branches = [f"{table.root}/branch/{file.name}" for file in table.storage.list(f"{table.root}/branch")]
    for root in (table.root, *branches):
        for folder, stem in _HOLDERS:
            for file in table.storage.list(f"{root}/{folder}"):
                path = f"{root}/{folder}/{file.name}"
                text = table.storage.read_text(path) if file.name.startswith(stem) else None
                if text is not None:
                    yield path, _lists_in(path, text)


def _lists_in(path: str, text: str) -> set[str]:
    try:
        holder = json.loads(text)
    except ValueError as error:
        raise CorruptTable(path, f"it cannot be read as JSON ({error})") from error
    return {holder[key] for key in _LISTS if holder.get(key)}


def _lists_of(snapshot: Snapshot) -> set[str]:
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list)
    return {name for name in lists if name}


def _reachable(table: PaimonTable, list_name: str, seen: set[str]) -> set[str]:
    """Names of data files in the manifests of a list, but for manifests that were seen before."""
    names: set[str] = set()
    for manifest in table.manifests.names_in_list(list_name):
        if manifest not in seen:
            names |= {entry.file.name for entry in table.manifests.entries_of(manifest)}
            seen.add(manifest)
    return names
