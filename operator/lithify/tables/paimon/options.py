"""Table options as numbers: what planning, the merge, the writer and the commit read of them.

Called by `catalog` after `support` has let the options through. Names and defaults are those of Paimon's
CoreOptions for primary-key tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import urlsplit

from pypaimon.common.memory_size import MemorySize
from pypaimon.common.time_utils import parse_duration

from lithify.errors import InvalidOption
from lithify.planning.policy import CompactionPolicy, EarlyFull, OffPeak, Rule
from lithify.rewriting.spec import SequenceField
from lithify.tables.paimon.formats.names import FORMATS
from lithify.tables.paimon.statistics import StatsModes

T = TypeVar("T")

_TARGET_SIZE = 128 << 20
_ZSTD_LEVELS = 22
_LARGEST_LONG = (1 << 63) - 1
_FALSE_POSITIVES = 0.01
"""Of bloom filters: the default of Parquet's and ORC's writers."""
_EXTERNAL = "data-file.external-paths"
_FILTERS = "parquet.bloom.filter"

_TIME_RETAINED = 3_600_000
_STATS = "metadata.stats-mode"

_CODECS = {
    "parquet": ("zstd", "snappy", "gzip", "lz4", "lz4_raw", "none", "uncompressed"),
    "orc": ("zstd", "snappy", "zlib", "lz4", "none"),
    "avro": ("zstd", "zstandard", "snappy", "deflate", "bzip2", "xz", "null"),
}
"""The codecs of each format, by Paimon's names, that Java and Lithify both read and write."""

_SUFFIXES = {"zstd": "zst", "gzip": "gz", "bzip2": "bz2", "none": ""}
"""How codecs are called at the end of file names, as in Paimon's HadoopCompressionType."""


@dataclass(frozen=True, slots=True)
class _OwnOptions:
    """Options of one format that win over those of all formats."""

    codec: str
    zstd_level: str
    unit_size: str


_OWN_OPTIONS = {
    "parquet": _OwnOptions(
        "parquet.compression", "parquet.compression.codec.zstd.level", "parquet.block.size"
    ),
    "orc": _OwnOptions("orc.compress", "orc.compression.zstd.level", "orc.stripe.size"),
    "avro": _OwnOptions("avro.codec", "", ""),
}

# The first of these that is set decides.
_WRITE_ONLY = ("write-only", "write.compaction-skip")
_IGNORE_DELETE = (
    "ignore-delete",
    "first-row.ignore-delete",
    "deduplicate.ignore-delete",
    "partial-update.ignore-delete",
)


@dataclass(frozen=True, slots=True)
class BloomFilterOptions:
    """Which columns of Parquet files get bloom filters, by their paths, and how good those are.

    Attributes:
        everywhere: `parquet.bloom.filter.enabled`.
        by_column: the same of single columns (`parquet.bloom.filter.enabled#<column>`).
        distinct: for how many different values (`parquet.bloom.filter.expected.ndv#<column>`).
        false_positives: how often a filter may say that it has a value and be wrong, between 0 and 1
            (`parquet.bloom.filter.fpp#<column>`).
    """

    everywhere: bool = False
    by_column: Mapping[str, bool] = field(default_factory=dict)
    distinct: Mapping[str, int] = field(default_factory=dict)
    false_positives: Mapping[str, float] = field(default_factory=dict)

    def includes(self, column: str) -> bool:
        """Whether a column gets filters; it does where the table says how many values it has."""
        return self.by_column.get(column, self.everywhere or column in self.distinct)

    def false_positives_of(self, column: str) -> float:
        """How often the filters of a column may be wrong."""
        return self.false_positives.get(column, _FALSE_POSITIVES)

    @property
    def is_wanted(self) -> bool:
        """Whether any column may get one."""
        return self.everywhere or bool(self.distinct) or any(self.by_column.values())


