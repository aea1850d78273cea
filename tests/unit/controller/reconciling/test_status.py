"""Status is written if something changed, and only what did."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lithify.controller.api import Object
from lithify.controller.cluster.merge_patch import merge
from lithify.controller.reconciling.status import write_status
from lithify.controller.telemetry.credentials import concerning
from lithify.controller.telemetry.logs import credentials
from lithify.errors import ClusterConflict
from lithify.resources.modelling import plain
from lithify.resources.names import LAKE_TABLE, ObjectKey, ResourceKind
from lithify.resources.objects import Metadata, Reference
from lithify.resources.table import LakeTable, LakeTableSpec, LakeTableStatus

TABLE = LakeTable(
    metadata=Metadata(name="orders", namespace="team", uid="u1", resource_version="7"),
    spec=LakeTableSpec(catalog_ref=Reference(name="lake"), identifier="sales.orders"),
)


class OneObject:
    """An API server with one object, of some uid."""

    def __init__(self, uid: str = "u1") -> None:
        self.patches: list[Object] = []
        self._uid = uid

    async def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object | None:
        assert (kind, key, subresource) == (LAKE_TABLE, TABLE.metadata.key, "status")
        self.patches.append(patch)
        body = plain(TABLE)
        body["metadata"] |= {"uid": self._uid, "resourceVersion": "8"}
        return merge(body, {"status": patch["status"]})


@pytest.mark.asyncio
async def test_an_unchanged_status_is_not_written() -> None:
    api = OneObject()
    assert await write_status(api, LAKE_TABLE, TABLE, TABLE.status) is TABLE
    assert api.patches == []


@pytest.mark.asyncio
async def test_only_what_changed_is_written_and_what_is_unset_is_removed() -> None:
    api = OneObject()
    since = datetime(2026, 1, 1, tzinfo=UTC)
    old = replace(TABLE, status=LakeTableStatus(runs=1, due="because", held_until=since))
    written = await write_status(api, LAKE_TABLE, old, replace(old.status, runs=2, held_until=None))
    assert api.patches == [
        {"metadata": {"resourceVersion": "7"}, "status": {"runs": 2, "heldUntil": None}},
    ]
    assert written is not None
    assert written.metadata.resource_version == "8"


@pytest.mark.asyncio
async def test_an_object_that_was_created_anew_is_a_conflict() -> None:
    with pytest.raises(ClusterConflict):
        await write_status(OneObject("another"), LAKE_TABLE, TABLE, replace(TABLE.status, runs=2))


@pytest.mark.asyncio
async def test_texts_hold_no_credentials_and_names_stay_what_they_are() -> None:
    lake = ObjectKey("team", "lake")
    credentials.replace(lake, ["tr0ub4dor-and-3"])
    api = OneObject()
    said = "the catalog refused tr0ub4dor-and-3"
    status = LakeTableStatus(due=said, active_compaction="tr0ub4dor-and-3")
    with concerning(lake):
        written = await write_status(api, LAKE_TABLE, TABLE, status)
    assert written is not None
    assert "tr0ub4dor-and-3" not in str(written.status.due)
    assert written.status.active_compaction == "tr0ub4dor-and-3"
    with concerning(lake):
        assert await write_status(api, LAKE_TABLE, written, status) is written, "nothing is written twice"


@pytest.mark.asyncio
async def test_all_texts_are_plain_and_written_once() -> None:
    api = OneObject()
    hostile = "dt=\u202e1\x1b[31m/bucket-0\n  Ready: True"
    status = LakeTableStatus(due=hostile, table_uuid=hostile)
    written = await write_status(api, LAKE_TABLE, TABLE, status)
    assert written is not None
    assert written.status.due == written.status.table_uuid == r"dt=\u202e1\x1b[31m/bucket-0 Ready: True"
    assert await write_status(api, LAKE_TABLE, written, status) is written
