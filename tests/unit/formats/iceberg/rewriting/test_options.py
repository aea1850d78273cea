"""Table properties as options of writers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from lithify.errors import InvalidOption, UnsupportedTable
from lithify.files.avro.container import read_header
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
        ("write.orc.bloom.filter.fpp", "x"),
        ("write.orc.stripe-size-bytes", "x"),
        ("write.avro.compression-level", "x"),
    ],
)
def test_invalid_values_are_told_by_name(name: str, value: str) -> None:
    kind = name.split(".")[1]
    properties = {"write.parquet.bloom-filter-enabled.column.c": "true", name: value}
    if kind in ("orc", "avro"):
        properties["write.format.default"] = kind

    with pytest.raises(InvalidOption):
        parse_write_options(properties)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("parquet", "write.format.default", "vortex"),
        ("parquet", "write.parquet.compression-codec", "brotli"),
        ("orc", "write.orc.compression-codec", "lzo"),
        ("avro", "write.avro.compression-codec", "bzip2"),
    ],
)
def test_what_cannot_be_written_is_refused(kind: str, name: str, value: str) -> None:
    with pytest.raises(UnsupportedTable):
        parse_write_options({"write.format.default": kind, name: value})


CODECS = [
    *(("orc", codec, codec) for codec in ("zlib", "zstd", "snappy", "lz4")),
    ("orc", "none", "uncompressed"),
    ("avro", "gzip", "deflate"),
    ("avro", "zstd", "zstandard"),
    ("avro", "snappy", "snappy"),
    ("avro", "uncompressed", "null"),
]


@pytest.mark.parametrize(("kind", "codec", "told"), CODECS)
def test_orc_and_avro_have_the_codec_of_the_table(tmp_path: Path, kind: str, codec: str, told: str) -> None:
    files = Files(tmp_path, schema_of(("c", "string")))
    properties = {"write.format.default": kind, f"write.{kind}.compression-codec": codec}

    (new,) = run(task_of(files, [files.data({"c": ["a" * 100] * 100})], properties=properties)).data

    assert new.format == kind
    assert new.path.endswith(f".{kind}")
    if kind == "orc":
        assert orc.ORCFile(new.path).compression.lower() == told
    else:
        with pa.OSFile(new.path) as source:
            assert read_header(source).codec == told


@pytest.mark.parametrize(("codec", "level"), [("zstd", -3), ("zstd", 19), ("gzip", 0), ("gzip", 9)])
def test_avro_has_the_level_of_the_table(codec: str, level: int) -> None:
    name = "write.avro.compression"
    properties = {"write.format.default": "avro", f"{name}-codec": codec, f"{name}-level": str(level)}

    files = parse_write_options(properties).files

    assert (files.zstd_level if codec == "zstd" else files.deflate_level) == level


def test_orc_and_avro_have_the_defaults_of_java() -> None:
    orc_files, avro_files = (
        parse_write_options({"write.format.default": kind}).files for kind in ("orc", "avro")
    )

    assert (orc_files.compression, orc_files.unit_size, orc_files.zstd_level) == ("zlib", 64 << 20, 1)
    assert (avro_files.compression, avro_files.deflate_level) == ("deflate", 9)


def test_integers_are_stored_as_differences_only_where_readers_can_decode_them(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("c", "long")))
    file = files.data({"c": range(100_000)})

    for packed, encoding in (((), "PLAIN"), (["c"], "DELTA_BINARY_PACKED")):
        options = parse_write_options({}).with_packed(packed)
        (new,) = run(task_of(files, [file], options=options)).data
        assert encoding in pq.read_metadata(new.path).row_group(0).column(0).encodings
        assert pq.read_table(new.path).column(0).to_pylist() == [*range(100_000)]
