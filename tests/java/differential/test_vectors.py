"""What Java does not say of vectors: their lengths, their bits, and where they must not be."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import fastavro
import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.process import OracleError
from lithify.errors import CorruptTable, UnsupportedTable
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

AVRO = {"bucket": "1", "file.format": "avro"}


def made(oracle: Oracle, folder: Path, kind: str, *commits: list[list[Any]]) -> Table:
    """A table of a key and a column of vectors, whose bytes are found in its files."""
    table = Table(folder / "w", "db.t")
    oracle.create_table(
        table, {"id": "INT NOT NULL", "v": kind}, ["id"], options={**AVRO, "file.compression": "null"}
    )
    for rows in commits:
        oracle.write(table, [["+I", *row] for row in rows])
    return table


def without_checksum(path: str) -> Path:
    """A file whose bytes may be changed without Hadoop's noticing."""
    file = Path(path)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return file


def vectors_of(oracle: Oracle, table: Table) -> list[Any]:
    return [row[2] for row in oracle.read(table)]


@pytest.mark.parametrize("element", ["FLOAT", "FLOAT NOT NULL", "DOUBLE", "BOOLEAN", "TINYINT", "BIGINT"])
def test_java_does_not_hold_vectors_against_their_length(
    oracle: Oracle, tmp_path: Path, element: str
) -> None:
    one = True if element == "BOOLEAN" else 1
    commits = [[1, [one]], [2, [one] * 3], [3, []]], [[1, [one] * 4], [2, None], [4, [one] * 200]]
    table = made(oracle, tmp_path, f"VECTOR<{element}, 3>", *commits)
    java, ours = (copy_of(table, tmp_path / name) for name in ("java", "ours"))
    oracle.compact(java)
    run_inline(ours, full=True)
    expected = [[one] * 4, None, [], [one] * 200]
    assert vectors_of(oracle, ours) == vectors_of(oracle, java) == expected


@pytest.mark.parametrize(
    ("element", "form", "bits"),
    [
        ("FLOAT", "<I", [0x7F800001, 0xFFC12345, 0x80000000, 0x00000001]),
        ("DOUBLE NOT NULL", "<Q", [0x7FF0000000000001, 0xFFF8000000012345, 1 << 63, 1]),
    ],
)
def test_no_bit_of_an_element_changes(
    oracle: Oracle, tmp_path: Path, element: str, form: str, bits: list[int]
) -> None:
    """NaN is one number to JSON, and many to IEEE 754: Java keeps them apart, and so do we."""
    marks = [1234.5 + number for number in range(len(bits))]
    kind = f"VECTOR<{element}, {len(bits)}>"
    table = made(oracle, tmp_path, kind, [[1, marks], [2, None]], [[3, marks]])
    forms = [struct.pack(form, number) for number in bits]
    float_form = form.replace("I", "f").replace("Q", "d")
    for stored in oracle.files(table):
        file = without_checksum(stored.path)
        content = file.read_bytes()
        for mark, new in zip(marks, forms, strict=True):
            assert content.count(struct.pack(float_form, mark)) == 1
            content = content.replace(struct.pack(float_form, mark), new)
        file.write_bytes(content)
    java, ours = (copy_of(table, tmp_path / name) for name in ("java", "ours"))
    oracle.compact(java)
    run_inline(ours, full=True)
    for compacted in (java, ours):
        (stored,) = oracle.files(compacted)
        content = Path(stored.path).read_bytes()
        assert [content.count(new) for new in forms[:2]] == [2, 2]
    assert oracle.read(ours) == oracle.read(java)


def test_a_null_among_the_elements_ends_the_run(oracle: Oracle, tmp_path: Path) -> None:
    """Java has no room for one: neither does it write any, nor read what others wrote."""
    table = made(oracle, tmp_path, "VECTOR<FLOAT, 2>", [[1, [1, 2]]], [[2, [3, 4]]])
    stored = oracle.files(table)[0]
    with Path(stored.path).open("rb") as source:
        reader = fastavro.reader(source)
        header, rows = reader.writer_schema, [dict(row) for row in reader]  # type: ignore[arg-type]
    rows[0]["v"] = [1, None]
    with without_checksum(stored.path).open("wb") as sink:
        fastavro.writer(sink, header, rows)  # type: ignore[arg-type]
    before = oracle.files(table)
    with pytest.raises(OracleError, match="null"):
        oracle.compact(copy_of(table, tmp_path / "java"))
    with pytest.raises(CorruptTable, match="null in a VECTOR"):
        run_inline(table, full=True)
    assert oracle.files(table) == before


