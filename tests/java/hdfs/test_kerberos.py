"""HDFS with Kerberos: a process with a key gets in, and a process without one gets the reason."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from infrastructure.hdfs.fixtures import HdfsFolder
from infrastructure.hdfs.kerberos import CLIENT, STRANGER, write_keytab
from infrastructure.hdfs.server import login
from infrastructure.oracle.client import Oracle
from lithify.errors import NotAllowed, StorageUnavailable
from lithify.io.hdfs.kerberos import AUTHENTICATION
from lithify.io.object_storage import files_of
from lithify.io.objects.files import StoreFiles
from lithify.io.objects.stores import settings_for
from support.hdfs_runs import IMPATIENT, assert_one_wins_each_round
from support.runs import compact_on_spark
from support.tables import journals, make_plain, stray_files

ROUNDS = 20
OWN_LOGIN = {AUTHENTICATION: "kerberos"}


def files(hdfs: HdfsFolder, options: Mapping[str, str]) -> StoreFiles:
    return files_of(settings_for(hdfs.url, {**options, **IMPATIENT}))


@pytest.mark.oracle
@pytest.mark.spark
def test_driver_and_executors_log_in_by_themselves(
    oracle: Oracle, secure_hdfs: HdfsFolder, tmp_path: Path
) -> None:
    table = make_plain(oracle, tmp_path / "lake", buckets=2, commits=2)
    rows = oracle.read(table)
    secure_hdfs.publish(tmp_path / "lake")
    options = [f"--catalog-option={name}={value}" for name, value in secure_hdfs.cluster.options().items()]

    done = compact_on_spark(secure_hdfs.url, *options)

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["status"], report["tasks"]) == ("Compacted", 2)
    copy = secure_hdfs.copy()
    assert oracle.read(copy) == rows
    assert {file.level for file in oracle.files(copy)} == {5}
    assert (stray_files(oracle, copy), journals(copy)) == (set(), set())


def test_of_two_committers_one_wins_each_round(secure_hdfs: HdfsFolder, tmp_path: Path) -> None:
    assert_one_wins_each_round(secure_hdfs, tmp_path / "lake", ROUNDS)


@pytest.fixture
def keytabs(secure_hdfs: HdfsFolder, tmp_path: Path) -> Path:
    """A folder with `lithify`, `stranger`, and what opens nothing: `wrong`, and `unknown` of nobody."""
    for name in (CLIENT, STRANGER):
        shutil.copy(secure_hdfs.cluster.realm.keytab(name), tmp_path / name)
    write_keytab(tmp_path / "wrong", CLIENT)
    write_keytab(tmp_path / "unknown", "nobody")
    return tmp_path


@pytest.mark.parametrize(
    ("principal", "keytab"),
    [(CLIENT, "wrong"), ("nobody", "unknown"), (CLIENT, "missing"), (CLIENT, STRANGER)],
)
def test_nobody_is_let_in_without_a_key(
    secure_hdfs: HdfsFolder, keytabs: Path, principal: str, keytab: str
) -> None:
    with pytest.raises(NotAllowed, match=principal) as caught:
        files(secure_hdfs, login(principal, keytabs / keytab)).create(f"{secure_hdfs.url}/x", "text")
    assert "GSSAPI" not in str(caught.value), "a reason instead of a name"
    assert secure_hdfs.names() == set()


def test_nobody_is_let_in_without_a_ticket(secure_hdfs: HdfsFolder) -> None:
    with pytest.raises(NotAllowed, match="ticket"):
        files(secure_hdfs, OWN_LOGIN).create(f"{secure_hdfs.url}/x", "text")


def test_nobody_is_let_in_without_kerberos(secure_hdfs: HdfsFolder) -> None:
    """The client is not told why."""
    with pytest.raises(StorageUnavailable, match="Kerberos"):
        files(secure_hdfs, {}).create(f"{secure_hdfs.url}/x", "text")


def test_tickets_of_the_process_are_used_until_they_expire(
    secure_hdfs: HdfsFolder, keytabs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those for a keytab are renewed, be it the process's own or one that a catalog names."""
    brief = secure_hdfs.cluster.realm.configure(keytabs / "krb5.conf", ticket_lifetime="4s")
    monkeypatch.setenv("KRB5_CONFIG", str(brief))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{keytabs / 'tickets'}")
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(keytabs / CLIENT))
    named, path = login(CLIENT, keytabs / CLIENT), f"{secure_hdfs.url}/x"
    connected = files(secure_hdfs, named)
    assert connected.create(path, "text")
    assert files(secure_hdfs, OWN_LOGIN).read(path, 100) == b"text"

    monkeypatch.delenv("KRB5_CLIENT_KTNAME")
    refusal = None
    while refusal is None:
        refusal = refused(files(secure_hdfs, OWN_LOGIN), path)
    assert "expired" in refusal
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(keytabs / CLIENT))
    for allowed in (files(secure_hdfs, OWN_LOGIN), files(secure_hdfs, named), connected):
        assert allowed.read(path, 100) == b"text"


def refused(files: StoreFiles, path: str) -> str | None:
    """Why a file may not be read; None if it may."""
    try:
        files.read(path, 100)
    except NotAllowed as error:
        return str(error)
    return None


def test_a_principal_without_rights_is_named(secure_hdfs: HdfsFolder, keytabs: Path) -> None:
    """And requests of different principals in one process are not mixed up."""
    strangers = files(secure_hdfs, login(STRANGER, keytabs / STRANGER))
    assert secure_hdfs.files.create(f"{secure_hdfs.url}/x", "text")

    with pytest.raises(NotAllowed, match=STRANGER):
        strangers.create(f"{secure_hdfs.cluster.url}/closed/x", "text")
    assert strangers.read(f"{secure_hdfs.url}/x", 100) == b"text"
    assert secure_hdfs.files.create(f"{secure_hdfs.url}/y", "text")


def test_a_centre_that_does_not_answer_may_answer_later(
    secure_hdfs: HdfsFolder, keytabs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = secure_hdfs.cluster.realm.configure(keytabs / "krb5.conf", kdc="localhost:1")
    monkeypatch.setenv("KRB5_CONFIG", str(silent))
    with pytest.raises(StorageUnavailable):
        files(secure_hdfs, login(CLIENT, keytabs / CLIENT)).has_file(f"{secure_hdfs.url}/x")


GUARDED = """
import json, sys
from lithify.errors import NotAllowed
from lithify.io.addresses import read_policy
from lithify.io.guard import guard
from lithify.io.object_storage import files_of
from lithify.io.objects.stores import settings_for

path, options = sys.argv[1:]
guard(read_policy(["localhost"]))
try:
    print(files_of(settings_for(path, json.loads(options))).create(path, "text"))
except NotAllowed:
    print("not allowed")
"""


@pytest.mark.parametrize(("own", "said"), [(None, "not allowed"), (CLIENT, "True")])
def test_guarded_processes_use_no_keytab_of_a_catalog(
    secure_hdfs: HdfsFolder, keytabs: Path, monkeypatch: pytest.MonkeyPatch, own: str | None, said: str
) -> None:
    """But their own."""
    if own is not None:
        monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(keytabs / own))
        monkeypatch.setenv("KRB5CCNAME", "MEMORY:")
    path = f"hdfs://localhost:{secure_hdfs.cluster.ports[0]}{secure_hdfs.path}/x"
    words = [sys.executable, "-c", GUARDED, path, json.dumps(login(CLIENT, keytabs / CLIENT))]

    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.stdout.strip() == said, done.stderr
