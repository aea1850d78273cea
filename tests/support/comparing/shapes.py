"""Shapes of tables to compact side by side with Java: keys, types, partitions, options, histories.

A shape makes the same table whenever it is asked to, from a seed. Histories end with several sorted runs in
every bucket; most have been through compactions by Java, so that files lie in several levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from infrastructure.oracle.client import Oracle, Table
from support.comparing.rows import AVRO_VALUES, ORC_VALUES, VALUES, create, draw_keys, draw_row, values_of

NESTED = [
    "ARRAY<INT>",
    "ARRAY<STRING NOT NULL>",
    "ARRAY<TIMESTAMP(9)>",
    "ARRAY<DECIMAL(9, 2)>",
    "ARRAY<DECIMAL(38, 10)>",
    "ARRAY<DOUBLE>",
    "ARRAY<ARRAY<BYTES>>",
    "MAP<STRING, BIGINT>",
    "MAP<INT NOT NULL, ARRAY<STRING>>",
    "MAP<DATE, ROW<a INT, b STRING>>",
    "MULTISET<STRING>",
    "ROW<a INT, b STRING>",
    "ROW<a BIGINT NOT NULL, r ROW<x TIMESTAMP(3), y DATE>>",
    "ARRAY<ROW<key INT, m MAP<STRING, ROW<z ARRAY<TINYINT>>>>>",
    "ARRAY<VARIANT>",
]


@dataclass(frozen=True, slots=True)
class Shape:
    """What kind of table, and how it came to be.

    Attributes:
        name: a telling id.
        key: key columns and their types.
        values: value columns and their types; null now and then.
        partition: partition columns, their types and the values that they take.
        options: table options.
        key_values: how many different keys there are.
        commits: how many commits of writes there are.
        rows: rows a commit.
        deletes: share of rows that are deletes.
        compacted: after which commits Java compacts (with a low trigger).
        changes: schema changes, by the commit before which they happen; one, or several.
    """

    name: str
    key: Mapping[str, str] = field(default_factory=lambda: {"id": "INT"})
    values: Mapping[str, str] = field(default_factory=lambda: {"v": "STRING", "n": "BIGINT"})
    partition: Mapping[str, tuple[str, list[Any]]] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    key_values: int = 300
    commits: int = 7
    rows: int = 120
    deletes: float = 0.1
    compacted: tuple[int, ...] = (3,)
    changes: Mapping[int, Mapping[str, Any] | list[Mapping[str, Any]]] = field(default_factory=dict)

    def make(self, oracle: Oracle, warehouse: Path) -> Table:
        """Creates the table and plays its history."""
        random = Random(self.name)
        table = Table(warehouse, "db.t")
        create(oracle, table, self, {"bucket": "2", **self.options})
        keys = draw_keys(random, self, self.key_values)
        for commit in range(self.commits):
            if commit in self.changes:
                changes = self.changes[commit]
                oracle.alter_table(table, *(changes if isinstance(changes, list) else [changes]))
            values = values_of(oracle, table, self)
            oracle.write(
                table, [draw_row(random, self, keys, values, self.deletes) for _ in range(self.rows)]
            )
            if commit in self.compacted:
                oracle.compact(table, full=False, options={"num-sorted-run.compaction-trigger": "3"})
        return table


KEYS = [
    Shape("key: bigint", {"id": "BIGINT"}),
    Shape("key: string", {"id": "STRING"}),
    Shape("key: char and tinyint", {"a": "CHAR(4)", "b": "TINYINT"}),
    Shape("key: date and string", {"day": "DATE", "name": "STRING"}),
    Shape("key: decimal of 9 digits", {"id": "DECIMAL(9, 2)"}),
    Shape("key: decimal of 38 digits", {"id": "DECIMAL(38, 10)"}),
    Shape("key: timestamp millis", {"at": "TIMESTAMP(3)"}),
    Shape("key: timestamp micros, local zone", {"at": "TIMESTAMP(6) WITH LOCAL TIME ZONE"}),
    Shape("key: bytes", {"id": "BYTES"}),
    Shape("key: timestamp nanos", {"at": "TIMESTAMP(9)"}),
    Shape("key: double", {"id": "DOUBLE"}),
    Shape("key: float and int", {"id": "FLOAT", "n": "TINYINT"}),
    Shape(
        "key: int and timestamp nanos, local zone", {"id": "INT", "at": "TIMESTAMP(9) WITH LOCAL TIME ZONE"}
    ),
    Shape("key: boolean, smallint, varchar", {"a": "BOOLEAN", "b": "SMALLINT", "c": "VARCHAR(20)"}),
    Shape("key: all columns", {"a": "SMALLINT", "b": "STRING"}, values={}),
    Shape(
        "key: all columns, thin files", {"a": "BOOLEAN"}, values={}, options={"data-file.thin-mode": "true"}
    ),
    Shape("key: a part of it says which bucket", {"a": "INT", "b": "TINYINT"}, options={"bucket-key": "b"}),
]

TYPES = [
    Shape("every type", values={f"c{number}": kind for number, kind in enumerate(VALUES)}, rows=60),
    Shape(
        "every kind of nesting",
        values={
            **{f"c{number}": kind for number, kind in enumerate(NESTED)},
            "key": "STRING",
            "element": "INT",
        },
        rows=60,
    ),
    Shape(
        "nesting, not dense",
        values={"n": "ARRAY<INT>", "v": "INT"},
        options={"metadata.stats-dense-store": "false"},
    ),
]

PARTITIONS = [
    Shape("partition: date", partition={"dt": ("DATE", ["2026-01-01", "2026-01-02"])}),
    Shape(
        "partition: int and text with escapes",
        partition={"year": ("INT", [2025, 2026]), "class": ("STRING", ["de", "f r/%="])},
    ),
    Shape(
        "partition: nanoseconds, and manifests that are merged",
        partition={
            "at": ("TIMESTAMP(9)", ["2024-02-29T10:11:12.000000001", "2024-02-29T10:11:12.000000002"]),
            "zoned": ("TIMESTAMP(9) WITH LOCAL TIME ZONE", ["9999-12-31T23:59:59.999999999"]),
        },
        options={"manifest.merge-min-count": "2", "manifest.target-file-size": "4 kb"},
    ),
    Shape("partition: boolean", partition={"b": ("BOOLEAN", [True, False])}),
    Shape(
        "partition: empty text, with another default name",
        partition={"p": ("STRING", ["", "x"])},
        options={"partition.default-name": "__NOTHING__"},
    ),
]


def _tuned(name: str, **options: str) -> Shape:
    """A shape with table options; dots in their names are written as two underscores, dashes as one."""
    return Shape(name, options={k.replace("__", ".").replace("_", "-"): v for k, v in options.items()})


OPTIONS = [
    Shape("one bucket, level 0 only", options={"bucket": "1"}, compacted=()),
    _tuned("dynamic buckets", bucket="-1", dynamic_bucket__target_row_num="100"),
    _tuned("thin files", data_file__thin_mode="true"),
    _tuned("full statistics", metadata__stats_mode="full"),
    _tuned("counts only", metadata__stats_mode="counts"),
    _tuned("statistics of one column", metadata__stats_mode="none", fields__v__stats_mode="full"),
    _tuned(
        "statistics of the first columns, not dense",
        metadata__stats_keep_first_n_columns="2",
        metadata__stats_dense_store="false",
    ),
    _tuned("lz4", file__compression="lz4"),
    _tuned(
        "snappy, named in the suffix",
        file__compression="snappy",
        file__suffix__include__compression="true",
        data_file__prefix="part-",
    ),
    _tuned("small manifests", manifest__target_file_size="4 kb", manifest__compression="snappy"),
    Shape("ignore-delete", options={"ignore-delete": "true"}, deletes=0.4, key_values=60),
    Shape(
        "sequence field: timestamp nanos",
        values={"v": "STRING", "at": "TIMESTAMP(9)"},
        options={"sequence.field": "at"},
        key_values=80,
    ),
    Shape(
        "sequence fields: double and float, descending",
        values={"v": "STRING", "a": "DOUBLE", "b": "FLOAT"},
        options={"sequence.field": "a,b", "sequence.field.sort-order": "descending"},
        key_values=80,
    ),
    Shape("sequence field", options={"sequence.field": "n"}, key_values=80),
    Shape(
        "sequence fields, descending",
        values={"v": "STRING", "s": "DECIMAL(9, 2)", "n": "INT"},
        options={"sequence.field": "s,v", "sequence.field.sort-order": "descending"},
        key_values=80,
    ),
    Shape(
        "sequence fields, many ties and nulls",
        values={"v": "STRING", "s": "BOOLEAN", "n": "TINYINT"},
        options={"sequence.field": "s,n"},
        key_values=20,
    ),
    _tuned("few levels", num_levels="2", num_sorted_run__compaction_trigger="3"),
    _tuned("forced level 0", compaction__force_up_level_0="true"),
    _tuned("every file rewritten", compaction__force_rewrite_all_files="true"),
    Shape("many deletes", deletes=0.6),
    Shape("no deletes, few keys twice", deletes=0.0, key_values=3000),
]

CHANGES = [
    Shape("column added", changes={4: {"add_column": {"name": "extra", "type": "INT"}}}),
    Shape(
        "columns added whose parts must not be null",
        changes={
            4: [
                {"add_column": {"name": "x", "type": "VARIANT"}},
                {
                    "add_column": {
                        "name": "r",
                        "type": "ROW<a INT NOT NULL, b BYTES NOT NULL, c ARRAY<INT> NOT NULL, "
                        "d MAP<INT NOT NULL, STRING> NOT NULL, e ROW<f DATE NOT NULL, g INT> NOT NULL, "
                        "h DECIMAL(9, 2) NOT NULL, i TIMESTAMP(9) NOT NULL, j VARIANT>",
                    }
                },
            ]
        },
        rows=60,
    ),
    Shape("column added first", changes={4: {"add_column": {"name": "extra", "type": "INT", "first": True}}}),
    Shape("column dropped", changes={4: {"drop_column": "v"}}),
    Shape("column renamed", changes={4: {"rename_column": ["v", "renamed"]}}),
    Shape(
        "string made longer",
        values={"v": "VARCHAR(20)", "n": "BIGINT"},
        changes={4: {"update_type": ["v", "STRING"]}},
    ),
    Shape(
        "columns moved and widened, keys among them",
        {"id": "INT", "at": "TIMESTAMP(9)"},
        values={"v": "INT", "n": "DECIMAL(9, 2)", "d": "FLOAT"},
        changes={
            2: [{"move": {"name": "v", "first": True}}, {"update_type": ["v", "BIGINT"]}],
            4: [{"update_type": ["n", "DECIMAL(38, 10)"]}, {"update_type": ["d", "DOUBLE"]}],
            5: [{"update_type": ["v", "STRING"]}, {"move": {"name": "at", "after": "n"}}],
        },
    ),
    Shape(
        "a sequence field widened",
        values={"v": "STRING", "s": "INT"},
        options={"sequence.field": "s"},
        key_values=80,
        changes={4: {"update_type": ["s", "BIGINT"]}},
    ),
    Shape(
        "parts of nested columns added, dropped, renamed, moved and widened",
        values={
            "r": "ROW<a INT, b STRING, c DATE>",
            "l": "ARRAY<ROW<a INT, b ROW<x INT, y STRING>>>",
            "m": "MAP<STRING, ROW<a TINYINT, b TIMESTAMP(3)>>",
            "i": "ARRAY<INT>",
        },
        rows=60,
        changes={
            2: [
                {"add_column": {"name": "r.d", "type": "ARRAY<STRING>"}},
                {"add_column": {"name": "r.e", "type": "ROW<x INT NOT NULL, y VARIANT>"}},
                {"drop_column": "r.a"},
                {"rename_column": ["l.element.b.x", "renamed"]},
                {"update_type": ["m.value.a", "BIGINT"]},
            ],
            4: [
                {"add_column": {"name": "r.a", "type": "STRING"}},
                {"rename_column": ["r.b", "bb"]},
                {"drop_column": "l.element.b.y"},
                {"add_column": {"name": "m.value.c", "type": "ROW<n INT>"}},
                {"update_type": ["m.value.b", "TIMESTAMP(9)"]},
                {"update_type": ["i.element", "DECIMAL(38, 10)"]},
            ],
            5: [{"rename_column": ["l", "renamed"]}, {"update_type": ["r.c", "TIMESTAMP(6)"]}],
        },
    ),
    Shape(
        "nested columns of whose parts none is left",
        values={
            "r": "ROW<a INT>",
            "s": "ROW<p ROW<a INT>, n INT>",
            "o": "ROW<p ROW<a INT>>",
            "l": "ARRAY<ROW<a INT>>",
            "m": "MAP<STRING, ROW<a INT>>",
        },
        rows=60,
        changes={
            3: [
                change
                for row in ("r", "s.p", "o.p", "l.element", "m.value")
                for change in (
                    {"add_column": {"name": f"{row}.b", "type": "BIGINT"}},
                    {"drop_column": f"{row}.a"},
                )
            ]
        },
    ),
    Shape("option changed", changes={4: {"set_option": ["snapshot.time-retained", "7 h"]}}),
    Shape(
        "column dropped, another added under its name",
        changes={2: {"drop_column": "v"}, 5: {"add_column": {"name": "v", "type": "INT"}}},
    ),
]

NO_NANOS = [kind for kind in NESTED if "TIMESTAMP(9)" not in kind and "VARIANT" not in kind]
NO_MULTISETS = {f"c{number}": kind for number, kind in enumerate(NO_NANOS) if "MULTISET" not in kind}
NESTED_CHANGES: dict[int, Mapping[str, Any] | list[Mapping[str, Any]]] = {
    2: [
        {"add_column": {"name": "r.d", "type": "ARRAY<STRING>"}},
        {"drop_column": "r.a"},
        {"rename_column": ["l.element.b.x", "renamed"]},
        {"update_type": ["m.value.a", "BIGINT"]},
    ],
    4: [
        {"add_column": {"name": "x", "type": "ROW<a INT NOT NULL, b ROW<c STRING NOT NULL>>"}},
        {"set_option": ["file.format", "parquet"]},
    ],
}
"""Nested columns that change, and come from one format to another."""

VECTORS = [
    "VECTOR<FLOAT, 3>",
    "VECTOR<DOUBLE, 2>",
    "VECTOR<BOOLEAN, 9>",
    "VECTOR<TINYINT, 4>",
    "VECTOR<SMALLINT, 1>",
    "VECTOR<INT, 2>",
    "VECTOR<BIGINT, 2>",
    "VECTOR<FLOAT NOT NULL, 100>",
    "VECTOR<DOUBLE NOT NULL, 1>",
    "VECTOR<BIGINT NOT NULL, 3>",
    "VECTOR<FLOAT, 70> NOT NULL",
]
"""Of every type that vectors may be made of, with lengths that Avro writes as one byte and as two."""

FORMATS = [
    *(
        Shape(
            f"{kind}: every kind of nesting",
            values=NO_MULTISETS,
            rows=60,
            options={"file.format": kind, "metadata.stats-mode": "full"},
        )
        for kind in ("orc", "avro")
    ),
    *(
        Shape(
            f"{kind}, later parquet: parts of nested columns change",
            values={
                "r": "ROW<a INT, b STRING, c DATE, t TIME(3)>",
                "l": "ARRAY<ROW<a INT, b ROW<x INT, y STRING>>>",
                "m": "MAP<STRING, ROW<a TINYINT, b TIMESTAMP(3), c CHAR(4)>>",
                "n": "ROW<a BIGINT NOT NULL, b STRING NOT NULL, r ROW<x INT NOT NULL> NOT NULL>",
            },
            rows=60,
            options={"file.format": kind},
            changes=NESTED_CHANGES,
        )
        for kind in ("orc", "avro")
    ),
    _tuned("orc", file__format="orc"),
    Shape(
        "orc: every type",
        values={f"c{number}": kind for number, kind in enumerate(ORC_VALUES)},
        rows=60,
        options={"file.format": "orc", "metadata.stats-mode": "full"},
    ),
    _tuned("orc: snappy, thin", file__format="orc", file__compression="snappy", data_file__thin_mode="true"),
    _tuned("orc: lz4, counts", file__format="orc", file__compression="lz4", metadata__stats_mode="counts"),
    _tuned(
        "orc: zlib, small stripes", file__format="orc", file__compression="zlib", orc__stripe__size="1024"
    ),
    _tuned("orc: not compressed", file__format="orc", orc__compress="none"),
    Shape(
        "orc at level 0, parquet below, codecs by level",
        options={
            "file.format.per.level": "0:orc",
            "file.compression.per.level": "0:lz4,5:gzip",
            "metadata.stats-mode.per.level": "0:none,5:full",
        },
    ),
    Shape("orc at the top", options={"file.format.per.level": "5:orc"}),
    Shape(
        "format changed, columns renamed and dropped",
        values={"v": "STRING", "n": "BIGINT", "w": "DECIMAL(9, 2)"},
        changes={
            2: {"set_option": ["file.format", "orc"]},
            4: {"rename_column": ["v", "renamed"]},
            5: {"drop_column": "w"},
        },
    ),
    _tuned("avro", file__format="avro"),
    Shape(
        "avro: every type",
        values={f"c{number}": kind for number, kind in enumerate(AVRO_VALUES)},
        rows=60,
        options={"file.format": "avro", "metadata.stats-mode": "full"},
    ),
    Shape(
        "avro: vectors",
        values={f"c{number}": kind for number, kind in enumerate(VECTORS)},
        rows=60,
        options={
            "file.format": "avro",
            "metadata.stats-mode": "full",
            "vector-field": "c0",  # which means nothing once a table is there
            "field.c0.vector-dim": "3",
        },
    ),
    Shape(
        "avro: vectors, in no statistics and thin files",
        values={"v": "VECTOR<FLOAT, 3>", "n": "ARRAY<INT>", "b": "BYTES"},
        options={
            "file.format": "avro",
            "bucket": "-1",
            "metadata.stats-dense-store": "false",
            "metadata.stats-mode": "none",
            "data-file.thin-mode": "true",
        },
    ),
    Shape(
        "avro: vectors are added, renamed, moved, dropped and made nullable",
        values={"v": "VECTOR<FLOAT, 3>", "w": "VECTOR<INT, 2>", "f": "VECTOR<DOUBLE, 2> NOT NULL"},
        rows=60,
        options={"file.format": "avro"},
        changes={
            2: [
                {"add_column": {"name": "a", "type": "VECTOR<FLOAT NOT NULL, 2>", "first": True}},
                {"rename_column": ["v", "renamed"]},
            ],
            4: [{"drop_column": "w"}, {"update_nullability": ["f", True]}],
            5: [
                {"move": {"name": "f", "first": True}},
                {"add_column": {"name": "w", "type": "VECTOR<INT, 3>"}},
            ],
        },
    ),
    *(
        Shape(
            f"{kind}, later avro: a vector is added",
            rows=60,
            options={"file.format": kind},
            changes={
                4: [
                    {"set_option": ["file.format", "avro"]},
                    {"add_column": {"name": "x", "type": "VECTOR<FLOAT, 3>"}},
                ]
            },
        )
        for kind in ("parquet", "orc")
    ),
    Shape(
        "avro, later parquet: to nanoseconds, and a multiset",
        values={"at": "TIMESTAMP(6)", "r": "ROW<at TIMESTAMP(3)>"},
        rows=60,
        options={"file.format": "avro"},
        changes={
            4: [
                {"set_option": ["file.format", "parquet"]},
                {"add_column": {"name": "x", "type": "MULTISET<INT>"}},
                {"update_type": ["at", "TIMESTAMP(9)"]},
                {"update_type": ["r.at", "TIMESTAMP(9)"]},
            ]
        },
    ),
    _tuned("avro: snappy, counts", file__format="avro", avro__codec="snappy", metadata__stats_mode="counts"),
    _tuned(
        "avro: deflate, thin", file__format="avro", file__compression="deflate", data_file__thin_mode="true"
    ),
    _tuned("avro: no statistics", file__format="avro", file__compression="null", metadata__stats_mode="none"),
    _tuned(
        "avro: statistics of the first columns",
        file__format="avro",
        metadata__stats_keep_first_n_columns="5",
        fields__v__stats_mode="truncate(2)",
    ),
    Shape("three formats", options={"file.format.per.level": "0:avro,5:orc"}),
    Shape(
        "formats and codecs, an option for each level",
        options={
            "file.format.per.level.0": "avro",
            "file.format.per.level.5": "orc",
            "file.compression.per.level.5": "lz4",
        },
    ),
    _tuned("bloom filters", parquet__bloom__filter__enabled="true"),
    _tuned("orc: bloom filters", file__format="orc", orc__bloom__filter__columns="v, id"),
    Shape(
        "avro key: decimal and string",
        {"a": "DECIMAL(38, 10)", "b": "STRING"},
        options={"file.format": "avro"},
    ),
    Shape("orc key: decimal of 38 digits", {"id": "DECIMAL(38, 10)"}, options={"file.format": "orc"}),
    Shape("orc key: char and date", {"a": "CHAR(4)", "b": "DATE"}, options={"file.format": "orc"}),
    Shape("orc key: timestamp", {"at": "TIMESTAMP(3)"}, options={"file.format": "orc"}),
]

SHAPES = [*KEYS, *TYPES, *PARTITIONS, *OPTIONS, *CHANGES, *FORMATS]