@dataclass(frozen=True, slots=True)
class ParquetOptions:
    """Layout inside Parquet files. Sizes in bytes; None for what suits Lithify's own readers.

    Attributes:
        page: `parquet.page.size`.
        dictionary: `parquet.dictionary.page.size`.
        dictionaries: `parquet.enable.dictionary`: whether columns that repeat themselves get one.
        by_column: the same of single columns (`parquet.enable.dictionary#<column>`).
        filters: which columns have bloom filters.
    """

    page: int | None = None
    dictionary: int | None = None
    dictionaries: bool = True
    by_column: Mapping[str, bool] = field(default_factory=dict)
    filters: BloomFilterOptions = field(default_factory=BloomFilterOptions)


@dataclass(frozen=True, slots=True)
class OrcOptions:
    """Layout inside ORC files.

    Attributes:
        index_stride: rows between two entries of the index (`orc.row.index.stride`).
        block: bytes that are compressed together (`orc.compress.size`).
        filters: columns with bloom filters, lower case, or `*` for all (`orc.bloom.filter.columns`).
        false_positives: how often a filter may say that it has a value and be wrong (`orc.bloom.filter.fpp`).
    """

    index_stride: int = 10_000
    block: int = 256 << 10
    filters: frozenset[str] = frozenset()
    false_positives: float = _FALSE_POSITIVES


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How data files are written. Sizes in bytes.

    Attributes:
        prefix: what file names begin with.
        compression: codec, lower case, by the name that Paimon has for it in this format.
        zstd_level: level of the zstd codec.
        thin: without `_KEY_` columns (`data-file.thin-mode`).
        suffix_names_compression: file names end with `.<codec>.parquet`.
        target_size: where files roll.
        stats: which statistics go to the manifest.
        format: parquet, orc or avro.
        unit_size: encoded bytes of a row group or stripe at most, None where the table does not say.
        named_compression: the codec by the name that it has in file names, empty if it has none.
        parquet: layout inside Parquet files.
        orc: layout inside ORC files.
        levels: what differs for files of some levels.
    """

    prefix: str
    compression: str
    zstd_level: int
    thin: bool
    suffix_names_compression: bool
    target_size: int
    stats: StatsModes
    format: str = "parquet"
    unit_size: int | None = None
    named_compression: str = "zst"
    parquet: ParquetOptions = field(default_factory=ParquetOptions)
    orc: OrcOptions = field(default_factory=OrcOptions)
    levels: Mapping[int, FileOptions] = field(default_factory=dict)

    def in_parquet(self) -> FileOptions:
        """The same for a file that has to be Parquet, whatever the table wants."""
        codec = self.compression if self.compression in _CODECS["parquet"] else "zstd"
        return replace(self, format="parquet", compression=codec)

    def at(self, level: int) -> FileOptions:
        """How files of one level are written."""
        return self.levels.get(level, self)


@dataclass(frozen=True, slots=True)
class PlaceOptions:
    """Where data files are.

    Attributes:
        default_name: the directory of partition values that are null or blank.
        legacy: whether directories spell partition values as Java's `toString` does.
        directory: the folder of all data files in the table's folder, empty for that itself.
        external: where new files go instead of the table's folder, as URIs.
        weights: how often each of those is taken, compared with the others; empty for one after the other.
        has_entropy: whether files lie there in directories named after a hash of their names.
    """

    default_name: str
    legacy: bool
    directory: str
    external: tuple[str, ...]
    weights: tuple[int, ...]
    has_entropy: bool


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """How often and how fast a lost race for the next snapshot is tried again. Times in seconds."""

    max_retries: int
    min_wait: float
    max_wait: float


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """How manifests are written and merged. Sizes in bytes.

    Attributes:
        compression: Avro codec as Paimon calls it, lower case.
        target_size: where manifests roll, and up to which neighbours are merged.
        merge_min_count: from so many small ones on the newest are merged, whatever their size.
        full_threshold: all are merged when those that are small or hold deletions come to this size.
        drop_deleted_statistics: entries of removed files have no column statistics.
    """

    compression: str = "zstd"
    target_size: int = 8 << 20
    merge_min_count: int = 30
    full_threshold: int = 16 << 20
    drop_deleted_statistics: bool = False


@dataclass(frozen=True, slots=True)
class TableOptions:
    """All options that a compaction reads.

    Attributes:
        policy: which files are compacted.
        files: how files are written.
        places: where they are.
        commit: how commits are tried again.
        sequence_fields: what decides between the rows of a key before their sequence number does.
        snapshot_ordering: whether the row of a key that came with the latest snapshot wins.
        ignore_deletes: whether deletes are passed over.
    """

    policy: CompactionPolicy
    files: FileOptions
    places: PlaceOptions
    commit: CommitOptions
    manifests: ManifestOptions
    sequence_fields: tuple[SequenceField, ...]
    snapshot_ordering: bool
    ignore_deletes: bool


@dataclass(frozen=True, slots=True)
class Retention:
    """How long snapshots are kept at least: so many milliseconds, unless there are more than `count`."""

    millis: int
    count: int | None


def read_options(options: Mapping[str, str], rule: Rule = Rule.V1_4) -> TableOptions:
    """Reads the options of a primary-key table.

    Raises:
        InvalidOption: a value cannot be parsed, or is one that Paimon has no meaning for.
    """
    reader = _Reader(options)
    return TableOptions(
        policy=_policy(reader, rule),
        files=_file_options(reader, options),
        places=_place_options(reader),
        commit=CommitOptions(
            max_retries=reader.integer("commit.max-retries", 10, low=0),
            min_wait=reader.duration("commit.min-retry-wait", 10) / 1000,
            max_wait=reader.duration("commit.max-retry-wait", 10_000) / 1000,
        ),
        manifests=_manifest_options(reader),
        sequence_fields=_sequence_fields(reader),
        snapshot_ordering=reader.boolean("sequence.snapshot-ordering", default=False),
        ignore_deletes=reader.boolean(
            next((key for key in _IGNORE_DELETE if key in options), _IGNORE_DELETE[0]), default=False
        ),
    )


def is_write_only(options: Mapping[str, str]) -> bool:
    """Whether writers of the table leave compaction to others.

    Raises:
        InvalidOption: the option is neither true nor false.
    """
    reader = _Reader(options)
    key = next((key for key in _WRITE_ONLY if key in options), _WRITE_ONLY[0])
    return reader.boolean(key, default=False)


def retention(options: Mapping[str, str]) -> Retention:
    """How long a table's writers keep snapshots.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    reader = _Reader(options)
    return Retention(
        millis=reader.duration("snapshot.time-retained", _TIME_RETAINED),
        count=reader.optional("snapshot.num-retained.max", int),
    )


