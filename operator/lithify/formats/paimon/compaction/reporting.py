"""The report of the unit of a bucket, whatever the kind of table.

Called by steps once their commit has succeeded. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from lithify.formats.paimon.compaction.plan import BucketUnit
from lithify.formats.paimon.manifests.entries import FileMeta
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.details import LEVELS_AFTER, LEVELS_BEFORE, REACHED_LEVEL, UPGRADED
from lithify.formats.paimon.planning.universal.levels import Levels
from lithify.formats.protocol.details import Detail
from lithify.formats.protocol.results import GroupReport, TaskOutputs, Totals, slots_of


def bucket_report(unit: BucketUnit, outputs: TaskOutputs, levels: Levels | None = None) -> GroupReport:
    """The report of one unit.

    Args:
        unit: the unit.
        outputs: its new files, index files among them.
        levels: all files of the bucket before the compaction; None where files have no levels.
    """
    before, after = _levels(unit, len(outputs.data), levels)
    return GroupReport(
        group=unit.bucket.path,
        trigger=unit.trigger,
        reason=unit.reason,
        before=totals(unit.rewritten),
        after=totals(outputs.data),
        details=(
            Detail(REACHED_LEVEL, unit.output_level),
            Detail(UPGRADED, len(unit.upgraded)),
            Detail(LEVELS_BEFORE, before),
            Detail(LEVELS_AFTER, after),
        ),
        other_files=slots_of(
            changelog=totals(outputs.changelog),
            index=sum((Totals(1, index.size) for index in outputs.index), Totals()),
        ),
        copied_bytes=outputs.copied_bytes,
    )


def _levels(
    unit: BucketUnit, added: int, levels: Levels | None
) -> tuple[Mapping[int, int], Mapping[int, int]] | tuple[None, None]:
    """The number of files in each level before and after; None where files have no levels."""
    if levels is None or unit.output_level is None:
        return None, None
    before = Counter(file.level for run in levels.runs for file in run.files)
    after = before - Counter(file.level for file in unit.inputs)
    after[unit.output_level] += len(unit.upgraded) + added
    return dict(sorted(before.items())), {level: files for level, files in sorted(after.items()) if files}


def totals(files: Sequence[DataFile | FileMeta]) -> Totals:
    """Files, bytes and rows of some files."""
    return sum((Totals(1, file.size, file.rows) for file in files), Totals())
