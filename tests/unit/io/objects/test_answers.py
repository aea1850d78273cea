"""What the answers of object stores mean."""

from __future__ import annotations

import pytest
from obstore.exceptions import AlreadyExistsError, GenericError, PermissionDeniedError, UnauthenticatedError

from lithify.errors import NotAllowed, StorageError, StorageUnavailable
from lithify.io.objects.answers import OutOfRange, Taken, answering
from lithify.io.objects.azure import DIALECT as AZURE
from lithify.io.objects.gcs import DIALECT as GCS
from lithify.io.objects.oss import DIALECT as OSS
from lithify.io.objects.s3 import DIALECT
from lithify.io.objects.settings import Dialect
from support.cases import case

URL = "http://store:9000/lake/key"


def said(status: int, code: str = "", message: str = "") -> str:
    """What obstore quotes of an answer."""
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>" if code else ""
    return (
        f"Generic S3 error: Error performing GET {URL} in 2ms - Server returned non-2xx status code: "
        f"{status} Something: {body}\n\nDebug source:\nGeneric {{ secret }}"
    )


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        case(FileNotFoundError(said(404, "NoSuchKey")), FileNotFoundError, id="there is none, says S3"),
        case(FileNotFoundError(said(404)), StorageUnavailable, id="there is none, says somebody"),
        case(FileNotFoundError(said(404, "NoSuchBucket")), StorageError, id="no bucket"),
        case(GenericError(said(404, "NoSuchBucket")), StorageError, id="no bucket to list"),
        case(GenericError(said(404)), StorageUnavailable, id="nothing to list, says somebody"),
        case(AlreadyExistsError(said(412, "PreconditionFailed")), Taken, id="the name is taken"),
        case(AlreadyExistsError(said(409, "ConditionalRequestConflict")), Taken, id="another write"),
        case(PermissionDeniedError(said(403, "AccessDenied")), NotAllowed, id="not allowed"),
        case(GenericError(said(403, "SignatureDoesNotMatch")), NotAllowed, id="wrong secret"),
        case(GenericError(said(400, "ExpiredToken")), NotAllowed, id="expired"),
        case(PermissionDeniedError(said(403, "RequestTimeTooSkewed")), StorageUnavailable, id="clocks"),
        case(UnauthenticatedError("External AWS credential provider"), StorageUnavailable, id="no token"),
        case(GenericError(said(416, "InvalidRange")), OutOfRange, id="beyond the end"),
        case(GenericError(said(400, "InvalidArgument")), StorageError, id="refused"),
        case(GenericError(said(501, "NotImplemented")), StorageError, id="not implemented"),
        case(GenericError(said(500, "InternalError")), StorageUnavailable, id="failed"),
        case(GenericError(said(503, "SlowDown")), StorageUnavailable, id="overloaded"),
        case(GenericError(said(429)), StorageUnavailable, id="too many requests"),
        case(GenericError(f"Error performing PUT {URL} - HTTP error"), StorageUnavailable, id="no answer"),
        case(OSError("connection reset"), StorageUnavailable, id="connection lost"),
    ],
)
def test_each_answer_becomes_its_error_without_secrets(error: Exception, meaning: type[Exception]) -> None:
    with pytest.raises(meaning) as caught, answering("s3://lake/key", DIALECT, creates=True):
        raise error

    assert type(caught.value) is meaning
    assert "secret" not in str(caught.value)
    assert URL not in str(caught.value)
    assert caught.value.__suppress_context__


def unanswered(cause: str) -> GenericError:
    """What obstore says of a request that got no answer."""
    debug = f"Generic {{ uri: Some({URL}/timed%20out), retry_timeout: 1s, inner: Http({cause}) }}"
    return GenericError(
        f"Generic S3 error: Error performing GET {URL} in 2ms - HTTP error: error sending request\n\n{debug}"
    )