def _policy(reader: _Reader, rule: Rule) -> CompactionPolicy:
    trigger = reader.integer("num-sorted-run.compaction-trigger", 5, low=1)
    target = reader.size("target-file-size", _TARGET_SIZE, low=1)
    return CompactionPolicy(
        num_levels=reader.integer("num-levels", trigger + 1, low=2),
        run_trigger=trigger,
        size_amplification_percent=reader.integer("compaction.max-size-amplification-percent", 200),
        size_ratio=reader.integer("compaction.size-ratio", 1),
        early_full=EarlyFull(
            interval_millis=reader.optional("compaction.optimization-interval", parse_duration),
            total_size=reader.optional("compaction.total-size-threshold", parse_size),
            incremental_size=reader.optional("compaction.incremental-size-threshold", parse_size),
        ),
        off_peak=_off_peak(reader),
        force_level0=reader.boolean("compaction.force-up-level-0", default=False),
        force_rewrite=reader.boolean("compaction.force-rewrite-all-files", default=False),
        target_file_size=target,
        small_file_size=_small_file_size(reader, target),
        rule=rule,
    )


def _small_file_size(reader: _Reader, target: int) -> int:
    """70 % of the target, computed as Paimon 1.4 does, or by the ratio that later versions know."""
    ratio = reader.optional("compaction.small-file-ratio", _ratio)
    return target // 10 * 7 if ratio is None else int(target * ratio)


