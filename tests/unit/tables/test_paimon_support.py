"""What of Paimon is accepted, refused and unknown; the support table is complete and its page current."""

from __future__ import annotations

import ast
import re
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypaimon
import pytest
from pypaimon.common.options import config, core_options
from pypaimon.common.options.config_option import ConfigOption
from pypaimon.schema.data_types import Keyword

from lithify.tables.paimon import support
from lithify.tables.paimon.support import Column, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.client import Oracle

REPOSITORY = Path(__file__).parents[3]


def case(*values: object, id: str) -> Any:  # noqa: A002
    return pytest.param(*values, id=id)


ACCEPTED = [
    case("merge-engine", "deduplicate", id="a supported value"),
    case("merge-engine", "Deduplicate", id="enum values are parsed without regard to case"),
    case("deletion-vectors.enabled", "FALSE", id="booleans are parsed without regard to case"),
    case("changelog-producer", "none", id="a refused feature with its neutral value"),
    case("metadata.iceberg.storage", "disabled", id="the iceberg view switched off"),
    case("row-tracking.enabled", "false", id="row tracking switched off"),
    case("sequence.snapshot-ordering", "false", id="snapshot ordering switched off"),
    case("write.sequence-number-init-mode", "scan", id="sequence numbers initialised as ever"),
    case("file.format.per.level", "", id="an empty map"),
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
    case("data-evolution.row-sidecar.enabled", "true", id="a detail of a feature that is off"),
    case("schema.0.expr", "`a` + 1", id="what Flink leaves behind"),
    case("option.path", "/t", id="what Spark leaves behind"),
    case("transient_lastDdlTime", "1700000000", id="what Hive leaves behind"),
]

REFUSED = [
    case("merge-engine", "aggregation", id="another merge engine"),
    case("changelog-producer", "lookup", id="a changelog producer"),
    case("changelog-producer", "INPUT", id="a refused value in capitals"),
    case("deletion-vectors.enabled", "true", id="deletion vectors"),
    case("bucket", "-2", id="postponed buckets"),
    case("bucket", "0", id="no bucket at all"),
    case("bucket", "four", id="not a number"),
    case("bucket", "1 ", id="a blank behind the number"),
    case("file.format", "orc", id="another file format"),
    case("file.compression", "brotli", id="a codec that Java Paimon lacks"),
    case("file.compression", "ſnappy", id="a letter that only folds to an ascii one"),
    case("file.compression.per.level", "0:lz4", id="a codec per level"),
    case("file.compression.per.level.0", "lz4", id="a codec per level in prefix notation"),
    case("file.format.per.level.0", "avro", id="a format per level in prefix notation"),
    case("metadata.stats-mode", "truncate(0)", id="a number that is too small"),
    case("metadata.stats-mode", "truncate(16))", id="more than the pattern"),
    case("branch", "MAIN", id="a branch is case-sensitive"),
    case("branch", "dev", id="another branch"),
    case("record-level.expire-time", "1 d", id="record-level expiry"),
    case("file-index.bloom-filter.columns", "a", id="a file index"),
    case("fields.a.aggregate-function", "sum", id="an aggregate function"),
    case("fields.g_1,g_2.sequence-group", "a,b", id="a sequence group of two columns"),
    case("row-tracking.enabled", "true", id="row tracking"),
    case("data-file.external-paths", "s3://b/p", id="external paths"),
    case("sequence.snapshot-ordering", "true", id="an option of newer versions"),
    case("parquet.compression", "gzip", id="a second way to set the codec"),
    case("parquet.bloom.filter.enabled#a", "true", id="parquet bloom filters"),
    case("parquet.something.new", "1", id="an unknown option of a known family"),
    case("fs.oss.server-side-encryption", "KMS", id="the longer glob beats the shorter one"),
    case("fs.oss.server-side-encryption-key-id", "k", id="encryption in the middle of a name"),
    case("commit.callbacks", "com.example.Tell", id="callbacks"),
    case("metadata.iceberg.storage", "hadoop-catalog", id="the iceberg view"),
    case("pk-btree.index.columns", "a", id="an index that compactions maintain"),
    case("type", "format-table", id="another kind of table"),
]


