"""Merging manifests changes no answer, reads nothing where nothing is due, refuses what it cannot keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import fastavro
import pytest
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from lithify.errors import CorruptTable, MissingFile
from lithify.formats.paimon.manifests.entries import (
    ADD,
    DELETE,
    ManifestEntry,
    record_of_entry,
)
from lithify.formats.paimon.manifests.entry_objects import entries_of
from lithify.formats.paimon.manifests.manifest_merging import MergedManifests
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from support.manifest_lists import Folder, random_history, random_options, random_partition
from support.manifests import file_meta

if TYPE_CHECKING:
    from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta

FULL = ManifestOptions(full_threshold=1)
MINOR = ManifestOptions(merge_min_count=1)
PLACE = random_partition(Random(1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return Folder(tmp_path_factory.mktemp("manifests")).create()


def added(name: str, level: int = 0) -> ManifestEntry:
    return ManifestEntry(ADD, PLACE, 0, 1, file_meta(name, level))


def removed(name: str, level: int = 0) -> ManifestEntry:
    return replace(added(name, level), kind=DELETE)


def entries_in(folder: Folder, metas: Sequence[ManifestFileMeta]) -> list[ManifestEntry]:
    manifests = folder.manifests()
    frames = (manifests.columns_of(meta.file_name, statistics=True) for meta in metas)
    return [each for frame in frames for each in entries_of(frame)]


def live(entries: Sequence[ManifestEntry]) -> set[tuple[object, ...]]:
    gone = {each.identity for each in entries if each.kind == DELETE}
    return {each.identity for each in entries if each.kind == ADD} - gone


def path_of(folder: Folder, name: str) -> Path:
    return folder.warehouse / "db.db" / "t" / "manifest" / name


@pytest.mark.thorough
def test_random_merges_change_no_answer(folder: Folder) -> None:
    shorter = 0
    for seed in range(30):
        rng = Random(seed)
        metas = folder.write(f"random-{seed}", random_history(rng, whole=seed % 2 == 0))
        result = folder.merger(random_options(rng, metas)).merge(metas, f"random-{seed}-merged")

        before, after = entries_in(folder, metas), entries_in(folder, result.manifests)
        assert live(after) == live(before)
        assert {each.identity for each in after} <= {each.identity for each in before}
        assert all(path_of(folder, name).exists() for name in result.written)
        shorter += len(result.manifests) < len(metas)
    assert shorter > 7


def test_full_merge_leaves_additions_only(folder: Folder) -> None:
    history = [[added("a"), added("b")], [removed("a")], [removed("b"), added("c")], [removed("older")]]
    metas = folder.write("full", history)
    result = folder.merger(FULL).merge(metas, "full-merged")
    assert entries_in(folder, result.manifests) == [added("c")]


def test_full_merge_of_what_is_all_gone_leaves_no_manifest(folder: Folder) -> None:
    metas = folder.write("gone", [[added("a")], [removed("a")]])
    assert folder.merger(FULL).merge(metas, "gone-merged").manifests == ()


def test_minor_merge_keeps_what_was_added_before_the_group(folder: Folder) -> None:
    metas = folder.write("group", [[added("a"), removed("older")], [removed("a"), added("b", 5)]])
    result = folder.merger(MINOR).merge(metas, "group-merged")
    assert entries_in(folder, result.manifests) == [removed("older"), added("b", 5)]


def test_upgraded_file_is_another_than_it_was(folder: Folder) -> None:
    metas = folder.write("upgrade", [[added("a")], [removed("a"), added("a", 5)]])
    result = folder.merger(MINOR).merge(metas, "upgrade-merged")
    assert entries_in(folder, result.manifests) == [added("a", 5)]


def test_entries_are_written_as_they_were(folder: Folder) -> None:
    """Every field of an entry has a value here, so that none can get lost unnoticed."""
    file = file_meta(
        "a",
        3,
        extra_files=("a.index",),
        created_millis=1_700_000_000_123,
        delete_rows=7,
        embedded_index=b"index",
        source=1,
        value_stats_columns=("v",),
        external_path="s3://elsewhere/a",
        first_row_id=40,
        write_columns=("v", "w"),
        write_columns_sequences=(8, 9),
        schema_id=4,
    )
    full = ManifestEntry(ADD, PLACE, 2, 4, file)
    metas = folder.write("fields", [[full], [added("b")]])
    result = folder.merger(MINOR).merge(metas, "fields-merged")
    assert entries_in(folder, result.manifests) == [full, added("b")]


def test_nothing_is_read_where_nothing_is_due(folder: Folder) -> None:
    metas = folder.write("idle", [[added("a")], [removed("a")]])
    for meta in metas:
        path_of(folder, meta.file_name).unlink()
    names = tuple(meta.file_name for meta in metas)
    assert folder.merger(ManifestOptions()).merge(metas, "idle-merged") == MergedManifests(
        names, tuple(metas)
    )


def test_manifest_that_is_gone_is_named(folder: Folder) -> None:
    metas = folder.write("lost", [[added("a")], [removed("a")]])
    path_of(folder, metas[1].file_name).unlink()
    with pytest.raises(MissingFile) as raised:
        folder.merger(MINOR).merge(metas, "lost-merged")
    assert raised.value.path.endswith(metas[1].file_name)


@pytest.mark.parametrize(
    "history",
    [[[added("a")], [removed("a")], [added("a")]], [[removed("a")], [added("a")]]],
    ids=["added again", "added after it was removed"],
)
def test_a_list_that_java_refuses_is_refused(folder: Folder, history: list[list[ManifestEntry]]) -> None:
    name = f"broken-{len(history)}"
    metas = folder.write(name, history)
    with pytest.raises(CorruptTable) as raised:
        folder.merger(MINOR).merge(metas, f"{name}-merged")
    assert raised.value.path.endswith(metas[-1].file_name)


def test_manifests_of_a_later_format_stay_as_they_are(folder: Folder) -> None:
    metas = folder.write("later", [[added("a")], [added("b")]])
    write_with_another_field(path_of(folder, metas[1].file_name), added("b"))

    result = folder.merger(MINOR).merge(metas, "later-merged")

    assert (result.manifests, result.written) == (tuple(metas), ())
    assert list(path_of(folder, "").glob("manifest-later-merged-*")) == []


def write_with_another_field(path: Path, entry: ManifestEntry) -> None:
    fields = [*MANIFEST_ENTRY_SCHEMA["fields"], {"name": "_LATER", "type": ["null", "int"], "default": None}]
    with path.open("wb") as file:
        fastavro.writer(file, {**MANIFEST_ENTRY_SCHEMA, "fields": fields}, [record_of_entry(entry)])


class TestRebased:
    """A merge that was made for a list serves every list that goes on from it."""

    def test_on_what_goes_on(self, folder: Folder) -> None:
        metas = folder.write("rebased", [[added("a")], [removed("a")], [added("b")]])
        merged = folder.merger(MINOR).merge(metas[:2], "rebased-merged")
        again = merged.rebased(metas)
        assert again == MergedManifests(tuple(meta.file_name for meta in metas), (metas[2],), merged.written)

    @pytest.mark.parametrize("changed", [lambda m: m[1:], lambda m: m[::-1], lambda m: m[:1]])
    def test_on_what_does_not(self, folder: Folder, changed: object) -> None:
        metas = folder.write("changed", [[added("a")], [added("b")]])
        merged = folder.merger(MINOR).merge(metas, "changed-merged")
        assert callable(changed)
        assert merged.rebased(changed(metas)) is None
