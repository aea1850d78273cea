"""Table options of random histories: what Lithify supports and Java 1.4.2 knows, as either allows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from java.fuzz.history import OUTSIDE

FORMATS: list[tuple[tuple[str, ...], int]] = [
    (("parquet",), 9),
    (("orc",), 3),
    (("avro",), 3),
    (("parquet", "orc"), 1),
    (("parquet", "avro"), 1),
    (("parquet", "orc", "avro"), 1),
]
"""The formats that a table has files of, and how often."""

_COMPRESSION = {
    "parquet": ["zstd", "snappy", "gzip", "lz4", "none"],
    "orc": ["zstd", "snappy", "zlib", "lz4", "none"],
    "avro": ["zstd", "snappy", "deflate", "null"],
}
_STATS = ["none", "counts", "full", "truncate(2)", "truncate(16)"]
_ANY: Mapping[str, Sequence[str]] = {
    "num-levels": ["2", "3", "4"],
    "num-sorted-run.compaction-trigger": ["2", "3", "4"],
    "compaction.max-size-amplification-percent": ["1", "50", "500"],
    "compaction.size-ratio": ["0", "20", "100"],
    "compaction.force-up-level-0": ["true"],
    "compaction.force-rewrite-all-files": ["true"],
    "compaction.total-size-threshold": ["3 kb", "1 mb"],
    "compaction.incremental-size-threshold": ["3 kb", "1 mb"],
    "ignore-delete": ["true"],
    "first-row.ignore-delete": ["true", "false"],
    "deduplicate.ignore-delete": ["true", "false"],
    "partial-update.ignore-delete": ["true", "false"],
    "write.sequence-number-init-mode": ["snapshot"],
    "metadata.stats-mode": _STATS,
    "metadata.stats-mode.per.level": ["0:none,5:full", "0:full,1:counts,2:none"],
    "metadata.stats-mode.per.level.0": _STATS,
    "metadata.stats-mode.per.level.5": _STATS,
    "metadata.stats-keep-first-n-columns": ["0", "1", "3"],
    "metadata.stats-dense-store": ["false"],
    "target-file-size": ["2 kb", "4 kb", "8 kb", "16 kb"],
    "data-file.thin-mode": ["true", "false"],
    "data-file.prefix": ["part-", "a b"],
    "data-file.path-directory": ["data", "a/b"],
    "file.suffix.include.compression": ["true"],
    "file.block-size": ["1 kb", "1 mb"],
    "file.compression.zstd-level": ["1", "5"],
    "parquet.block.size": ["1000"],
    "parquet.page.size": ["1024"],
    "parquet.dictionary.page.size": ["1024"],
    "parquet.enable.dictionary": ["true", "false"],
    "parquet.compression.codec.zstd.level": ["7"],
    "parquet.bloom.filter.enabled": ["true"],
    "variant.shredding.maxInferBufferRow": ["1", "7"],
    "variant.shredding.maxSchemaWidth": ["4", "12"],
    "variant.shredding.maxSchemaDepth": ["1", "2"],
    "variant.shredding.minFieldCardinalityRatio": ["0", "0.5"],
    "orc.stripe.size": ["1024"],
    "orc.row.index.stride": ["1000"],
    "orc.compress.size": ["1024"],
    "orc.compression.zstd.level": ["2"],
    "orc.timestamp-ltz.legacy.type": ["true", "false"],
    "orc.bloom.filter.columns": ["*"],
    "orc.bloom.filter.fpp": ["0.2"],
    "manifest.target-file-size": ["1 kb", "8 kb"],
    "manifest.merge-min-count": ["2", "3"],
    "manifest.full-compaction-threshold-size": ["1 kb", "16 kb"],
    "manifest.compression": ["snappy", "null", "deflate", "bzip2"],
    "manifest.delete-file-drop-stats": ["true"],
    "partition.default-name": ["__NOTHING__", "a b=%"],
}
"""Options that any table may have, and values that are not what they are by themselves."""
_ALWAYS_OFF_PEAK = {
    "compaction.offpeak.start.hour": "0",
    "compaction.offpeak.end.hour": "24",
    "compaction.offpeak-ratio": "50",
}
"""A history is the same at every hour."""
_OWN_CODEC: Mapping[str, tuple[str, Sequence[str]]] = {
    "parquet": ("parquet.compression", ["zstd", "snappy", "gzip", "lz4_raw", "uncompressed"]),
    "orc": ("orc.compress", ["zstd", "snappy", "zlib", "lz4", "none"]),
    "avro": ("avro.codec", ["zstandard", "snappy", "deflate", "null"]),
}
_OF_COLUMNS: Mapping[str, Sequence[str]] = {
    "fields.{}.stats-mode": _STATS,
    "parquet.enable.dictionary#{}": ["true", "false"],
    "parquet.bloom.filter.enabled#{}": ["true", "false"],
    "parquet.bloom.filter.expected.ndv#{}": ["10", "500"],
    "parquet.bloom.filter.fpp#{}": ["0.3"],
}
_EXTERNAL = "data-file.external-paths"
_WEIGHTS = f"{_EXTERNAL}.weights"
_PLACES = [f"file:{OUTSIDE}/a", f"file://{OUTSIDE}/b c%3A/", f"file:{OUTSIDE}/d"]
_STRATEGIES: Mapping[str, Mapping[str, str]] = {
    "round-robin": {},
    "entropy-inject": {},
    "specific-fs": {f"{_EXTERNAL}.specific-fs": "FILE"},
    "weight-robin": {_WEIGHTS: "1,3"},
    "none": {},
}
_SHREDDED: Sequence[Mapping[str, Any]] = (
    {"type": "INT"},
    {"type": {"type": "ARRAY", "element": "VARIANT"}},
    {
        "type": {
            "type": "ROW",
            "fields": [{"id": 0, "name": "a", "type": "BIGINT"}, {"id": 1, "name": "d", "type": "VARIANT"}],
        }
    },
)
"""Types that a table may give for the variants of a column."""
VECTORS = "deletion-vectors.enabled"
LATER = (
    "metadata.stats-mode",
    "metadata.stats-dense-store",
    "num-levels",
    "num-sorted-run.compaction-trigger",
    "compaction.force-up-level-0",
    "compaction.force-rewrite-all-files",
    "compaction.total-size-threshold",
    "target-file-size",
    "data-file.thin-mode",
    "data-file.prefix",
    "file.suffix.include.compression",
    "parquet.bloom.filter.enabled",
    "manifest.compression",
    "manifest.merge-min-count",
    "ignore-delete",
)
"""Those that histories change later on."""


def draw_options(random: Random, formats: Sequence[str]) -> dict[str, str]:
    """Options that depend on no column."""
    options = {"bucket": random.choice(["1", "1", "2", "3", "-1"])}
    if options["bucket"] == "-1":
        options["dynamic-bucket.target-row-num"] = random.choice(["5", "40"])
    share = random.choice([0.0, 0.05, 0.2])
    options.update({name: random.choice(values) for name, values in _ANY.items() if random.random() < share})
    if random.random() < share:
        options.update(_ALWAYS_OFF_PEAK)
    if random.random() < 0.12:
        options.update(draw_outside(random))
    options["file.format"] = random.choice(formats)
    options.update(_compression(random, formats, share))
    if len(formats) > 1:
        options.update(_by_level(random, "file.format", formats))
    return options


def draw_outside(random: Random, before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Where files go that are not to lie in the table's folder; the paths of before stay listed."""
    strategy = random.choice([*_STRATEGIES])
    count = 2 if strategy == "weight-robin" else random.randint(1, 3)
    paths = random.sample(_PLACES, count)
    options = {f"{_EXTERNAL}.strategy": strategy, **_STRATEGIES[strategy]}
    # Lithify leaves out buckets with files where the list no longer is.
    listed = [path for path in (before or {}).get(_EXTERNAL, "").split(",") if path and path not in paths]
    if _WEIGHTS in options:
        options[_WEIGHTS] += ",1" * len(listed)
    return {_EXTERNAL: ",".join([*paths, *listed]), **options}


