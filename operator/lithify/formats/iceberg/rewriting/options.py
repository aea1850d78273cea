"""How data files are written: table properties of Iceberg as options of the rooms that write files.

Called by what makes tasks. Properties that this release does not know change nothing; values that it cannot
honour are refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from lithify.errors import InvalidOption, UnsupportedTable
from lithify.files.options import (
    CODECS,
    FALSE_POSITIVES,
    BloomFilterOptions,
    FileOptions,
    OrcOptions,
    ParquetOptions,
)
from lithify.files.statistics import StatsModes
from lithify.formats.iceberg.properties import number_in

_TARGET_SIZE = 512 << 20
_ROW_GROUP = 128 << 20
_MODE = re.compile(r"none|counts|full|truncate\((\d+)\)")
_MOST_INFERRED = 100
"""Columns that get metrics unless the table says more."""
_STRIPE = 64 << 20
_ORC_FALSE_POSITIVES = 0.05
_ORC_IDS = "iceberg.id"
_CODECS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "parquet": ("zstd", {name: name for name in CODECS["parquet"]}),
    "orc": ("zlib", {name: name for name in CODECS["orc"]}),
    "avro": ("gzip", {"gzip": "deflate", "zstd": "zstd", "snappy": "snappy", "uncompressed": "null"}),
}
"""The default codec of each format by Iceberg's properties, and what the rooms that write files call each."""
_DEFLATE, _AVRO_ZSTD = 9, 1
"""Levels in Avro files where the table sets none, as in Java's library."""
_LEVEL = 3
"""Level of zstd where the table sets none, as in Java's library."""
_NUMBERS_LEVEL = 1
"""The same for columns of numbers: measured, these come out no larger, in two thirds of the time."""


@dataclass(frozen=True, slots=True)
class MetricsModes:
    """Which metrics of each column manifests have: none, counts, truncate(n) or full.

    Attributes:
        default: of columns without a mode of their own.
        by_column: by the names of columns, with dots for fields of structs.
        first_columns: number of leaf columns that get the default; others get none.
    """

    default: str = "truncate(16)"
    by_column: Mapping[str, str] = field(default_factory=dict)
    first_columns: int = _MOST_INFERRED

    def of(self, column: str, place: int) -> str:
        """The mode of a leaf column, the `place`-th of the schema."""
        inferred = self.default if place < self.first_columns else "none"
        return self.by_column.get(column, inferred)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How data files are written.

    Attributes:
        files: options of the writers.
        metrics: which metrics manifests have.
    """

    files: FileOptions
    metrics: MetricsModes = field(default_factory=MetricsModes)

    def with_packed(self, columns: Collection[str]) -> WriteOptions:
        """The same, with columns of integers that may be stored as differences."""
        parquet = replace(self.files.parquet, packed=columns)
        return replace(self, files=replace(self.files, parquet=parquet))


def parse_write_options(properties: Mapping[str, str], *, target_size: int | None = None) -> WriteOptions:
    """Reads the properties of a table.

    Args:
        properties: table properties.
        target_size: bytes at which files roll; None for that of the table.

    Raises:
        InvalidOption: a value is none of its property.
        UnsupportedTable: this release cannot write files in this way.
    """
    name = properties.get("write.format.default", "parquet").lower()
    if name not in _OPTIONS:
        raise UnsupportedTable("a table", (f"write.format.default = {name}",))
    files = FileOptions(
        prefix="",
        compression=_codec(properties, name),
        zstd_level=_LEVEL,
        thin=False,
        suffix_names_compression=False,
        target_size=target_size
        or number_in(properties, "write.target-file-size-bytes", _TARGET_SIZE, least=1),
        stats=StatsModes(),
        format=name,
        parquet=_parquet(properties),
    )
    return WriteOptions(_OPTIONS[name](files, properties), _metrics(properties))


def _codec(properties: Mapping[str, str], name: str) -> str:
    key = f"write.{name}.compression-codec"
    default, codecs = _CODECS[name]
    codec = properties.get(key, default).lower()
    if codec not in codecs:
        raise UnsupportedTable("a table", (f"{key} = {codec}",))
    return codecs[codec]


def _in_parquet(files: FileOptions, properties: Mapping[str, str]) -> FileOptions:
    return replace(
        files,
        zstd_level=number_in(properties, "write.parquet.compression-level", _LEVEL, least=-(1 << 17)),
        unit_size=number_in(properties, "write.parquet.row-group-size-bytes", _ROW_GROUP, least=1),
    )


def _in_avro(files: FileOptions, properties: Mapping[str, str]) -> FileOptions:
    key = "write.avro.compression-level"
    if files.compression == "deflate":
        level = min(_DEFLATE, number_in(properties, key, _DEFLATE, least=0))
        return replace(files, deflate_level=level, avro_ids=True)
    level = number_in(properties, key, _AVRO_ZSTD, least=-(1 << 17))
    return replace(files, zstd_level=level, avro_ids=True)


def _in_orc(files: FileOptions, properties: Mapping[str, str]) -> FileOptions:
    """PyArrow has two levels of each codec, as Java's strategies are two."""
    names = properties.get("write.orc.bloom.filter.columns", "").split(",")
    key = "write.orc.bloom.filter.fpp"
    try:
        false_positives = float(properties.get(key, _ORC_FALSE_POSITIVES))
    except ValueError as error:
        raise InvalidOption(key, f"{properties[key]} is no number") from error
    layout = OrcOptions(
        filters=frozenset(name.strip().lower() for name in names if name.strip()),
        false_positives=false_positives,
        id_attribute=_ORC_IDS,
        is_described=True,
    )
    is_fast = properties.get("write.orc.compression-strategy", "speed").lower() == "speed"
    stripe = number_in(properties, "write.orc.stripe-size-bytes", _STRIPE, least=1)
    return replace(files, zstd_level=1 if is_fast else _LEVEL, unit_size=stripe, orc=layout)


