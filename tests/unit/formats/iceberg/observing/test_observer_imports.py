"""What a worker that observes Iceberg tables imports: nothing that rewrites, commits or writes."""

from __future__ import annotations

import grimp
import pytest

OBSERVER = "lithify.formats.iceberg.observing.observer"
MOST_MODULES = 150
"""What an observer imports, of several hundred modules."""
MERGING_OR_WRITING = (
    "lithify.engine.commit",
    "lithify.engine.rewrite",
    "lithify.engine.run",
    "lithify.engine.tasks",
    "lithify.files.orc",
    "lithify.files.parquet",
    "lithify.formats.iceberg.commit",
    "lithify.formats.iceberg.compaction",
    "lithify.formats.iceberg.data_files",
    "lithify.formats.iceberg.deletes",
    "lithify.formats.iceberg.rewriting",
)
WRITING_MODULES = (
    "lithify.engine.attempts.clean_up",
    "lithify.engine.attempts.heartbeat",
    "lithify.engine.attempts.journal",
    "lithify.files.avro.writer",
    "lithify.formats.iceberg.attempts.references",
    "lithify.formats.iceberg.attempts.remains",
    "lithify.formats.iceberg.attempts.scope",
    "lithify.formats.iceberg.manifests.carrying",
    "lithify.formats.iceberg.manifests.manifest_writer",
    "lithify.formats.iceberg.manifests.merging",
    "lithify.formats.iceberg.manifests.new_entries",
    "lithify.formats.iceberg.manifests.summaries",
    "lithify.formats.iceberg.table.evolving",
)


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("lithify", cache_dir=None)


@pytest.fixture(scope="module")
def imported(graph: grimp.ImportGraph) -> set[str]:
    """Every module that is imported with the observer, also inside of functions, without its packages."""
    return {OBSERVER, *graph.find_upstream_modules(OBSERVER)}


def test_names_of_rooms_that_merge_or_write_exist(graph: grimp.ImportGraph) -> None:
    assert {*MERGING_OR_WRITING, *WRITING_MODULES} <= graph.modules


@pytest.mark.parametrize("room", MERGING_OR_WRITING)
def test_observer_imports_no_room_that_merges_or_writes(room: str, imported: set[str]) -> None:
    assert {module for module in imported if module == room or module.startswith(f"{room}.")} == set()


def test_observer_imports_no_module_that_writes(imported: set[str]) -> None:
    assert imported & {*WRITING_MODULES} == set()


def test_observer_imports_a_limited_number_of_modules(imported: set[str]) -> None:
    assert len(imported) <= MOST_MODULES


def test_planning_driver_does_import_them(graph: grimp.ImportGraph) -> None:
    """The measure finds such imports where they are."""
    driver = graph.find_upstream_modules("lithify.formats.iceberg.adapter")
    for room in (*MERGING_OR_WRITING[-5:], *WRITING_MODULES):
        assert any(module.startswith(room) for module in driver), room