def _off_peak(reader: _Reader) -> OffPeak | None:
    start = reader.integer("compaction.offpeak.start.hour", -1)
    end = reader.integer("compaction.offpeak.end.hour", -1)
    if -1 in (start, end) or start == end:
        return None
    return OffPeak(start, end, reader.integer("compaction.offpeak-ratio", 0))


def _file_options(reader: _Reader, options: Mapping[str, str]) -> FileOptions:
    fields = {
        key.removeprefix("fields.").removesuffix(".stats-mode"): mode
        for key, mode in options.items()
        if key.startswith("fields.") and key.endswith(".stats-mode")
    }
    kind = reader.text("file.format", "parquet").lower()
    codec = reader.text("file.compression", "zstd").lower()
    base = FileOptions(
        prefix=reader.text("data-file.prefix", "data-"),
        compression=codec,
        zstd_level=reader.integer("file.compression.zstd-level", 1, high=_ZSTD_LEVELS),
        thin=reader.boolean("data-file.thin-mode", default=False),
        suffix_names_compression=reader.boolean("file.suffix.include.compression", default=False),
        target_size=reader.size("target-file-size", _TARGET_SIZE, low=1),
        stats=StatsModes(
            default=reader.text("metadata.stats-mode", "truncate(16)").lower(),
            by_column={column: mode.lower() for column, mode in fields.items()},
            first_columns=reader.integer("metadata.stats-keep-first-n-columns", -1),
            dense=reader.boolean("metadata.stats-dense-store", default=True),
        ),
        named_compression=_SUFFIXES.get(codec, codec),
        parquet=_parquet_options(reader),
        orc=_orc_options(reader),
    )
    return replace(_in_format(reader, base, kind, codec), levels=_levels(reader, base, kind, codec))


def _levels(reader: _Reader, base: FileOptions, kind: str, codec: str) -> dict[int, FileOptions]:
    """The options of the levels that have some of their own."""
    kinds, codecs, modes = (
        reader.by_level(f"{option}.per.level") for option in ("file.format", "file.compression", _STATS)
    )
    levels = {}
    for level in sorted({*kinds, *codecs, *modes}):
        stats = replace(base.stats, default=modes.get(level, base.stats.default))
        own = replace(base, stats=stats)
        levels[level] = _in_format(reader, own, kinds.get(level, kind), codecs.get(level, codec))
    return levels


def _in_format(reader: _Reader, options: FileOptions, kind: str, codec: str) -> FileOptions:
    """The options with what the table says of files of this format.

    Raises:
        InvalidOption: Java Paimon or Lithify cannot write the format, or not with this codec.
    """
    if kind not in FORMATS:
        known = ", ".join(FORMATS)
        raise InvalidOption("file.format", f"Lithify cannot write '{kind}', only {known}")
    own = _OWN_OPTIONS[kind]
    codec = reader.text(own.codec, codec).lower()
    if codec not in _CODECS[kind]:
        known = ", ".join(_CODECS[kind])
        raise InvalidOption("file.compression", f"'{codec}' is no codec of {kind} files ({known})")
    unit = reader.optional("file.block-size", parse_size)
    return replace(
        options,
        format=kind,
        compression=codec,
        zstd_level=reader.integer(own.zstd_level, options.zstd_level, high=_ZSTD_LEVELS),
        unit_size=unit if unit is not None else reader.optional(own.unit_size, _positive),
    )