@pytest.mark.parametrize(
    ("error", "failure", "words"),
    [
        case(unanswered('"tcp connect error", ConnectionRefused'), None, "connection refused", id="refused"),
        case(unanswered('"dns error"'), None, "no such host", id="no host"),
        case(unanswered("TimedOut"), None, "timed out", id="silence"),
        case(
            unanswered("?"), None, "error sending request", id="none that is known, whatever the address says"
        ),
        case(GenericError(said(502)), "connection refused", "connection refused", id="through our gate"),
        case(unanswered("tunnel"), "no such host", "no such host", id="through our gate to https"),
        case(GenericError(said(502)), None, "S3 fails (502)", id="of a store's own gateway"),
        case(
            GenericError(said(503, "SlowDown")),
            "timed out",
            "503 SlowDown",
            id="after the gate let it through",
        ),
    ],
)
def test_no_answer_is_told_in_the_networks_words(error: Exception, failure: str | None, words: str) -> None:
    with pytest.raises(StorageUnavailable) as caught, answering("s3://lake/key", DIALECT, lambda: failure):
        raise error
    assert words in caught.value.problem


def test_what_is_ours_goes_through() -> None:
    with pytest.raises(ValueError, match="ours"), answering("s3://lake/key", DIALECT):
        raise ValueError("ours")


@pytest.mark.parametrize(
    ("dialect", "error", "meaning"),
    [
        case(GCS, FileNotFoundError(said(404, "NoSuchKey")), FileNotFoundError, id="no object on GCS"),
        case(OSS, AlreadyExistsError(said(409, "FileAlreadyExists")), Taken, id="taken on OSS"),
        case(OSS, GenericError(said(400, "NotImplemented")), StorageError, id="OSS does not know a header"),
        case(OSS, GenericError(said(403, "InvalidSecurityToken")), NotAllowed, id="a token of OSS"),
        case(GCS, GenericError(said(429, "SlowDown")), StorageUnavailable, id="GCS is too busy"),
        case(GCS, AlreadyExistsError(said(412, "PreconditionFailed")), Taken, id="taken on GCS"),
        case(
            GCS, UnauthenticatedError(said(401, "AuthenticationRequired")), NotAllowed, id="no token for GCS"
        ),
        case(AZURE, FileNotFoundError(said(404, "BlobNotFound")), FileNotFoundError, id="no blob"),
        case(AZURE, FileNotFoundError(said(404, "NoSuchKey")), StorageUnavailable, id="S3 instead of Azure"),
        case(AZURE, FileNotFoundError(said(404, "ContainerNotFound")), StorageError, id="no container"),
        case(AZURE, AlreadyExistsError(said(409, "BlobAlreadyExists")), Taken, id="taken on Azure"),
        case(AZURE, PermissionDeniedError(said(403, "AuthorizationFailure")), NotAllowed, id="a wrong key"),
        case(AZURE, GenericError(said(503, "ServerBusy")), StorageUnavailable, id="Azure is too busy"),
        case(
            AZURE,
            FileNotFoundError("Object not found: Bulk delete request failed for key a/b: gone (code: 404)"),
            FileNotFoundError,
            id="no blob to delete",
        ),
        case(
            GCS,
            GenericError('Failed to parse value for CONTENT_RANGE header: "bytes 0--1/0"'),
            OutOfRange,
            id="nothing in it",
        ),
    ],
)
def test_each_store_has_its_own_words(dialect: Dialect, error: Exception, meaning: type[Exception]) -> None:
    with pytest.raises(meaning) as caught, answering("key", dialect, creates=True):
        raise error
    assert type(caught.value) is meaning


def test_conflict_of_a_plain_request_is_a_refusal_and_no_taken_name() -> None:
    """Azure's policies of immutability answer so to a deletion."""
    with pytest.raises(StorageError), answering("key", AZURE):
        raise AlreadyExistsError(said(409, "BlobImmutableDueToPolicy"))


def test_options_that_are_missing_are_named() -> None:
    with pytest.raises(NotAllowed) as caught, answering("key", GCS, remark="; give gcs.oauth2.token"):
        raise UnauthenticatedError(said(401))
    assert "gcs.oauth2.token" in str(caught.value)
