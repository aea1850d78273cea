"""How data files are written: format, codec, internal layout, statistics. Sizes in bytes.

Built by adapters from table options, read by the writers of formats. Attributes name Paimon's options.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from lithify.files.statistics import StatsModes
from lithify.files.variants.options import NOT_SHREDDED, VariantOptions

FALSE_POSITIVES = 0.01
"""False positive rate of bloom filters: the default of Parquet's and ORC's writers."""

CODECS = {
    "parquet": ("zstd", "snappy", "gzip", "lz4", "lz4_raw", "none", "uncompressed"),
    "orc": ("zstd", "snappy", "zlib", "lz4", "none"),
    "avro": ("zstd", "zstandard", "snappy", "deflate", "bzip2", "xz", "null"),
}
"""Codecs of each format, by Paimon's names, that both Java and Lithify can read and write."""


@dataclass(frozen=True, slots=True)
class BloomFilterOptions:
    """Bloom filters of Parquet files: which columns, by path, and their precision.

    Attributes:
        everywhere: `parquet.bloom.filter.enabled`.
        by_column: the same option for single columns (`parquet.bloom.filter.enabled#<column>`).
        distinct: expected number of distinct values (`parquet.bloom.filter.expected.ndv#<column>`).
        false_positives: false positive rate, between 0 and 1 (`parquet.bloom.filter.fpp#<column>`).
    """

    everywhere: bool = False
    by_column: Mapping[str, bool] = field(default_factory=dict)
    distinct: Mapping[str, int] = field(default_factory=dict)
    false_positives: Mapping[str, float] = field(default_factory=dict)

    def includes(self, column: str) -> bool:
        """Whether a column gets filters; it also does if the table states its number of distinct values."""
        return self.by_column.get(column, self.everywhere or column in self.distinct)

    def false_positives_of(self, column: str) -> float:
        """The false positive rate of a column's filters."""
        return self.false_positives.get(column, FALSE_POSITIVES)

    @property
    def is_wanted(self) -> bool:
        """Whether any column may get a filter."""
        return self.everywhere or bool(self.distinct) or any(self.by_column.values())


@dataclass(frozen=True, slots=True)
class ParquetOptions:
    """Layout inside Parquet files. Sizes in bytes; None for the default of Lithify's own readers.

    Attributes:
        page: `parquet.page.size`.
        dictionary: `parquet.dictionary.page.size`.
        dictionaries: `parquet.enable.dictionary`: whether columns with many repeated values get one.
        by_column: the same option for single columns (`parquet.enable.dictionary#<column>`).
        filters: which columns have bloom filters.
        variants: how VARIANT columns are shredded.
        packed: columns of integers that are stored as differences (DELTA_BINARY_PACKED) if they follow each
            other closely; several readers cannot decode these in vectors.
        decimals_as_integers: whether decimals of up to 18 digits are stored as integers; Hive reads none.
        numbers_level: level of zstd for columns that are neither texts nor binaries, None for that of all.
    """

    page: int | None = None
    dictionary: int | None = None
    dictionaries: bool = True
    by_column: Mapping[str, bool] = field(default_factory=dict)
    filters: BloomFilterOptions = field(default_factory=BloomFilterOptions)
    variants: VariantOptions = NOT_SHREDDED
    packed: Collection[str] = ()
    decimals_as_integers: bool = True
    numbers_level: int | None = None


@dataclass(frozen=True, slots=True)
class OrcOptions:
    """Layout inside ORC files.

    Attributes:
        index_stride: rows between two entries of the index (`orc.row.index.stride`).
        block: bytes that are compressed together (`orc.compress.size`).
        filters: columns with bloom filters, lower case, or `*` for all (`orc.bloom.filter.columns`).
        false_positives: false positive rate of the filters (`orc.bloom.filter.fpp`).
        id_attribute: attribute of types that has their field ids; empty if they have none.
        is_described: whether attributes of types say what ORC has no types for, as Iceberg's do.
    """

    index_stride: int = 10_000
    block: int = 256 << 10
    filters: frozenset[str] = frozenset()
    false_positives: float = FALSE_POSITIVES
    id_attribute: str = ""
    is_described: bool = False


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How data files are written. Sizes in bytes.

    Attributes:
        prefix: prefix of file names.
        compression: codec, lower case, by Paimon's name for this format.
        zstd_level: level of the zstd codec.
        thin: whether `_KEY_` columns are omitted (`data-file.thin-mode`).
        suffix_names_compression: whether file names end with `.<codec>.parquet`.
        target_size: size at which a new file is started.
        stats: which statistics go to the manifest.
        format: parquet, orc or avro.
        unit_size: upper bound of a row group's or stripe's encoded bytes, None if the table sets none.
        named_compression: the codec's name in file names, empty if it has none.
        parquet: layout inside Parquet files.
        orc: layout inside ORC files.
        avro_record: full name of the record that the rows of Avro files are.
        avro_ids: whether the schemas of Avro files have field ids, and types, as Iceberg's do.
        deflate_level: level of the deflate codec, None for that of Java's library.
        levels: overrides for files of some levels.
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
    avro_record: str = "record"
    avro_ids: bool = False
    deflate_level: int | None = None
    levels: Mapping[int, FileOptions] = field(default_factory=dict)

    def in_parquet(self) -> FileOptions:
        """The same options for a file that must be Parquet, whatever the table's format."""
        codec = self.compression if self.compression in CODECS["parquet"] else "zstd"
        return replace(self, format="parquet", compression=codec)

    def at(self, level: int) -> FileOptions:
        """The options for files of one level."""
        return self.levels.get(level, self)
