"""Table properties as options of writers."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lithify.errors import InvalidOption, UnsupportedTable
from lithify.formats.iceberg.rewriting.options import parse_write_options
from support.iceberg_files import Files, run, schema_of, task_of


def test_defaults_are_those_of_the_format() -> None:
    files = parse_write_options({}).files

    assert (files.format, files.compression, files.zstd_level) == ("parquet", "zstd", 3)
    assert (files.target_size, files.unit_size) == (512 << 20, 128 << 20)


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "uncompressed"])
def test_files_have_the_codec_of_the_table(tmp_path: Path, codec: str) -> None:
    files = Files(tmp_path, schema_of(("c", "string")))
    properties = {"write.parquet.compression-codec": codec.upper()}

    (new,) = run(task_of(files, [files.data({"c": ["a" * 100] * 100})], properties=properties)).data

    chunk = pq.read_metadata(new.path).row_group(0).column(0)
    assert chunk.compression.lower() in (codec, "lz4_raw" if codec == "lz4" else codec)


def test_bloom_filters_are_written_where_the_table_wants_them(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("c", "string"), ("d", "string")))
    file = files.data({"c": ["a", "b"], "d": ["c", "d"]})
    prefix = "write.parquet.bloom-filter"

    (plain,) = run(task_of(files, [file])).data
    (new,) = run(task_of(files, [file], properties={f"{prefix}-enabled.column.d": "true"})).data

    assert new.size > plain.size
    assert pq.read_table(new.path).num_rows == 2


def test_target_size_of_the_run_wins() -> None:
    properties = {"write.target-file-size-bytes": "1000"}

    assert parse_write_options(properties).files.target_size == 1000
    assert parse_write_options(properties, target_size=5).files.target_size == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("write.target-file-size-bytes", "many"),
        ("write.target-file-size-bytes", "0"),
        ("write.parquet.row-group-size-bytes", "-1"),
        ("write.metadata.metrics.default", "truncate"),
        ("write.metadata.metrics.column.c", "some"),
        ("write.parquet.bloom-filter-fpp.column.c", "x"),
    ],
)
def test_invalid_values_are_told_by_name(name: str, value: str) -> None:
    properties = {"write.parquet.bloom-filter-enabled.column.c": "true", name: value}

    with pytest.raises(InvalidOption):
        parse_write_options(properties)


@pytest.mark.parametrize(
    ("name", "value"), [("write.format.default", "orc"), ("write.parquet.compression-codec", "brotli")]
)
def test_what_cannot_be_written_is_refused(name: str, value: str) -> None:
    with pytest.raises(UnsupportedTable):
        parse_write_options({name: value})


def test_integers_are_stored_as_differences_only_where_readers_can_decode_them(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("c", "long")))
    file = files.data({"c": range(100_000)})

    for packed, encoding in (((), "PLAIN"), (["c"], "DELTA_BINARY_PACKED")):
        options = parse_write_options({}).with_packed(packed)
        (new,) = run(task_of(files, [file], options=options)).data
        assert encoding in pq.read_metadata(new.path).row_group(0).column(0).encodings
        assert pq.read_table(new.path).column(0).to_pylist() == [*range(100_000)]
