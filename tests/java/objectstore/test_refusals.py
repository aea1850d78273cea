"""Stores and catalogs that could lose a commit are refused before any work, and each says why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import Answered, Asked, Forward, S3Proxy
from infrastructure.objectstore.tables import IMPATIENT, address, run, small_table
from lithify.errors import InvalidOption, NotAllowed, StorageUnavailable, UnsupportedTable
from lithify.formats.paimon.opening import open_table
from lithify.io.locations import store_of
from lithify.io.objects.files import ObjectFiles
from lithify.io.objects.stores import dialect_of, settings_for
from support.cases import case


def is_conditional(asked: Asked) -> bool:
    return asked.is_conditional


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[S3Proxy]:
    with S3Proxy(s3.server, is_conditional) as started:
        yield started


def files(s3: Bucket) -> set[Path]:
    return {path for path in s3.folder.rglob("lake/**/*") if path.is_file()}


WRITTEN = (("ETag", '"0"'), ("x-goog-generation", "1"), ("Last-Modified", "Fri, 27 Nov 2026 12:00:00 GMT"))
"""What stores say of an object that was written."""


def test_a_store_that_ignores_the_condition(bucket: Bucket) -> None:
    small_table(bucket)
    before = files(bucket)

    def ignore(asked: Asked, forward: Forward) -> Answered | None:
        del forward
        objects, _ = ObjectFiles(settings_for(bucket.url, bucket.options())).bucket(bucket.url)
        objects.write(asked.key.removeprefix(f"{bucket.name}/"), asked.body)
        return Answered(200, WRITTEN, b"")

    with S3Proxy(bucket.server, is_conditional) as proxy:
        proxy.always = ignore
        with pytest.raises(UnsupportedTable) as caught:
            run(bucket, proxy.endpoint)

    bucket.fetch()
    assert dialect_of(store_of(bucket.url)).condition in caught.value.reasons[0]
    assert files(bucket) == before


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        case((501, "NotImplemented"), UnsupportedTable, id="does not know it"),
        case((400, "InvalidArgument"), UnsupportedTable, id="takes it for an error"),
        case((403, "AccessDenied"), NotAllowed, id="does not let us write"),
        case((503, "SlowDown"), StorageUnavailable, id="is overloaded"),
    ],
)
def test_a_store_that_answers_the_probe_otherwise(
    s3: Bucket, proxy: S3Proxy, answer: tuple[int, str], error: type[Exception]
) -> None:
    small_table(s3)
    before = files(s3)
    status, code = answer

    def say(asked: Asked, forward: Forward) -> Answered | None:
        return Answered(status, (), f"<Error><Code>{code}</Code></Error>".encode())

    proxy.always = say
    with pytest.raises(error):
        run(s3, proxy.endpoint, options=IMPATIENT)

    assert files(s3) == before


def test_looking_at_a_table_does_not_probe(s3: Bucket, proxy: S3Proxy) -> None:
    small_table(s3)

    open_table(address(s3, proxy.endpoint)).check_supported()

    assert set(proxy.counted()) == {"GET", "LIST"}


@pytest.mark.parametrize(
    "options",
    [
        case({"lock.enabled": "true"}, id="a lock is configured, which the filesystem has not"),
        case({"lock.enabled": "true", "lock.type": "hive"}, id="Hive's lock"),
        case({"lock.type": "hive"}, id="Hive's lock, by default on object stores"),
    ],
)
def test_catalogs_with_a_lock_that_cannot_be_taken(s3: Bucket, options: Mapping[str, str]) -> None:
    small_table(s3)

    with pytest.raises(UnsupportedTable) as caught:
        run(s3, options=options)

    assert [reason for reason in caught.value.reasons if "lock.enabled" in reason]


@pytest.mark.parametrize(
    ("options", "option"),
    [
        case({"s3.secret-key": ""}, "s3.secret-key", id="half of the credentials"),
        case({"s3.endpoint": "ftp://there"}, "s3.endpoint", id="an endpoint that is none"),
        case({"s3.path.style.access": "maybe"}, "s3.path.style.access", id="neither true nor false"),
        case({"lithify.s3.patience-seconds": "long"}, "lithify.s3.patience-seconds", id="no number"),
    ],
)
def test_settings_that_make_no_sense(s3: Bucket, options: Mapping[str, str], option: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        open_table(address(s3, **options))

    assert caught.value.option == option
