"""What of Paimon is accepted, refused and unknown, with the reason."""

from __future__ import annotations

import pytest

from lithify.formats.paimon.support.checks import (
    ColumnUse,
    check_layout,
    check_options,
    check_types,
)
from lithify.formats.paimon.support.rules import Role
from lithify.redaction import REDACTED
from support.cases import case

ACCEPTED = [
    case("merge-engine", "deduplicate", id="a supported value"),
    case("merge-engine", "Deduplicate", id="enum values are parsed without regard to case"),
    case("deletion-vectors.enabled", "FALSE", id="booleans are parsed without regard to case"),
    case("lookup.remote-file.enabled", "false", id="a refused feature with its neutral value"),
    case("changelog-producer", "LOOKUP", id="a supported value in capitals"),
    case("metadata.iceberg.storage", "disabled", id="the iceberg view switched off"),
    case("row-tracking.enabled", "false", id="row tracking switched off"),
    case("sequence.snapshot-ordering", "false", id="snapshot ordering switched off"),
    case("write.sequence-number-init-mode", "scan", id="sequence numbers initialised as ever"),
    case("file.format.per.level", "", id="an empty map"),
    case("file.compression.per.level.0", "lz4", id="a codec per level in prefix notation"),
    case("file.format.per.level.0", "avro", id="a format per level in prefix notation"),
    case("orc.bloom.filter.columns", "a", id="orc bloom filters"),
    case("parquet.bloom.filter.enabled#a", "true", id="parquet bloom filters"),
    case("parquet.bloom.filter.expected.ndv#a", "100", id="parquet bloom filters of a size"),
    case("commit.callbacks", "", id="an empty list of callbacks"),
    case("branch", "main", id="the main branch"),
    case("bucket", "16", id="fixed buckets"),
    case("bucket", "-1", id="dynamic buckets"),
    case("file.compression", "ZSTD", id="a codec in capitals"),
    case("metadata.stats-mode", "truncate(16)", id="a pattern with a number"),
    case("fields.price.stats-mode", "full", id="a family of one column"),
    case("fields.a.b.stats-mode", "none", id="a column name with a dot"),
    case("ignore-delete", "true", id="deletes ignored"),
    case("deduplicate.ignore-delete", "true", id="a fallback key"),
    case("num-levels", "7", id="a supported option without a list of values"),
    case("scan.mode", "latest", id="a harmless option"),
    case("snapshot.time-retained", "7 d", id="expiry is not ours"),
    case("write-only", "true", id="write-only never stops a compaction"),
    case("fs.s3.endpoint", "http://minio:9000", id="a harmless family"),
    case("file-index.read.enabled", "true", id="an exact name beats a refused family"),
    case("file-index.bloom-filter.columns", "a", id="a file index"),
    case("data-evolution.row-sidecar.enabled", "true", id="a detail of a feature that is off"),
    case("schema.0.expr", "`a` + 1", id="what Flink leaves behind"),
    case("option.path", "/t", id="what Spark leaves behind"),
    case("transient_lastDdlTime", "1700000000", id="what Hive leaves behind"),
]

REFUSED = [
    case("merge-engine", "of-my-own", id="a merge engine that Paimon does not have"),
    case("changelog-producer", "of-my-own", id="a changelog producer that Paimon does not have"),
    case("lookup.remote-file.enabled", "TRUE", id="a refused value in capitals"),
    case("deletion-vectors.modifiable", "true", id="deletion vectors that can be switched off"),
    case("bucket", "-3", id="a number of buckets that Paimon does not know"),
    case("bucket", "0", id="no bucket at all"),
    case("bucket", "four", id="not a number"),
    case("bucket", "1 ", id="a blank behind the number"),
    case("file.format", "mosaic", id="another file format"),
    case("file.format.per.level.0", "mosaic", id="another file format of a level"),
    case("file.compression", "brotli", id="a codec that Java Paimon lacks"),
    case("file.compression", "ſnappy", id="a letter that only folds to an ascii one"),
    case("metadata.stats-mode", "truncate(0)", id="a number that is too small"),
    case("metadata.stats-mode", "truncate(16))", id="more than the pattern"),
    case("branch", "MAIN", id="a branch is case-sensitive"),
    case("branch", "dev", id="another branch"),
    case("file-index.of-my-own.columns", "a", id="a file index of another kind"),
    case("fields.a.nested-sequence-field", "b", id="an order of nested rows"),
    case("row-tracking.enabled", "true", id="row tracking"),
    case("data-file.external-paths.strategy", "by-mood", id="a strategy that Paimon does not have"),
    case("write.sequence-number-init-mode", "clock", id="a value that Paimon does not have"),
    case("parquet.compression", "brotli", id="a codec that Java alone knows"),
    case("orc.proleptic.gregorian", "true", id="another calendar in orc files"),
    case("avro.row-name-mapping", "a:b", id="other names in avro files"),
    case("parquet.something.new", "1", id="an unknown option of a known family"),
    case("fs.oss.server-side-encryption", "KMS", id="the longer glob beats the shorter one"),
    case("fs.oss.server-side-encryption-algorithm", "k", id="encryption in the middle of a name"),
    case("commit.callbacks", "com.example.Tell", id="callbacks"),
    case("metadata.iceberg.storage", "hadoop-catalog", id="the iceberg view"),
    case("pk-btree.index.columns", "a", id="an index that compactions maintain"),
    case("type", "format-table", id="another kind of table"),
]