REFUSED: dict[str, tuple[dict[str, str], list[str], dict[str, str], str]] = {
    "a key": ({"v": "VECTOR<FLOAT, 2> NOT NULL"}, ["v"], {}, "v = VECTOR<FLOAT, 2> NOT NULL as key"),
    "a sequence field": ({"v": "VECTOR<FLOAT, 2>"}, [], {"sequence.field": "v"}, "as sequence"),
    "in a ROW": ({"v": "ROW<a VECTOR<FLOAT, 2>>"}, [], {}, "v = VECTOR as part"),
    "in an ARRAY": ({"v": "ARRAY<VECTOR<FLOAT, 2> NOT NULL>"}, [], {}, "v = VECTOR NOT NULL as part"),
    "in a MAP": ({"v": "MAP<STRING, VECTOR<FLOAT, 2>>"}, [], {}, "v = VECTOR as part"),
    "files of a level are Parquet": (
        {"v": "VECTOR<FLOAT, 2>"},
        [],
        {"file.format.per.level": "5:parquet"},
        "column v: VECTOR in PARQUET files",
    ),
    "files of a level are ORC": (
        {"v": "VECTOR<FLOAT, 2>"},
        [],
        {"file.format.per.level.5": "orc"},
        "column v: VECTOR in ORC files",
    ),
}


@pytest.mark.parametrize(("columns", "key", "options", "said"), REFUSED.values(), ids=REFUSED)
def test_vectors_that_are_refused(
    oracle: Oracle,
    tmp_path: Path,
    columns: dict[str, str],
    key: list[str],
    options: dict[str, str],
    said: str,
) -> None:
    table = Table(tmp_path / "w", "db.t")
    oracle.create_table(table, {"id": "INT NOT NULL", **columns}, ["id", *key], options={**AVRO, **options})
    if " as part" not in said:  # Java makes such a table and then writes no row of it
        for number in range(2):
            oracle.write(table, [["+I", number, [1.0, 2.0]]])
    before = oracle.files(table)
    with pytest.raises(UnsupportedTable) as caught:
        run_inline(table, full=True)
    assert said in str(caught.value)
    assert oracle.files(table) == before


@pytest.mark.parametrize("name", ["parquet", "orc"])
def test_java_writes_no_vectors_in_other_formats(oracle: Oracle, tmp_path: Path, name: str) -> None:
    """Neither as the format of a table, nor as that of a level: what it starts to write there fails."""
    table = Table(tmp_path / "w", "db.t")
    columns = {"id": "INT NOT NULL", "v": "VECTOR<FLOAT, 2>"}
    with pytest.raises(OracleError, match="Unsupported type: VECTOR"):
        oracle.create_table(table, columns, ["id"], options={**AVRO, "file.format": name})
    oracle.create_table(table, columns, ["id"], options={**AVRO, "file.format.per.level": f"5:{name}"})
    for number in range(2):
        oracle.write(table, [["+I", number, [1.0, 2.0]]])
    with pytest.raises(OracleError, match="Unsupported type: VECTOR"):
        oracle.compact(table)


@pytest.mark.parametrize("kind", ["ROW<a VECTOR<FLOAT, 2>>", "ARRAY<VECTOR<FLOAT, 2>>"])
def test_java_writes_no_vectors_within_others(oracle: Oracle, tmp_path: Path, kind: str) -> None:
    table = made(oracle, tmp_path, kind)
    with pytest.raises(OracleError, match=r"Unsupported type: VectorType|VECTOR not support"):
        oracle.write(table, [["+I", 1, [[1.0, 2.0]]]])
