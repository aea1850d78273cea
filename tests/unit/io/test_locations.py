"""Which store a path names, and what lies where in it."""

from __future__ import annotations

import pytest

from lithify.io.locations import ObjectPath, Store, object_path, store_of
from support.cases import case

ACCOUNT = "lake.core.windows.net"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        case("s3://b/w", ObjectPath(Store.S3, "b", ("w",)), id="S3"),
        case("S3A://b//w/", ObjectPath(Store.S3, "b", ("w",)), id="S3 in another spelling"),
        case("gs://b/w/t", ObjectPath(Store.GCS, "b", ("w", "t")), id="Google Cloud Storage"),
        case("oss://lake-1/w/t", ObjectPath(Store.OSS, "lake-1", ("w", "t")), id="Alibaba Cloud OSS"),
        case(
            "abfss://c@lake.dfs.core.windows.net/w", ObjectPath(Store.AZURE, "c", ("w",), ACCOUNT), id="abfss"
        ),
        case(
            "wasb://c@Lake.blob.core.windows.net/w", ObjectPath(Store.AZURE, "c", ("w",), ACCOUNT), id="wasb"
        ),
        case(
            "abfs://c@lake.dfs.core.chinacloudapi.cn",
            ObjectPath(Store.AZURE, "c", (), "lake.core.chinacloudapi.cn"),
            id="another cloud",
        ),
    ],
)
def test_spellings_of_a_place_are_one(path: str, wanted: ObjectPath) -> None:
    assert object_path(path) == wanted
    assert object_path(str(wanted)) == wanted


@pytest.mark.parametrize(
    "path",
    [
        case("abfss://c@lake.dfs.evil.example/w", id="a host that is no cloud's"),
        case("abfss://c@lake.dfs.core.windows.net.evil.example/w", id="a host that begins like a cloud's"),
        case("abfss://c@evil.example?x=.dfs.core.windows.net/w", id="a host with a query"),
        case("abfss://c@lake.dfs.core.windows.net:8080/w", id="a port"),
        case("abfss://c@a/w", id="an account without its cloud"),
        case("abfss://lake.dfs.core.windows.net/w", id="no container"),
        case("abfss://c@u@lake.dfs.core.windows.net/w", id="a user"),
        case("gs://b@evil.example/w", id="a host after a bucket"),
        case("gs:///w", id="no bucket"),
        case("gs://b/../w", id="dots"),
        case("oss://lake.cn-hangzhou.oss-dls.aliyuncs.com/w", id="OSS-HDFS"),
        case("hdfs:///w", id="no name node"),
        case("hdfs://user@namenode/w", id="a user on HDFS"),
        case("hdfs://namenode:port/w", id="a port that is none"),
        case("oss://key:secret@oss-cn-hangzhou.aliyuncs.com/lake/w", id="credentials in a path"),
    ],
)
def test_path_that_names_no_place_is_none_though_its_store_is_known(path: str) -> None:
    assert store_of(path) is not None
    assert object_path(path) is None


@pytest.mark.parametrize("path", ["/w", "file:/w", "obs://lake/w", "w"])
def test_other_file_systems_are_no_object_stores(path: str) -> None:
    assert (store_of(path), object_path(path)) == (None, None)
