"""Where files lie: partition values in the names of directories, a folder for data files, external paths."""

from __future__ import annotations

import math
import shutil
import struct
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pypaimon import CatalogFactory

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import DataFile, Row
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.layout.external_paths import entropy
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import Selection, TableAddress
from support.runs import run_inline
from support.tables import copy_of, expire, stray_files

pytestmark = pytest.mark.oracle

PARTITIONS: Mapping[str, list[object]] = {
    "STRING": ["a", "a/b:c=d%e\"#'*?\\{}[]^", "", " \u2003", "\u00a0", "ü€😀 \x01\x7f"],
    "BOOLEAN": [True, False],
    "TINYINT": [-1, 127],
    "BIGINT": [-(2**63)],
    "DECIMAL(10, 2)": ["1.20", "-0.05", "0.00"],
    "DECIMAL(38, 20)": ["123456789012345678.00000000000000000001", "-0.00000000000000000001"],
    "DATE": ["2024-02-29", "1969-12-31", "0001-01-01", "9999-12-31"],
    "TIME(3)": ["10:11:12.5", "10:11:12.101", "00:00:00"],
    "TIME(0)": ["10:11:12"],
    "TIMESTAMP(0)": ["2024-02-29T10:11:12", "2024-02-29T10:11:00"],
    "TIMESTAMP(3)": ["2024-02-29T10:11:12.5", "1969-12-31T23:59:59.999"],
    "TIMESTAMP(6)": ["2024-02-29T10:11:12.000001", "1969-12-31T23:59:59.999999", "9999-12-31T23:59:59.9"],
    "TIMESTAMP(7)": ["2024-02-29T10:11:12.0000001", "1677-01-01T00:00:00", "2262-12-31T23:59:59.9999999"],
    "TIMESTAMP(9)": ["2024-02-29T10:11:12.000000001", "1969-12-31T23:59:59.999999999", "9999-12-31T23:59:00"],
    "FLOAT": ["-0.0", 0.0, 9.999e-4, 1e7, 2.68873286e11, "NaN"],
    "DOUBLE": [2e-3, 8.41e21, 4.9e-324, 123456789.125, "-Infinity", 0.1],
    "CHAR(3)": ["abc"],
}
"""Values by type. Java before 19 takes more digits than it needs for some of the floating-point numbers."""


ZONES: Mapping[str, list[object]] = {
    "TIMESTAMP_LTZ(6)": ["2024-07-01T00:00:00.5"],
    "TIMESTAMP_LTZ(9)": ["2024-07-01T00:00:00.000000005"],
}


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_partition_values_are_spelt_as_java_does(oracle: Oracle, tmp_path: Path, legacy: str) -> None:
    types = {**PARTITIONS, **(ZONES if legacy == "true" else {})}
    table = Table(tmp_path / "original", "db.t")
    columns = {f"p{n} /{n}": kind for n, kind in enumerate(types)}
    oracle.create_table(
        table,
        {**columns, "id": "INT NOT NULL", "v": "STRING"},
        primary_key=[*columns, "id"],
        partition_keys=[*columns],
        options={"bucket": "1", "partition.legacy-name": legacy, "partition.default-name": "no:thing"},
    )
    for version in range(2):
        oracle.write(table, [row(types, number, f"{version}") for number in range(6)])

    ours, java = compacted(oracle, table, tmp_path)

    assert len(ours) == len(java) == 6
    assert {folder(file) for file in ours} == {folder(file) for file in java}


