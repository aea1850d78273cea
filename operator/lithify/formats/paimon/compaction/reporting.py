"""The report of the unit of a bucket, whatever the kind of table.

Called by steps once their commit has succeeded. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from lithify.formats.paimon.compaction.plan import BucketUnit
from lithify.formats.paimon.manifests.entries import FileMeta
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.universal.levels import Levels
from lithify.formats.protocol.results import GroupReport, Totals


def bucket_report(
    unit: BucketUnit, added: Sequence[FileMeta], levels: Levels | None = None, copied_bytes: int = 0
) -> GroupReport:
    """The report of one unit.

    Args:
        unit: the unit.
        added: the metadata of the new files.
        levels: all files of the bucket before the compaction; None where files have no levels.
        copied_bytes: bytes of the rewritten files that were copied without decoding them.
    """
    report = GroupReport(
        group=unit.bucket.path,
        trigger=unit.trigger,
        reason=unit.reason,
        output_level=unit.output_level,
        upgraded=len(unit.upgraded),
        before=totals(unit.rewritten),
        after=totals(added),
        copied_bytes=copied_bytes,
    )
    if levels is None or unit.output_level is None:
        return report
    before = Counter(file.level for run in levels.runs for file in run.files)
    after = before - Counter(file.level for file in unit.inputs)
    after[unit.output_level] += len(unit.upgraded) + len(added)
    return replace(
        report,
        levels_before=dict(sorted(before.items())),
        levels_after={level: files for level, files in sorted(after.items()) if files},
    )


def totals(files: Sequence[DataFile | FileMeta]) -> Totals:
    """Files, bytes and rows of some files."""
    return sum((Totals(1, file.size, file.rows) for file in files), Totals())