@pytest.mark.parametrize(("name", "value"), ACCEPTED)
def test_supported_options_are_accepted(name: str, value: str) -> None:
    assert check_options({name: value}) == []


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_refuses_with_the_reason(name: str, value: str) -> None:
    (refusal,) = check_options({name: value})
    assert (refusal.kind, refusal.name, refusal.value) == ("option", name, " ".join(value.split()))
    assert refusal.why
    assert not refusal.unclassified
    assert name in str(refusal)


@pytest.mark.parametrize(
    "name",
    [
        case("compaction.magic", id="a new option"),
        case("Merge-Engine", id="names are case-sensitive"),
        case("merge-engine ", id="a blank in the name"),
        case("fields.a.surprise", id="a new family"),
        case("", id="no name"),
    ],
)
def test_unclassified_options_are_refused_by_name(name: str) -> None:
    refusals = check_options({name: "false"})
    assert [(r.name, r.unclassified, r.accepted) for r in refusals] == [(name, True, ())]


def test_all_refusals_come_sorted_by_name() -> None:
    options = {"z.new": "1", "merge-engine": "of-my-own", "bucket": "4", "force-lookup": "of course"}
    refusals = check_options(options)
    assert [r.name for r in refusals] == ["force-lookup", "merge-engine", "z.new"]


def test_a_refusal_reads_as_a_clause_and_names_what_would_do() -> None:
    (refusal,) = check_options({"scan.fallback-branch": "b"})
    assert str(refusal).startswith("option scan.fallback-branch = b (accepted: empty): readers look into")


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        case("my.secret-key", "hunter2", REDACTED, id="a secret is not repeated"),
        case("x.fs.accessKeyId", "AKIA", REDACTED, id="an access key is not repeated"),
        case("x.sasl.keytab", "file", REDACTED, id="nor a keytab"),
        case("x.azure.account.key", "hunter2", REDACTED, id="nor what the logs hide"),
        case("x.long", "a" * 81, "a" * 79 + "…", id="a long value is cut"),
        case("x.lines", "a\n\tb", "a b", id="one line"),
    ],
)
def test_values_are_shown_with_care(name: str, value: str, shown: str) -> None:
    assert [r.value for r in check_options({name: value})] == [shown]


FITS = [
    case("BOOLEAN", Role.KEY, id="boolean key"),
    case("INT NOT NULL", Role.PARTITION, id="not null"),
    case("BIGINT NULL", Role.SEQUENCE, id="explicitly nullable"),
    case("bigint", Role.SEQUENCE, id="small letters"),
    case("STRING", Role.PARTITION, id="an alias"),
    case("VARCHAR(2147483647) NOT NULL", Role.KEY, id="a length"),
    case("FLOAT", Role.VALUE, id="float value"),
    case("FLOAT", Role.KEY, id="float key"),
    case("DOUBLE NOT NULL", Role.SEQUENCE, id="double sequence"),
    case("TIMESTAMP(9)", Role.SEQUENCE, id="timestamp in nanoseconds"),
    case("TIMESTAMP(7) WITH LOCAL TIME ZONE", Role.KEY, id="local timestamp in nanoseconds"),
    case("ARRAY<INT NOT NULL> NOT NULL", Role.VALUE, id="array"),
    case("MAP<STRING, INT>", Role.VALUE, id="map"),
    case("MULTISET<STRING>", Role.VALUE, id="multiset"),
    case("VARIANT", Role.VALUE, id="variant"),
    case("VECTOR<FLOAT, 3>", Role.VALUE, id="vector"),
    case("ROW<a INT>", Role.PART, id="a type in another"),
    case("ROW<f0 INT, f1 ROW<a INT>>", Role.VALUE, id="row"),
    case("DECIMAL(38, 10)", Role.KEY, id="the longest decimal"),
    case("DECIMAL", Role.VALUE, id="the default precision"),
    case("DATE", Role.PARTITION, id="date partition"),
    case("DOUBLE", Role.PARTITION, id="double partition"),
    case("DECIMAL(10, 2)", Role.PARTITION, id="decimal partition"),
    case("TIMESTAMP(3)", Role.PARTITION, id="timestamp partition"),
    case("TIMESTAMP_LTZ(3)", Role.PARTITION, id="local timestamp partition"),
    case("TIME(3)", Role.VALUE, id="time in milliseconds"),
    case("TIMESTAMP(6)", Role.SEQUENCE, id="timestamp in microseconds"),
    case("TIMESTAMP(3) NOT NULL", Role.KEY, id="timestamp key"),
    case("TIMESTAMP(6) WITH LOCAL TIME ZONE", Role.KEY, id="local timestamp as Paimon spells it"),
    case("TIMESTAMP_LTZ(0)", Role.VALUE, id="local timestamp, short"),
    case("VARBINARY(10)", Role.KEY, id="binary key"),
    case("TIMESTAMP(9)", Role.PARTITION, id="partition of nanoseconds"),
]

