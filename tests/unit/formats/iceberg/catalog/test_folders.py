"""Tables in folders, as Java's HadoopCatalog lays them out."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithify.errors import CorruptTable, InvalidOption, NotFound, OutOfReach
from lithify.formats.iceberg.catalog.connecting import list_tables, open_catalog, storage_for
from lithify.formats.iceberg.catalog.folders import FolderTables
from lithify.formats.iceberg.catalog.names import parse_name
from lithify.io.access_policy import NOWHERE
from support.iceberg_tables import NAME, Lakehouse, as_folder_table


@pytest.fixture
def metadata(tmp_path: Path) -> Path:
    """The folder of a table's metadata."""
    return as_folder_table(Lakehouse(tmp_path / "origin").table(), tmp_path / "wh")


def opened(metadata: Path) -> FolderTables:
    found = open_catalog(str(metadata.parents[3]), {})
    assert isinstance(found, FolderTables)
    return found


def test_the_highest_number_is_the_newest_whatever_the_hint_says(metadata: Path) -> None:
    text = (metadata / "v1.metadata.json").read_text("utf-8")
    for name in ("v2.metadata.json", "v10.gz.metadata.json", "v3.metadata.json.gz", "v11.tmp"):
        (metadata / name).write_text(text, "utf-8")
    found = opened(metadata).load(parse_name(NAME))
    assert (found.location, found.version) == (str(metadata / "v10.gz.metadata.json"), 10)


def test_only_one_writer_creates_a_number(metadata: Path) -> None:
    catalog, name = opened(metadata), parse_name(NAME)
    base = catalog.load(name)
    place = catalog.next_location(base, "/elsewhere", "nonce")

    assert place == str(metadata / "v2.metadata.json")
    assert catalog.swap(name, base, place, "ours", lambda: True)
    assert not catalog.swap(name, base, place, "theirs", lambda: True)

    assert Path(place).read_text("utf-8") == "ours"
    assert (metadata / "version-hint.text").read_text("utf-8") == "2"


def test_a_number_that_is_taken_under_another_name_is_taken(metadata: Path) -> None:
    catalog, name = opened(metadata), parse_name(NAME)
    base = catalog.load(name)
    (metadata / "v2.gz.metadata.json").write_text("theirs", "utf-8")
    assert not catalog.swap(name, base, catalog.next_location(base, "", ""), "ours", lambda: True)


def test_two_files_of_one_number_are_a_damaged_table(metadata: Path) -> None:
    for name in ("v2.metadata.json", "v2.gz.metadata.json"):
        (metadata / name).write_text("{}", "utf-8")
    with pytest.raises(CorruptTable):
        opened(metadata).load(parse_name(NAME))


def test_folders_without_metadata_are_namespaces(metadata: Path) -> None:
    (metadata.parents[3] / "empty").mkdir()
    assert list(list_tables(opened(metadata))) == [NAME]


def test_what_does_not_exist_is_not_found(metadata: Path) -> None:
    with pytest.raises(NotFound):
        opened(metadata).load(parse_name("sales.none"))
    with pytest.raises(NotFound):
        open_catalog(str(metadata / "none"), {})


@pytest.mark.parametrize("warehouse", ["hdfs:///warehouse", "obs://bucket/warehouse", "abfss://c@a/w"])
def test_stores_without_an_atomic_commit_are_refused_by_name(warehouse: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        open_catalog(warehouse, {})
    assert refused.value.option == "--warehouse"


def test_a_name_node_needs_a_grant_whatever_catalog_names_it() -> None:
    with pytest.raises(OutOfReach) as refused:
        storage_for(("hdfs://nn/warehouse/t",), {}, NOWHERE).exists("hdfs://nn/warehouse/t/metadata")
    assert refused.value.where == "hdfs://nn/warehouse/t/metadata"


def test_a_folder_of_the_machine_is_out_of_reach_of_others(metadata: Path) -> None:
    with pytest.raises(OutOfReach):
        open_catalog(str(metadata.parents[3]), {}, NOWHERE)