def _parquet_options(reader: _Reader) -> ParquetOptions:
    return ParquetOptions(
        page=reader.optional("parquet.page.size", _positive),
        dictionary=reader.optional("parquet.dictionary.page.size", _positive),
        dictionaries=reader.boolean("parquet.enable.dictionary", default=True),
        by_column=reader.by_column("parquet.enable.dictionary", _boolean),
        filters=BloomFilterOptions(
            everywhere=reader.boolean(f"{_FILTERS}.enabled", default=False),
            by_column=reader.by_column(f"{_FILTERS}.enabled", _boolean),
            distinct=reader.by_column(f"{_FILTERS}.expected.ndv", _positive_long),
            false_positives=reader.by_column(f"{_FILTERS}.fpp", _share),
        ),
    )


def _orc_options(reader: _Reader) -> OrcOptions:
    filters = reader.text("orc.bloom.filter.columns", "").lower().split(",")
    return OrcOptions(
        index_stride=reader.integer("orc.row.index.stride", 10_000, low=1_000),
        block=reader.integer("orc.compress.size", 256 << 10, low=1 << 10, high=(1 << 23) - 1),
        filters=frozenset(name.strip() for name in filters if name.strip()),
        false_positives=reader.optional("orc.bloom.filter.fpp", _share) or _FALSE_POSITIVES,
    )


def _manifest_options(reader: _Reader) -> ManifestOptions:
    default = ManifestOptions()
    return ManifestOptions(
        compression=reader.text("manifest.compression", default.compression).lower(),
        target_size=reader.size("manifest.target-file-size", default.target_size),
        merge_min_count=reader.integer("manifest.merge-min-count", default.merge_min_count),
        full_threshold=reader.size("manifest.full-compaction-threshold-size", default.full_threshold, low=1),
        drop_deleted_statistics=reader.boolean("manifest.delete-file-drop-stats", default=False),
    )


def _place_options(reader: _Reader) -> PlaceOptions:
    strategy = reader.text("data-file.external-paths.strategy", "none").lower()
    external = () if strategy == "none" else _external_paths(reader, strategy)
    return PlaceOptions(
        default_name=reader.text("partition.default-name", "__DEFAULT_PARTITION__", stripped=False),
        legacy=reader.boolean("partition.legacy-name", default=True),
        directory=reader.optional("data-file.path-directory", _directory) or "",
        external=external,
        weights=_weights(reader, external) if strategy == "weight-robin" and len(external) > 1 else (),
        has_entropy=strategy == "entropy-inject",
    )


def _directory(text: str) -> str:
    if urlsplit(text).scheme or text.startswith("/") or ".." in text.split("/"):
        raise ValueError("it is no folder in the table's own")
    return _java_path(text)


def _external_paths(reader: _Reader, strategy: str) -> tuple[str, ...]:
    texts = reader.text(_EXTERNAL, "")
    if not texts:
        return ()
    paths = [text.strip() for text in texts.split(",")]
    for path in paths:
        if not urlsplit(path).scheme:
            raise InvalidOption(
                _EXTERNAL, f"'{path}' does not say which file system it is on, like file:{path}"
            )
    if strategy == "specific-fs":
        meant = reader.text(f"{_EXTERNAL}.specific-fs", "").lower()
        paths = [path for path in paths if urlsplit(path).scheme.lower() == meant]
        if not paths:
            raise InvalidOption(f"{_EXTERNAL}.specific-fs", f"no external path is on '{meant}'")
    return tuple(map(_java_path, paths))


def _java_path(text: str) -> str:
    """A path as Paimon's Path class writes it: no empty parts, none at the end, no empty host."""
    parts = urlsplit(text)
    path = re.sub("/+", "/", parts.path)
    return f"{parts.scheme and parts.scheme + ':'}{parts.netloc and '//' + parts.netloc}{path.rstrip('/')}"