@pytest.mark.parametrize("kind", ["TIMESTAMP(9)", "TIMESTAMP_LTZ(9)"])
def test_java_finds_partitions_by_the_nanoseconds_in_our_manifests(
    oracle: Oracle, tmp_path: Path, kind: str
) -> None:
    table, moments = Table(tmp_path, "db.t"), [f"9999-12-31T23:59:59.99999999{n}" for n in range(1, 10)]
    oracle.create_table(
        table,
        {"at": kind, "id": "INT NOT NULL"},
        primary_key=["at", "id"],
        partition_keys=["at"],
        options={"bucket": "1", "manifest.merge-min-count": "2"},
    )
    for moment in (*moments, *reversed(moments)):
        oracle.write(table, [["+I", moment, 1]])

    assert run_inline(table).status == "Compacted"

    for moment in moments:
        found = oracle.read(table, filter={"column": "at", "op": "equal", "literal": moment})
        assert found == [["+I", moment, 1]]


def row(types: Mapping[str, list[object]], number: int, value: str) -> Row:
    return ["+I", *(values[number % len(values)] for values in types.values()), number, value]


def compacted(oracle: Oracle, table: Table, folder: Path) -> tuple[list[DataFile], list[DataFile]]:
    """The files of two copies of a table after compactions, ours and Java's, which leave the rows alone."""
    rows = oracle.read(table)
    ours, java = copy_of(table, folder / "ours"), copy_of(table, folder / "java")
    assert run_inline(ours).status == "Compacted"
    oracle.manager_round(java, full=True, commit=True)
    assert oracle.read(ours) == oracle.read(java) == rows
    assert {file.level for file in oracle.files(ours)} == {5}
    oracle.compact(ours, options={"compaction.force-rewrite-all-files": "true"})
    assert oracle.read(ours) == rows
    return oracle.files(ours), oracle.files(java)


LETTERS = "aZ0 \t\n\x1c\x7f\x85\u00a0\u1680\u2007\u2028\u3000\ufeffü😀/%=:*.-~+;|<>$@!&(),"


def random_value(kind: str, random: Random) -> object:
    """A value of a partition column, its bits drawn by lot."""
    name, digits = kind.partition("(")[0], int(kind.strip(")").partition("(")[2].partition(",")[0] or 0)
    match name:
        case "STRING":
            return "".join(random.choices(LETTERS, k=random.randint(0, 4)))
        case "BIGINT":
            return random.randint(-(2**63), 2**63 - 1)
        case "FLOAT" | "DOUBLE":
            figures, size = ("<f", 4) if name == "FLOAT" else ("<d", 8)
            (value,) = struct.unpack(figures, random.randbytes(size))
            return "NaN" if math.isnan(value) else value
        case "DECIMAL":
            scale = int(kind.partition(",")[2].strip(" )"))
            figures = tuple(random.randint(0, 9) for _ in range(random.randint(1, digits)))
            return str(Decimal((random.randint(0, 1), figures, -scale)))
        case "DATE":
            return (date.min + timedelta(days=random.randrange(3_652_059))).isoformat()
    moment = datetime.min + timedelta(seconds=random.randrange(315_537_897_600))
    if random.random() < 0.3:
        moment = moment.replace(second=0)
    fraction = f"{random.choice([0, random.randrange(10**9)]):09d}"[:digits]
    text = moment.isoformat() if name.startswith("TIMESTAMP") else moment.time().isoformat()
    return f"{text}.{fraction}" if digits else text


