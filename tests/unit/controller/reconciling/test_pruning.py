"""LakeTables are let go as they were judged, and only after lists that prove something."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from lithify.controller.api import Object
from lithify.controller.deciding.limits import OperatorLimits
from lithify.controller.deciding.problems import TableProblem, TableReason
from lithify.controller.deciding.pruning import PruneReason, Pruning
from lithify.controller.observing.request import TableList
from lithify.controller.reconciling.catalogs import Catalogs, _Listing
from lithify.controller.reconciling.pruning import carry_out
from lithify.controller.reconciling.store import Store
from lithify.errors import CatalogUnavailable, ClusterConflict, ClusterRefused
from lithify.resources.catalog import Catalog
from lithify.resources.names import ANNOTATION_DISCOVERED, LABEL_CATALOG, ObjectKey, ResourceKind
from lithify.resources.table import LakeTable
from support.deciding.discovered import catalog, made

OURS = {"manager": "lithify", "operation": "Update", "fieldsV1": {"f:metadata": {}, "f:spec": {}}}
STATUS = {"manager": "lithify", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}}
KUBECTL = {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {"f:identifier": {}}}}
ANNOTATED = {"manager": "kubectl-annotate", "operation": "Update", "fieldsV1": {"f:metadata": {}}}


@dataclass
class Server:
    """An `Api` with LakeTables, which refuses what concerns one of them."""

    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: str = ""
    deleted: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    patches: list[Object] = field(default_factory=list)

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        return self.tables.get(key.name)

    async def delete(self, kind: ResourceKind, key: ObjectKey, *, uid: str, version: str) -> None:
        if key.name == self.refused:
            raise ClusterRefused("delete", "forbidden")
        self.deleted.append((key.name, uid, version))

    async def patch(self, kind: ResourceKind, key: ObjectKey, patch: Object) -> Object:
        self.patches.append(patch)
        return {}


@dataclass
class Recorder:
    posted: list[str] = field(default_factory=list)

    async def post(self, kind: ResourceKind, about: object, severity: str, reason: str, message: str) -> None:
        self.posted.append(reason)


def live(table: LakeTable, *managers: Mapping[str, Any], version: str = "7") -> dict[str, Any]:
    metadata = {"name": table.metadata.name, "resourceVersion": version, "managedFields": [*managers]}
    return {"metadata": metadata}


ONE, TWO = made("db.a"), made("db.b")


def done(server: Server, of: Catalog, *tables: LakeTable) -> tuple[Pruning, list[str]]:
    recorder = Recorder()
    context: Any = SimpleNamespace(api=server, recorder=recorder)
    pruning = Pruning(PruneReason.PRUNED, "two went", tables or (ONE, TWO))
    return asyncio.run(carry_out(context, of, pruning, 500)), recorder.posted


def holding(*tables: LakeTable, **options: Any) -> Server:
    return Server({one.metadata.name: live(one, OURS, STATUS, ANNOTATED) for one in tables}, **options)


def test_deletes_name_the_version_that_was_judged() -> None:
    server = holding(ONE, TWO)
    assert done(server, catalog())[1] == ["Pruned"]
    assert server.deleted == [("db-a", "db.a", "7"), ("db-b", "db.b", "7")]


def test_orphans_lose_both_marks_and_nothing_else() -> None:
    server = holding(ONE)
    done(server, catalog("Orphan"), ONE)
    (patch,) = server.patches
    assert patch == {
        "metadata": {
            "uid": "db.a",
            "resourceVersion": "7",
            "labels": {LABEL_CATALOG: None},
            "annotations": {ANNOTATION_DISCOVERED: None},
        }
    }
    assert server.deleted == []


def test_keep_lets_nothing_go() -> None:
    server = holding(ONE, TWO)
    done(server, catalog("Keep"))
    assert (server.deleted, server.patches) == ([], [])


def test_what_somebody_else_has_applied_stays() -> None:
    server = holding(ONE, TWO)
    server.tables["db-a"] = live(ONE, OURS, STATUS, KUBECTL)
    pruning, posted = done(server, catalog())
    assert [name for name, *_ in server.deleted] == ["db-b"]
    assert (pruning.reason, posted) == (PruneReason.CHANGED_BY_PEOPLE, [])
    assert "db.a" in pruning.message


def test_what_was_changed_in_the_meantime_is_judged_again() -> None:
    server = holding(ONE, TWO)
    server.tables["db-a"] = live(ONE, OURS, version="8")
    with pytest.raises(ClusterConflict):
        done(server, catalog())
    assert [name for name, *_ in server.deleted] == ["db-b"]


def test_missing_rights_are_said_and_keep_no_other() -> None:
    server = holding(ONE, TWO, refused="db-a")
    pruning, posted = done(server, catalog())
    assert [name for name, *_ in server.deleted] == ["db-b"]
    assert (pruning.reason, posted) == (PruneReason.REFUSED, [])
    assert "forbidden" in pruning.message


@dataclass
class Lists:
    """What a catalog lists, one answer after the other."""

    answers: list[TableList | Exception]

    async def list_tables(self, *_: object) -> TableList:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Secrets:
    async def of_catalog(self, catalog: Catalog) -> dict[str, str]:
        return {}

    def version(self, catalog: ObjectKey) -> int:
        return 0


def listing_after(*answers: tuple[Catalog, TableList | Exception]) -> _Listing:
    """What is known after a catalog, as it was each time, has been listed."""
    context: Any = SimpleNamespace(
        secrets=Secrets(),
        observer=Lists([answer for _, answer in answers]),
        limits=OperatorLimits(),
        reach=lambda _: None,
        queue=SimpleNamespace(add=lambda *_: None),
        store=Store(),
    )
    catalogs = Catalogs(context, lambda: 0.0)
    for each, _ in answers:
        asyncio.run(catalogs._ask(each))
    return catalogs._listings[answers[0][0].metadata.key]


FIRST, SECOND = TableList(("db.a", "db.b"), 2), TableList(("db.a",), 1)


def changed(**metadata: Any) -> Catalog:
    return replace(catalog(), metadata=replace(catalog().metadata, **metadata))


def test_two_lists_in_a_row_are_known() -> None:
    found = listing_after((catalog(), FIRST), (catalog(), SECOND))
    assert (found.found, found.earlier) == (SECOND, FIRST)


@pytest.mark.parametrize("other", [changed(generation=2), changed(uid="c-2")], ids=["changed", "made anew"])
def test_a_list_of_another_catalog_confirms_nothing(other: Catalog) -> None:
    assert listing_after((catalog(), FIRST), (other, SECOND)).earlier is None


def test_a_list_that_fails_starts_the_count_again() -> None:
    silent = CatalogUnavailable("lake", "no answer")
    found = listing_after((catalog(), FIRST), (catalog(), silent))
    assert found.problem == TableProblem(TableReason.CATALOG_UNREACHABLE, str(silent))
    again = listing_after((catalog(), FIRST), (catalog(), silent), (catalog(), SECOND))
    assert (again.problem, again.earlier) == (None, None)
