"""Table options of data files: formats, codecs, and format-specific options.

Called by `table_options`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lithify.errors import InvalidOption
from lithify.files.names import FORMATS
from lithify.files.options import (
    CODECS,
    FALSE_POSITIVES,
    BloomFilterOptions,
    FileOptions,
    OrcOptions,
    ParquetOptions,
)
from lithify.files.statistics import StatsModes
from lithify.formats.paimon.options.option_reader import (
    OptionReader,
    as_boolean,
    as_positive,
    as_positive_long,
    as_share,
)
from lithify.formats.paimon.options.variant_options import read_variant_options
from lithify.sizes import parse_size

TARGET_SIZE = 128 << 20
KEYLESS_TARGET_SIZE = 256 << 20
"""The target size of tables without a primary key."""
_ZSTD_LEVELS = 22
_FILTERS = "parquet.bloom.filter"
_STATS = "metadata.stats-mode"

_SUFFIXES = {"zstd": "zst", "gzip": "gz", "bzip2": "bz2", "none": ""}
"""File name suffixes of codecs, as in Paimon's HadoopCompressionType."""


@dataclass(frozen=True, slots=True)
class _OwnOptions:
    """Options of one format that override those of all formats."""

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

_AVRO_RECORD = "org.apache.paimon.avro.generated.record"
"""Name that Java gives the rows of its Avro files."""


def read_file_options(
    reader: OptionReader, options: Mapping[str, str], *, of_changelogs: bool = False
) -> FileOptions:
    """Reads how data files are written, or changelog files.

    Raises:
        InvalidOption: a value cannot be parsed, or no file can be written with it.
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
        avro_record=_AVRO_RECORD,
    )
    own = (
        _OfChangelogs()
        if not of_changelogs
        else _OfChangelogs(
            prefix=reader.text("changelog-file.prefix", "changelog-"),
            format=reader.optional("changelog-file.format", str.lower),
            codec=reader.optional("changelog-file.compression", str.lower),
            stats=reader.optional("changelog-file.stats-mode", str.lower),
        )
    )
    base = replace(base, prefix=own.prefix or base.prefix)
    return replace(_of_level(reader, base, kind, codec, own), levels=_levels(reader, base, kind, codec, own))


@dataclass(frozen=True, slots=True)
class _OfChangelogs:
    """Options of changelog files that override those of all files and levels."""

    prefix: str | None = None
    format: str | None = None
    codec: str | None = None
    stats: str | None = None


def _levels(
    reader: OptionReader, base: FileOptions, kind: str, codec: str, own: _OfChangelogs
) -> dict[int, FileOptions]:
    """The overrides for individual levels."""
    kinds, codecs, modes = (
        reader.by_level(f"{option}.per.level") for option in ("file.format", "file.compression", _STATS)
    )
    levels = {}
    for level in sorted({*kinds, *codecs, *modes}):
        stats = replace(base.stats, default=modes.get(level, base.stats.default))
        of_level = replace(base, stats=stats)
        levels[level] = _of_level(reader, of_level, kinds.get(level, kind), codecs.get(level, codec), own)
    return levels


def _of_level(
    reader: OptionReader, base: FileOptions, kind: str, codec: str, own: _OfChangelogs
) -> FileOptions:
    """The options of one level with those of changelog files, if these are such."""
    stats = replace(base.stats, default=own.stats or base.stats.default)
    return _in_format(reader, replace(base, stats=stats), own.format or kind, own.codec or codec)


def _in_format(reader: OptionReader, options: FileOptions, kind: str, codec: str) -> FileOptions:
    """The options, with those specific to this format.

    Raises:
        InvalidOption: Java Paimon or Lithify cannot write the format, or not with this codec.
    """
    if kind not in FORMATS:
        known = ", ".join(FORMATS)
        raise InvalidOption("file.format", f"Lithify cannot write '{kind}', only {known}")
    own = _OWN_OPTIONS[kind]
    codec = reader.text(own.codec, codec).lower()
    if codec not in CODECS[kind]:
        known = ", ".join(CODECS[kind])
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
        false_positives=reader.optional("orc.bloom.filter.fpp", as_share) or FALSE_POSITIVES,
        id_attribute="paimon.id",
    )
