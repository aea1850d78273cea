"""What people do to the files of a folder: saving, breaking, moving and removing them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from lithify.errors import ClusterConflict
from lithify.resources.names import COMPACTION, LAKE_TABLE, ObjectKey
from support.cases import case
from unit.controller.cluster.folders import ORDERS, Folder, make_run, run_of, table, the_table

RUN = ObjectKey("default", "orders-1")
USERS = ObjectKey("default", "users")
pytestmark = pytest.mark.asyncio


async def test_a_changed_spec_is_a_new_generation_of_the_same_object(folder: Folder) -> None:
    folder.save("a.yaml", table())
    first = await the_table(folder)
    await folder.api.patch(LAKE_TABLE, ORDERS, {"status": {"runs": 3}}, subresource="status")
    folder.put("a.yaml", table(more="  suspend: true\n"))
    second = await the_table(folder)
    assert second["metadata"]["uid"] == first["metadata"]["uid"]
    assert second["metadata"]["generation"] == 2
    assert second["status"]["runs"] == 3
    folder.put("a.yaml", table(more="  suspend: true\n", labels="{a: b}"))
    third = await the_table(folder)
    assert third["metadata"]["generation"] == 2, "labels are no spec"
    assert int(third["metadata"]["resourceVersion"]) > int(second["metadata"]["resourceVersion"])
    folder.put("a.yaml", "# a comment\n" + table(more="  suspend: true\n", labels="{a: b}"))
    assert await the_table(folder) == third


async def test_a_spec_that_changed_while_nobody_looked(folder: Folder) -> None:
    folder.save("a.yaml", table())
    first = await the_table(folder)
    folder.close()
    folder.save("a.yaml", table(identifier="sales.other"))
    second = await the_table(folder)
    assert second["metadata"]["uid"] == first["metadata"]["uid"]
    assert second["metadata"]["generation"] == 2


async def test_a_save_counts_once_two_looks_agree(folder: Folder) -> None:
    folder.put("a.yaml", table())
    folder.save("a.yaml", table(more="  suspend: true\n"))
    folder.api.look()
    assert (await the_table(folder))["spec"]["suspend"] is False
    folder.api.look()
    assert (await the_table(folder))["spec"]["suspend"] is True


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        case("", None, id="emptied by an editor, for a moment"),
        case(table()[:60] + "\n  'half", [1], id="cut off"),
        case("\x00\x01", [1], id="rubbish"),
        case(table(identifier="no-dot"), [1], id="a rule is broken"),
        case(table("users", "crm.users") + "---\nname: [", [2], id="a flaw in another document"),
        case("---\n" + table("users", "x") + "---\n" + table(), [1], id="another document breaks a rule"),
    ],
)
async def test_a_flawed_save_keeps_the_last_good_version(
    folder: Folder, text: str, documents: list[int] | None
) -> None:
    folder.put("a.yaml", table())
    good = await the_table(folder)
    run = await make_run(folder)
    folder.save("a.yaml", text)
    folder.api.look()
    if documents is not None:
        folder.settle()
        assert folder.messages() == [("a.yaml", number) for number in documents]
    assert await the_table(folder) == good
    assert await folder.api.get(COMPACTION, RUN) == run
    if documents is not None:
        folder.reopen().look()
        folder.settle()
        assert await the_table(folder) == good, "nor does a new process forget it"
        assert await folder.api.get(COMPACTION, RUN) == run
    folder.put("a.yaml", table())
    assert folder.messages() == []
    assert await the_table(folder) == good


async def test_a_file_that_cannot_be_read_keeps_its_objects(folder: Folder) -> None:
    folder.put("a.yaml", table())
    good = await the_table(folder)
    (folder.path / "a.yaml").write_bytes(b"\xff\xfe\xff")
    folder.settle()
    assert folder.messages() == [("a.yaml", 0)]
    assert await the_table(folder) == good


async def test_an_invalid_document_does_not_stop_the_others(folder: Folder) -> None:
    folder.save("a.yaml", table(identifier="wrong") + "---\n" + table("users", "crm.users"))
    folder.save("b.yaml", "kind: [")
    assert await folder.api.get(LAKE_TABLE, USERS)
    assert folder.messages() == [("a.yaml", 1), ("b.yaml", 1)]
    assert "spec.identifier" in folder.api.problems()[0].message


async def test_a_removed_file_takes_its_objects_along(folder: Folder) -> None:
    folder.put("a.yaml", table())
    await make_run(folder)
    folder.remove("a.yaml")
    assert await folder.api.get(LAKE_TABLE, ORDERS) is None
    assert await folder.api.get(COMPACTION, RUN) is None
    assert not list((folder.path / ".lithify").rglob("*.yaml"))


async def test_a_removed_document_takes_its_object_along(folder: Folder) -> None:
    folder.put("a.yaml", table() + "---\n" + table("users", "crm.users"))
    folder.put("a.yaml", table("users", "crm.users"))
    assert await folder.api.get(LAKE_TABLE, ORDERS) is None
    assert await folder.api.get(LAKE_TABLE, USERS)


async def test_a_file_that_was_removed_while_nobody_looked(folder: Folder) -> None:
    folder.put("a.yaml", table())
    await make_run(folder)
    folder.close()
    (folder.path / "a.yaml").unlink()
    assert await folder.api.get(LAKE_TABLE, ORDERS), "it may be in the middle of a save"
    folder.settle()
    assert await folder.api.list(LAKE_TABLE) == []
    assert await folder.api.list(COMPACTION) == []


async def test_an_editor_that_removes_before_it_writes(folder: Folder) -> None:
    folder.put("a.yaml", table())
    known = await the_table(folder)
    run = await make_run(folder)
    (folder.path / "a.yaml").unlink()
    folder.api.look()
    folder.save("a.yaml", table())
    folder.settle()
    assert await the_table(folder) == known
    assert await folder.api.get(COMPACTION, RUN) == run


async def test_only_what_was_seen_missing_is_another_object(folder: Folder) -> None:
    folder.put("a.yaml", table())
    known = await the_table(folder)
    folder.remove("a.yaml")
    folder.put("a.yaml", table())
    again = await the_table(folder)
    assert again["metadata"]["uid"] != known["metadata"]["uid"]
    assert again["metadata"]["generation"] == 1


async def test_moving_a_document_between_files_changes_nothing(folder: Folder) -> None:
    folder.put("a.yaml", table())
    known = await the_table(folder)
    (folder.path / "a.yaml").rename(folder.path / "b.yaml")
    folder.settle()
    assert await the_table(folder) == known
    folder.save("b.yaml", "# empty\n")
    folder.api.look()
    folder.save("c.yaml", table())
    folder.settle()
    assert await the_table(folder) == known
    folder.remove("c.yaml")
    assert await folder.api.get(LAKE_TABLE, ORDERS) is None


async def test_the_first_of_two_documents_counts(folder: Folder) -> None:
    folder.put("a.yaml", table())
    folder.put("b.yaml", table(identifier="other.one"))
    assert folder.messages() == [("b.yaml", 1)]
    assert (await the_table(folder))["spec"]["identifier"] == "sales.orders"
    folder.remove("a.yaml")
    assert folder.messages() == []
    assert (await the_table(folder))["spec"]["identifier"] == "other.one"


async def test_which_files_count(folder: Folder) -> None:
    for name in ("deep/er/a.yml", ".hidden/b.yaml", ".c.yaml", "d.yaml~", "e.txt"):
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(table(f"t{path.stem.strip('.')}", "a.b"))
    (folder.path / "link.yaml").symlink_to(folder.path / ".hidden" / "b.yaml")
    found = await folder.api.list(LAKE_TABLE)
    assert [one["metadata"]["name"] for one in found] == ["ta", "tb"]


async def test_deleting_leaves_the_file_and_lasts_until_that_changes(folder: Folder) -> None:
    text = table()
    folder.put("a.yaml", text)
    known = await the_table(folder)
    await folder.api.delete(LAKE_TABLE, ORDERS)
    for _ in range(2):
        folder.settle()
        assert await folder.api.get(LAKE_TABLE, ORDERS) is None
        folder.reopen()
    assert (folder.path / "a.yaml").read_text() == text
    folder.put("a.yaml", table(more="  suspend: true\n"))
    assert (await the_table(folder))["metadata"]["uid"] != known["metadata"]["uid"]


async def test_a_deleted_object_comes_back_after_its_document_was_gone(folder: Folder) -> None:
    folder.put("a.yaml", table())
    await folder.api.delete(LAKE_TABLE, ORDERS)
    folder.remove("a.yaml")
    folder.put("a.yaml", table())
    assert await the_table(folder)


async def test_what_the_api_changed_outlives_the_process_but_not_the_users_word(folder: Folder) -> None:
    folder.put("a.yaml", table(labels="{mine: a}"))
    patch = {"metadata": {"labels": {"state": "x"}}, "spec": {"suspend": True}}
    await folder.api.patch(LAKE_TABLE, ORDERS, patch)
    for _ in range(2):
        found = await the_table(folder)
        assert found["metadata"]["labels"] == {"mine": "a", "state": "x"}
        assert (found["spec"]["suspend"], found["metadata"]["generation"]) == (True, 2)
        folder.reopen().look()
    folder.put("a.yaml", table(identifier="sales.other", labels="{mine: b}"))
    found = await the_table(folder)
    assert found["metadata"]["labels"] == {"mine": "b", "state": "x"}
    assert found["spec"] == {"identifier": "sales.other", "suspend": False}
    assert found["metadata"]["generation"] == 3


async def test_a_discovered_table_is_taken_over_by_a_file(folder: Folder) -> None:
    body = {
        "metadata": {"name": "orders", "labels": {"catalog": "c"}},
        "spec": {"identifier": "sales.orders"},
    }
    made = await folder.api.create(LAKE_TABLE, "default", body)
    await folder.api.patch(LAKE_TABLE, ORDERS, {"status": {"runs": 3}}, subresource="status")
    folder.put("a.yaml", table(more="  suspend: true\n", labels="{a: b}"))
    for _ in range(2):
        found = await the_table(folder)
        assert found["metadata"]["uid"] == made["metadata"]["uid"]
        assert found["metadata"]["generation"] == 2
        assert found["metadata"]["labels"] == {"catalog": "c", "a": "b"}
        assert (found["spec"]["suspend"], found["status"]["runs"]) == (True, 3)
        assert not folder.record("objects", LAKE_TABLE, ORDERS).exists()
        folder.reopen().look()


async def edit(path: Path, part: str, name: str, value: object) -> None:
    """What a person does with an editor."""
    found = yaml.safe_load(path.read_text())
    found[part][name] = value
    path.write_text(yaml.safe_dump(found))


async def test_the_operators_objects_can_be_edited(folder: Folder) -> None:
    folder.put("a.yaml", table())
    made = await make_run(folder)
    path = folder.record("objects", COMPACTION, RUN)
    await edit(path, "spec", "cancel", True)
    await edit(path, "status", "attempts", 99)
    await edit(path, "metadata", "uid", "forged")
    folder.settle()
    found = await folder.api.get(COMPACTION, RUN)
    assert found is not None
    assert found["spec"]["cancel"] is True
    assert found["status"] == made["status"], "status is the operator's"
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert found["metadata"]["generation"] == 2
    before = path.stat()
    folder.settle()
    assert path.stat() == before


async def test_an_edit_is_not_overwritten_by_the_operator(folder: Folder) -> None:
    folder.put("a.yaml", table())
    await make_run(folder)
    await edit(folder.record("objects", COMPACTION, RUN), "spec", "cancel", True)
    with pytest.raises(ClusterConflict):
        await folder.api.patch(COMPACTION, RUN, {"status": {"attempts": 1}}, subresource="status")
    folder.settle()
    found = await folder.api.patch(COMPACTION, RUN, {"status": {"attempts": 1}}, subresource="status")
    assert found is not None
    assert (found["spec"]["cancel"], found["status"]["attempts"]) == (True, 1)


async def test_a_flawed_edit_is_told_and_changes_nothing(folder: Folder) -> None:
    body = {"metadata": {"name": "orders"}, "spec": {"identifier": "sales.orders"}}
    made = await folder.api.create(LAKE_TABLE, "default", body)
    path = folder.record("objects", LAKE_TABLE, ORDERS)
    await edit(path, "spec", "identifier", "wrong")
    folder.settle()
    assert [flaw.file for flaw in folder.api.problems()] == [path.relative_to(folder.path).as_posix()]
    assert await the_table(folder) == made
    path.write_text("{")
    folder.settle()
    assert len(folder.api.problems()) == 1
    await folder.api.patch(LAKE_TABLE, ORDERS, {"status": {"runs": 1}}, subresource="status")
    folder.settle()
    assert folder.api.problems() == []


async def test_removing_a_record_deletes_the_object(folder: Folder) -> None:
    folder.put("a.yaml", table())
    await make_run(folder)
    folder.record("objects", COMPACTION, RUN).unlink()
    folder.settle()
    assert await folder.api.get(COMPACTION, RUN) is None


async def test_records_that_are_spoilt_are_told_and_cost_nothing_else(folder: Folder) -> None:
    folder.put("a.yaml", table())
    await make_run(folder)
    await folder.api.create(COMPACTION, "default", run_of(await the_table(folder), "orders-2"))
    folder.close()
    folder.record("objects", COMPACTION, RUN).write_text("metadata: {name: orders-1}\n")
    folder.record("status", LAKE_TABLE, ORDERS).write_text("")
    folder.settle()
    assert len(folder.api.problems()) == 2
    assert [one["metadata"]["name"] for one in await folder.api.list(COMPACTION)] == ["orders-2"]
    assert await the_table(folder), "made anew from the user's file"


@pytest.mark.parametrize(
    "text",
    [
        case("[" * 3000 + "]" * 3000, id="depth"),
        case(
            "metadata: {name: orders-1, uid: a, resourceVersion: '1'}\nstatus: " + "[" * 90 + "]" * 90,
            id="some",
        ),
        case("metadata: {name: orders-1, uid: a, resourceVersion: [1]}\n", id="version"),
        case("metadata: {name: [orders-1]}\n", id="name"),
        case("metadata: {name: orders-1}\nfolder: text\n", id="bookkeeping"),
        case(f"metadata: {{name: {'9' * 5000}}}\n", id="digits"),
    ],
)
@pytest.mark.parametrize("is_open", [case(True, id="open"), case(False, id="closed")])
async def test_a_record_with_anything_in_it_costs_only_itself(
    folder: Folder, text: str, is_open: bool
) -> None:
    folder.put("a.yaml", table())
    await make_run(folder)
    await folder.api.create(COMPACTION, "default", run_of(await the_table(folder), "orders-2"))
    folder.record("objects", COMPACTION, RUN).write_text(text)
    if is_open:
        folder.settle()
        assert len(folder.api.problems()) <= 1, "what identifies an object is not taken in"
    folder.reopen()
    folder.settle()
    assert len(folder.api.problems()) <= 1
    assert is_open or folder.api.problems()
    assert "orders-2" in [one["metadata"]["name"] for one in await folder.api.list(COMPACTION)]


async def test_a_pipe_is_no_file(folder: Folder) -> None:
    os.mkfifo(folder.path / "pipe.yaml")
    folder.put("a.yaml", table())
    assert await the_table(folder)
    assert folder.api.problems() == []
