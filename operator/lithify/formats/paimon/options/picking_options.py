"""Table options that decide which files are compacted, and by whom.

Called by `table_options`; the results steer `planning`. Names and defaults are those of Paimon's CoreOptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lithify.engine.pack.options import PackingOptions
from lithify.files.options import FileOptions
from lithify.formats.paimon.options.changelog_options import (
    GENTLE_MILLIS,
    ChangelogOptions,
    ChangelogProducer,
    is_gentle,
    level0_trigger,
)
from lithify.formats.paimon.options.merge_engine import MergeEngine, merge_engine
from lithify.formats.paimon.options.option_reader import OptionReader, as_ratio, parse_millis
from lithify.formats.paimon.planning.merge_tree.policy import LoggedUpgrades, MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import EarlyFull, OffPeak, PickingRule
from lithify.sizes import parse_size

VECTORS = "deletion-vectors.enabled"
PICKING_RULE = "lithify.picking-rule"
"""The Paimon version whose picking rule applies where versions differ; see `PickingRule`."""

SMALL_FILE_AGE = "lithify.small-file-age"
"""Lithify's own: Paimon's coordinator counts its plans instead, and has no option."""

_DELETE_RATIO = 0.2
_LARGEST_SIZE = 1 << 62

_LOGGED = {
    ChangelogProducer.FULL_COMPACTION: LoggedUpgrades.TO_TOP,
    ChangelogProducer.LOOKUP: LoggedUpgrades.OF_LEVEL0,
}

# The first option that is set applies.
_WRITE_ONLY = ("write-only", "write.compaction-skip")


def is_write_only(options: Mapping[str, str]) -> bool:
    """Whether writers of the table leave compaction to others.

    Raises:
        InvalidOption: the option is neither true nor false.
    """
    reader = OptionReader(options)
    key = next((key for key in _WRITE_ONLY if key in options), _WRITE_ONLY[0])
    return reader.boolean(key, default=False)


def has_compacting_writers(options: Mapping[str, str]) -> bool:
    """Whether the table has deletion vectors that writers may change, too, since they are not write-only.

    Raises:
        InvalidOption: an option is neither true nor false.
    """
    return OptionReader(options).boolean(VECTORS, default=False) and not is_write_only(options)


def read_picking(reader: OptionReader, target: int) -> MergeTreeOptions:
    """Reads how files with levels are picked; `target` is the size of new files in bytes.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    trigger = reader.integer("num-sorted-run.compaction-trigger", 5, low=1)
    return MergeTreeOptions(
        num_levels=reader.integer("num-levels", trigger + 1, low=2),
        run_trigger=trigger,
        size_amplification_percent=reader.integer("compaction.max-size-amplification-percent", 200),
        size_ratio=reader.integer("compaction.size-ratio", 1),
        early_full=EarlyFull(
            interval_millis=reader.optional("compaction.optimization-interval", parse_millis),
            total_size=reader.optional("compaction.total-size-threshold", parse_size),
            incremental_size=reader.optional("compaction.incremental-size-threshold", parse_size),
        ),
        off_peak=_off_peak(reader),
        force_level0=reader.boolean("compaction.force-up-level-0", default=False),
        force_rewrite=reader.boolean("compaction.force-rewrite-all-files", default=False),
        target_file_size=target,
        small_file_size=_small_file_size(reader, target),
        rule=reader.optional(PICKING_RULE, PickingRule) or PickingRule.V1_4,
    )


def with_lookups(
    policy: MergeTreeOptions,
    reader: OptionReader,
    options: Mapping[str, str],
    changelog: ChangelogOptions,
    files: FileOptions,
) -> MergeTreeOptions:
    """The policy with what changelogs and lookups change of it.

    Readers of first-row and of tables with deletion vectors skip level 0, and changelogs by lookup need it
    empty, so Paimon leaves no files there. An upgrade of a level-0 file needs no lookup if the newest record
    wins whatever is above.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    logged = _LOGGED.get(changelog.producer, LoggedUpgrades.NONE)
    engine = merge_engine(options)
    if not (changelog.looks_up or policy.has_vectors or engine is MergeEngine.FIRST_ROW):
        return replace(policy, logged_upgrades=logged)
    is_newest = engine is MergeEngine.DEDUPLICATE and not reader.text("sequence.field", "")
    formats = {level: files.at(level).format for level in (0, *range(policy.num_levels), *files.levels)}
    return replace(
        policy,
        force_level0=True,
        level0_trigger=level0_trigger(reader, policy.run_trigger),
        level0_millis=GENTLE_MILLIS if is_gentle(reader) else None,
        looks_up=not is_newest,
        reformatted=frozenset(level for level, kind in formats.items() if kind != formats[0]),
        logged_upgrades=logged,
    )


def read_packing(reader: OptionReader, target: int, *, has_vectors: bool) -> PackingOptions:
    """Reads how small files are joined; the rows of a bucket have an order if there are several buckets.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    default = PackingOptions()
    return PackingOptions(
        is_ordered=reader.integer("bucket", -1) > 0,
        target_file_size=target,
        small_file_size=_small_file_size(reader, target),
        open_file_cost=reader.size("source.split.open-file-cost", default.open_file_cost),
        min_files=reader.integer("compaction.min.file-num", default.min_files),
        max_files=max(2, reader.integer("compaction.file-num-limit", default.max_files)),
        force_rewrite=reader.boolean("compaction.force-rewrite-all-files", default=False),
        leftover_millis=reader.duration(SMALL_FILE_AGE, default.leftover_millis),
        delete_ratio=_delete_ratio(reader) if has_vectors else None,
    )


def _delete_ratio(reader: OptionReader) -> float:
    ratio = reader.optional("compaction.delete-ratio-threshold", as_ratio)
    return _DELETE_RATIO if ratio is None else ratio


def _small_file_size(reader: OptionReader, target: int) -> int:
    """70 % of the target, computed as in Paimon 1.4, or by the ratio option of later versions."""
    ratio = reader.optional("compaction.small-file-ratio", as_ratio)
    return target // 10 * 7 if ratio is None else int(min(target * ratio, _LARGEST_SIZE))


def _off_peak(reader: OptionReader) -> OffPeak | None:
    start = reader.integer("compaction.offpeak.start.hour", -1)
    end = reader.integer("compaction.offpeak.end.hour", -1)
    if -1 in (start, end) or start == end:
        return None
    return OffPeak(start, end, reader.integer("compaction.offpeak-ratio", 0))