def draw_shredded(random: Random, column: str) -> dict[str, str]:
    """Into what the variants of a column are shredded."""
    if random.random() < 0.6:
        return {"variant.inferShreddingSchema": "true"}
    fields = [{"id": 0, "name": column, **random.choice(_SHREDDED)}]
    return {"parquet.variant.shreddingSchema": json.dumps({"type": "ROW", "fields": fields})}


def draw_of_columns(random: Random, columns: Sequence[str]) -> dict[str, str]:
    """Options of single columns."""
    if random.random() < 0.8:
        return {}
    drawn = [(random.choice([*_OF_COLUMNS]), name) for name in random.sample(columns, min(3, len(columns)))]
    return {option.format(name): random.choice(_OF_COLUMNS[option]) for option, name in drawn}


def draw_later(random: Random) -> tuple[str, str]:
    """An option and what it becomes."""
    name = random.choice(LATER)
    return name, random.choice(_ANY[name])


def _compression(random: Random, formats: Sequence[str], share: float) -> dict[str, str]:
    options = {}
    codecs = [
        codec
        for codec in _COMPRESSION[formats[0]]
        if all(codec in _COMPRESSION[others] for others in formats)
    ]
    if random.random() < 0.4:
        options["file.compression"] = random.choice(codecs)
    if random.random() < share:
        options.update(_by_level(random, "file.compression", codecs))
    for name in formats:
        if random.random() < share:
            option, values = _OWN_CODEC[name]
            options[option] = random.choice(values)
    return options


def _by_level(random: Random, option: str, values: Sequence[str]) -> dict[str, str]:
    """A value for each of some levels, in either spelling."""
    levels = sorted(random.sample(range(6), random.randint(1, 4)))
    drawn = {str(level): random.choice(values) for level in levels}
    if random.random() < 0.5:
        return {f"{option}.per.level": ",".join(":".join(pair) for pair in drawn.items())}
    return {f"{option}.per.level.{level}": value for level, value in drawn.items()}