def _weights(reader: _Reader, paths: Sequence[str]) -> tuple[int, ...]:
    key = f"{_EXTERNAL}.weights"
    weights = reader.optional(key, lambda text: tuple(_bounded(int(n), 1, None) for n in text.split(",")))
    if weights is not None and len(weights) != len(paths):
        raise InvalidOption(key, f"{len(weights)} weights for {len(paths)} paths")
    return weights or ()


def _sequence_fields(reader: _Reader) -> tuple[SequenceField, ...]:
    ascending = reader.text("sequence.field.sort-order", "ascending").lower() != "descending"
    names = [name.strip() for name in reader.text("sequence.field", "").split(",")]
    return tuple(SequenceField(name, ascending) for name in names if name)


def parse_size(text: str) -> int:
    """Reads a size as Paimon writes it, for example `128 mb`.

    Raises:
        ValueError: it is not one.
    """
    size: int = MemorySize.parse(text).get_bytes()
    return size


class _Reader:
    """Looks options up and parses them, naming the option when that fails."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def optional(self, key: str, parse: Callable[[str], T]) -> T | None:
        text = self._options.get(key)
        return None if text is None else _parsed(key, text, parse)

    def text(self, key: str, default: str, *, stripped: bool = True) -> str:
        text = self._options.get(key, default)
        return text.strip() if stripped else text

    def by_level(self, key: str) -> dict[int, str]:
        """A value for each of some levels: `<key> = 0:avro,5:parquet`, or else `<key>.0 = avro` and so on."""
        found = self.optional(key, _by_level)
        if found is not None:
            return found
        levels = {name: name.removeprefix(f"{key}.") for name in self._options if name.startswith(f"{key}.")}
        return {_parsed(name, text, _level): self.text(name, "").lower() for name, text in levels.items()}

    def by_column(self, key: str, parse: Callable[[str], T]) -> dict[str, T]:
        """A value for each of some columns, as in `<key>#<column>`."""
        prefix = f"{key}#"
        found = ((name, self.optional(name, parse)) for name in self._options if name.startswith(prefix))
        return {name.removeprefix(prefix): value for name, value in found if value is not None}

    def integer(self, key: str, default: int, low: int | None = None, high: int | None = None) -> int:
        value = self.optional(key, lambda text: _bounded(int(text), low, high))
        return default if value is None else value

    def boolean(self, key: str, *, default: bool) -> bool:
        value = self.optional(key, _boolean)
        return default if value is None else value

    def size(self, key: str, default: int, low: int | None = None) -> int:
        value = self.optional(key, lambda text: _bounded(parse_size(text), low, None))
        return default if value is None else value

    def duration(self, key: str, default_millis: int) -> int:
        value = self.optional(key, parse_duration)
        return default_millis if value is None else int(value)


def _parsed(key: str, text: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(text.strip())
    except ValueError as error:
        raise InvalidOption(key, f"'{text}' is not a value that it can have ({error})") from error


def _bounded(number: int, low: int | None, high: int | None) -> int:
    if low is not None and number < low:
        raise ValueError(f"it is at least {low}")
    if high is not None and number > high:
        raise ValueError(f"it is at most {high}")
    return number


def _positive(text: str) -> int:
    return _bounded(int(text), 1, None)


def _positive_long(text: str) -> int:
    return _bounded(int(text), 1, _LARGEST_LONG)


def _by_level(text: str) -> dict[int, str]:
    pairs = [pair.split(":") for pair in text.split(",") if pair.strip()]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("it is written as 0:avro,5:parquet")
    return {_level(level): value.strip().lower() for level, value in pairs}


def _level(text: str) -> int:
    return _bounded(int(text), 0, None)


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share < 1:
        raise ValueError("it is between 0 and 1")
    return share


def _ratio(text: str) -> float:
    ratio = float(text)
    if not 0 <= ratio < math.inf:
        raise ValueError("it is a number from 0 on")
    return ratio


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("it is true or false")
    return text.lower() == "true"