UNFIT = [
    case("BINARY(3)", Role.PARTITION, "director", id="binary partition"),
    case("DECIMAL(39, 2)", Role.VALUE, "decimals", id="a decimal that is too long"),
    case("TIME(6)", Role.VALUE, "milliseconds", id="time in microseconds"),
    case("TIMESTAMP(10)", Role.VALUE, "digits", id="timestamp in less than nanoseconds"),
    case("MAP<STRING, INT>", Role.SEQUENCE, "nested", id="nested sequence"),
    case("ROW<f0 INT, f1 ROW<a INT>>", Role.PARTITION, "nested", id="nested partition"),
    case("ARRAY<INT>", Role.KEY, "nested", id="nested key"),
    case("BLOB", Role.KEY, "files of their own", id="a type refused altogether, in another role"),
    case("VARIANT", Role.KEY, "nested", id="variant key"),
    case("BLOB", Role.VALUE, "files of their own", id="blob"),
    case("VECTOR<FLOAT, 3> NOT NULL", Role.PART, "within", id="vector in another type"),
    case("VECTOR<FLOAT, 3>", Role.KEY, "order", id="vector key"),
    case("VECTOR<FLOAT, 3>", Role.SEQUENCE, "order", id="vector sequence"),
    case("VECTOR<FLOAT, 3>", Role.PARTITION, "directory", id="vector partition"),
    case("GEOMETRY", Role.VALUE, "1.4", id="a type of newer versions"),
]


@pytest.mark.parametrize(("type_", "role"), FITS)
def test_supported_types_are_accepted(type_: str, role: Role) -> None:
    assert check_types([ColumnUse("c", type_, role)]) == []


@pytest.mark.parametrize(("type_", "role", "why"), UNFIT)
def test_refuses_type_with_the_reason(type_: str, role: Role, why: str) -> None:
    (refusal,) = check_types([ColumnUse("c", type_, role)])
    assert (refusal.kind, refusal.name, refusal.value) == ("column", "c", f"{type_} as {role}")
    assert why in refusal.why
    assert not refusal.unclassified


@pytest.mark.parametrize(
    "type_",
    ["INTERVAL(3)", "TIMESTAMP(3) WITH TIME ZONE", "INT WITH LOCAL TIME ZONE", "INT(", "", "FLOAT, INT"],
)
def test_unknown_types_are_refused(type_: str) -> None:
    (refusal,) = check_types([ColumnUse("c", type_)])
    assert refusal.unclassified


def test_each_refused_use_of_a_column_is_named() -> None:
    columns = [
        ColumnUse("b", "BYTES", Role.PARTITION),
        ColumnUse("a", "BLOB"),
        ColumnUse("b", "BYTES"),
        ColumnUse("a", "INT"),
    ]
    refusals = check_types(columns)
    assert [(r.name, r.value) for r in refusals] == [("a", "BLOB as value"), ("b", "BYTES as partition")]


@pytest.mark.parametrize(
    ("primary_key", "partition_keys", "bucket", "refused"),
    [
        case(["id"], [], 4, [], id="fixed buckets"),
        case(["id"], [], -1, [], id="dynamic buckets"),
        case(["dt", "id"], ["dt"], -1, [], id="dynamic buckets, partitioned"),
        case(["id"], ["dt"], -1, [], id="cross-partition updates"),
        case([], [], 4, [], id="append table"),
        case([], ["dt"], -1, [], id="append table without buckets"),
        case(["id"], [], -2, [], id="postponed buckets"),
    ],
)
def test_unsupported_layouts_are_refused_by_name(
    primary_key: list[str], partition_keys: list[str], bucket: int, refused: list[str]
) -> None:
    refusals = check_layout(primary_key, partition_keys, bucket)
    assert [(r.kind, r.name, r.value) for r in refusals] == [("table", "layout", name) for name in refused]
