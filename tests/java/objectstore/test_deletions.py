"""Many objects are deleted by a request for a thousand of them, whatever a store makes of such requests."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import (
    Answered,
    Asked,
    Forward,
    S3Proxy,
    Step,
    fail_before,
    lose_answer,
    pass_on,
)
from infrastructure.objectstore.tables import IMPATIENT
from lithify.errors import NotAllowed, StorageUnavailable
from lithify.io.object_storage import object_storage
from lithify.io.objects.s3 import read_settings
from lithify.io.storage import Storage
from support.cases import case

DENIED = Answered(403, (), b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>")


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[S3Proxy]:
    with S3Proxy(s3.server, lambda asked: asked.method in ("POST", "DELETE")) as started:
        yield started


@pytest.fixture
def storage(s3: Bucket, proxy: S3Proxy) -> Storage:
    return object_storage(read_settings({**s3.options(proxy.endpoint), **IMPATIENT}), None, [f"{s3.url}/t"])


def objects(s3: Bucket, count: int, folder: str = "p=a%3Ab & <c>") -> list[str]:
    """Some objects, whose keys need escapes in URLs and in XML."""
    (s3.folder / "t" / folder).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (s3.folder / "t" / folder / f"ä {number}").touch()
    return [f"{s3.url}/t/{folder}/ä {number}" for number in range(count)]


def left(s3: Bucket) -> int:
    return sum(path.is_file() for path in s3.folder.rglob("*"))


def bulk(status: int, body: str) -> Step:
    """Answers bulk requests so; single ones are carried out."""
    said = Answered(status, (), body.encode())
    return lambda asked, forward: said if asked.method == "POST" else forward()


def failed(key: str, code: str) -> str:
    error = f"<Error><Key>{escape(key)}</Key><Code>{code}</Code><Message>it did</Message></Error>"
    return f"<DeleteResult><Deleted><Key>t/x</Key></Deleted>{error}</DeleteResult>"


@pytest.mark.parametrize(("count", "requests"), [(0, 0), (1, 1), (1000, 1), (1001, 2), (2500, 3)])
def test_a_request_deletes_a_thousand_objects(
    s3: Bucket, proxy: S3Proxy, storage: Storage, count: int, requests: int
) -> None:
    storage.delete_all(objects(s3, count))

    assert left(s3) == 0
    assert dict(proxy.counted()) == ({"POST": requests} if requests else {})


def test_missing_objects_are_no_error(s3: Bucket, proxy: S3Proxy, storage: Storage) -> None:
    paths = objects(s3, 3)
    storage.delete_all(paths[1:2])

    storage.delete_all([*paths, f"{s3.url}/t/never/there"])

    assert left(s3) == 0
    assert proxy.counted() == {"POST": 2}


def test_deletion_of_one_object_needs_no_bulk_request(s3: Bucket, proxy: S3Proxy, storage: Storage) -> None:
    storage.delete(*objects(s3, 1))

    assert left(s3) == 0
    assert proxy.counted() == {"DELETE": 1}


@pytest.mark.parametrize(
    ("status", "body", "asked_again"),
    [
        case(501, "<Error><Code>NotImplemented</Code></Error>", False, id="not implemented"),
        case(400, "<Error><Code>NotImplemented</Code></Error>", False, id="not implemented in GCS before"),
        case(405, "", False, id="method not allowed"),
        case(404, "", False, id="no such resource"),
        case(403, "<Error><Code>AccessDenied</Code></Error>", False, id="only single ones are allowed"),
        case(200, "<DeleteResult/>", True, id="says nothing"),
        case(200, "<html><body>hello</body></html>", True, id="no answer of S3"),
        case(200, failed("strange", "AccessDenied"), True, id="a key that was not asked for"),
        case(200, failed("t/f/ä 1", "NoSuchKey"), True, id="calls a missing object an error"),
        case(200, failed("t/f/ä 1", "SlowDown"), True, id="goes on to be overloaded"),
    ],
)
def test_objects_go_one_by_one_if_a_bulk_request_does_not_work(
    s3: Bucket, proxy: S3Proxy, storage: Storage, status: int, body: str, asked_again: bool
) -> None:
    proxy.always = bulk(status, body)

    storage.delete_all(objects(s3, 5, "f"))

    assert left(s3) == 0
    assert proxy.counted()["DELETE"] == 5
    storage.delete_all(objects(s3, 5, "f"))
    assert left(s3) == 0
    assert (proxy.counted()["POST"] > 0) is asked_again


def test_object_that_may_not_be_deleted_is_named(s3: Bucket, proxy: S3Proxy, storage: Storage) -> None:
    paths = objects(s3, 1500, "f")
    kept = "t/f/ä 7"

    def deny(asked: Asked, forward: Forward) -> Answered | None:
        if asked.key == kept:
            return DENIED
        if asked.method == "POST" and f"<Key>{kept}</Key>".encode() in asked.body:
            return Answered(200, (), failed(kept, "AccessDenied").encode())
        return forward()

    proxy.always = deny

    with pytest.raises(NotAllowed) as caught:
        storage.delete_all(paths)

    assert kept in str(caught.value)
    assert (s3.folder / kept).exists()


def test_objects_that_fail_once_are_deleted_by_the_second_bulk_request(
    s3: Bucket, proxy: S3Proxy, storage: Storage
) -> None:
    proxy.steps = [bulk(200, failed("t/f/ä 1", "InternalError"))]

    storage.delete_all(objects(s3, 5, "f"))

    assert left(s3) == 0
    assert proxy.counted() == {"POST": 2}


@pytest.mark.parametrize(
    "step",
    [
        case(fail_before, id="fails"),
        case(bulk(503, "<Error><Code>SlowDown</Code></Error>"), id="is overloaded"),
        case(lose_answer, id="does not answer"),
    ],
)
def test_store_that_fails_is_not_asked_for_each_object(
    s3: Bucket, proxy: S3Proxy, storage: Storage, step: Step
) -> None:
    paths = objects(s3, 5)
    proxy.always = step
    with pytest.raises(StorageUnavailable):
        storage.delete_all(paths)
    assert "DELETE" not in proxy.counted()

    proxy.always = pass_on
    storage.delete_all(paths)
    assert left(s3) == 0


def test_keys_that_the_client_takes_for_failures_are_deleted_one_by_one(
    s3: Bucket, proxy: S3Proxy, storage: Storage
) -> None:
    """It repeats a request whose answer quotes them."""
    storage.delete_all(
        [*objects(s3, 3, "code=InternalError"), *objects(s3, 4, "code=SlowDown"), *objects(s3, 5)]
    )

    assert left(s3) == 0
    assert proxy.counted() == {"POST": 1, "DELETE": 7}
