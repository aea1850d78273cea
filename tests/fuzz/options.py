"""Table options of random histories: what Lithify supports and Java 1.4.2 knows, as either allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

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
    "compaction.small-file-ratio": ["0.1", "1.0"],
    "ignore-delete": ["true"],
    "write.sequence-number-init-mode": ["snapshot"],
    "metadata.stats-mode": _STATS,
    "metadata.stats-mode.per.level": ["0:none,5:full", "0:full,1:counts,2:none"],
    "metadata.stats-keep-first-n-columns": ["0", "1", "3"],
    "metadata.stats-dense-store": ["false"],
    "data-file.thin-mode": ["true"],
    "data-file.prefix": ["part-"],
    "data-file.path-directory": ["data", "a/b"],
    "file.suffix.include.compression": ["true"],
    "file.block-size": ["1 kb", "1 mb"],
    "file.compression.zstd-level": ["1", "5"],
    "parquet.bloom.filter.enabled": ["true"],
    "orc.bloom.filter.columns": ["*"],
    "manifest.target-file-size": ["1 kb", "8 kb"],
    "manifest.merge-min-count": ["2", "3"],
    "manifest.full-compaction-threshold-size": ["1 kb", "16 kb"],
    "manifest.compression": ["snappy", "null"],
    "partition.default-name": ["__NOTHING__"],
}
"""Options that any table may have, and values that are not what they are by themselves."""
LATER = (
    "metadata.stats-mode",
    "metadata.stats-dense-store",
    "num-sorted-run.compaction-trigger",
    "compaction.force-rewrite-all-files",
)
"""Those that histories change later on."""


def draw_options(random: Random, formats: Sequence[str]) -> dict[str, str]:
    """Options that depend on no column."""
    options = {"bucket": random.choice(["1", "1", "2", "3", "-1"])}
    if options["bucket"] == "-1":
        options["dynamic-bucket.target-row-num"] = random.choice(["5", "40"])
    share = random.choice([0.0, 0.1, 0.3])
    options.update({name: random.choice(values) for name, values in _ANY.items() if random.random() < share})
    if random.random() < 0.4:
        options["file.compression"] = random.choice(_shared([_COMPRESSION[each] for each in formats]))
    options["file.format"] = random.choice(formats)
    if len(formats) > 1:
        levels = sorted(random.sample(range(6), random.randint(1, 4)))
        drawn = {str(level): random.choice(formats) for level in levels}
        if random.random() < 0.5:
            options["file.format.per.level"] = ",".join(":".join(pair) for pair in drawn.items())
        else:
            options.update({f"file.format.per.level.{level}": kind for level, kind in drawn.items()})
    return options


def draw_later(random: Random) -> tuple[str, str]:
    """An option and what it becomes."""
    name = random.choice(LATER)
    return name, random.choice(_ANY[name])


def _shared(choices: Sequence[Sequence[str]]) -> list[str]:
    return [codec for codec in choices[0] if all(codec in others for others in choices)]
