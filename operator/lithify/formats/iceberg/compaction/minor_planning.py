"""Plans minor units: which deletes of a view are written again, and which are dropped.

Called by `planning`. A unit that joins deletes has all files of its partition to which its equality deletes
apply, so that the commit can drop these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Numbers, listed, taken
from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.minor_units import MinorUnit
from lithify.formats.iceberg.compaction.plan import PinnedView
from lithify.formats.iceberg.manifests.file_objects import FileObjects, delete_files_of
from lithify.formats.iceberg.model import Content, DataFile
from lithify.formats.iceberg.planning.figures import OTHER_SPECS
from lithify.formats.iceberg.planning.minor import minor_fingerprint
from lithify.formats.iceberg.planning.options import PlanningOptions
from lithify.formats.iceberg.planning.plan import RewritePlan
from lithify.formats.iceberg.planning.triggers import MINOR, RewriteTrigger, dangling_verdict
from lithify.formats.iceberg.planning.units import group_verdicts
from lithify.formats.iceberg.table.partition_paths import DANGLING, place_of, spec_of
from lithify.formats.iceberg.table.partition_values import seam_spec, seam_values
from lithify.formats.iceberg.table.schema_columns import schema_columns
from lithify.formats.protocol.model import TriggerVerdict


def minor_units(pinned: PinnedView, plan: RewritePlan, objects: FileObjects) -> Iterator[MinorUnit]:
    """The minor units of a plan, by partition: one that joins deletes, and one that moves vectors."""
    groups = np.unique(plan.groups[plan.minor.files | plan.minor.half_dead]).tolist()
    for group, told in group_verdicts(plan, groups).items():
        fired = {each.trigger: each for each in told if each.fired and each.trigger in MINOR}
        dead = fired.pop(RewriteTrigger.DEAD_VECTORS, None)
        if fired:
            yield _joining(pinned, plan, objects, group, next(iter(fired.values())))
        if dead is not None:
            yield _moving(pinned, plan, objects, group, dead)


def _joining(
    pinned: PinnedView, plan: RewritePlan, objects: FileObjects, group: int, why: TriggerVerdict
) -> MinorUnit:
    """The unit with all files to which the equality deletes of a partition apply."""
    view = pinned.view
    own = plan.minor.files_of(plan.groups, group)
    is_global = pinned.start.spec_id in pinned.metadata.unpartitioned_specs
    files = objects.data_files(np.concatenate([own, _of_other_specs(plan)]) if is_global else own)
    must_stay = frozenset(np.flatnonzero(plan.minor.crowded | plan.minor.freed).tolist())
    unit = _unit(pinned, plan, group, why, own, _paths(view.deletes, plan.minor.deletes_of(group)))
    return replace(
        unit,
        kept=tuple(file for file in files if file.row in must_stay or _may_be_deleted(file)),
        covered=tuple(file.path for file in files),
        equality=tuple(delete_files_of(view, plan.minor.equality.of(group).tolist())),
        moved=frozenset(_paths(view.deletes, plan.minor.shared_of(group))),
        freed=tuple(_paths(view.data, own[plan.minor.freed[own]])),
    )


def dropping_units(pinned: PinnedView, options: PlanningOptions) -> Iterator[MinorUnit]:
    """The unit that drops the deletes of the whole table that no data file needs, if they are many.

    It has no tasks: the commit of any unit drops them, and finds out again which they are.
    """
    why = dangling_verdict(len(pinned.dangling), options)
    if why.fired:
        dangling = tuple(delete_files_of(pinned.view, pinned.dangling.tolist()))
        fingerprint = minor_fingerprint((), (each.path for each in dangling))
        yield MinorUnit(
            group=IcebergGroup(DANGLING, fingerprint),
            files=(),
            partition=None,
            split_size=0,
            trigger=str(why.trigger),
            reason=why.detail,
            start=pinned.start,
            dangling=dangling,
        )


def _moving(
    pinned: PinnedView, plan: RewritePlan, objects: FileObjects, group: int, why: TriggerVerdict
) -> MinorUnit:
    """The unit with all files of a partition whose vectors are in half dead Puffin files.

    Equality deletes of these are none of its business.
    """
    rows = plan.minor.moved_of(plan.groups, group)
    files = [replace(file, deletes=file.own_positions) for file in objects.data_files(rows)]
    moved = frozenset(each.path for file in files for each in file.deletes)
    unit = _unit(pinned, plan, group, why, rows, sorted(moved))
    return replace(unit, kept=tuple(files), moved=moved)


def _unit(
    pinned: PinnedView,
    plan: RewritePlan,
    group: int,
    why: TriggerVerdict,
    own: Numbers,
    deletes: Sequence[str],
) -> MinorUnit:
    """A unit without work, that is named by data files of a partition and paths of deletes."""
    metadata, spec_id = pinned.metadata, pinned.start.spec_id
    stored = spec_of(metadata, spec_id)
    partition = pinned.view.partitions.partition(int(plan.partitions[group]))
    return MinorUnit(
        group=IcebergGroup(
            place_of(partition, stored),
            minor_fingerprint(_paths(pinned.view.data, own), deletes),
            seam_values(seam_spec(metadata, spec_id, stored), stored, partition),
        ),
        files=(),
        partition=partition,
        split_size=0,
        trigger=str(why.trigger),
        reason=why.detail,
        start=pinned.start,
        columns=len(schema_columns(metadata.schemas[metadata.schema_id])) or 1,
    )


def _of_other_specs(plan: RewritePlan) -> Numbers:
    """Files of other specs that stay: equality deletes without partition apply to them, too."""
    figures = plan.figures
    newest = figures.equality.sequences.max(initial=0)
    is_older = (figures.partitions == OTHER_SPECS) & (figures.sequences < newest)
    return np.flatnonzero(is_older & ~plan.due_files)


def _paths(files: pa.Table, rows: Numbers) -> list[str]:
    return listed(taken(files.select(["file_path"]), rows)["file_path"])


def _may_be_deleted(file: DataFile) -> bool:
    """Whether statistics do not rule out that equality deletes delete rows of a file."""
    return any(each.content is Content.EQUALITY_DELETES for each in file.deletes)
