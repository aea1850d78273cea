"""Puts the details of plans and runs into the fields that statuses have for them. Pure.

Used by `reasons` and by drivers. The fields are part of the custom resources, so they stay as users know
them; a format without a detail leaves its field zero. Details without a field are only in reports.
"""

from __future__ import annotations

from collections.abc import Mapping

from lithify.resources.compaction import PlanSummary

_OF_PLANS = ("upgraded_files", "unread_files")
"""Totals of plans that have a field."""


def plan_summary(groups: int, tasks: int, files: int, size: int, totals: Mapping[str, int]) -> PlanSummary:
    """The summary of a plan; `size` is in bytes, `totals` are the adapter's figures by name."""
    details = {name: totals.get(name, 0) for name in _OF_PLANS}
    return PlanSummary(buckets=groups, tasks=tasks, files=files, bytes=size, **details)


def upgraded_files(totals: Mapping[str, int]) -> int:
    """The number of files that a run changed in metadata only, from the totals of its report."""
    return totals.get("upgraded", 0)
