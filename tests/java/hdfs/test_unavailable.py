"""HDFS that does not answer, or does not want to: it is said soon, and by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from infrastructure.hdfs.fixtures import HdfsFolder
from infrastructure.hdfs.proxy import RpcProxy, hang
from infrastructure.oracle.client import Table
from lithify.errors import Failure, NotAllowed, NotFound, OutOfReach, StorageUnavailable
from lithify.formats.paimon.opening import open_table
from lithify.io.access_policy import AccessPolicy
from lithify.io.hdfs.settings import USER
from lithify.io.object_storage import files_of
from lithify.io.objects.stores import settings_for
from support.hdfs_runs import IMPATIENT, address


@pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid:8020"])
def test_a_name_node_that_cannot_be_reached_is_named_soon(host: str) -> None:
    files = files_of(settings_for(f"hdfs://{host}/lake", IMPATIENT))
    with pytest.raises(StorageUnavailable) as caught:
        files.has_file(f"hdfs://{host}/lake/x")
    assert caught.value.failure is Failure.INFRASTRUCTURE


def test_a_name_node_that_never_answers_is_given_up(
    hdfs: HdfsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithify.io.hdfs.client.RPC_SECONDS", 1.0)
    with RpcProxy(hdfs.cluster.ports[0], lambda frame: b"getFileInfo" in frame) as proxy:
        proxy.steps = [hang] * 20
        files = files_of(settings_for(hdfs.through(proxy), IMPATIENT))
        with pytest.raises(StorageUnavailable):
            files.has_file(f"{hdfs.through(proxy)}/x")
        assert 1 <= proxy.seen < 5


@pytest.mark.oracle
def test_changes_in_safe_mode_wait_for_its_end(hdfs: HdfsFolder, hdfs_table: Table) -> None:
    """A name node that has just started refuses changes for a while."""
    hdfs.cluster.enter_safe_mode()
    try:
        files = files_of(settings_for(hdfs.url, IMPATIENT))
        with pytest.raises(StorageUnavailable):
            files.create(f"{hdfs.url}/x", "text")
        assert open_table(address(hdfs)).snapshots.latest() is not None
    finally:
        hdfs.cluster.leave_safe_mode()
    assert hdfs.files.create(f"{hdfs.url}/x", "text")


def test_a_user_without_permission_is_named(hdfs: HdfsFolder) -> None:
    """And requests of different users in one process are not mixed up."""
    path = f"{hdfs.cluster.url}/closed{hdfs.path}"
    alices = files_of(settings_for(path, {USER: "alice"}))
    assert hdfs.files.create(f"{path}/x", "text")

    for refused in (lambda: alices.create(f"{path}/y", "text"), lambda: alices.read(f"{path}/x", 100)):
        with pytest.raises(NotAllowed) as caught:
            refused()
        assert "alice" in str(caught.value)

    assert hdfs.files.create(f"{path}/z", "text")
    assert alices.create(f"{hdfs.url}/of-alice", "text")


def test_a_warehouse_that_does_not_exist_is_not_found(hdfs: HdfsFolder) -> None:
    with pytest.raises(NotFound):
        open_table(address(hdfs))


def test_paths_that_are_not_granted_are_not_asked_for(hdfs: HdfsFolder) -> None:
    granted = AccessPolicy((f"{hdfs.cluster.url}/team-a",), with_endpoint=False)
    files = files_of(settings_for(hdfs.url, {}, granted))

    assert not files.has_file(f"{hdfs.cluster.url}/team-a/x")
    for path in (f"{hdfs.url}/x", f"{hdfs.cluster.url}/team-ab/x", "hdfs://127.0.0.1:1/team-a/x"):
        with pytest.raises(OutOfReach):
            files.has_file(path)


GUARDED = """
import sys
from lithify.errors import OutOfReach
from lithify.io.addresses import read_policy
from lithify.io.guard import guard
from lithify.io.object_storage import files_of
from lithify.io.objects.stores import settings_for

guard(read_policy(sys.argv[2:]))
try:
    print(files_of(settings_for(sys.argv[1], {})).create(sys.argv[1], "text"))
except OutOfReach:
    print("out of reach")
"""


@pytest.mark.parametrize(
    ("entries", "said"), [(["localhost"], "True"), (["namenode.example.org", "10.0.0.0/8"], "out of reach")]
)
def test_guarded_processes_ask_allowed_name_nodes_only(
    hdfs: HdfsFolder, entries: list[str], said: str
) -> None:
    """By name: the client gets the address that was checked."""
    path = f"hdfs://localhost:{hdfs.cluster.ports[0]}{hdfs.path}/x"

    done = subprocess.run(
        [sys.executable, "-c", GUARDED, path, *entries], capture_output=True, text=True, check=False
    )

    assert done.stdout.strip() == said, done.stderr
