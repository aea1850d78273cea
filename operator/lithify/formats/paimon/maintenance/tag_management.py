"""Tags of one Paimon table, created and deleted by time: see `formats.protocol.maintenance.Maintenance`.

Created by `paimon.maintaining`. Reads the history, asks `tags` what is due, and `expiry` which files only the
tags need that go. Source: Paimon's `TagAutoManager`. Java asks the neighbours of a tag whether they need its
files; here every holder is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from pypaimon.snapshot.snapshot import Snapshot

from lithify.clock import Clock
from lithify.columns.json_texts import parse_object
from lithify.errors import StalePlan, UnsupportedTable
from lithify.faults import failpoint
from lithify.formats.paimon.maintenance.deleting import check_holders, delete_files
from lithify.formats.paimon.maintenance.expiry import plan_tag_files
from lithify.formats.paimon.maintenance.history import History, read_history
from lithify.formats.paimon.maintenance.plan import Doomed
from lithify.formats.paimon.maintenance.refusals import expiry_refusals, tag_refusals
from lithify.formats.paimon.maintenance.tags import (
    DueTags,
    Tag,
    due_tags,
    names_of_due,
    parse_tag,
    time_fields,
)
from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.paimon.options.tag_options import TagOptions, read_tag_options
from lithify.formats.paimon.snapshots.holders import Holder, Holding
from lithify.formats.paimon.snapshots.snapshot_properties import is_same
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.maintenance import MOST_SAMPLES, Maintained, Maintenance, MaintenanceKind
from lithify.formats.protocol.model import SnapshotId
from lithify.io.small_files import MOST_SNAPSHOT

_STEM = f"{Holding.TAG}-"


@dataclass(frozen=True, slots=True)
class TagPlan:
    """What one run does to tags.

    Attributes:
        due: the tags that are created and deleted.
        snapshots: the snapshots that get tags, as they were when the plan was made, by id.
        doomed: the files that go with deleted tags.
        seen: all holders of the table then.
        latest: the newest snapshot then.
        oldest: the oldest snapshot of the table.
        texts: the content of each new tag.
    """

    due: DueTags
    snapshots: Mapping[int, Snapshot]
    doomed: Doomed
    seen: frozenset[Holder]
    latest: int
    oldest: SnapshotId | None
    texts: Mapping[str, str]

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.MANAGE_TAGS

    @property
    def is_empty(self) -> bool:
        """Whether no tag is due."""
        return not (self.due.created or self.due.deleted)

    @property
    def figures(self) -> Mapping[str, int]:
        """How many tags are created and deleted, and how many files of each kind go with these."""
        files = {name: count for name, count in self.doomed.figures.items() if name != "changelogFiles"}
        return {"createdTags": len(self.due.created), "deletedTags": len(self.due.deleted), **files}

    @property
    def samples(self) -> Sequence[str]:
        """Some of the tags, and what becomes of them."""
        return tuple(islice(names_of_due(self.due), MOST_SAMPLES))


class TagManagement(Maintenance[TagPlan]):
    """Creates and deletes tags of a table.

    Args:
        table: the table.
        options: the table's options, of which it reads which tags are created and deleted when it plans.
    """

    kind = MaintenanceKind.MANAGE_TAGS

    def __init__(self, table: PaimonTable, options: Mapping[str, str]) -> None:
        self._table = table
        self._read = options

    @cached_property
    def _options(self) -> TagOptions:
        return read_tag_options(self._read)

    def plan(self, clock: Clock) -> TagPlan:
        """See the Protocol."""
        table, now = self._table, clock.now()
        history = read_history(table)
        times = history.times
        tags = [*self._tags(history)]
        earliest = 0 if times is None else times.earliest
        due = due_tags(history.snapshots, earliest, tags, self._options, now)
        if due.created or due.deleted:
            refusals = (*expiry_refusals(table), *tag_refusals(table))
            if refusals:
                raise UnsupportedTable(table.name, refusals, "maintained")
        creation = self._options.creation
        kept = None if creation is None else creation.kept
        extra = {} if kept is None else time_fields(now, kept)
        return TagPlan(
            due=due,
            snapshots={number: history.snapshots[number] for number in due.created.values()},
            doomed=plan_tag_files(table, history, {f"{_STEM}{name}" for name in due.deleted}),
            seen=frozenset(each.holder for each in history.held),
            latest=history.latest or 0,
            oldest=None if times is None else snapshot_id(times.earliest),
            texts={name: self._text(number, extra) for name, number in due.created.items()},
        )

    def _tags(self, history: History) -> Iterator[Tag]:
        for each in history.held:
            holder = each.holder
            if holder.kind is Holding.TAG and holder.home == history.home:
                text = self._table.storage.read_text(holder.path, MOST_SNAPSHOT)
                if text is not None:
                    yield parse_tag(holder.path, holder.name.removeprefix(_STEM), each.snapshot.id, text)

    def _text(self, number: int, extra: Mapping[str, object]) -> str:
        """The content of a new tag: the text of its snapshot, with fields that this release does not know."""
        path = self._table.snapshots.path(number)
        text = self._table.storage.read_text(path, MOST_SNAPSHOT)
        if text is None:
            raise StalePlan(self._table.name, f"snapshot {number} expired")
        return json.dumps({**parse_object(text), **extra}, indent=2) if extra else text

    def execute(self, plan: TagPlan) -> Maintained:
        """See the Protocol. Old tags go first.

        As in Java, tags are too many only when one is created: after a crash that one is created by the next
        run, which so deletes what is left, too.
        """
        failpoint("tags-planned")
        if not plan.is_empty:
            check_holders(self._table, plan.seen, plan.latest)
            for snapshot in plan.snapshots.values():
                self._check_there(snapshot)
        delete_files(self._table, plan.doomed)
        for name in plan.due.deleted:
            self._table.storage.delete(self._path(name))
            self._table.storage.delete(self._success_path(name))
            failpoint("tag-deleted")
        for name in plan.due.created:
            self._create(plan, name)
            failpoint("tag-created")
        return Maintained(self.kind, plan.figures, plan.oldest, plan.samples)

    def _create(self, plan: TagPlan, name: str) -> None:
        """Writes a tag, unless there is one of its name; takes it back if its snapshot is gone by now."""
        snapshot = plan.snapshots[plan.due.created[name]]
        path = self._path(name)
        if not self._table.storage.create_text(path, plan.texts[name]):
            return
        try:
            self._check_there(snapshot)
        except StalePlan:
            self._table.storage.delete(path)
            raise
        creation = self._options.creation
        if creation is not None and creation.has_success_file:
            millis = snapshot.time_millis
            text = json.dumps({"creationTime": millis, "modificationTime": millis})
            self._table.storage.write_text(self._success_path(name), text)

    def _check_there(self, snapshot: Snapshot) -> None:
        found = self._table.snapshots.get(snapshot.id)
        if found is None or not is_same(found, snapshot):
            raise StalePlan(self._table.name, f"snapshot {snapshot.id} expired, which should get a tag")

    def _path(self, name: str) -> str:
        return f"{self._table.home}/{Holding.TAG}/{_STEM}{name}"

    def _success_path(self, name: str) -> str:
        return f"{self._table.home}/{Holding.TAG}/tag-success-file/{name}_SUCCESS"
