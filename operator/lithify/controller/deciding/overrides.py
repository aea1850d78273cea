"""A policy's triggers as options of the table format.

Used where triggers are evaluated (observations) and where they are followed (runs). Options that no object
sets are left to the table's own options and, after these, to the format's defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lithify.formats.declarations import Format, OffPeakOptions
from lithify.resources.figures import triggers_in
from lithify.resources.policy import CompactionPolicySpec, OffPeakHours
from lithify.resources.quantities import quantity_bytes
from lithify.resources.table import LakeTable


def table_overrides(
    policy: CompactionPolicySpec | None, table: LakeTable, its: Format | None
) -> Mapping[str, str]:
    """The options that override the table's own: the LakeTable's before the policy's, sorted by name.

    Triggers that the table's format does not declare say nothing about it. `its` is what the format declares;
    None if this release does not have it.
    """
    options: dict[str, str] = {}
    if policy is not None and its is not None:
        options |= _triggers(policy, its)
        if policy.off_peak is not None and its.off_peak is not None:
            options |= _off_peak(policy.off_peak, its.off_peak)
        if policy.yield_to_writers and its.yield_option:
            options[its.yield_option] = "true"
    options |= table.spec.table_options
    return dict(sorted(options.items()))


def _triggers(policy: CompactionPolicySpec, its: Format) -> Iterator[tuple[str, str]]:
    for trigger, value in triggers_in(policy.triggers, its.triggers):
        number = value if isinstance(value, int) else quantity_bytes(value)
        yield trigger.option, trigger.written(number)


def _off_peak(hours: OffPeakHours, options: OffPeakOptions) -> dict[str, str]:
    return {
        options.start_hour: str(hours.start_hour),
        options.end_hour: str(hours.end_hour),
        options.size_ratio_percent: str(hours.size_ratio_percent),
    }
