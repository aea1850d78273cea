"""How a catalog's options say to reach Alibaba Cloud OSS."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

import pytest

from lithify.errors import InvalidOption
from lithify.io.locations import ObjectPath, Store
from lithify.io.objects.oss import PATIENCE, OssSettings, read_settings
from lithify.io.objects.s3 import S3Keys
from support.cases import case

HANGZHOU = "https://oss-cn-hangzhou.aliyuncs.com"
DEFAULT = "us-east-1"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        case({}, OssSettings(region=DEFAULT), id="nothing"),
        case(
            {"fs.oss.endpoint": "oss-cn-hangzhou.aliyuncs.com"},
            OssSettings(endpoint=HANGZHOU, region="cn-hangzhou"),
            id="an endpoint without a scheme",
        ),
        case(
            {"oss.endpoint": "https://s3.oss-ap-southeast-1-internal.aliyuncs.com"},
            OssSettings(
                endpoint="https://s3.oss-ap-southeast-1-internal.aliyuncs.com", region="ap-southeast-1"
            ),
            id="an internal endpoint of the protocol of S3, by Iceberg's name",
        ),
        case(
            {"fs.oss.endpoint": "https://store.example.org", "fs.oss.region": "cn-beijing"},
            OssSettings(endpoint="https://store.example.org", region="cn-beijing"),
            id="a region that the endpoint does not tell",
        ),
        case(
            {"fs.oss.endpoint": "https://store.example.org", "fs.oss.sld.enabled": "true"},
            OssSettings(endpoint="https://store.example.org", region=DEFAULT, path_style=True),
            id="the bucket in the path",
        ),
        case(
            {"fs.oss.endpoint": "http://127.0.0.1:9000"},
            OssSettings(endpoint="http://127.0.0.1:9000", region=DEFAULT, path_style=True),
            id="an address has no subdomains",
        ),
        case(
            {"fs.oss.accessKeyId": "a", "fs.oss.accessKeySecret": "b", "fs.oss.securityToken": "c"},
            OssSettings(region=DEFAULT, keys=S3Keys("a", "b", "c")),
            id="keys by Paimon's names",
        ),
        case(
            {"client.access-key-id": "a", "client.access-key-secret": "b", "client.security-token": "c"},
            OssSettings(region=DEFAULT, keys=S3Keys("a", "b", "c")),
            id="keys by Iceberg's names",
        ),
        case({PATIENCE: "2.5"}, OssSettings(region=DEFAULT, patience=2.5), id="patience"),
    ],
)
def test_options_become_settings(options: Mapping[str, str], wanted: OssSettings) -> None:
    assert read_settings(options) == wanted


@pytest.mark.parametrize(
    ("options", "option"),
    [
        case({"fs.oss.accessKeyId": "a"}, "fs.oss.accessKeySecret", id="no secret"),
        case({"client.access-key-secret": "b"}, "fs.oss.accessKeyId", id="no access key"),
        case({"fs.oss.endpoint": "ftp://oss"}, "fs.oss.endpoint", id="another protocol"),
        case({"fs.oss.endpoint": "https://user:password@oss"}, "fs.oss.endpoint", id="credentials in it"),
        case({"fs.oss.region": "x.evil.example/"}, "fs.oss.region", id="a region that is a host"),
        case({"fs.oss.sld.enabled": "1"}, "fs.oss.sld.enabled", id="neither true nor false"),
        case({PATIENCE: "a while"}, PATIENCE, id="no number"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options: Mapping[str, str], option: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_settings(options)
    assert caught.value.option == option
    assert "password" not in str(caught.value)


def test_bucket_is_a_part_of_the_host() -> None:
    settings = read_settings({"fs.oss.endpoint": HANGZHOU})
    assert settings.endpoint_of(ObjectPath(Store.OSS, "lake")) == "https://lake.oss-cn-hangzhou.aliyuncs.com"


def test_region_of_the_environment_has_no_part_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert read_settings({"fs.oss.endpoint": "https://store.example.org"}).region == DEFAULT


def test_what_is_secret_is_not_shown_and_is_shipped() -> None:
    settings = OssSettings(endpoint=HANGZHOU, keys=S3Keys("name", "hidden-key", "hidden-token"))
    assert "hidden" not in repr(settings)
    assert pickle.loads(pickle.dumps(settings)) == settings
