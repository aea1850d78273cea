"""Names that only one table format gives are handed in: the attribute of ids in ORC, the record in Avro."""

from __future__ import annotations

from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pytest

from lithify.files.options import FileOptions, OrcOptions
from lithify.files.registry import open_writer
from lithify.files.statistics import StatsModes
from lithify.formats.paimon.schema.type_texts import parse_type

ROWS = pa.table([[1, 2]], schema=pa.schema([pa.field("id", pa.int32(), metadata={"PARQUET:field_id": "7"})]))


def written(path: Path, kind: str, codec: str, attribute: str = "") -> Path:
    options = FileOptions(
        "data-",
        codec,
        1,
        thin=False,
        suffix_names_compression=False,
        target_size=1 << 20,
        stats=StatsModes("full", {}, -1, dense=False),
        format=kind,
        orc=OrcOptions(id_attribute=attribute),
        avro_record="org.example.row",
    )
    with pa.OSFile(str(path), "wb") as sink:
        writer = open_writer(sink, options, str(path), {"id": parse_type("INT")})
        writer.write(ROWS)
        writer.finish()
    return path


@pytest.mark.parametrize(("attribute", "expected"), [("format.id", {b"format.id": b"7"}), ("", None)])
def test_orc_types_have_their_ids_in_the_attribute(
    tmp_path: Path, attribute: str, expected: dict[bytes, bytes] | None
) -> None:
    file = orc.ORCFile(written(tmp_path / "a.orc", "orc", "zstd", attribute))
    assert file.schema.field("id").metadata == expected


def test_avro_rows_are_records_of_the_name(tmp_path: Path) -> None:
    with written(tmp_path / "a.avro", "avro", "zstd").open("rb") as stream:
        reader = fastavro.reader(stream)
        assert reader.writer_schema is not None
        assert [*reader] == [{"id": 1}, {"id": 2}]
    assert fastavro.schema.fullname(reader.writer_schema) == "org.example.row"