RANDOM_TYPES = [
    *("STRING", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIME(0)", "TIME(3)"),
    *("DECIMAL(38, 18)", "DECIMAL(9, 9)", "DECIMAL(38, 0)"),
    *(f"TIMESTAMP({digits})" for digits in range(10)),
]


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_random_values_are_spelt_as_java_does(oracle: Oracle, tmp_path: Path, legacy: str) -> None:
    random = Random(legacy)
    table = Table(tmp_path, "db.t")
    columns = {f"p{number}": kind for number, kind in enumerate(RANDOM_TYPES)}
    oracle.create_table(
        table,
        {**columns, "id": "INT NOT NULL"},
        primary_key=[*columns, "id"],
        partition_keys=[*columns],
        options={"bucket": "1", "partition.legacy-name": legacy},
    )
    oracle.write(
        table, [["+I", *(random_value(kind, random) for kind in RANDOM_TYPES), 1] for _ in range(100)]
    )

    opened = open_table(TableAddress(str(table.warehouse), str(table.name)))
    snapshot = opened.snapshots.latest()
    assert snapshot is not None
    ours = {entry.file.name: opened.path(entry) for entry in opened.manifests.live(snapshot)}
    assert len(ours) == 100
    assert ours == {file.name: file.path.removeprefix("file:") for file in oracle.files(table)}


WRITTEN_BY_PYTHON: Mapping[str, tuple[pa.DataType, list[object]]] = {
    "STRING": (pa.string(), ["a/b:c", " ", "ü"]),
    "BOOLEAN": (pa.bool_(), [True, False, True]),
    "DATE": (pa.date32(), [date(2024, 2, 29), date(1969, 12, 31), date(1, 1, 1)]),
    "DECIMAL(10, 2)": (pa.decimal128(10, 2), [Decimal("1.20"), Decimal("-0.05"), Decimal(0)]),
    "TIME(0)": (pa.time32("ms"), [time(10, 11, 12), time(), time(23, 59, 59)]),
    "TIMESTAMP(3)": (pa.timestamp("ms"), [datetime(1960, 1, 1, 0, 0, 1, 5000)] * 3),
    "TIMESTAMP(6)": (pa.timestamp("us"), [datetime(2024, 2, 29, 10, 11, 12, 7)] * 3),
    "DOUBLE": (pa.float64(), [-0.0, 1e7, 0.1]),
}


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_partitions_that_python_wrote_are_where_java_looks(
    oracle: Oracle, tmp_path: Path, legacy: str
) -> None:
    table = Table(tmp_path / "original", "db.t")
    columns = {f"p{number}": kind for number, kind in enumerate(WRITTEN_BY_PYTHON)}
    options = {"bucket": "1", "partition.legacy-name": legacy}
    everything = {**columns, "id": "INT NOT NULL"}
    oracle.create_table(table, everything, [*columns, "id"], [*columns], options=options)
    names = [*columns, "id"]
    kinds = [*(kind for kind, _ in WRITTEN_BY_PYTHON.values()), pa.int32()]
    schema = pa.schema([pa.field(*each, nullable=False) for each in zip(names, kinds, strict=True)])
    values = [*(values[:3] for _, values in WRITTEN_BY_PYTHON.values()), [1, 2, 3]]
    rows = pa.table([pa.array(each, kind) for each, kind in zip(values, kinds, strict=True)], schema=schema)
    for _ in range(2):
        write_with_python(table, rows)

    ours, java = compacted(oracle, table, tmp_path)

    assert len(ours) == 3
    assert {folder(file) for file in ours} == {folder(file) for file in java}


def write_with_python(table: Table, rows: pa.Table) -> None:
    """Commits rows with pypaimon."""
    catalog = CatalogFactory.create({"warehouse": str(table.warehouse)})
    builder = catalog.get_table(table.name).new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(rows)
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()


def folder(file: DataFile) -> str:
    """The directory of a file in its table's folder."""
    return file.path.partition("/db.db/t/")[2].rpartition("/")[0]


def test_two_directories_of_one_floating_point_partition_are_refused(oracle: Oracle, tmp_path: Path) -> None:
    """Writers on different versions of Java have left them; neither reads the other's files."""
    table = Table(tmp_path / "original", "db.t")
    columns = {"p": "DOUBLE", "id": "INT NOT NULL", "v": "STRING"}
    oracle.create_table(table, columns, ["p", "id"], ["p"], options={"bucket": "1"})
    for version in range(2):
        oracle.write(table, [["+I", number, 1, f"{version}"] for number in (8.41e21, 1.0)])
    (written,) = table.folder.glob("p=8.4*")
    other = table.folder / ("p=8.41E21" if written.name != "p=8.41E21" else "p=8.410E21")
    other.mkdir()
    assert run_inline(copy_of(table, tmp_path / "with an empty one")).status == "Compacted"
    shutil.copytree(written, other, dirs_exist_ok=True)

    report = run_inline(copy_of(table, tmp_path / "with both"))
    assert [group.group for group in report.groups] == ["p=1.0/bucket-0"]
    (block,) = report.blocked
    assert "same partition" in block.problem

    selected = Selection(({"p": block.group.partition("/")[0].removeprefix("p=")},))
    with pytest.raises(UnsupportedTable, match="same partition"):
        run_inline(table, selection=selected)


BINARY = {"p": "BYTES", "id": "INT NOT NULL"}
ZONED = {"p": "TIMESTAMP_LTZ(3)", "id": "INT NOT NULL"}


@pytest.mark.parametrize(
    ("columns", "legacy"), [(BINARY, "true"), (BINARY, "false"), (ZONED, "false")], ids=["", "cast", "zoned"]
)
def test_partitions_whose_directories_nobody_can_tell_are_refused(
    oracle: Oracle, tmp_path: Path, columns: Mapping[str, str], legacy: str
) -> None:
    table = Table(tmp_path, "db.t")
    options = {"bucket": "1", "partition.legacy-name": legacy}
    oracle.create_table(table, columns, ["p", "id"], ["p"], options=options)
    with pytest.raises(UnsupportedTable, match="column p"):
        run_inline(table)


STRATEGIES: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "round-robin": {},
    "entropy-inject": {},
    "specific-fs": {"data-file.external-paths.specific-fs": "FILE"},
    "weight-robin": {"data-file.external-paths.weights": "1,3"},
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_new_files_go_to_external_paths(oracle: Oracle, tmp_path: Path, strategy: str) -> None:
    outside = [tmp_path / "outside a%3A", tmp_path / "outside b"]
    table = Table(tmp_path / "original", "db.t")
    oracle.create_table(
        table,
        {"p": "STRING", "id": "INT NOT NULL", "v": "STRING"},
        primary_key=["p", "id"],
        partition_keys=["p"],
        options={
            "bucket": "1",
            "target-file-size": "12 kb",
            "data-file.path-directory": "data/files/",
            "data-file.external-paths": f"file://{outside[0]}/,file:{outside[1]}",
            "data-file.external-paths.strategy": strategy,
            **STRATEGIES[strategy],
        },
    )
    for version in range(2):
        rows: list[Row] = [["+I", "a:b", number, f"{number * 7919}-{version}"] for number in range(2000)]
        oracle.write(table, rows)
    ours = copy_of(table, tmp_path / "ours")
    rows = oracle.read(table)

    run_inline(ours)

    files = oracle.files(ours)
    assert len(files) > 1
    assert oracle.read(ours) == oracle.read(table) == rows
    for file in [*files, *oracle.files(table)]:
        assert Path(file.path.removeprefix("file:")).exists()
        assert (file.external_path is None) == (strategy == "none")
        assert parent(file) in expected_parents(file, outside, strategy)
    if strategy in ("round-robin", "entropy-inject"):
        assert (
            len({file.external_path.partition("/data/files/")[0] for file in files if file.external_path})
            == 2
        )
    oracle.compact(ours, options={"compaction.force-rewrite-all-files": "true"})
    assert oracle.read(ours) == rows
    expire(oracle, ours)
    assert stray_files(oracle, ours) == set()


def parent(file: DataFile) -> str:
    return file.path.removeprefix("file:").rpartition("/")[0]


def expected_parents(file: DataFile, outside: list[Path], strategy: str) -> set[str]:
    """Where Java and we may put a file."""
    relative = "data/files/p=a%3Ab/bucket-0"
    if strategy == "none":
        return {f"{file.path.partition('/db.db/t/')[0]}/db.db/t/{relative}"}
    deeper = f"/{entropy(file.name)}" if strategy == "entropy-inject" else ""
    return {f"{root}/{relative}{deeper}" for root in outside}