@pytest.mark.parametrize(("name", "value"), ACCEPTED)
def test_accepts(name: str, value: str) -> None:
    assert support.check_options({name: value}) == []


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_refuses_with_the_reason(name: str, value: str) -> None:
    (refusal,) = support.check_options({name: value})
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
    refusals = support.check_options({name: "false"})
    assert [(r.name, r.unclassified, r.accepted) for r in refusals] == [(name, True, ())]


def test_all_refusals_come_sorted_by_name() -> None:
    options = {"z.new": "1", "merge-engine": "aggregation", "bucket": "4", "changelog-producer": "input"}
    refusals = support.check_options(options)
    assert [r.name for r in refusals] == ["changelog-producer", "merge-engine", "z.new"]


def test_a_refusal_reads_as_a_clause_and_names_what_would_do() -> None:
    (refusal,) = support.check_options({"data-file.external-paths": "s3://b/p"})
    assert str(refusal).startswith("option data-file.external-paths = s3://b/p (accepted: empty): new files")


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        case("my.secret-key", "hunter2", "***", id="a secret is not repeated"),
        case("x.fs.accessKeyId", "AKIA", "***", id="an access key is not repeated"),
        case("x.long", "a" * 81, "a" * 79 + "…", id="a long value is cut"),
        case("x.lines", "a\n\tb", "a b", id="one line"),
    ],
)
def test_values_are_shown_with_care(name: str, value: str, shown: str) -> None:
    assert [r.value for r in support.check_options({name: value})] == [shown]


FITS = [
    case("BOOLEAN", Role.KEY, id="boolean key"),
    case("INT NOT NULL", Role.PARTITION, id="not null"),
    case("BIGINT NULL", Role.SEQUENCE, id="explicitly nullable"),
    case("bigint", Role.SEQUENCE, id="small letters"),
    case("STRING", Role.PARTITION, id="an alias"),
    case("VARCHAR(2147483647) NOT NULL", Role.KEY, id="a length"),
    case("FLOAT", Role.VALUE, id="float value"),
    case("DECIMAL(38, 10)", Role.KEY, id="the longest decimal"),
    case("DECIMAL", Role.VALUE, id="the default precision"),
    case("DATE", Role.PARTITION, id="date partition"),
    case("TIME(3)", Role.VALUE, id="time in milliseconds"),
    case("TIMESTAMP(6)", Role.SEQUENCE, id="timestamp in microseconds"),
    case("TIMESTAMP(3) NOT NULL", Role.KEY, id="timestamp key"),
    case("TIMESTAMP(6) WITH LOCAL TIME ZONE", Role.KEY, id="local timestamp as Paimon spells it"),
    case("TIMESTAMP_LTZ(0)", Role.VALUE, id="local timestamp, short"),
    case("VARBINARY(10)", Role.KEY, id="binary key"),
]

UNFIT = [
    case("FLOAT", Role.KEY, "NaN", id="float key"),
    case("DOUBLE NOT NULL", Role.SEQUENCE, "NaN", id="double sequence"),
    case("DOUBLE", Role.PARTITION, "director", id="double partition"),
    case("DECIMAL(10, 2)", Role.PARTITION, "director", id="decimal partition"),
    case("DECIMAL(39, 2)", Role.VALUE, "decimals", id="a decimal that is too long"),
    case("TIME(6)", Role.VALUE, "milliseconds", id="time in microseconds"),
    case("TIMESTAMP(7)", Role.VALUE, "INT96", id="timestamp in nanoseconds"),
    case("TIMESTAMP(9) WITH LOCAL TIME ZONE", Role.KEY, "INT96", id="local timestamp in nanoseconds"),
    case("TIMESTAMP(3)", Role.PARTITION, "director", id="timestamp partition"),
    case("TIMESTAMP_LTZ(3)", Role.PARTITION, "time zone", id="local timestamp partition"),
    case("ARRAY<INT NOT NULL> NOT NULL", Role.VALUE, "nested", id="array"),
    case("MAP<STRING, INT>", Role.VALUE, "nested", id="map"),
    case("MULTISET<STRING>", Role.VALUE, "nested", id="multiset"),
    case("ROW<f0 INT, f1 ROW<a INT>>", Role.VALUE, "nested", id="row"),
    case("ARRAY<INT>", Role.KEY, "nested", id="a type refused altogether, in another role"),
    case("VARIANT", Role.VALUE, "shredded", id="variant"),
    case("BLOB", Role.VALUE, "files of their own", id="blob"),
    case("VECTOR<FLOAT, 3>", Role.VALUE, "files of their own", id="vector"),
    case("GEOMETRY", Role.VALUE, "1.4", id="a type of newer versions"),
]


