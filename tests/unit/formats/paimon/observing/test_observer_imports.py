"""What an observing worker imports: nothing that merges rows or writes data files."""

from __future__ import annotations

import grimp
import pytest

OBSERVER = "lithify.formats.paimon.observing.observer"
MOST_MODULES = 226
"""What an observer imports, of several hundred modules."""
MERGING_OR_WRITING = (
    "lithify.engine.rewrite",
    "lithify.engine.run",
    "lithify.files.orc",
    "lithify.files.parquet",
    "lithify.formats.paimon.append",
    "lithify.formats.paimon.commit",
    "lithify.formats.paimon.compaction",
    "lithify.formats.paimon.data_files",
    "lithify.formats.paimon.primary_key",
)
WRITING_MODULES = (
    "lithify.engine.attempts.clean_up",
    "lithify.engine.attempts.heartbeat",
    "lithify.engine.attempts.journal",
    "lithify.engine.commit.loop",
    "lithify.files.avro.encoding",
    "lithify.files.avro.writer",
    "lithify.files.variants.columns",
    "lithify.files.variants.inference",
    "lithify.files.variants.shredding",
    "lithify.formats.paimon.deletion_vectors.maintaining",
    "lithify.formats.paimon.file_indexes.building",
    "lithify.formats.paimon.manifests.index_manifest_writer",
    "lithify.formats.paimon.manifests.manifest_files",
    "lithify.formats.paimon.manifests.manifest_merging",
    "lithify.formats.paimon.manifests.manifest_writer",
    "lithify.formats.paimon.snapshots.attempt_scope",
    "lithify.formats.paimon.snapshots.conditional_put",
    "lithify.formats.paimon.snapshots.lineage",
    "lithify.formats.paimon.snapshots.live_buckets",
    "lithify.formats.paimon.snapshots.writable_snapshots",
)
READING = {"lithify.formats.paimon.commit.found_runs"}
"""Finds out what a run committed, by reading snapshots."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("lithify", cache_dir=None)


@pytest.fixture(scope="module")
def imported(graph: grimp.ImportGraph) -> set[str]:
    """Every module that is imported with the observer, also inside of functions, without its packages."""
    return {OBSERVER, *graph.find_upstream_modules(OBSERVER)}


def test_names_of_rooms_that_merge_or_write_exist(graph: grimp.ImportGraph) -> None:
    assert {*MERGING_OR_WRITING, *WRITING_MODULES, *READING} <= graph.modules


@pytest.mark.parametrize("room", MERGING_OR_WRITING)
def test_observer_imports_no_room_that_merges_or_writes(room: str, imported: set[str]) -> None:
    found = {module for module in imported if module == room or module.startswith(f"{room}.")}
    assert found - READING == set()


def test_observer_imports_no_module_that_writes(imported: set[str]) -> None:
    assert imported & {*WRITING_MODULES} == set()


def test_observer_imports_a_limited_number_of_modules(imported: set[str]) -> None:
    assert len(imported) <= MOST_MODULES


def test_planning_driver_does_import_them(graph: grimp.ImportGraph) -> None:
    """The measure finds such imports where they are."""
    driver = graph.find_upstream_modules("lithify.formats.paimon.adapter")
    for room in (*MERGING_OR_WRITING[4:], *WRITING_MODULES):
        assert any(module.startswith(room) for module in driver), room