_OPTIONS = {"parquet": _in_parquet, "avro": _in_avro, "orc": _in_orc}
"""How options are read that only files of a format have."""


def _parquet(properties: Mapping[str, str]) -> ParquetOptions:
    page, dictionary = (f"write.parquet.{name}-size-bytes" for name in ("page", "dict"))
    has_level = "write.parquet.compression-level" in properties
    return ParquetOptions(
        page=number_in(properties, page, 0, least=1) if page in properties else None,
        dictionary=number_in(properties, dictionary, 0, least=1) if dictionary in properties else None,
        filters=_filters(properties),
        numbers_level=None if has_level else _NUMBERS_LEVEL,
    )


def _filters(properties: Mapping[str, str]) -> BloomFilterOptions:
    enabled = _by_column(properties, "write.parquet.bloom-filter-enabled.column.")
    wanted = {column: value.lower() == "true" for column, value in enabled.items()}
    rates = _by_column(properties, "write.parquet.bloom-filter-fpp.column.")
    distinct = _by_column(properties, "write.parquet.bloom-filter-ndv.column.")
    try:
        return BloomFilterOptions(
            by_column=wanted,
            distinct={column: int(value) for column, value in distinct.items() if wanted.get(column)},
            false_positives={column: float(rates.get(column, FALSE_POSITIVES)) for column in wanted},
        )
    except ValueError as error:
        raise InvalidOption("write.parquet.bloom-filter-*", str(error)) from error


def _metrics(properties: Mapping[str, str]) -> MetricsModes:
    prefix = "write.metadata.metrics."
    most = number_in(properties, f"{prefix}max-inferred-column-defaults", _MOST_INFERRED, least=0)
    default = properties.get(f"{prefix}default")
    modes = _by_column(properties, f"{prefix}column.")
    for name, mode in {"default": default or "full", **modes}.items():
        if not _MODE.fullmatch(mode.lower()):
            raise InvalidOption(f"{prefix}{name}", f"{mode} is no mode of metrics")
    lowered = {column: mode.lower() for column, mode in modes.items()}
    if default is None:
        return MetricsModes(by_column=lowered, first_columns=most)
    return MetricsModes(default.lower(), lowered, first_columns=1 << 31)


def _by_column(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
