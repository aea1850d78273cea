"""What Alibaba Cloud OSS documents of itself alone: its condition, and none in buckets with versioning."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import Asked, S3Proxy
from infrastructure.objectstore.server import OssServer
from infrastructure.objectstore.tables import run, small_table
from lithify.errors import InvalidOption, UnsupportedTable
from lithify.io.objects.files import ObjectFiles
from lithify.io.objects.oss import DIALECT
from lithify.io.objects.s3 import read_settings as read_s3_settings
from lithify.io.objects.stores import settings_for

pytestmark = pytest.mark.s3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OssServer]:
    with OssServer(tmp_path_factory.mktemp("oss")) as started:
        yield started


def bucket_on(server: OssServer, kind: str) -> Bucket:
    name = f"{kind}-{secrets.token_hex(4)}"
    return Bucket(server, name, server.create_bucket(name), server.buckets / name)


def puts(proxy: S3Proxy) -> list[Asked]:
    return [asked for asked in proxy.asked if asked.method == "PUT"]


def test_only_creations_carry_the_condition_and_it_is_signed(server: OssServer) -> None:
    """A header that is not signed might be dropped, or refused by OSS."""
    bucket = bucket_on(server, "plain")
    path = f"{bucket.url}/t/a b%c+ü"
    with S3Proxy(server) as proxy:
        objects = ObjectFiles(settings_for(bucket.url, bucket.options(proxy.endpoint)))
        store, key = objects.bucket(path)

        created = [objects.create(path, "first"), objects.create(path, "second")]
        content = objects.read(path, 100)
        store.write(key, b"third")

        assert (created, content, objects.read(path, 100)) == ([True, False], b"first", b"third")
        assert [asked.is_conditional for asked in puts(proxy)] == [True, True, False]
        for asked in puts(proxy)[:2]:
            headers = {name.lower(): value for name, value in asked.headers}
            signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
            assert headers[DIALECT.condition] == "true"
            assert DIALECT.condition in signed
            assert "if-none-match" not in headers


def test_a_bucket_with_versioning_is_refused(server: OssServer) -> None:
    bucket = bucket_on(server, "versioned")
    small_table(bucket)
    before = {path for path in bucket.folder.rglob("lake/**/*") if path.is_file()}

    with pytest.raises(UnsupportedTable) as caught:
        run(bucket)

    assert DIALECT.condition in caught.value.reasons[0]
    assert {path for path in bucket.folder.rglob("lake/**/*") if path.is_file()} == before


def test_paths_of_s3_at_its_endpoint_are_refused(server: OssServer) -> None:
    """OSS refuses the condition of S3, so a table is never committed to by the wrong one."""
    bucket = bucket_on(server, "plain")
    small_table(bucket)
    of_s3 = Bucket(server, bucket.name, bucket.url.replace("oss://", "s3://"), bucket.folder)
    options = {
        "s3.endpoint": server.endpoint,
        "s3.region": "us-east-1",
        "s3.access-key": bucket.options()["fs.oss.accessKeyId"],
        "s3.secret-key": server.secret,
    }
    assert read_s3_settings(options).path_style

    with pytest.raises(UnsupportedTable) as caught:
        run(of_s3, options=options)

    assert "If-None-Match" in caught.value.reasons[0]


@pytest.mark.parametrize("missing", ["fs.oss.accessKeyId", "fs.oss.endpoint"])
def test_what_it_needs_is_asked_for_by_name(
    server: OssServer, monkeypatch: pytest.MonkeyPatch, missing: str, tmp_path: Path
) -> None:
    """Keys of the environment are those of AWS, and are never tried."""
    bucket = bucket_on(server, "plain")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", bucket.options()["fs.oss.accessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    keys = ("fs.oss.accessKeyId", "fs.oss.accessKeySecret") if "Key" in missing else (missing,)
    options = {name: value for name, value in bucket.options().items() if name not in keys}

    with pytest.raises(InvalidOption) as caught:
        ObjectFiles(settings_for(bucket.url, options)).read(f"{bucket.url}/a", 100)

    assert caught.value.option == missing
