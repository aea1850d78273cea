"""The objects of the benchmark: a Catalog, a policy, LakeTables, and Compactions that have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from lithify.controller.api import Api, Object
from lithify.controller.deciding.names import run_name
from lithify.resources.names import (
    CATALOG,
    COMPACTION,
    LABEL_TABLE,
    LAKE_TABLE,
    POLICY,
    ObjectKey,
    ResourceKind,
)

POLICY_NAME = "default"
AT_A_TIME = 16
"""Requests; more would only wait in the API server."""

Given = TypeVar("Given")


async def create_all(
    api: Api, namespace: str, warehouse: Path, identifiers: list[str], compactions: int
) -> list[str]:
    """Creates everything; returns the names of the LakeTables."""
    await api.create(POLICY, namespace, made(POLICY, POLICY_NAME, {"checkIntervalSeconds": 60}))
    await api.create(CATALOG, namespace, made(CATALOG, "lake", {"warehouse": str(warehouse)}))

    async def create(identifier: str) -> Object:
        return await _create_table(api, namespace, "lake", identifier)

    async def run(number: int) -> None:
        await _create_run(api, tables[number % len(tables)], number // len(tables) + 1)

    tables: list[Object] = []
    await _each(identifiers, lambda identifier: _kept(create(identifier), tables))
    await _each(range(compactions), run)
    return [table["metadata"]["name"] for table in tables]


async def create_tables(api: Api, namespace: str, catalog: str, identifiers: list[str]) -> list[str]:
    """Creates LakeTables of a Catalog; returns their names."""
    tables: list[Object] = []
    await _each(
        identifiers, lambda identifier: _kept(_create_table(api, namespace, catalog, identifier), tables)
    )
    return [table["metadata"]["name"] for table in tables]


async def delete_tables(api: Api, namespace: str, names: list[str]) -> None:
    """Deletes LakeTables."""
    await _each(names, lambda name: api.delete(LAKE_TABLE, ObjectKey(namespace, name)))


async def _create_table(api: Api, namespace: str, catalog: str, identifier: str) -> Object:
    spec = {"catalogRef": {"name": catalog}, "identifier": identifier}
    return await api.create(LAKE_TABLE, namespace, made(LAKE_TABLE, name_of(identifier), spec))


def suspended_run(table: str, number: int) -> Object:
    """A Compaction that starts nothing."""
    spec = {"tableRef": {"name": table}, "suspend": True}
    return made(COMPACTION, f"{table}-reaction-{number}", spec)


async def _create_run(api: Api, table: Object, number: int) -> None:
    """Creates a Compaction as the operator does, and writes into its status that it has succeeded."""
    meta = table["metadata"]
    name = run_name(meta["name"], number, meta["uid"])
    body = made(COMPACTION, name, {"tableRef": {"name": meta["name"]}, "cause": "made by the benchmark"})
    body["metadata"] |= {
        "labels": {LABEL_TABLE: meta["name"]},
        "ownerReferences": [
            {
                "apiVersion": LAKE_TABLE.api_version,
                "kind": LAKE_TABLE.name,
                "name": meta["name"],
                "uid": meta["uid"],
                "controller": True,
            }
        ],
    }
    await api.create(COMPACTION, meta["namespace"], body)
    key = ObjectKey(meta["namespace"], name)
    await api.patch(COMPACTION, key, {"status": _success(number)}, subresource="status")


def _success(number: int) -> Object:
    begun = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1) + timedelta(seconds=number)
    ended = begun + timedelta(seconds=30)
    condition = {
        "type": "Succeeded",
        "status": "True",
        "reason": "Compacted",
        "message": "412 files became 9",
        "lastTransitionTime": _text(ended),
        "observedGeneration": 1,
    }
    return {
        "observedGeneration": 1,
        "automatic": {},
        "conditions": [condition],
        "attempts": 1,
        "startTime": _text(begun),
        "stageTime": _text(ended),
        "completionTime": _text(ended),
        "duration": "30s",
        "files": "412→9",
        "result": {"inputFiles": 412, "outputFiles": 9, "inputBytes": 1 << 30, "outputBytes": 1 << 29},
        "committedSnapshotId": "2",
    }


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def name_of(identifier: str) -> str:
    """The LakeTable of a table."""
    return identifier.replace(".", "-")


def made(kind: ResourceKind, name: str, spec: Object) -> Object:
    """An object to be created."""
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": spec}


async def _kept(answer: Awaitable[Object], kept: list[Object]) -> None:
    kept.append(await answer)


async def _each(given: Iterable[Given], work: Callable[[Given], Awaitable[None]]) -> None:
    """Does the work for each of many, some at a time."""
    left = iter(given)

    async def some() -> None:
        for one in left:
            await work(one)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_A_TIME):
            group.create_task(some())