@pytest.mark.parametrize(("type_", "role"), FITS)
def test_accepts_type(type_: str, role: Role) -> None:
    assert support.check_types([Column("c", type_, role)]) == []


@pytest.mark.parametrize(("type_", "role", "why"), UNFIT)
def test_refuses_type_with_the_reason(type_: str, role: Role, why: str) -> None:
    (refusal,) = support.check_types([Column("c", type_, role)])
    assert (refusal.kind, refusal.name, refusal.value) == ("column", "c", f"{type_} as {role}")
    assert why in refusal.why
    assert not refusal.unclassified


@pytest.mark.parametrize(
    "type_",
    ["INTERVAL(3)", "TIMESTAMP(3) WITH TIME ZONE", "INT WITH LOCAL TIME ZONE", "INT(", "", "FLOAT, INT"],
)
def test_unknown_types_are_refused(type_: str) -> None:
    (refusal,) = support.check_types([Column("c", type_)])
    assert refusal.unclassified


def test_each_refused_use_of_a_column_is_named() -> None:
    columns = [Column("b", "FLOAT", Role.KEY), Column("a", "BLOB"), Column("b", "FLOAT"), Column("a", "INT")]
    refusals = support.check_types(columns)
    assert [(r.name, r.value) for r in refusals] == [("a", "BLOB as value"), ("b", "FLOAT as key")]


@pytest.mark.parametrize(
    ("primary_key", "partition_keys", "bucket", "refused"),
    [
        case(["id"], [], 4, [], id="fixed buckets"),
        case(["id"], [], -1, [], id="dynamic buckets"),
        case(["dt", "id"], ["dt"], -1, [], id="dynamic buckets, partitioned"),
        case(["id"], ["dt"], -1, ["key-dynamic-bucket"], id="cross-partition updates"),
        case([], [], 4, ["append"], id="append table"),
        case([], ["dt"], -1, ["append"], id="append table without buckets"),
        case(["id"], [], -2, [], id="postponed buckets are left to their option"),
    ],
)
def test_layouts(primary_key: list[str], partition_keys: list[str], bucket: int, refused: list[str]) -> None:
    refusals = support.check_layout(primary_key, partition_keys, bucket)
    assert [(r.kind, r.name, r.value) for r in refusals] == [("table", "layout", name) for name in refused]


def table(options: str = "", types: str = "", layouts: str = "") -> str:
    """A small support table of valid parts and those given."""
    options = options or "{keys: [a], class: harmless, why: w}"
    types = types or "{name: INT}"
    layouts = layouts or "{name: append, title: t, class: supported, why: w}"
    rows = f"options:\n- group: g\n  rows:\n  - {options}\n"
    return f"intro: i\nlayouts:\n- {layouts}\ntypes:\n- {types}\n{rows}"


