"""What people do to the files of a folder: saving, breaking, moving and removing them."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.cluster.state_file import Entry, Origin, StateFile
from lithify.errors import ClusterUnavailable, StorageError
from lithify.resources.names import COMPACTION, LABEL_CATALOG, LAKE_TABLE, ObjectKey
from lithify.resources.validating import validated
from support.cases import case
from unit.controller.cluster.folders import ORDERS, Folder, make_run, table, the_table

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
    folder.api.read_changes()
    assert (await the_table(folder))["spec"]["suspend"] is False
    folder.api.read_changes()
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
    folder.api.read_changes()
    if documents is not None:
        folder.settle()
        assert folder.messages() == [("a.yaml", number) for number in documents]
    assert await the_table(folder) == good
    assert await folder.api.get(COMPACTION, RUN) == run
    if documents is not None:
        folder.reopen().read_changes()
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
    assert folder.stored(LAKE_TABLE) == folder.stored(COMPACTION) == []


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
    folder.api.read_changes()
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
    folder.api.read_changes()
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


async def test_only_visible_yaml_files_count(folder: Folder) -> None:
    for name in ("deep/er/a.yml", ".hidden/b.yaml", ".c.yaml", "d.yaml~", "e.txt"):
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(table(f"t{path.stem.strip('.')}", "a.b"))
    (folder.path / "link.yaml").symlink_to(folder.path / ".hidden" / "b.yaml")
    found = await folder.api.list(LAKE_TABLE)
    assert [one["metadata"]["name"] for one in found] == ["ta", "tb"]


async def test_what_stands_in_a_file_cannot_be_deleted(folder: Folder) -> None:
    text = table()
    folder.put("a.yaml", text)
    known = await the_table(folder)
    await folder.api.delete(LAKE_TABLE, ORDERS)
    for _ in range(2):
        folder.settle()
        assert await the_table(folder) == known
        folder.reopen()
    assert (folder.path / "a.yaml").read_text() == text


async def test_what_the_api_changed_outlives_the_process_but_not_the_users_word(folder: Folder) -> None:
    folder.put("a.yaml", table(labels="{mine: a}"))
    patch = {"metadata": {"labels": {LABEL_CATALOG: "x"}}, "spec": {"suspend": True}}
    await folder.api.patch(LAKE_TABLE, ORDERS, patch)
    for _ in range(2):
        found = await the_table(folder)
        assert found["metadata"]["labels"] == {"mine": "a", LABEL_CATALOG: "x"}
        assert (found["spec"]["suspend"], found["metadata"]["generation"]) == (True, 2)
        folder.reopen().read_changes()
    folder.put("a.yaml", table(identifier="sales.other", labels="{mine: b}"))
    found = await the_table(folder)
    assert found["metadata"]["labels"] == {"mine": "b", LABEL_CATALOG: "x"}
    assert found["spec"] == {"identifier": "sales.other", "suspend": False}
    assert found["metadata"]["generation"] == 3


async def test_a_discovered_table_is_taken_over_by_a_file(folder: Folder) -> None:
    body = {
        "metadata": {"name": "orders", "labels": {LABEL_CATALOG: "c", "other": "x"}},
        "spec": {"identifier": "sales.orders"},
    }
    made = await folder.api.create(LAKE_TABLE, "default", body)
    await folder.api.patch(LAKE_TABLE, ORDERS, {"status": {"runs": 3}}, subresource="status")
    folder.put("a.yaml", table(more="  suspend: true\n", labels="{a: b}"))
    for _ in range(2):
        found = await the_table(folder)
        assert found["metadata"]["uid"] == made["metadata"]["uid"]
        assert found["metadata"]["generation"] == 2
        assert found["metadata"]["labels"] == {LABEL_CATALOG: "c", "a": "b"}
        assert (found["spec"]["suspend"], found["status"]["runs"]) == (True, 3)
        assert len(folder.stored(LAKE_TABLE)) == 1
        folder.reopen().read_changes()


async def test_a_run_is_cancelled_by_a_copy_of_its_item(tmp_path: Path) -> None:
    text = table().replace("spec:\n", "spec:\n  catalogRef: {name: lake}\n")
    (tmp_path / "a.yaml").write_text(text)
    folder = Folder(tmp_path, validated)
    made = await make_run(folder)
    [item] = folder.stored(COMPACTION)
    item["spec"]["cancel"] = True
    folder.put("b.yaml", yaml.safe_dump(item))
    found = await folder.api.get(COMPACTION, RUN)
    folder.close()
    assert found is not None
    assert found["spec"] == {**made["spec"], "cancel": True}
    assert found["metadata"]["generation"] == 2
    for name in ("uid", "labels", "ownerReferences"):
        assert found["metadata"][name] == made["metadata"][name]


async def test_a_status_of_an_older_release_is_no_mistake_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(table().replace("spec:\n", "spec:\n  catalogRef: {name: lake}\n"))
    with closing(Folder(tmp_path, validated)) as folder:
        seen = {"status": {"observation": {"files": 7, "smallFiles": 3}}}
        await folder.api.patch(LAKE_TABLE, ORDERS, seen, subresource="status")
        folder.close()
        text = folder.state.read_text(encoding="utf-8")
        older = text.replace("files: 7\n", "files: 7\n      level0Files: 2\n")
        folder.state.write_text(older, encoding="utf-8")
        assert folder.stored(LAKE_TABLE)[0]["status"]["observation"]["level0Files"] == 2
        folder.settle()
        assert folder.messages() == []
        tree = {"status": {"observation": {"mergeTree": {"level0Files": 4}}}}
        await folder.api.patch(LAKE_TABLE, ORDERS, tree, subresource="status")
        expected = {"files": 7, "smallFiles": 3, "mergeTree": {"level0Files": 4}}
        assert folder.stored(LAKE_TABLE)[0]["status"]["observation"] == expected


async def test_two_looks_at_the_same_folder_write_once(folder: Folder) -> None:
    folder.put("a.yaml", table() + "---\n" + table("users", "crm.users"))
    written = folder.state.stat()
    for _ in range(2):
        folder.settle()
        folder.reopen().read_changes()
    assert folder.state.stat() == written


async def test_a_state_file_that_cannot_be_written_is_tried_again(folder: Folder) -> None:
    folder.put("a.yaml", table())
    blocker = folder.state.with_name("state.yaml.new")
    blocker.mkdir()
    folder.save("a.yaml", table(more="  suspend: true\n"))
    folder.api.read_changes()
    with pytest.raises(ClusterUnavailable):
        folder.api.read_changes()
    assert (await the_table(folder))["spec"]["suspend"] is False, "disk first"
    blocker.rmdir()
    folder.api.read_changes()
    assert (await the_table(folder))["spec"]["suspend"] is True


@pytest.mark.parametrize(
    "text",
    [
        case("", id="empty"),
        case("{", id="no YAML"),
        case("items: [{metadata: {name: orders-1}}]\n", id="no object"),
        case(
            "items:\n- {apiVersion: lithify.dev/v1alpha1, kind: Compaction, metadata: {name: a}}\n",
            id="no version",
        ),
    ],
)
async def test_a_spoilt_state_file_is_refused_and_left_alone(folder: Folder, text: str) -> None:
    folder.put("a.yaml", table())
    folder.close()
    folder.state.write_text(text)
    with pytest.raises(StorageError) as refused:
        folder.reopen()
    assert refused.value.path == str(folder.state)
    assert folder.state.read_text() == text
    folder.state.unlink()
    assert await the_table(folder), "made from the user's file, and nothing holds the lock"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
async def test_whatever_is_stored_is_read_again(value: object) -> None:
    metadata = {"name": "t", "namespace": "n", "uid": "u", "resourceVersion": "7"}
    body = {"apiVersion": LAKE_TABLE.api_version, "kind": "LakeTable", "metadata": metadata, "status": value}
    with TemporaryDirectory() as path:
        file = StateFile(Path(path))
        entry = Entry(LAKE_TABLE, body, Origin("a.yaml", "0"))
        file.write({}, {(LAKE_TABLE, entry.key): entry})
        assert list(file.read().values()) == [entry]
        file.close()


async def test_a_pipe_is_no_file(folder: Folder) -> None:
    os.mkfifo(folder.path / "pipe.yaml")
    folder.put("a.yaml", table())
    assert await the_table(folder)
    assert folder.api.problems() == []
