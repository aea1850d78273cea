"""The controller's cache of the cluster's objects: typed, indexed, as new as the newest event.

Filled by events and by the controller's own writes; read by the reconcilers. Holds models, not raw bodies:
fields without a reader are dropped when an object is parsed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from lithify.controller.cluster.table_lock import main_identifier
from lithify.controller.reconciling.unreadable import Unreadable
from lithify.resources.catalog import Catalog
from lithify.resources.compaction import Compaction
from lithify.resources.names import ObjectKey
from lithify.resources.objects import Metadata
from lithify.resources.policy import CompactionPolicy, CompactionPolicySpec
from lithify.resources.table import LakeTable

Resource = TypeVar("Resource", Catalog, LakeTable, CompactionPolicy, Compaction)


class Shelf(Generic[Resource]):
    """The objects of one kind, with those that refer to each object of another kind."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, Resource] = {}
        self._users: dict[tuple[str, ObjectKey], set[ObjectKey]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Resource]:
        return iter(list(self._objects.values()))

    def keys(self) -> set[ObjectKey]:
        """All keys."""
        return set(self._objects)

    def get(self, key: ObjectKey) -> Resource | None:
        """An object, None if there is none."""
        return self._objects.get(key)

    def using(self, relation: str, key: ObjectKey) -> list[Resource]:
        """The objects that refer to `key` as their `catalog`, `policy`, `identifier`, `table` or `lead`."""
        return [self._objects[user] for user in self._users.get((relation, key), ())]

    def put(self, found: Resource) -> bool:
        """Stores an object; returns False if the stored version is the same or newer."""
        key = found.metadata.key
        known = self._objects.get(key)
        if known is not None and not is_newer(known.metadata, found.metadata):
            return False
        self.drop(key)
        self._objects[key] = found
        for relation in _relations(found):
            self._users[relation].add(key)
        return True

    def drop(self, key: ObjectKey, uid: str | None = None) -> bool:
        """Removes an object unless the stored one has another uid."""
        known = self._objects.get(key)
        if known is None or (uid and known.metadata.uid != uid):
            return False
        del self._objects[key]
        for relation in _relations(known):
            self._users[relation].discard(key)
            if not self._users[relation]:
                del self._users[relation]
        return True


@dataclass(slots=True)
class Store:
    """All kinds."""

    catalogs: Shelf[Catalog] = field(default_factory=Shelf[Catalog])
    tables: Shelf[LakeTable] = field(default_factory=Shelf[LakeTable])
    policies: Shelf[CompactionPolicy] = field(default_factory=Shelf[CompactionPolicy])
    compactions: Shelf[Compaction] = field(default_factory=Shelf[Compaction])
    unreadable: dict[tuple[str, ObjectKey], Unreadable] = field(default_factory=dict)
    """Unreadable objects, by kind and key; a shelf may still hold an older, readable version."""

    def table_of(self, run: Compaction) -> LakeTable | None:
        """The LakeTable of a Compaction."""
        return self.tables.get(ObjectKey(run.metadata.namespace, run.spec.table_ref.name))

    def policy_of(self, table: LakeTable) -> CompactionPolicy | None:
        """The policy of a LakeTable."""
        return self.policies.get(ObjectKey(table.metadata.namespace, table.spec.policy_ref.name))

    def rules_of(self, table: LakeTable | None) -> CompactionPolicySpec:
        """The spec of a LakeTable's policy; the defaults if either is missing."""
        policy = self.policy_of(table) if table else None
        return policy.spec if policy else CompactionPolicySpec()

    def catalog_of(self, table: LakeTable) -> Catalog | None:
        """The catalog of a LakeTable."""
        return self.catalogs.get(ObjectKey(table.metadata.namespace, table.spec.catalog_ref.name))

    def namesakes_of(self, table: LakeTable) -> list[LakeTable]:
        """LakeTables with the same namespace and identifier, in any catalog; includes the table itself."""
        return self.tables.using("identifier", _identifier(table))

    def runs_of(self, table: ObjectKey) -> list[Compaction]:
        """The Compactions of a LakeTable."""
        return self.compactions.using("table", table)


def _relations(found: Catalog | LakeTable | CompactionPolicy | Compaction) -> list[tuple[str, ObjectKey]]:
    namespace = found.metadata.namespace
    if isinstance(found, LakeTable):
        return [
            ("catalog", ObjectKey(namespace, found.spec.catalog_ref.name)),
            ("policy", ObjectKey(namespace, found.spec.policy_ref.name)),
            ("identifier", _identifier(found)),
        ]
    if isinstance(found, Compaction):
        table = ("table", ObjectKey(namespace, found.spec.table_ref.name))
        shared = found.status.shared_run
        return [table] if shared is None else [table, ("lead", ObjectKey(namespace, shared.lead))]
    return []


def _identifier(table: LakeTable) -> ObjectKey:
    """A table's identifier in one of its spellings."""
    return ObjectKey(table.metadata.namespace, main_identifier(table.spec.identifier))


def is_newer(old: Metadata, new: Metadata) -> bool:
    """Whether an object is newer than the known one: an event may follow the response to our own write."""
    if old.uid != new.uid:
        return True
    if not (old.resource_version.isdigit() and new.resource_version.isdigit()):
        return old.resource_version != new.resource_version
    return int(new.resource_version) > int(old.resource_version)
