"""How a catalog's options say to reach S3."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from lithify.errors import InvalidOption
from lithify.io.locations import ObjectPath, Store
from lithify.io.objects.s3 import (
    PATIENCE,
    S3Keys,
    S3Settings,
    read_settings,
)
from support.cases import case

PATH_STYLE = {"s3.path.style.access": "true"}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        case({}, S3Settings(), id="everything from the environment"),
        case(
            {"s3.access-key": "a", "s3.secret-key": "b"},
            S3Settings(keys=S3Keys("a", "b")),
            id="keys as Java's options have them",
        ),
        case(
            {"fs.s3.accessKeyId": "a", "fs.s3.accessKeySecret": "b", "fs.s3.securityToken": "c"},
            S3Settings(keys=S3Keys("a", "b", "c")),
            id="keys as pypaimon's options have them",
        ),
        case(
            {"s3a.access.key": "a", "fs.s3a.secret.key": "b", "s3.session-token": "c"},
            S3Settings(keys=S3Keys("a", "b", "c")),
            id="keys as Hadoop's options have them",
        ),
        case(
            {"s3.region": "eu-central-1", "s3.endpoint": "s3.example.org"},
            S3Settings(endpoint="https://s3.example.org", region="eu-central-1"),
            id="an endpoint without a scheme",
        ),
        case(
            {"s3.endpoint": "http://store.lake.svc:9000/", **PATH_STYLE},
            S3Settings(endpoint="http://store.lake.svc:9000", path_style=True),
            id="path style, as asked for",
        ),
        case(
            {"s3.endpoint": "http://10.0.0.7:9000"},
            S3Settings(endpoint="http://10.0.0.7:9000", path_style=True),
            id="an address has no subdomains",
        ),
        case(
            {"s3.endpoint": "http://minio:9000"},
            S3Settings(endpoint="http://minio:9000", path_style=True),
            id="nor has a name of one label",
        ),
        case({PATIENCE: "2.5"}, S3Settings(patience=2.5), id="patience"),
    ],
)
def test_options_become_settings(options: Mapping[str, str], wanted: S3Settings) -> None:
    assert read_settings(options) == wanted


@pytest.mark.parametrize(
    ("options", "option"),
    [
        case({"s3.access-key": "a"}, "s3.secret-key", id="no secret key"),
        case({"s3.secret-key": "b"}, "s3.access-key", id="no access key"),
        case({"s3.endpoint": "ftp://s3"}, "s3.endpoint", id="another protocol"),
        case({"s3.endpoint": "https://s3.example?"}, "s3.endpoint", id="an empty query"),
        case({"s3.endpoint": "https://s3.example/a/../b"}, "s3.endpoint", id="a path that climbs"),
        case({"s3.region": "x.evil.example/"}, "s3.region", id="a region that is a host"),
        case({"s3.endpoint": "https://user:password@s3"}, "s3.endpoint", id="credentials in the endpoint"),
        case({"s3.path.style.access": "1"}, "s3.path.style.access", id="neither true nor false"),
        case({PATIENCE: "a while"}, PATIENCE, id="no number"),
        case({PATIENCE: "nan"}, PATIENCE, id="not a number"),
        case({PATIENCE: "-1"}, PATIENCE, id="negative"),
        case({PATIENCE: "601"}, PATIENCE, id="too long"),
    ],
)
def test_what_makes_no_sense(options: Mapping[str, str], option: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_settings(options)

    assert caught.value.option == option
    assert "password" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "endpoint"),
    [
        case(S3Settings(), None, id="that of the region"),
        case(S3Settings("https://s3.example.org"), "https://lake.s3.example.org", id="before the host"),
        case(S3Settings("https://s3.example.org:8443"), "https://lake.s3.example.org:8443", id="with a port"),
        case(S3Settings("http://s3", path_style=True), "http://s3", id="in the path"),
    ],
)
def test_endpoint_of_a_bucket(settings: S3Settings, endpoint: str | None) -> None:
    assert settings.endpoint_of(ObjectPath(Store.S3, "lake")) == endpoint


def test_what_is_secret_is_not_shown_and_is_shipped() -> None:
    settings = S3Settings(keys=S3Keys("name", "hidden-key", "hidden-token", datetime(2026, 1, 1, tzinfo=UTC)))

    assert "hidden" not in repr(settings)
    assert pickle.loads(pickle.dumps(settings)) == settings
