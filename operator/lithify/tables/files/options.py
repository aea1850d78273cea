"""How data files are written: format, codec, layout inside, statistics. Sizes in bytes.

Made by adapters of what their tables say, read by the writers of formats. Attributes name Paimon's options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lithify.tables.files.statistics import StatsModes
from lithify.tables.files.variants.options import NOT_SHREDDED, VariantOptions

FALSE_POSITIVES = 0.01
"""Of bloom filters: the default of Parquet's and ORC's writers."""

CODECS = {
    "parquet": ("zstd", "snappy", "gzip", "lz4", "lz4_raw", "none", "uncompressed"),
    "orc": ("zstd", "snappy", "zlib", "lz4", "none"),
    "avro": ("zstd", "zstandard", "snappy", "deflate", "bzip2", "xz", "null"),
}
"""The codecs of each format, by Paimon's names, that Java and Lithify both read and write."""


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
        return self.false_positives.get(column, FALSE_POSITIVES)

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
    false_positives: float = FALSE_POSITIVES


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
        codec = self.compression if self.compression in CODECS["parquet"] else "zstd"
        return replace(self, format="parquet", compression=codec)

    def at(self, level: int) -> FileOptions:
        """How files of one level are written."""
        return self.levels.get(level, self)
