"""Runs of maintenance: the texts and the fields of status that an outcome gives. Pure. Used by `ending`.

A run of maintenance has no commit that could be searched for, so its end is that of its driver.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lithify.amounts import count_of, figures_text
from lithify.contract.outcome import Outcome
from lithify.formats.protocol.maintenance import FOREIGN_FILES
from lithify.plain_text import plain_line
from lithify.resources.compaction import MaintenanceSummary, Reason

MAINTAINED = frozenset({Reason.MAINTAINED, Reason.PLANNED, Reason.NOTHING_TO_DO})
"""The ends of a run of maintenance that succeeded."""

_SHORT = 48
_LONGEST_SAMPLE = 512


def maintenance_text(outcome: Outcome) -> str:
    """The end of a run, as a sentence, for example `Done: 3 snapshots, 12 data files.`."""
    found = outcome.maintenance or MaintenanceSummary()
    told = _told(found)
    foreign = sum(figure.count for figure in found.figures if figure.name == FOREIGN_FILES)
    alone = f"; {count_of(foreign, 'file')} outside of the table's folders left alone" if foreign else ""
    if outcome.reason is Reason.NOTHING_TO_DO or not told:
        return f"There is nothing to do{alone}."
    oldest = found.oldest_snapshot_id
    left = f"; the oldest snapshot that is left is {oldest}" if oldest is not None else ""
    begin = "A run would change" if outcome.reason is Reason.PLANNED else "Done"
    return f"{begin}: {told}{alone}{left}."


def maintenance_fields(found: MaintenanceSummary | None) -> dict[str, Any]:
    """The fields of status: the summary, and what `kubectl get` shows as FILES."""
    if found is None:
        return {}
    samples = tuple(plain_line(each, _LONGEST_SAMPLE) for each in found.samples)
    return {"maintenance": replace(found, samples=samples), "files": _told(found)[:_SHORT] or None}


def _told(found: MaintenanceSummary) -> str:
    return figures_text({each.name: each.count for each in found.figures if each.name != FOREIGN_FILES})
