"""A policy's triggers as options of the table format.

Used where triggers are evaluated (observations) and where they are followed (runs). Options that no object
sets are left to the table's own options and, after these, to the format's defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lithify.resources.policy import (
    AppendTriggers,
    CompactionPolicySpec,
    OffPeakHours,
    PrimaryKeyTriggers,
)
from lithify.resources.quantities import quantity_bytes
from lithify.resources.table import LakeTable

LARGEST_SIZE = (1 << 63) - 1


def table_overrides(policy: CompactionPolicySpec | None, table: LakeTable) -> Mapping[str, str]:
    """The options that override the table's own: the LakeTable's before the policy's, sorted by name."""
    options: dict[str, str] = {}
    if policy is not None:
        options |= _triggers(policy.triggers.primary_key)
        options |= _append_triggers(policy.triggers.append)
        if policy.off_peak is not None:
            options |= _off_peak(policy.off_peak)
    options |= table.spec.table_options
    return dict(sorted(options.items()))


def _triggers(triggers: PrimaryKeyTriggers) -> dict[str, str]:
    return dict(_set_triggers(triggers))


def _set_triggers(triggers: PrimaryKeyTriggers) -> Iterator[tuple[str, str]]:
    numbers = {
        "num-sorted-run.compaction-trigger": triggers.sorted_runs,
        "compaction.max-size-amplification-percent": triggers.size_amplification_percent,
        "compaction.size-ratio": triggers.size_ratio_percent,
    }
    sizes = {
        "compaction.total-size-threshold": triggers.total_size_below,
        "compaction.incremental-size-threshold": triggers.incremental_size_above,
    }
    yield from ((name, str(number)) for name, number in numbers.items() if number is not None)
    # Plain bytes: Paimon's units differ, and its sizes must fit into a long.
    given = {name: quantity_bytes(size) for name, size in sizes.items() if size is not None}
    yield from ((name, f"{min(size, LARGEST_SIZE)} b") for name, size in given.items())
    if triggers.optimization_interval_seconds is not None:
        yield "compaction.optimization-interval", f"{triggers.optimization_interval_seconds} s"


def _append_triggers(triggers: AppendTriggers) -> dict[str, str]:
    options = {}
    if triggers.small_files is not None:
        options["compaction.min.file-num"] = str(triggers.small_files)
    if triggers.delete_ratio_percent is not None:
        options["compaction.delete-ratio-threshold"] = str(triggers.delete_ratio_percent / 100)
    if triggers.small_file_age_seconds is not None:
        options["lithify.small-file-age"] = f"{triggers.small_file_age_seconds} s"
    return options


def _off_peak(hours: OffPeakHours) -> dict[str, str]:
    return {
        "compaction.offpeak.start.hour": str(hours.start_hour),
        "compaction.offpeak.end.hour": str(hours.end_hour),
        "compaction.offpeak-ratio": str(hours.size_ratio_percent),
    }
