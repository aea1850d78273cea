"""Table options of data files: formats, codecs, and what each format has of its own.

Read by `options`, used by `writer` and the formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lithify.errors import InvalidOption
from lithify.tables.files.names import FORMATS
from lithify.tables.files.variants.options import NOT_SHREDDED, VariantOptions, read_variant_options
from lithify.tables.paimon.options.option_reader import (
    OptionReader,
    as_boolean,
    as_positive,
    as_positive_long,
    as_share,
    parse_size,
)
from lithify.tables.paimon.primary_key.statistics import StatsModes

TARGET_SIZE = 128 << 20
_ZSTD_LEVELS = 22
_FALSE_POSITIVES = 0.01
"""Of bloom filters: the default of Parquet's and ORC's writers."""
_FILTERS = "parquet.bloom.filter"
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
        variants: how VARIANT columns are shredded.
    """

    page: int | None = None
    dictionary: int | None = None
    dictionaries: bool = True
    by_column: Mapping[str, bool] = field(default_factory=dict)
    filters: BloomFilterOptions = field(default_factory=BloomFilterOptions)
    variants: VariantOptions = NOT_SHREDDED


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


def read_file_options(reader: OptionReader, options: Mapping[str, str]) -> FileOptions:
    """How data files are written.

    Raises:
        InvalidOption: a value cannot be parsed, or is one that no file can be written with.
    """
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
        target_size=reader.size("target-file-size", TARGET_SIZE, low=1),
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


def _levels(reader: OptionReader, base: FileOptions, kind: str, codec: str) -> dict[int, FileOptions]:
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


def _in_format(reader: OptionReader, options: FileOptions, kind: str, codec: str) -> FileOptions:
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
        unit_size=unit if unit is not None else reader.optional(own.unit_size, as_positive),
    )


def _parquet_options(reader: OptionReader) -> ParquetOptions:
    return ParquetOptions(
        page=reader.optional("parquet.page.size", as_positive),
        dictionary=reader.optional("parquet.dictionary.page.size", as_positive),
        dictionaries=reader.boolean("parquet.enable.dictionary", default=True),
        by_column=reader.by_column("parquet.enable.dictionary", as_boolean),
        filters=BloomFilterOptions(
            everywhere=reader.boolean(f"{_FILTERS}.enabled", default=False),
            by_column=reader.by_column(f"{_FILTERS}.enabled", as_boolean),
            distinct=reader.by_column(f"{_FILTERS}.expected.ndv", as_positive_long),
            false_positives=reader.by_column(f"{_FILTERS}.fpp", as_share),
        ),
        variants=read_variant_options(reader),
    )


def _orc_options(reader: OptionReader) -> OrcOptions:
    filters = reader.text("orc.bloom.filter.columns", "").lower().split(",")
    return OrcOptions(
        index_stride=reader.integer("orc.row.index.stride", 10_000, low=1_000),
        block=reader.integer("orc.compress.size", 256 << 10, low=1 << 10, high=(1 << 23) - 1),
        filters=frozenset(name.strip() for name in filters if name.strip()),
        false_positives=reader.optional("orc.bloom.filter.fpp", as_share) or _FALSE_POSITIVES,
    )
