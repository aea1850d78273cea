"""Answers of name nodes: only those that say so mean that a file is missing, or that nothing was done."""

from __future__ import annotations

import pytest

from lithify.errors import NotAllowed, StorageError, StorageUnavailable
from lithify.io.hdfs.answers import translated
from support.cases import case

PATH = "hdfs://nn:8020/t/snapshot/snapshot-1"
SECRET = "what a server says"


def rpc(name: str, *, fatal: bool = False) -> RuntimeError:
    return RuntimeError(f'{"Fatal" if fatal else ""}RPCError("org.apache.hadoop.{name}", "{SECRET}")')


def gssapi(words: str) -> RuntimeError:
    major = 'GssMajorCodes { raw: "0x00070000", routine_error: "GSS_S_NO_CRED" }'
    return RuntimeError(f'GSSAPIError({major}, 2529639093, "No credentials were supplied: {words}")')


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        case(FileNotFoundError(SECRET), FileNotFoundError, id="missing"),
        case(FileExistsError(SECRET), FileExistsError, id="taken"),
        case(IsADirectoryError(SECRET), StorageError, id="a directory"),
        case(rpc("security.AccessControlException"), NotAllowed, id="permission denied"),
        case(rpc("security.AccessControlException", fatal=True), NotAllowed, id="not let in"),
        case(RuntimeError('SASLError("no mechanism")'), NotAllowed, id="no login in common"),
        case(gssapi("No key table entry found for a@B"), NotAllowed, id="wrong keytab"),
        case(gssapi(SECRET), NotAllowed, id="another failure of a login"),
        case(gssapi("Cannot contact any KDC for realm 'B'"), StorageUnavailable, id="Kerberos is down"),
        case(OSError("RPC listener disconnected"), StorageUnavailable, id="connection closed"),
        case(RuntimeError('OperationFailed("Failed to load libgssapi_krb")'), StorageError, id="no library"),
        case(rpc("hdfs.protocol.NSQuotaExceededException"), StorageError, id="quota"),
        case(rpc("hdfs.server.namenode.SafeModeException"), StorageUnavailable, id="safe mode"),
        case(rpc("ipc.StandbyException"), StorageUnavailable, id="both on standby"),
        case(rpc("ipc.RpcServerException", fatal=True), StorageUnavailable, id="connection ended"),
        case(rpc("fs.ParentNotDirectoryException"), StorageError, id="another refusal"),
        case(OSError("Connection refused (os error 111)"), StorageUnavailable, id="refused connection"),
        case(TimeoutError(), StorageUnavailable, id="silence"),
        case(RuntimeError("ChecksumError"), StorageUnavailable, id="damaged block"),
        case(RuntimeError('DataTransferError("x")'), StorageUnavailable, id="data nodes fail"),
        case(
            RuntimeError('InvalidArgument("File is in an HDFS encryption zone but no KMS")'),
            StorageError,
            id="encryption zone",
        ),
    ],
)
def test_answers_have_their_errors(error: Exception, kind: type[Exception]) -> None:
    found = translated(PATH, "alice", error)

    assert type(found) is kind
    assert SECRET not in str(found)
