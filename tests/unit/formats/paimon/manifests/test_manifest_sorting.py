"""Sorting manifests keeps every live file with all that is said of it, in order, whatever the memory."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from lithify.formats.paimon.manifests.encoded_entries import UnknownFields
from lithify.formats.paimon.manifests.entries import (
    ADD,
    DELETE,
    ManifestEntry,
    record_of_entry,
)
from lithify.formats.paimon.manifests.entry_objects import entries_of
from lithify.formats.paimon.manifests.manifest_sorting import ManifestSorter
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.formats.paimon.rows.binary_row import decode_row
from support.manifest_lists import Folder, random_history, random_partition
from support.manifests import file_meta

if TYPE_CHECKING:
    from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta

MEMORY = 1 << 20
SEEDS = st.integers(0, 10_000)


@pytest.fixture(scope="module", params=[True, False], ids=["partitioned", "without partitions"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return Folder(tmp_path_factory.mktemp("manifests"), request.param).create()


def sort(
    folder: Folder,
    metas: list[ManifestFileMeta],
    prefix: str = "sorted",
    memory: int = MEMORY,
    options: ManifestOptions | None = None,
) -> list[ManifestFileMeta]:
    return ManifestSorter(folder.manifests(), folder.files(options), memory).sort(metas, prefix)


def entries_in(folder: Folder, metas: list[ManifestFileMeta]) -> list[ManifestEntry]:
    manifests = folder.manifests()
    frames = (manifests.columns_of(meta.file_name, statistics=True) for meta in metas)
    return [each for frame in frames for each in entries_of(frame)]


def live(entries: list[ManifestEntry]) -> list[ManifestEntry]:
    gone = {each.identity for each in entries if each.kind == DELETE}
    return [each for each in entries if each.kind == ADD and each.identity not in gone]


@pytest.mark.thorough
@given(seed=SEEDS, memory=st.sampled_from([1, 300, 2_000, MEMORY]))
def test_sorted_manifests_have_the_live_entries_in_order(folder: Folder, seed: int, memory: int) -> None:
    rng = Random(seed)
    history = random_history(rng, partitioned=folder.partitioned, whole=seed % 3 > 0)
    metas = folder.write(f"case-{seed}", history)

    found = entries_in(folder, sort(folder, metas, f"sorted-{seed}", memory))

    def place(entry: ManifestEntry) -> list[tuple[bool, object]]:
        values = [*decode_row(entry.partition, folder.types), entry.bucket]
        return [(value is not None, value or 0) for value in values]

    expected = live(entries_in(folder, metas))
    assert found == sorted(expected, key=place)


@pytest.mark.thorough
@given(seed=SEEDS, target=st.sampled_from([1, 500, 8 << 20]))
def test_lists_say_the_same_of_sorted_manifests_as_of_those_of_commits(
    folder: Folder, seed: int, target: int
) -> None:
    """They are compared for the same entries, except for the size and the name of the file."""
    metas = folder.write(f"case-{seed}", random_history(Random(seed), partitioned=folder.partitioned))

    found = sort(folder, metas, f"rolled-{seed}", options=ManifestOptions(target_size=target))

    for meta in found:
        (written,) = folder.files().write(entries_in(folder, [meta]), f"again-{seed}")
        assert told(meta) == told(written)
        assert meta.file_size == (Path(folder.manifests().path(meta.file_name))).stat().st_size


def told(meta: ManifestFileMeta) -> dict[str, object]:
    found = {name: getattr(meta, name) for name in meta.__dataclass_fields__ if name not in _OF_FILE}
    stats = meta.partition_stats
    return {**found, "min": stats.min_values.data, "max": stats.max_values.data, "nulls": stats.null_counts}


_OF_FILE = ("file_name", "file_size", "partition_stats")


def test_manifests_roll_at_the_target_size(folder: Folder) -> None:
    partition = random_partition(Random(1), partitioned=folder.partitioned)
    entries = [ManifestEntry(ADD, partition, 0, 1, file_meta(f"f{each}-{each**3}")) for each in range(5000)]
    metas = folder.write("many", [entries])

    found = sort(folder, metas, "many-sorted", options=ManifestOptions(target_size=20_000))

    assert len(found) > 2
    assert all(20_000 <= meta.file_size < 25_000 for meta in found[:-1])
    assert entries_in(folder, found) == entries


@pytest.mark.parametrize("fields", [14, 15, 16, 17, 18, 19])
def test_entries_of_earlier_releases_get_the_fields_that_they_lack(folder: Folder, fields: int) -> None:
    """Each release appended fields to a file; 0.8 had the first 14 of these."""
    entry = ManifestEntry(
        ADD, random_partition(Random(2), partitioned=folder.partitioned), 1, 2, file_meta("f")
    )
    (meta,) = folder.write(f"old-{fields}", [[entry]])
    *head, file = MANIFEST_ENTRY_SCHEMA["fields"]
    older = {**file["type"], "fields": file["type"]["fields"][:fields]}
    schema = {**MANIFEST_ENTRY_SCHEMA, "fields": [*head, {**file, "type": older}]}
    rewrite(folder, meta, schema, entry)
    expected = entries_in(folder, [meta])

    assert entries_in(folder, sort(folder, [meta], f"new-{fields}")) == expected


def test_fields_in_another_order_are_written_in_ours(folder: Folder) -> None:
    entry = ManifestEntry(
        ADD, random_partition(Random(2), partitioned=folder.partitioned), 1, 2, file_meta("f")
    )
    (meta,) = folder.write("turned", [[entry]])
    *head, file = MANIFEST_ENTRY_SCHEMA["fields"]
    turned = {**file["type"], "fields": file["type"]["fields"][::-1]}
    rewrite(folder, meta, {**MANIFEST_ENTRY_SCHEMA, "fields": [*head, {**file, "type": turned}]}, entry)

    assert entries_in(folder, sort(folder, [meta], "straight")) == [entry]


def test_manifest_with_unknown_fields_is_refused(folder: Folder) -> None:
    entry = ManifestEntry(
        ADD, random_partition(Random(2), partitioned=folder.partitioned), 1, 2, file_meta("f")
    )
    (meta,) = folder.write("later", [[entry]])
    more = {"name": "_LATER", "type": ["null", "int"], "default": None}
    rewrite(
        folder, meta, {**MANIFEST_ENTRY_SCHEMA, "fields": [*MANIFEST_ENTRY_SCHEMA["fields"], more]}, entry
    )

    with pytest.raises(UnknownFields):
        sort(folder, [meta], "earlier")


def rewrite(folder: Folder, meta: ManifestFileMeta, schema: dict[str, object], entry: ManifestEntry) -> None:
    with Path(folder.manifests().path(meta.file_name)).open("wb") as sink:
        fastavro.writer(sink, schema, [record_of_entry(entry)])
