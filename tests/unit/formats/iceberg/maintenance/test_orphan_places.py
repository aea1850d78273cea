"""Which paths of an Iceberg table may be orphans."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lithify.formats.iceberg.maintenance.orphan_places import FileKind, OrphanPlaces
from lithify.io.listings import listing_of

U = "6c8d7959-43d4-4c51-8de8-7c2e2fe89b43"
DATA, METADATA = FileKind.DATA, FileKind.METADATA


def places(data: str = "data", metadata: str = "metadata") -> OrphanPlaces:
    return OrphanPlaces(data, metadata)


def kind_of(path: str, where: OrphanPlaces | None = None) -> FileKind | None:
    files, names = (where or places()).candidates(listing_of([path], [1], pa.array([1], pa.int64())))
    assert names.to_pylist() == [path.rpartition("/")[2]] * len(files)
    return FileKind(files["kind"][0].as_py()) if len(files) else None


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"data/00000-4-{U}-0-00001.parquet", DATA),
        (f"data/day=2026-01-01/kind=a%2Fb/00000-4-{U}-00001-deletes.parquet", DATA),
        (f"data/0101/1001/0110/00110011/a=b/00000-4-{U}-00001-deletes.puffin", DATA),
        (f"data/0101/1001/0110/00110011-00000-4-{U}-00001.orc", DATA),
        (f"data/00000-0-{U}.avro", DATA),
        (f"data/20260101_101010_00001_abcde-{U}.parquet", DATA),
        (f"metadata/{U}-m0.avro", METADATA),
        (f"metadata/snap-4815162342-1-{U}.avro", METADATA),
        (f"metadata/4815162342-{U}.stats", METADATA),
        (f"metadata/partition-stats-4815162342-{U}.parquet", METADATA),
        (f"metadata/.lithify-v12.metadata.json.{U}", METADATA),
        (f"metadata/.lithify-00001-{U}.metadata.json.{U}", METADATA),
        (f"metadata/.lithify-version-hint.text.{U}", METADATA),
    ],
)
def test_names_of_writers_in_their_places_are_candidates(path: str, kind: FileKind) -> None:
    assert kind_of(path) is kind


@pytest.mark.parametrize(
    "path",
    [
        f"metadata/00001-{U}.metadata.json",
        f"metadata/00001-{U}.gz.metadata.json",
        *("metadata/v1.metadata.json", "metadata/version-hint.text", "data/_SUCCESS"),
        f"metadata/deeper/{U}-m0.avro",
        *(f"metadata/{U}.metadata.json", f"metadata/.v12.metadata.json.{U}"),
        *("metadata/.lithify-v12.metadata.json", f"data/.lithify-v12.metadata.json.{U}"),
        f"metadata/00000-4-{U}-00001.crc",
        "data/part-00000.parquet",
        "data/000000_0",
        f"data/_temporary/0/00000-4-{U}-00001.parquet",
        f"data/.hive-staging/00000-4-{U}-00001.parquet",
        f"data/.00000-4-{U}-00001.parquet",
        f"data/a b-{U}-00001.parquet",
        f"data/00000-4-{U}-00001.parquet.crc",
        f"00000-4-{U}-00001.parquet",
        f"other/00000-4-{U}-00001.parquet",
        f"lithify/attempts/{U}.json",
        f"xdata/00000-4-{U}-00001.parquet",
    ],
)
def test_everything_else_is_left_alone(path: str) -> None:
    assert kind_of(path) is None


def test_places_follow_the_properties_of_the_table() -> None:
    assert kind_of(f"my.files/a/00000-{U}.parquet", places("my.files")) is DATA
    assert kind_of(f"my-files/a/00000-{U}.parquet", places("my.files")) is None
    assert kind_of(f"x/meta/{U}-m0.avro", places("data", "x/meta")) is METADATA


def test_folders_of_other_tables_are_noted() -> None:
    where = places("data", "data/metadata")
    paths = [
        *("data/metadata/v1.metadata.json", "data/x/metadata/v1.metadata.json"),
        *("data/y/metadata/00000-1.gz.metadata.json", "data/z/metadata/readme"),
    ]
    where.candidates(listing_of(paths, [1] * len(paths), pa.array([1] * len(paths), pa.int64())))
    assert where.others == {"data/x", "data/y"}
