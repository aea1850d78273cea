"""Which paths may be orphans: those of Paimon's names in Paimon's places, and nothing else."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lithify.engine.maintenance.spared_paths import is_spared
from lithify.formats.paimon.maintenance.orphan_places import FileKind, OrphanPlaces
from lithify.io.listings import listing_of

U = "6c8d7959-43d4-4c51-8de8-7c2e2fe89b43"
DATA, INDEX, METADATA = FileKind.DATA, FileKind.INDEX, FileKind.METADATA


def kind_of(path: str, keys: tuple[str, ...] = ("dt",), directory: str = "") -> FileKind | None:
    files, names = OrphanPlaces(keys, directory).candidates(
        listing_of([path], [1], pa.array([1], pa.int64()))
    )
    assert names.to_pylist() == [path.rpartition("/")[2]] * len(files)
    return FileKind(files["kind"][0].as_py()) if len(files) else None


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"dt=a/bucket-0/data-{U}-0.parquet", DATA),
        (f"dt=a/bucket-12/data-{U}-17.zstd.orc", DATA),
        (f"dt=a/bucket-0/changelog-{U}-0.avro", DATA),
        (f"dt=a/bucket-0/mine-{U}-0.parquet.index", DATA),
        (f"dt=a/bucket-0/data-{U}-0.parquet-1.index", DATA),
        (f"dt=%2F/bucket-postpone/data-u-{U}-s-0-w-{U}-0.avro", DATA),
        (f"dt=/bucket-0/data-{U}-0.parquet", DATA),
        (f"dt=a/bucket-0/index-{U}-0", INDEX),
        (f"index/index-{U}-3", INDEX),
        (f"manifest/manifest-{U}-0", METADATA),
        (f"manifest/manifest-list-{U}-0", METADATA),
        (f"manifest/index-manifest-{U}-0", METADATA),
        (f"statistics/stat-{U}-0", METADATA),
        (f"snapshot/.snapshot-7.{U}.tmp", METADATA),
        (f"snapshot/.LATEST.{U}.tmp", METADATA),
        (f"branch/branch-b/changelog/.changelog-7.{U}.tmp", METADATA),
    ],
)
def test_names_of_writers_in_their_places_are_candidates(path: str, kind: FileKind) -> None:
    assert kind_of(path) is kind


@pytest.mark.parametrize(
    "path",
    [
        *("snapshot/snapshot-1", "snapshot/LATEST", "snapshot/EARLIEST", "schema/schema-0", "tag/tag-a"),
        *("changelog/changelog-1", "consumer/consumer-c", "lithify/attempts/run-1.json", "_SUCCESS"),
        *("tag/tag-success-file/a", "service/primary", "snapshot/.lithify-snapshot-1.x"),
        f"branch/branch-b/manifest/manifest-{U}-0",
        f"tag/.tag-a.{U}.tmp",
        f"consumer/.consumer-a.{U}.tmp",
        f"schema/.schema-1.{U}.tmp",
        f"manifest/manifest-{U}",
        f"manifest/notes-{U}-0",
        f"manifest/deeper/manifest-{U}-0",
        f"index/global-index-{U}.index",
        f"dt=a/bucket-0/data-{U}-0.blob",
        f"dt=a/bucket-0/data-{U}-0.csv.gz",
        f"dt=a/bucket-0/compacted-changelog-{U}$0-39253.cc-parquet",
        f"dt=a/bucket-0/data-{U.upper()}-0.parquet",
        "dt=a/bucket-0/data-1.parquet",
        "dt=a/bucket-0/part-00000.parquet",
        f"dt=a/bucket-0/deeper/data-{U}-0.parquet",
        f"dt=a/data-{U}-0.parquet",
        f"bucket-0/data-{U}-0.parquet",
        f"region=a/bucket-0/data-{U}-0.parquet",
        f"dt=a/hr=1/bucket-0/data-{U}-0.parquet",
        f"other/dt=a/bucket-0/data-{U}-0.parquet",
        f"dt=a/bucket-x/data-{U}-0.parquet",
        f"dt=a/bucket-0/data-{U}-0.parquet\nx",
    ],
)
def test_everything_else_is_left_alone(path: str) -> None:
    assert kind_of(path) is None


@pytest.mark.parametrize(
    ("keys", "directory", "path"),
    [
        ((), "", f"bucket-0/data-{U}-0.parquet"),
        (("dt", "hr"), "", f"dt=a/hr=1/bucket-0/data-{U}-0.parquet"),
        (("a:b",), "", f"a%3Ab=x/bucket-0/data-{U}-0.parquet"),
        (("dt",), "files/here", f"files/here/dt=a/bucket-0/data-{U}-0.parquet"),
        ((), "a.b", f"a.b/bucket-0/index-{U}-0"),
    ],
    ids=["no partitions", "two columns", "an escaped column", "a folder for data", "a folder with a dot"],
)
def test_places_follow_the_layout_of_the_table(keys: tuple[str, ...], directory: str, path: str) -> None:
    assert kind_of(path, keys, directory) is not None
    assert kind_of(f"x{path}", keys, directory) is None


def test_folders_of_other_tables_are_noted() -> None:
    places = OrphanPlaces(("dt",), "")
    paths = [
        *("schema/schema-0", "snapshot/snapshot-1", "branch/branch-b/schema/schema-0"),
        *("dt=a/schema/schema-0", "dt=b/x/snapshot/snapshot-3", "old/metadata/v1.metadata.json"),
        *("metadata/v1.metadata.json", "dt=c/schema/readme"),
    ]
    places.candidates(listing_of(paths, [1] * len(paths), pa.array([1] * len(paths), pa.int64())))
    assert places.others == {"dt=a", "dt=b/x", "old"}


def test_files_of_other_tables_and_of_attempts_are_spared() -> None:
    paths = pa.array([f"dt=a/bucket-0/data-{U}-0.orc", f"dt=ab/bucket-0/data-{U}-0.orc"])
    assert is_spared(paths, ["dt=a"], []).tolist() == [True, False]
    assert is_spared(paths, [], [U[:24]]).tolist() == [True, True]
    assert is_spared(paths, [], []).tolist() == [False, False]
