"""HDFS with Kerberos: whoever has a key is let in, and everybody else hears why not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from infrastructure.hdfs.fixtures import HdfsFolder
from infrastructure.hdfs.kerberos import CLIENT, STRANGER, Realm, write_keytab
from infrastructure.hdfs.server import login
from infrastructure.oracle.client import Oracle, Table
from lithify.errors import NotAllowed, StorageUnavailable
from lithify.io.hdfs.kerberos import AUTHENTICATION
from lithify.io.object_storage import files_of
from lithify.io.objects.files import StoreFiles
from lithify.io.objects.stores import settings_for
from support.cases import case
from support.hdfs_runs import IMPATIENT, address
from support.runs import start
from support.tables import journals, make_plain, stray_files

TICKETS_ONLY = {AUTHENTICATION: "kerberos"}


def files(hdfs: HdfsFolder, options: Mapping[str, str]) -> StoreFiles:
    return files_of(settings_for(hdfs.url, {**options, **IMPATIENT}))


@pytest.mark.oracle
def test_a_process_of_its_own_compacts_what_java_wrote(
    oracle: Oracle, secure_hdfs: HdfsFolder, tmp_path: Path
) -> None:
    table = make_plain(oracle, tmp_path / "lake", commits=2)
    rows = oracle.read(table)
    secure_hdfs.publish(tmp_path / "lake")

    done = start(address(secure_hdfs)).wait()

    assert done.report.status == "Compacted", done
    copy = secure_hdfs.copy()
    assert oracle.read(copy) == rows
    assert {file.level for file in oracle.files(copy)} == {5}
    assert (stray_files(oracle, copy), journals(copy)) == (set(), set())


WITHOUT_A_KEY = [
    case(lambda realm, folder: login(CLIENT, write_keytab(folder / "wrong", CLIENT)), CLIENT, id="wrong key"),
    case(
        lambda realm, folder: login("nobody", write_keytab(folder / "new", "nobody")), "nobody", id="unknown"
    ),
    case(lambda realm, folder: login(CLIENT, folder / "missing"), CLIENT, id="no keytab"),
    case(lambda realm, folder: login(CLIENT, realm.keytab(STRANGER)), CLIENT, id="another's keytab"),
    case(lambda realm, folder: TICKETS_ONLY, "this process", id="no ticket"),
    case(lambda realm, folder: {}, "asks for Kerberos", id="simple authentication"),
]


@pytest.mark.parametrize(("options", "named"), WITHOUT_A_KEY)
def test_nobody_is_let_in_without_a_key(
    secure_hdfs: HdfsFolder, tmp_path: Path, options: Callable[[Realm, Path], dict[str, str]], named: str
) -> None:
    refused = files(secure_hdfs, options(secure_hdfs.cluster.realm, tmp_path))
    with pytest.raises(NotAllowed, match=named):
        refused.create(f"{secure_hdfs.url}/x", "text")
    assert secure_hdfs.names() == set()


def test_a_principal_without_rights_is_named(secure_hdfs: HdfsFolder) -> None:
    """And requests of different principals in one process are not mixed up."""
    path = f"{secure_hdfs.cluster.url}/closed/x"
    strangers = files(secure_hdfs, login(STRANGER, secure_hdfs.cluster.realm.keytab(STRANGER)))
    assert secure_hdfs.files.create(f"{secure_hdfs.url}/y", "text")

    with pytest.raises(NotAllowed, match=STRANGER):
        strangers.create(path, "text")
    assert strangers.read(f"{secure_hdfs.url}/y", 100) == b"text"


def test_a_centre_that_does_not_answer_may_answer_later(
    secure_hdfs: HdfsFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = secure_hdfs.cluster.realm.configure(tmp_path / "krb5.conf", kdc="localhost:1")
    keytab = write_keytab(tmp_path / "another-cache", CLIENT)
    monkeypatch.setenv("KRB5_CONFIG", str(silent))
    with pytest.raises(StorageUnavailable):
        files(secure_hdfs, login(CLIENT, keytab)).has_file(f"{secure_hdfs.url}/x")
