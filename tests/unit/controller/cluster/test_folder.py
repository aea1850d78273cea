"""A folder answers requests as an API server does."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from lithify.controller.api import Object
from lithify.controller.cluster.folder import FolderApi
from lithify.errors import ClusterConflict, ClusterExists, ClusterRefused, NotFound, StorageError
from lithify.resources.names import (
    COMPACTION,
    EVENT,
    LABEL_LOCK,
    LAKE_TABLE,
    LEASE,
    POD,
    SECRET,
    ObjectKey,
    ResourceKind,
)
from lithify.resources.validating import validated
from support.cases import case
from unit.controller.cluster.folders import (
    ORDERS,
    START,
    Folder,
    make_run,
    run_of,
    table,
    the_table,
    validate,
)

RUN = ObjectKey("default", "orders-1")
pytestmark = pytest.mark.asyncio


async def test_a_document_is_an_object_with_defaults_and_an_identity(folder: Folder) -> None:
    folder.save("a.yaml", table(labels="{team: x}"))
    found = await the_table(folder)
    assert found["spec"] == {"identifier": "sales.orders", "suspend": False}
    assert found["status"] == {"observedGeneration": -1}
    metadata = found["metadata"]
    assert (metadata["namespace"], metadata["generation"], metadata["labels"]) == (
        "default",
        1,
        {"team": "x"},
    )
    assert metadata["creationTimestamp"] == "2026-11-21T12:00:00Z"
    assert metadata["uid"]


async def test_times_are_in_utc_whatever_the_clocks_zone(folder: Folder) -> None:
    folder.now = START.astimezone(timezone(timedelta(hours=5)))
    folder.save("a.yaml", table())
    assert (await the_table(folder))["metadata"]["creationTimestamp"] == "2026-11-21T12:00:00Z"


async def test_status_and_the_rest_are_patched_apart(folder: Folder) -> None:
    folder.save("a.yaml", table())
    patch = {"spec": {"suspend": True}, "status": {"runs": 1}}
    status = await folder.api.patch(LAKE_TABLE, ORDERS, patch, subresource="status")
    assert status is not None
    assert (status["spec"]["suspend"], status["status"]["runs"]) == (False, 1)
    assert status["metadata"]["generation"] == 1
    whole = await folder.api.patch(LAKE_TABLE, ORDERS, {**patch, "status": {"runs": 2}})
    assert whole is not None
    assert (whole["spec"]["suspend"], whole["status"]["runs"]) == (True, 1)
    assert whole["metadata"]["generation"] == 2
    assert (folder.path / "a.yaml").read_text() == table(), "the user's file is the user's"


async def test_versions_grow_with_each_change_and_only_then(folder: Folder) -> None:
    folder.save("a.yaml", table())
    versions = [int((await the_table(folder))["metadata"]["resourceVersion"])]
    for runs in (1, 2, 2, 2, 3):
        patched = await folder.api.patch(LAKE_TABLE, ORDERS, {"status": {"runs": runs}}, subresource="status")
        assert patched is not None
        versions.append(int(patched["metadata"]["resourceVersion"]))
    assert versions == sorted(versions)
    assert len(set(versions)) == 4
    before = folder.state.stat()
    folder.settle()
    await folder.api.patch(LAKE_TABLE, ORDERS, {"status": {"runs": 3}}, subresource="status")
    assert folder.state.stat() == before, "nothing is written when nothing changes"
    folder.reopen()
    assert int((await the_table(folder))["metadata"]["resourceVersion"]) == versions[-1]
    made = await make_run(folder)
    assert int(made["metadata"]["resourceVersion"]) > versions[-1]


@pytest.mark.parametrize("name", ["resourceVersion", "uid"])
async def test_a_patch_for_another_version_or_object_is_a_conflict(folder: Folder, name: str) -> None:
    folder.save("a.yaml", table())
    known = (await the_table(folder))["metadata"][name]
    good = {"metadata": {name: known}, "status": {"runs": 1}}
    assert await folder.api.patch(LAKE_TABLE, ORDERS, good, subresource="status")
    with pytest.raises(ClusterConflict):
        await folder.api.patch(
            LAKE_TABLE, ORDERS, {"metadata": {name: "0"}, "status": {"runs": 2}}, subresource="status"
        )
    assert (await the_table(folder))["status"]["runs"] == 1


async def test_an_empty_folder_has_no_objects_to_read_or_change(folder: Folder) -> None:
    assert await folder.api.get(LAKE_TABLE, ORDERS) is None
    assert await folder.api.patch(LAKE_TABLE, ORDERS, {"spec": {}}) is None
    await folder.api.delete(LAKE_TABLE, ORDERS)
    assert await folder.api.get(POD, ORDERS) is None
    assert await folder.api.list(POD) == []


async def test_a_created_object_is_stored_and_read_again(folder: Folder) -> None:
    folder.save("a.yaml", table())
    made = await make_run(folder)
    assert made["apiVersion"] == COMPACTION.api_version
    assert made["kind"] == "Compaction"
    assert made["metadata"]["generation"] == 1
    assert await folder.api.get(COMPACTION, RUN) == made
    with pytest.raises(ClusterExists):
        await make_run(folder)
    folder.reopen()
    assert await folder.api.get(COMPACTION, RUN) == made
    assert folder.stored(COMPACTION) == [made], "people can read it"
    assert list(folder.stored(COMPACTION)[0]) == ["apiVersion", "kind", "metadata", "spec", "status"]


async def test_status_of_a_new_object_is_the_default(folder: Folder) -> None:
    body = {"metadata": {"name": "t"}, "spec": {"identifier": "a.b"}, "status": {"runs": 7}}
    made = await folder.api.create(LAKE_TABLE, "other", body)
    assert made["status"] == {"observedGeneration": -1}
    assert made["metadata"]["namespace"] == "other"


@pytest.mark.parametrize("name", ["a" * 253, "a" * 200, "b.c-d"])
async def test_names_of_any_length(folder: Folder, name: str) -> None:
    body = {"metadata": {"name": name}, "spec": {"identifier": "a.b"}}
    made = await folder.api.create(LAKE_TABLE, "n" * 63, body)
    folder.reopen()
    assert await folder.api.get(LAKE_TABLE, ObjectKey("n" * 63, name)) == made


@pytest.mark.parametrize(
    ("kind", "namespace", "body"),
    [
        case(
            LAKE_TABLE,
            "default",
            {"metadata": {"name": "t"}, "spec": {"identifier": "x"}},
            id="a rule is broken",
        ),
        case(LAKE_TABLE, "default", {"metadata": {"name": "../t"}, "spec": {}}, id="a name that is a path"),
        case(LAKE_TABLE, "../x", {"metadata": {"name": "t"}, "spec": {}}, id="a namespace that is a path"),
        case(LAKE_TABLE, "default", {"spec": {}}, id="no name"),
        case(LEASE, "default", {"metadata": {"name": "e"}, "count": {1, 2}}, id="no JSON"),
        case(SECRET, "default", {"metadata": {"name": "s"}}, id="a Secret"),
        case(POD, "default", {"metadata": {"name": "p"}}, id="a pod"),
    ],
)
async def test_a_refused_object_leaves_no_state(
    folder: Folder, kind: ResourceKind, namespace: str, body: Object
) -> None:
    with pytest.raises(ClusterRefused):
        await folder.api.create(kind, namespace, body)
    assert not folder.state.exists()


async def test_a_patch_that_breaks_a_rule_changes_nothing(folder: Folder) -> None:
    folder.save("a.yaml", table())
    before = await the_table(folder)
    with pytest.raises(ClusterRefused):
        await folder.api.patch(LAKE_TABLE, ORDERS, {"spec": {"identifier": None}})
    assert await the_table(folder) == before


async def test_rules_for_changes_see_what_was_before(folder: Folder) -> None:
    folder.save("a.yaml", table())
    await make_run(folder)
    assert await folder.api.patch(COMPACTION, RUN, {"spec": {"cancel": True}})
    assert await folder.api.patch(COMPACTION, RUN, {"status": {"attempts": 1}}, subresource="status")
    with pytest.raises(ClusterRefused):
        await folder.api.patch(COMPACTION, RUN, {"spec": {"cancel": False}})


async def test_the_rules_of_the_custom_resources(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "apiVersion: lithify.dev/v1alpha1\nkind: LakeTable\nmetadata: {name: orders}\n"
        "spec: {catalogRef: {name: lake}, identifier: sales.orders}\n---\n"
        "apiVersion: lithify.dev/v1alpha1\nkind: CompactionPolicy\nmetadata: {name: default}\n"
        "spec: {checkInterval: 3}\n"
    )
    api = FolderApi(tmp_path, validated, lambda: START)
    try:
        found = await api.get(LAKE_TABLE, ORDERS)
        assert found is not None
        assert found["spec"]["policyRef"] == {"name": "default"}
        assert found["status"]["observedGeneration"] == -1
        [flaw] = api.problems()
        assert (flaw.file, flaw.document) == ("a.yaml", 2)
        assert "spec.checkInterval" in flaw.message
        status = {"status": {"observedGeneration": 1, "runs": 2}}
        assert await api.patch(LAKE_TABLE, ORDERS, status, subresource="status")
        with pytest.raises(ClusterRefused):
            await api.patch(LAKE_TABLE, ORDERS, {"status": {"runs": -2}}, subresource="status")
        with pytest.raises(ClusterRefused):
            await api.patch(LAKE_TABLE, ORDERS, {"spec": {"identifier": "sales.other"}})
    finally:
        api.close()


async def test_lists_by_namespace_and_labels(folder: Folder) -> None:
    for namespace, name, labels in (("a", "x", {"t": "1", "u": "1"}), ("a", "y", {}), ("b", "x", {"t": "2"})):
        await folder.api.create(LEASE, namespace, {"metadata": {"name": name, "labels": labels}})

    async def found(namespace: str | None = None, labels: str = "") -> list[tuple[str, str]]:
        metadata = [one["metadata"] for one in await folder.api.list(LEASE, namespace, labels)]
        return [(one["namespace"], one["name"]) for one in metadata]

    assert await found() == [("a", "x"), ("a", "y"), ("b", "x")]
    assert await found("a") == [("a", "x"), ("a", "y")]
    assert await found(labels="t=1,u=1") == [("a", "x")]
    assert await found("b", "t=1") == []


async def test_answers_are_copies(folder: Folder) -> None:
    folder.save("a.yaml", table())
    found = await the_table(folder)
    found["spec"]["identifier"] = "spoilt"
    [listed] = await folder.api.list(LAKE_TABLE)
    listed["metadata"]["name"] = "spoilt"
    assert (await the_table(folder))["spec"]["identifier"] == "sales.orders"
    body: dict[str, Any] = run_of(await the_table(folder), "r")
    await folder.api.create(COMPACTION, "default", body)
    body["spec"]["cancel"] = "spoilt"
    made = await folder.api.get(COMPACTION, ObjectKey("default", "r"))
    assert made is not None
    assert made["spec"]["cancel"] is False


async def test_deleting_by_uid(folder: Folder) -> None:
    folder.save("a.yaml", table())
    made = await make_run(folder)
    await folder.api.delete(COMPACTION, RUN, uid="another")
    await folder.api.delete(COMPACTION, RUN, uid=made["metadata"]["uid"], version="0")
    assert await folder.api.get(COMPACTION, RUN) == made
    await folder.api.delete(COMPACTION, RUN, uid=made["metadata"]["uid"])
    assert await folder.api.get(COMPACTION, RUN) is None
    assert folder.stored(COMPACTION) == []
    again = await make_run(folder)
    assert again["metadata"]["uid"] != made["metadata"]["uid"]


async def test_what_is_owned_goes_with_its_owner(folder: Folder) -> None:
    folder.put("a.yaml", table())
    run = await make_run(folder)
    owner = {"kind": "Compaction", "name": "orders-1", "uid": run["metadata"]["uid"]}
    await folder.api.create(LEASE, "default", {"metadata": {"name": "lock", "ownerReferences": [owner]}})
    await folder.api.create(LEASE, "default", {"metadata": {"name": "other"}})
    folder.remove("a.yaml")
    assert await folder.api.get(COMPACTION, RUN) is None
    assert [one["metadata"]["name"] for one in await folder.api.list(LEASE)] == ["other"]


async def test_one_of_two_owners_is_enough(folder: Folder) -> None:
    folder.put("a.yaml", table())
    folder.put("b.yaml", table("users", "crm.users"))
    tables = [await the_table(folder, ObjectKey("default", name)) for name in ("orders", "users")]
    owners = [{"kind": "LakeTable", "name": "x", "uid": found["metadata"]["uid"]} for found in tables]
    await folder.api.create(LEASE, "default", {"metadata": {"name": "e", "ownerReferences": owners}})
    folder.remove("a.yaml")
    assert len(await folder.api.list(LEASE)) == 1
    folder.remove("b.yaml")
    assert await folder.api.list(LEASE) == []


async def test_leases_are_kept_whole(folder: Folder) -> None:
    made = await folder.api.create(
        LEASE, "default", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    )
    version = {"resourceVersion": made["metadata"]["resourceVersion"]}
    key = ObjectKey("default", "l")
    assert await folder.api.patch(LEASE, key, {"metadata": version, "spec": {"holderIdentity": "you"}})
    with pytest.raises(ClusterConflict):
        await folder.api.patch(LEASE, key, {"metadata": version, "spec": {"holderIdentity": "they"}})


async def test_locks_of_tables_outlive_the_process_and_leadership_does_not(folder: Folder) -> None:
    await folder.api.create(
        LEASE, "default", {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "me"}}
    )
    labels = {LABEL_LOCK: "true"}
    lock = await folder.api.create(LEASE, "default", {"metadata": {"name": "lock", "labels": labels}})
    written = folder.state.stat()
    await folder.api.patch(LEASE, ObjectKey("default", "leader"), {"spec": {"holderIdentity": "you"}})
    assert folder.state.stat() == written, "renewing a Lease writes nothing"
    assert await folder.reopen().list(LEASE) == [lock]


async def test_events_are_accepted_and_not_kept(folder: Folder) -> None:
    assert await folder.api.create(EVENT, "default", {"metadata": {"name": "e"}, "reason": "Due"})
    assert await folder.api.list(EVENT) == []
    assert not folder.state.exists()


async def test_secrets_are_read_one_by_one_and_never_stored(folder: Folder) -> None:
    head = "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\n"
    folder.save("s.yaml", f"{head}data: {{a: c2VjcmV0LWE=}}\nstringData: {{b: secret-b}}\n")
    found = await folder.api.get(SECRET, ObjectKey("default", "keys"))
    assert found is not None
    assert found["data"] == {"a": "c2VjcmV0LWE=", "b": "c2VjcmV0LWI="}
    with pytest.raises(ClusterRefused):
        await folder.api.list(SECRET)
    folder.put("s.yaml", f"{head}stringData: {{b: secret-c}}\n")
    changed = await folder.api.get(SECRET, ObjectKey("default", "keys"))
    assert changed is not None
    assert changed["data"] == {"b": "c2VjcmV0LWM="}
    stored = "".join(path.read_text() for path in (folder.path / ".lithify").rglob("*") if path.is_file())
    assert not any(word in stored for word in ("secret-", "c2VjcmV0"))
    assert await folder.reopen().get(SECRET, ObjectKey("default", "keys"))


async def test_one_process_at_a_time(folder: Folder) -> None:
    assert folder.api.problems() == []
    with pytest.raises(ClusterRefused) as refused:
        FolderApi(folder.path, validate, lambda: START)
    assert str(os.getpid()) in refused.value.problem
    folder.reopen()


async def test_a_folder_in_which_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / ".lithify").write_text("a file where the folder should be")
    with pytest.raises(StorageError):
        FolderApi(tmp_path, validate, lambda: START)


async def test_a_folder_that_is_missing_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        FolderApi(tmp_path / "missing", validate, lambda: START)


async def test_watching_tells_of_everything_and_then_of_changes(folder: Folder) -> None:
    folder.save("a.yaml", table())
    told: list[tuple[str, str, bool]] = []
    stop, enough = asyncio.Event(), asyncio.Event()

    def tell(kind: ResourceKind, found: Object, is_gone: bool) -> None:
        told.append((kind.name, found["metadata"]["name"], is_gone))
        enough.set()

    async def until(number: int) -> None:
        while len(told) < number:
            enough.clear()
            await asyncio.wait_for(enough.wait(), 20)

    watching = asyncio.create_task(folder.api.run(tell, stop))
    await until(1)
    folder.save("b.yaml", table("users", "crm.users"))
    await until(2)
    await make_run(folder)
    await folder.api.create(EVENT, "default", {"metadata": {"name": "e"}})
    (folder.path / "a.yaml").unlink()
    await until(5)
    stop.set()
    await asyncio.wait_for(watching, 20)
    assert told == [
        ("LakeTable", "orders", False),
        ("LakeTable", "users", False),
        ("Compaction", "orders-1", False),
        ("LakeTable", "orders", True),
        ("Compaction", "orders-1", True),
    ]