def test_a_valid_table_is_read() -> None:
    assert support.parse(table()).option("a") is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        case("{}", "missing", id="nothing at all"),
        case("[]", "missing", id="not a mapping"),
        case(table() + "more: 1\n", "more unknown", id="an unknown part"),
        case(table("{keys: [a], class: harmless, why: w, who: me}"), "who unknown", id="an unknown field"),
        case(table("{keys: [a], class: harmless}"), "why missing", id="a missing field"),
        case(
            table("{keys: [a], class: harmless, why: w, why: x}"),
            "field appears twice",
            id="a repeated field",
        ),
        case(table("{keys: [a, a], class: harmless, why: w}"), "classified twice: a", id="a repeated option"),
        case(table("{keys: a, class: harmless, why: w}"), "not a list", id="keys that are no list"),
        case(table("{keys: [], class: harmless, why: w}"), "not a list", id="no keys"),
        case(table("{keys: [a], class: fine, why: w}"), "'fine' is not a valid", id="an unknown class"),
        case(table("{keys: [a], class: refused, why: w}"), "`when`", id="refused without when"),
        case(table("{keys: [a], class: harmless, why: w, when: planned}"), "`when`", id="harmless with when"),
        case(
            table("{keys: [a], class: harmless, why: w, values: [x]}"), "any value", id="harmless with values"
        ),
        case(table("{keys: [a], class: supported, why: w, values: []}"), "not a list", id="no values"),
        case(table("{keys: [a], class: harmless, why: w, source: x}"), "a: x", id="an unknown source"),
        case(table(types="{name: INT, refused: {key: w}}"), "`when`", id="a refused use without when"),
        case(table(types="{name: INT, refused: {top: w}, when: planned}"), "'top'", id="an unknown use"),
        case(table(types="{name: INT, aliases: [INT]}"), "classified twice: INT", id="a repeated type"),
        case(table(types="{name: INT, precision: [1, 2]}"), "without a reason", id="bounds without a reason"),
        case(
            table(layouts="{name: n, title: t, class: refused, why: w}"), "`when`", id="layout without when"
        ),
    ],
)
def test_mistakes_in_the_table_are_found_when_it_is_read(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        support.parse(text)


def test_the_longest_glob_wins_and_an_exact_name_before_it() -> None:
    rows = "{keys: ['a.*'], class: harmless, why: short}\n  - {keys: ['a.*.c'], class: harmless, why: long}"
    rows += "\n  - {keys: ['a.b.c'], class: harmless, why: exact}"
    found = support.parse(table(rows))
    whys = [rule.why for name in ("a.b", "a.x.c", "a.b.c") if (rule := found.option(name))]
    assert whys == ["short", "long", "exact"]


def test_the_page_is_up_to_date() -> None:
    page = (REPOSITORY / "docs" / "support.md").read_text(encoding="utf-8")
    assert page == support.render(), "run python -m lithify.tables.paimon.support > docs/support.md"


def test_the_page_names_everything_that_is_classified() -> None:
    page = support.render()
    names = [name for rule in (*support.load().options, *support.load().types) for name in rule.names]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_the_module_needs_nothing_but_yaml() -> None:
    tree = ast.parse(Path(support.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in modules if name} <= {
        *("__future__", "collections", "collections.abc", "dataclasses", "enum", "functools", "importlib"),
        *("re", "sys", "typing", "yaml"),
    }


def unclassified(names: set[str]) -> list[str]:
    return sorted(name for name in names if support.load().option(name) is None)


def python_options() -> Iterator[ConfigOption[Any]]:
    """Every option object of pypaimon's option classes."""
    for module in (core_options, config):
        for owner in vars(module).values():
            if isinstance(owner, type) and owner.__module__ == module.__name__:
                yield from (value for value in vars(owner).values() if isinstance(value, ConfigOption))


def python_names() -> set[str]:
    """Every option name that pypaimon's code declares, wherever it does."""
    names = {option.key() for option in python_options()}
    for path in Path(pypaimon.__file__).parent.rglob("*.py"):
        names |= set(re.findall(r"ConfigOptions\s*\.\s*key\(\s*\"([^\"]+)\"", path.read_text("utf-8")))
    return names - {"tmp.dir", "application.parallelism", "user.name"}  # examples in a docstring


def test_every_option_of_pypaimon_is_classified() -> None:
    assert len(python_names()) > 150
    assert unclassified(python_names()) == []


def test_every_column_option_of_pypaimon_is_classified() -> None:
    owner = core_options.CoreOptions
    suffixes = [value for name, value in vars(owner).items() if type(value) is str and name in COLUMN_OPTIONS]
    assert len(suffixes) > 5
    assert unclassified({f"fields.f.{suffix}" for suffix in suffixes}) == []


def test_every_type_of_pypaimon_is_classified() -> None:
    assert [word.value for word in Keyword if support.load().type(word.value) is None] == []


def test_what_pypaimon_does_unasked_is_accepted() -> None:
    defaults = {o.key(): as_text(o.default_value()) for o in python_options() if o.has_default_value()}
    assert support.check_options(defaults) == []


def as_text(value: object) -> str:
    """A default as a table would spell it."""
    if isinstance(value, Enum):
        return str(value.value)
    return "" if value == {} else str(value)


# The constants of both CoreOptions that end the name of a column's option, `fields.<column>.<constant>`.
COLUMN_OPTIONS = {
    *("AGG_FUNCTION", "IGNORE_RETRACT", "NESTED_KEY", "NESTED_KEY_NULL_STRATEGY", "NESTED_SEQUENCE_FIELD"),
    *("COUNT_LIMIT", "DISTINCT", "LIST_AGG_DELIMITER", "MERGE_MAP_TS_FIELD", "STATS_MODE_SUFFIX"),
    *(
        "MAP_STORAGE_LAYOUT",
        "MAP_SHARED_SHREDDING_MAX_COLUMNS",
        "MAP_SHARED_SHREDDING_COLUMN_PLACEMENT_POLICY",
    ),
}


def java_names(oracle: Oracle) -> set[str]:
    return {name for option in oracle.options().options for name in (option.key, *option.fallback_keys)}


@pytest.mark.oracle
def test_every_option_of_java_is_classified(oracle: Oracle) -> None:
    assert len(java_names(oracle)) > 400
    assert unclassified(java_names(oracle)) == []


@pytest.mark.oracle
def test_every_column_option_of_java_is_classified(oracle: Oracle) -> None:
    constants = oracle.options().constants
    suffixes = [
        constants[f"CoreOptions.{name}"] for name in COLUMN_OPTIONS if f"CoreOptions.{name}" in constants
    ]
    assert len(suffixes) > 5
    assert unclassified({f"fields.f.{suffix}" for suffix in suffixes}) == []


@pytest.mark.oracle
def test_every_type_of_java_is_classified(oracle: Oracle) -> None:
    roots = [root.replace("_", " ").removesuffix(" WITHOUT TIME ZONE") for root in oracle.types()]
    assert len(roots) > 20
    assert [root for root in roots if support.load().type(root) is None] == []


@pytest.mark.oracle
def test_what_java_does_unasked_is_accepted(oracle: Oracle) -> None:
    options = oracle.options().options
    defaults = {o.key: "" if o.default == "{}" else o.default for o in options if o.default is not None}
    assert support.check_options(defaults) == []


@pytest.mark.oracle
def test_no_option_is_misspelt_or_filed_under_a_wrong_source(oracle: Oracle) -> None:
    declared = java_names(oracle) | python_names()
    exact = [(name, r.source) for r in support.load().options for name in r.names if "*" not in name]
    assert [name for name, source in exact if source == "paimon" and name not in declared] == []
    assert [(name, source) for name, source in exact if source != "paimon" and name in declared] == []


@pytest.mark.oracle
def test_every_family_has_a_member(oracle: Oracle) -> None:
    declared = java_names(oracle) | python_names()
    globs = [name for r in support.load().options for name in r.names if "*" in name and r.source == "paimon"]
    patterns = {
        glob: re.escape(glob).replace(r"\*", ".*") for glob in globs if not glob.startswith("fields.")
    }
    empty = [
        glob for glob, pattern in patterns.items() if not any(re.fullmatch(pattern, d) for d in declared)
    ]
    assert empty == []
