"""Table options as numbers: Paimon's names, defaults and spellings, and errors that name the option."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest

from lithify.columns.orders import SequenceField
from lithify.engine.commit.patience import Patience
from lithify.engine.pack.options import PackingOptions
from lithify.errors import InvalidOption
from lithify.files.options import FileOptions, OrcOptions
from lithify.files.statistics import StatsModes
from lithify.formats.paimon.options.changelog_options import ChangelogOptions, ChangelogProducer
from lithify.formats.paimon.options.location_options import LocationOptions
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.formats.paimon.options.table_options import TableOptions, read_options
from lithify.formats.paimon.planning.merge_tree.policy import LoggedUpgrades, MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import EarlyFull, OffPeak, PickingRule
from support.cases import case

MIB = 1 << 20


def test_defaults_are_paimons() -> None:
    assert read_options({}) == TableOptions(
        policy=MergeTreeOptions(
            num_levels=6,
            run_trigger=5,
            size_amplification_percent=200,
            size_ratio=1,
            early_full=EarlyFull(None, None, None),
            off_peak=None,
            force_level0=False,
            force_rewrite=False,
            target_file_size=128 * MIB,
            small_file_size=128 * MIB // 10 * 7,
            rule=PickingRule.V1_4,
        ),
        files=FileOptions(
            prefix="data-",
            compression="zstd",
            zstd_level=1,
            thin=False,
            suffix_names_compression=False,
            target_size=128 * MIB,
            stats=StatsModes("truncate(16)", {}, -1, dense=True),
            orc=OrcOptions(id_attribute="paimon.id"),
            avro_record="org.apache.paimon.avro.generated.record",
        ),
        locations=LocationOptions(
            default_name="__DEFAULT_PARTITION__",
            legacy=True,
            directory="",
            external=(),
            listed=(),
            weights=(),
            has_entropy=False,
        ),
        commit=Patience(max_retries=10, min_wait=0.01, max_wait=10.0),
        manifests=ManifestOptions(
            compression="zstd",
            target_size=8 * MIB,
            merge_min_count=30,
            full_threshold=16 * MIB,
            drop_deleted_statistics=False,
        ),
        sequence_fields=(),
        snapshot_ordering=False,
        ignore_deletes=False,
        changelog=ChangelogOptions(ChangelogProducer.NONE),
    )


# One option each: its value as people write it, where it arrives, and as what.
ONE: list[tuple[str, str, str, Any]] = [
    ("num-sorted-run.compaction-trigger", "8", "policy.run_trigger", 8),
    ("num-sorted-run.compaction-trigger", "8", "policy.num_levels", 9),
    ("num-levels", "3", "policy.num_levels", 3),
    ("num-levels", " 3 ", "policy.num_levels", 3),
    ("compaction.max-size-amplification-percent", "50", "policy.size_amplification_percent", 50),
    ("compaction.size-ratio", "7", "policy.size_ratio", 7),
    ("compaction.optimization-interval", "1 h", "policy.early_full.interval_millis", 3_600_000),
    ("compaction.optimization-interval", "5min", "policy.early_full.interval_millis", 300_000),
    ("compaction.optimization-interval", "1500", "policy.early_full.interval_millis", 1500),
    ("compaction.total-size-threshold", "1 gb", "policy.early_full.total_size", 1 << 30),
    ("compaction.incremental-size-threshold", "2 kb", "policy.early_full.incremental_size", 2048),
    ("compaction.force-up-level-0", "TRUE", "policy.force_level0", True),
    ("compaction.force-rewrite-all-files", "true", "policy.force_rewrite", True),
    ("target-file-size", "64 mb", "policy.target_file_size", 64 * MIB),
    ("target-file-size", "64 mb", "files.target_size", 64 * MIB),
    ("target-file-size", "64 mb", "policy.small_file_size", 64 * MIB // 10 * 7),
    ("target-file-size", "19", "policy.small_file_size", 7),
    ("compaction.small-file-ratio", "0.5", "policy.small_file_size", 64 * MIB),
    ("compaction.small-file-ratio", "0", "policy.small_file_size", 0),
    ("data-file.prefix", "part-", "files.prefix", "part-"),
    ("file.compression", "SNAPPY", "files.compression", "snappy"),
    ("file.compression.zstd-level", "9", "files.zstd_level", 9),
    ("file.compression", "snappy", "files.named_compression", "snappy"),
    ("file.compression", "gzip", "files.named_compression", "gz"),
    ("file.compression", "none", "files.named_compression", ""),
    ("file.format", "ORC", "files.format", "orc"),
    ("file.format", "avro", "files.format", "avro"),
    ("file.block-size", "8 mb", "files.unit_size", 8 * MIB),
    ("parquet.block.size", "4096", "files.unit_size", 4096),
    ("orc.stripe.size", "4096", "files.unit_size", None),
    ("parquet.compression", "SNAPPY", "files.compression", "snappy"),
    ("orc.compress", "SNAPPY", "files.compression", "zstd"),
    ("parquet.compression.codec.zstd.level", "7", "files.zstd_level", 7),
    ("parquet.page.size", "4096", "files.parquet.page", 4096),
    ("parquet.dictionary.page.size", "4096", "files.parquet.dictionary", 4096),
    ("parquet.enable.dictionary", "false", "files.parquet.dictionaries", False),
    ("parquet.enable.dictionary#a.b", "false", "files.parquet.by_column", {"a.b": False}),
    ("orc.row.index.stride", "5000", "files.orc.index_stride", 5000),
    ("orc.compress.size", "4096", "files.orc.block", 4096),
    ("data-file.thin-mode", "true", "files.thin", True),
    ("file.suffix.include.compression", "true", "files.suffix_names_compression", True),
    ("metadata.stats-mode", "Truncate(8)", "files.stats.default", "truncate(8)"),
    ("metadata.stats-keep-first-n-columns", "3", "files.stats.first_columns", 3),
    ("metadata.stats-dense-store", "false", "files.stats.dense", False),
    ("fields.price.stats-mode", "FULL", "files.stats.by_column", {"price": "full"}),
    ("fields.a.b.stats-mode", "none", "files.stats.by_column", {"a.b": "none"}),
    ("fields.price.aggregate-function", "sum", "files.stats.by_column", {}),
    ("commit.max-retries", "0", "commit.max_retries", 0),
    ("commit.min-retry-wait", "1 s", "commit.min_wait", 1.0),
    ("commit.max-retry-wait", "1 min", "commit.max_wait", 60.0),
    ("manifest.compression", "Snappy", "manifests.compression", "snappy"),
    ("manifest.target-file-size", "1 mb", "manifests.target_size", MIB),
    ("manifest.merge-min-count", "7", "manifests.merge_min_count", 7),
    ("manifest.full-compaction-threshold-size", "2 mb", "manifests.full_threshold", 2 * MIB),
    ("manifest.delete-file-drop-stats", "true", "manifests.drop_deleted_statistics", True),
    ("sequence.field", "a", "sequence_fields", (SequenceField("a"),)),
    ("sequence.field", "a , b", "sequence_fields", (SequenceField("a"), SequenceField("b"))),
    ("sequence.field", "", "sequence_fields", ()),
    ("ignore-delete", "true", "ignore_deletes", True),
    ("deduplicate.ignore-delete", "true", "ignore_deletes", True),
    ("first-row.ignore-delete", "true", "ignore_deletes", True),
    ("partial-update.ignore-delete", "true", "ignore_deletes", True),
    ("an.unknown.option", "whatever", "ignore_deletes", False),
]

START, END = "compaction.offpeak.start.hour", "compaction.offpeak.end.hour"
RATIO = "compaction.offpeak-ratio"

PATHS, STRATEGY = "data-file.external-paths", "data-file.external-paths.strategy"

# Several options at once.
TOGETHER: dict[str, tuple[dict[str, str], str, Any]] = {
    "levels of their own beat those of the trigger": (
        {"num-levels": "4", "num-sorted-run.compaction-trigger": "9"},
        "policy.num_levels",
        4,
    ),
    "hours and their ratio": (
        {START: "22", END: "4", RATIO: "9"},
        "policy.off_peak",
        OffPeak(22, 4, 9),
    ),
    "hours without a ratio": ({START: "0", END: "4"}, "policy.off_peak", OffPeak(0, 4, 0)),
    "hours without an end": ({START: "3"}, "policy.off_peak", None),
    "no hours between them": ({START: "3", END: "3"}, "policy.off_peak", None),
    "a descending sequence": (
        {"sequence.field": "a,b", "sequence.field.sort-order": "Descending"},
        "sequence_fields",
        (SequenceField("a", ascending=False), SequenceField("b", ascending=False)),
    ),
    "an ascending sequence": (
        {"sequence.field": "a", "sequence.field.sort-order": "ascending"},
        "sequence_fields",
        (SequenceField("a"),),
    ),
    "the newest name of ignore-delete decides": (
        {"ignore-delete": "false", "deduplicate.ignore-delete": "true"},
        "ignore_deletes",
        False,
    ),
    "external paths, as Paimon writes them": (
        {PATHS: " file:///a//b/ , s3://c/d/", STRATEGY: "Round-Robin"},
        "locations.external",
        ("file:/a/b", "s3://c/d"),
    ),
    "external paths without a strategy": ({PATHS: "file:/a"}, "locations.external", ()),
    "external paths on one file system": (
        {PATHS: "file:/a,s3://c,S3://d", STRATEGY: "specific-fs", f"{PATHS}.specific-fs": "S3"},
        "locations.external",
        ("s3://c", "s3://d"),
    ),
    "external paths by hash": ({PATHS: "file:/a", STRATEGY: "entropy-inject"}, "locations.has_entropy", True),
    "external paths by weight": (
        {PATHS: "file:/a,file:/b", STRATEGY: "weight-robin", f"{PATHS}.weights": "1, 3"},
        "locations.weights",
        (1, 3),
    ),
    "one path needs no weights": (
        {PATHS: "file:/a", STRATEGY: "weight-robin", f"{PATHS}.weights": "1, 3"},
        "locations.weights",
        (),
    ),
    "weights without their strategy": (
        {PATHS: "file:/a,file:/b", STRATEGY: "round-robin", f"{PATHS}.weights": "1"},
        "locations.weights",
        (),
    ),
    "a ratio of another target": (
        {"compaction.small-file-ratio": "0.25", "target-file-size": "100 b"},
        "policy.small_file_size",
        25,
    ),
}


PER_LEVEL = {
    "file.format": "orc",
    "file.format.per.level": "0:avro, 5:PARQUET",
    "file.compression": "snappy",
    "file.compression.per.level": "0:zstd,4:zlib,5:gzip",
    "metadata.stats-mode.per.level": "0:none",
    "orc.stripe.size": "1000",
    "parquet.block.size": "2000",
}

ONE_BY_ONE = {
    "file.format": "orc",
    "file.format.per.level.0": "Avro",
    "file.format.per.level.5": "parquet",
    "file.compression": "snappy",
    "file.compression.per.level.0": "zstd",
    "file.compression.per.level.4": "zlib",
    "file.compression.per.level.5": "gzip",
    "metadata.stats-mode.per.level.0": "none",
    "orc.stripe.size": "1000",
    "parquet.block.size": "2000",
}
"""The same, an option for each level."""

# Level, and what its files have: format, codec, largest unit, statistics, codec in their names.
LEVELS: list[tuple[int, tuple[str, str, int | None, str, str]]] = [
    (0, ("avro", "zstd", None, "none", "snappy")),
    (1, ("orc", "snappy", 1000, "truncate(16)", "snappy")),
    (4, ("orc", "zlib", 1000, "truncate(16)", "snappy")),
    (5, ("parquet", "gzip", 2000, "truncate(16)", "snappy")),
]


@pytest.mark.parametrize("options", [PER_LEVEL, ONE_BY_ONE], ids=["together", "one by one"])
@pytest.mark.parametrize(("level", "expected"), LEVELS)
def test_levels_may_differ(level: int, expected: tuple[object, ...], options: dict[str, str]) -> None:
    files = read_options(options).files.at(level)
    found = (files.format, files.compression, files.unit_size, files.stats.default, files.named_compression)
    assert found == expected


# Options, and the columns that have filters in Parquet files, of some.
FILTERS: list[tuple[dict[str, str], list[str]]] = [
    ({}, []),
    ({"parquet.bloom.filter.enabled": "true"}, ["a", "b.c"]),
    ({"parquet.bloom.filter.enabled": "true", "parquet.bloom.filter.enabled#a": "false"}, ["b.c"]),
    ({"parquet.bloom.filter.enabled#b.c": "TRUE"}, ["b.c"]),
    ({"parquet.bloom.filter.expected.ndv#a": "5"}, ["a"]),
    ({"parquet.bloom.filter.fpp#a": "0.1"}, []),
]


@pytest.mark.parametrize(("options", "expected"), FILTERS, ids=str)
def test_columns_with_filters(options: dict[str, str], expected: list[str]) -> None:
    filters = read_options(options).files.parquet.filters
    assert [column for column in ("a", "b.c") if filters.includes(column)] == expected
    assert filters.is_wanted or not expected


def test_how_good_filters_are() -> None:
    files = read_options(
        {
            "parquet.bloom.filter.fpp#a": "0.2",
            "orc.bloom.filter.fpp": "0.3",
            "orc.bloom.filter.columns": " A, b,",
        }
    ).files
    assert [files.parquet.filters.false_positives_of(column) for column in "ab"] == [0.2, 0.01]
    assert files.orc.filters == {"a", "b"}
    assert files.orc.false_positives == 0.3


UNKNOWN_TO_THE_FORMAT = [
    {"file.format": "orc", "file.compression": "gzip"},
    {"file.format": "orc", "orc.compress": "lzo"},
    {"file.format": "avro", "file.compression": "lz4"},
    {"file.format": "parquet", "file.compression": "zlib"},
    {"file.format.per.level": "0:avro", "file.compression": "gzip"},
    {"file.compression.per.level": "0:deflate"},
    {"file.format": "mosaic"},
    {"file.format.per.level": "0:mosaic"},
]


@pytest.mark.parametrize("options", UNKNOWN_TO_THE_FORMAT, ids=str)
def test_a_codec_that_a_format_does_not_have(options: dict[str, str]) -> None:
    with pytest.raises(InvalidOption):
        read_options(options)


def test_levels_together_win() -> None:
    files = read_options({"file.format.per.level": "5:avro", "file.format.per.level.0": "orc"}).files
    assert {level: options.format for level, options in files.levels.items()} == {5: "avro"}


@pytest.mark.parametrize("level", ["top", "-1", ""])
def test_a_level_that_cannot_be_read(level: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_options({f"file.format.per.level.{level}": "orc"})
    assert caught.value.option == f"file.format.per.level.{level}"


@pytest.mark.parametrize("text", ["orc", "0", "x:orc", "0:orc:1", "-1:orc"])
def test_levels_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_options({"file.format.per.level": text})
    assert caught.value.option == "file.format.per.level"


@pytest.mark.parametrize(
    ("option", "value", "field", "expected"), ONE, ids=[f"{row[0]}={row[1]}->{row[2]}" for row in ONE]
)
def test_each_option_is_read_into_its_field(option: str, value: str, field: str, expected: Any) -> None:
    assert attrgetter(field)(read_options({option: value})) == expected


@pytest.mark.parametrize(("options", "field", "expected"), TOGETHER.values(), ids=TOGETHER)
def test_options_that_depend_on_others_are_read_together(
    options: dict[str, str], field: str, expected: Any
) -> None:
    assert attrgetter(field)(read_options(options)) == expected


@pytest.mark.parametrize("rule", list(PickingRule))
def test_the_picking_rule_is_a_version_of_paimon(rule: PickingRule) -> None:
    assert read_options({"lithify.picking-rule": rule.value}).policy.rule is rule


NUMBERS = ["", "x", "1.5", "0x10", "5 mb"]
SIZES = ["", "mb", "-1", "1 mib2", "1.5 mb"]
DURATIONS = ["", "soon", "-1 s", "1 fortnight"]
BOOLEANS = ["", "yes", "1", "t"]
RATIOS = ["", "half", "nan", "inf", "-0.1", "70 %"]

WRONG = [
    ("lithify.picking-rule", "0.9"),
    *(("num-levels", value) for value in NUMBERS),
    *(("num-sorted-run.compaction-trigger", value) for value in NUMBERS),
    ("compaction.max-size-amplification-percent", "x"),
    ("compaction.size-ratio", "x"),
    ("compaction.offpeak.start.hour", "noon"),
    ("compaction.offpeak.end.hour", "noon"),
    ("file.compression.zstd-level", "fast"),
    ("metadata.stats-keep-first-n-columns", "all"),
    ("commit.max-retries", "often"),
    *(("target-file-size", value) for value in SIZES),
    *(("parquet.bloom.filter.fpp#a", value) for value in ("", "much", "0", "1", "nan")),
    ("parquet.bloom.filter.expected.ndv#a", "0"),
    ("parquet.bloom.filter.expected.ndv#a", str(1 << 63)),
    ("parquet.bloom.filter.enabled#a", "yes"),
    ("orc.bloom.filter.fpp", "1.0"),
    ("compaction.total-size-threshold", "big"),
    ("compaction.incremental-size-threshold", "big"),
    *(("compaction.optimization-interval", value) for value in DURATIONS),
    ("commit.min-retry-wait", "soon"),
    ("commit.max-retry-wait", "soon"),
    *(("data-file.thin-mode", value) for value in BOOLEANS),
    ("compaction.force-up-level-0", "maybe"),
    ("compaction.force-rewrite-all-files", "maybe"),
    ("file.suffix.include.compression", "maybe"),
    ("metadata.stats-dense-store", "maybe"),
    ("ignore-delete", "maybe"),
    ("deduplicate.ignore-delete", "maybe"),
    *(("compaction.small-file-ratio", value) for value in RATIOS),
    ("num-levels", "1"),
    ("num-sorted-run.compaction-trigger", "0"),
    ("target-file-size", "0"),
    ("file.compression.zstd-level", "23"),
    ("commit.max-retries", "-1"),
    ("partition.legacy-name", "maybe"),
    *(("data-file.path-directory", value) for value in ("/data", "file:/data", "../data", "a/../../b")),
]


@pytest.mark.parametrize(("option", "value"), WRONG, ids=[f"{option}={value}" for option, value in WRONG])
def test_what_cannot_be_read_is_named(option: str, value: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_options({option: value})
    assert caught.value.option == option


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({PATHS: "/a", STRATEGY: "round-robin"}, PATHS),
        ({PATHS: "file:/a,", STRATEGY: "round-robin"}, PATHS),
        ({PATHS: "file:/a", STRATEGY: "specific-fs"}, f"{PATHS}.specific-fs"),
        ({PATHS: "file:/a", STRATEGY: "specific-fs", f"{PATHS}.specific-fs": "s3"}, f"{PATHS}.specific-fs"),
        (
            {PATHS: "file:/a,file:/b", STRATEGY: "weight-robin", f"{PATHS}.weights": "1"},
            f"{PATHS}.weights",
        ),
        (
            {PATHS: "file:/a,file:/b", STRATEGY: "weight-robin", f"{PATHS}.weights": "1,0"},
            f"{PATHS}.weights",
        ),
    ],
)
def test_external_paths_that_mean_nothing_are_named(options: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_options(options)
    assert caught.value.option == named


def test_a_wrong_off_peak_ratio_is_named() -> None:
    with pytest.raises(InvalidOption) as caught:
        read_options({START: "1", END: "2", RATIO: "x"})
    assert caught.value.option == RATIO


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        case({}, {}, id="defaults"),
        case({"bucket": "4"}, {"is_ordered": True}, id="buckets keep the order of rows"),
        case({"bucket": "-1"}, {"is_ordered": False}, id="no buckets"),
        case(
            {"target-file-size": "100 b"},
            {"target_file_size": 100, "small_file_size": 70},
            id="a target size",
        ),
        case({"source.split.open-file-cost": "1 kb"}, {"open_file_cost": 1024}, id="cost of a file"),
        case({"compaction.min.file-num": "9"}, {"min_files": 9}, id="number of files"),
        case({"compaction.file-num-limit": "1"}, {"max_files": 2}, id="files of a plan, at least two"),
        case({"compaction.force-rewrite-all-files": "true"}, {"force_rewrite": True}, id="all files"),
        case({"lithify.small-file-age": "90 s"}, {"leftover_millis": 90_000}, id="an age of small files"),
        case({"compaction.delete-ratio-threshold": "0.5"}, {}, id="a ratio without deletion vectors"),
        case({"deletion-vectors.enabled": "true"}, {"delete_ratio": 0.2}, id="deletion vectors"),
        case(
            {"deletion-vectors.enabled": "true", "compaction.delete-ratio-threshold": "0.5"},
            {"delete_ratio": 0.5},
            id="a ratio of deleted rows",
        ),
    ],
)
def test_how_append_tables_are_packed(options: dict[str, str], changes: dict[str, object]) -> None:
    found = read_options(options, has_primary_key=False)
    assert found.packing == replace(PackingOptions(), **changes)
    assert found.files.target_size == found.packing.target_file_size
    assert read_options(options).packing is None


class TestChangelogs:
    def test_full_compactions_log_what_reaches_the_top(self) -> None:
        read = read_options({"changelog-producer": "full-compaction"})
        assert read.policy.logged_upgrades is LoggedUpgrades.TO_TOP
        assert (read.policy.force_level0, read.policy.looks_up, read.delta_commits) == (False, False, 1)

    @pytest.mark.parametrize(("commits", "counted"), [("7", 7), ("0", 1), ("-3", 1)])
    def test_full_compactions_count_at_least_one_commit(self, commits: str, counted: int) -> None:
        options = {"changelog-producer": "full-compaction", "full-compaction.delta-commits": commits}
        assert read_options(options).delta_commits == counted

    @pytest.mark.parametrize(
        ("options", "must_rewrite"),
        [
            ({}, False),
            ({"sequence.field": "v"}, True),
            ({"merge-engine": "partial-update"}, True),
            ({"merge-engine": "first-row"}, True),
        ],
    )
    def test_lookups_leave_nothing_in_level_0(self, options: dict[str, str], *, must_rewrite: bool) -> None:
        policy = read_options({"changelog-producer": "lookup", **options}).policy
        assert (policy.force_level0, policy.level0_trigger, policy.looks_up) == (True, 1, must_rewrite)
        assert policy.level0_millis is None
        assert policy.logged_upgrades is LoggedUpgrades.OF_LEVEL0

    def test_forced_lookups_log_nothing(self) -> None:
        read = read_options({"force-lookup": "true"})
        assert (read.policy.force_level0, read.policy.logged_upgrades) == (True, LoggedUpgrades.NONE)
        assert read.changelog_files is None

    @pytest.mark.parametrize(
        ("options", "trigger"),
        [
            ({}, 10),
            ({"lookup-compact.max-interval": "7"}, 7),
            ({"lookup-compact.max-interval": "2"}, 5),
            ({"num-sorted-run.compaction-trigger": "3"}, 6),
        ],
    )
    def test_gentle_lookups_wait_for_files(self, options: dict[str, str], trigger: int) -> None:
        gentle = {"changelog-producer": "lookup", "lookup-compact": "gentle", **options}
        policy = read_options(gentle).policy
        assert (policy.level0_trigger, policy.level0_millis) == (trigger, 3_600_000)

    def test_levels_of_another_format_are_known(self) -> None:
        options = {"force-lookup": "true", "file.format.per.level": "0:avro,3:avro,5:orc"}
        assert read_options(options).policy.reformatted == {1, 2, 4, 5}

    @pytest.mark.parametrize(
        ("options", "must_rewrite"),
        [({}, False), ({"sequence.field": "v"}, True), ({"merge-engine": "aggregation"}, True)],
    )
    def test_deletion_vectors_are_planned_like_lookups(
        self, options: dict[str, str], *, must_rewrite: bool
    ) -> None:
        lookups = {"force-lookup": "true", "file.format.per.level": "5:orc", "lookup-compact": "gentle"}
        forced = read_options({**options, **lookups}).policy
        del lookups["force-lookup"]
        lookups["deletion-vectors.enabled"] = "true"
        marked = read_options({**options, **lookups, "write-only": "true"}).policy
        assert marked == replace(forced, has_vectors=True)
        assert read_options({**options, **lookups}).policy == replace(marked, writers_compact=True)
        assert (marked.force_level0, marked.level0_trigger, marked.looks_up) == (True, 10, must_rewrite)

    def test_changelog_files_have_options_of_their_own(self) -> None:
        read = read_options(
            {
                "changelog-producer": "lookup",
                "changelog-file.prefix": "changes-",
                "changelog-file.format": "ORC",
                "changelog-file.compression": "snappy",
                "changelog-file.stats-mode": "counts",
                "file.format.per.level.5": "avro",
            }
        )
        assert read.changelog_files is not None
        for level in (0, 5):
            files = read.changelog_files.at(level)
            assert (files.prefix, files.format, files.compression) == ("changes-", "orc", "snappy")
            assert files.stats.default == "counts"
        assert (read.files.at(5).format, read.files.prefix) == ("avro", "data-")

    def test_changelog_files_are_by_default_like_data_files_of_their_level(self) -> None:
        options = {"changelog-producer": "full-compaction", "file.format.per.level.5": "avro"}
        files = read_options(options).changelog_files
        assert files is not None
        assert [(files.at(level).format, files.at(level).prefix) for level in (0, 5)] == [
            ("parquet", "changelog-"),
            ("avro", "changelog-"),
        ]


def test_rows_may_be_kept_for_centuries() -> None:
    options = {"record-level.expire-time": "99999 d", "record-level.time-field": "t"}
    assert read_options(options).policy.expire_seconds == 99_999 * 86_400


def test_rows_of_tables_without_a_key_do_not_expire() -> None:
    options = {"record-level.expire-time": "1 d", "record-level.time-field": "t"}
    assert read_options(options).expiry is not None
    found = read_options(options, has_primary_key=False)
    assert (found.expiry, found.policy.expire_seconds) == (None, None)
