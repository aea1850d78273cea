"""Where the rights of a process itself may be used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lithify.errors import CorruptTable, Failure, InvalidOption, OutOfReach
from lithify.formats.paimon.catalog.connecting import load_table
from lithify.io.access_policy import (
    DRIVER,
    NOWHERE,
    UNBOUNDED,
    AccessPolicy,
    read_own_identity,
)
from lithify.io.objects.files import ObjectFiles
from lithify.io.objects.s3 import S3Settings
from lithify.io.objects.stores import settings_for
from lithify.settings import WAREHOUSE
from support.cases import case

KEYLESS = S3Settings(region="eu-west-1")
GRANTED = AccessPolicy(("s3://lake/team-a/", "/data/lake", "file:/other", "hdfs://nn/team-a"))


@pytest.mark.parametrize(
    "path",
    [
        *("s3://lake/team-a", "s3a://lake/team-a/db.db/t", "s3://lake//team-a/t"),
        *("hdfs://nn:8020/team-a/t", "hdfs://NN/team-a"),
        *(
            "/data/lake",
            "/data/lake/",
            "/data//lake/x",
            "file:/data/lake/x",
            "file:///data/lake/x",
            "/other/x",
        ),
    ],
)
def test_paths_below_a_granted_prefix_are_allowed(path: str) -> None:
    GRANTED.check(path)


@pytest.mark.parametrize(
    "path",
    [
        *("s3://lake", "s3://lake/team-ab", "s3://lake-evil/team-a", "s3://lake/team-b", "s3://LAKE/team-a"),
        *(
            "s3://lake/team-a/../team-b",
            "s3://lake/team-a/./x/../../y",
            "s3://x@lake/team-a",
            "s3:///lake/team-a",
        ),
        *(
            "/data",
            "/data/lake2",
            "/data/lake/../secrets",
            "data/lake",
            "",
            "file:data/lake",
            "file://data/lake",
        ),
        *("s3://lake#other/team-a/t", "s3://lake?other/team-a/t", "s3://lake:x/team-a", "s3://[lake/team-a"),
        *("file:/data/lake/%2e%2e/x", "oss://lake/team-a", "hdfs://lake/team-a", "s3://lake/team-a\n"),
        *("hdfs://nn:8021/team-a", "hdfs://nn/team-ab", "hdfs://nn/team-a/../b", "hdfs://u@nn/team-a"),
    ],
)
def test_paths_elsewhere_are_out_of_reach(path: str) -> None:
    with pytest.raises(OutOfReach) as caught:
        GRANTED.check(path)
    assert caught.value.where == path


_WORDS = st.text("ab.#?%[]@:/\\ \t\néS", max_size=12)


@given(bucket=_WORDS, rest=_WORDS)
@example(bucket="bkt#other", rest="/prefix/t")
@example(bucket="bkt?other", rest="/prefix/t")
@example(bucket="[bkt", rest="/prefix/t")
def test_what_is_granted_is_what_is_accessed(bucket: str, rest: str) -> None:
    """A grant for a folder covers a path only if the request for it goes into that folder."""
    path = f"s3://{bucket}{rest}"
    reach = AccessPolicy(("s3://a", "s3://bkt/prefix"), with_endpoint=False)
    try:
        accessed, key = ObjectFiles(replace(KEYLESS, reach=reach)).bucket(path)
    except (OutOfReach, CorruptTable):
        return
    assert accessed.name == "a" or (accessed.name, key.split("/")[0]) == ("bkt", "prefix")
    assert reach.covers(path)


@pytest.mark.parametrize("path", ["s3://[x/y", "s3://", "s3:///x", "s3:x", "s3://a b/c", "s3://a/../b"])
def test_path_without_a_bucket_is_an_error_of_its_author(path: str) -> None:
    with pytest.raises(CorruptTable) as caught:
        ObjectFiles(KEYLESS).bucket(path)
    assert (caught.value.path, caught.value.failure) == (path, Failure.USER)
    with pytest.raises(InvalidOption) as refused:
        load_table(path, "db.t", {})
    assert refused.value.option == str(WAREHOUSE)


def test_a_link_is_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "granted").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "granted" / "link").symlink_to(tmp_path / "secret")
    reach = AccessPolicy((str(tmp_path / "granted"),))
    assert reach.covers(str(tmp_path / "granted" / "new"))
    assert not reach.covers(str(tmp_path / "granted" / "link"))


def test_grants_are_of_namespaces() -> None:
    own = read_own_identity(["team-a=s3://lake/a", "*=/shared", "team-b=s3://lake/b"])
    assert own.reach("team-a").prefixes == ("s3://lake/a", "/shared")
    assert own.reach("others").prefixes == ("/shared",)
    assert not own.reach("team-a").with_endpoint
    assert read_own_identity([]).reach("team-a") == NOWHERE


@pytest.mark.parametrize(
    "entry",
    [
        "s3://lake",
        "team=s3://[lake",
        "team=s3://lake#x",
        "team=",
        "=s3://lake",
        "team=lake",
        "Team=/x",
        "team=s3://",
        "team=/a/../b",
        "te am=/x",
    ],
)
def test_entries_that_are_none(entry: str) -> None:
    with pytest.raises(ValueError, match=r"namespace|no path"):
        read_own_identity([entry])


@pytest.mark.parametrize(
    ("reach", "everywhere", "with_endpoint"),
    [
        case(UNBOUNDED, True, True, id="people"),
        case(DRIVER, True, False, id="pods"),
        case(NOWHERE, False, False, id="none"),
    ],
)
def test_each_kind_of_policy_covers_what_it_says(
    reach: AccessPolicy, everywhere: bool, with_endpoint: bool
) -> None:
    assert (reach.covers("/anything"), reach.with_endpoint) == (everywhere, with_endpoint)


@pytest.mark.parametrize(
    ("grant", "path", "is_granted"),
    [
        ("gs://lake/a", "gs://lake/a/t", True),
        ("gs://lake/a", "gs://lake/ab", False),
        ("gs://lake/a", "s3://lake/a/t", False),
        ("s3://lake/a", "oss://lake/a/t", False),
        ("abfss://c@lake.dfs.core.windows.net/a", "wasbs://c@lake.blob.core.windows.net/a/t", True),
        ("abfss://c@lake.dfs.core.windows.net/a", "abfss://c@other.dfs.core.windows.net/a/t", False),
        ("abfss://c@lake.dfs.core.windows.net/a", "abfss://d@lake.dfs.core.windows.net/a/t", False),
        ("abfss://c@lake.dfs.core.windows.net/a", "abfss://c@lake.dfs.core.chinacloudapi.cn/a/t", False),
    ],
)
def test_grants_on_other_stores_are_by_account_bucket_and_folder(
    grant: str, path: str, is_granted: bool
) -> None:
    policy = read_own_identity([f"team={grant}"]).reach("team")
    assert policy.covers(path) is is_granted


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("gs://lake/t", {"gcs.service.host": "https://store.example.org"}),
        (
            "abfss://c@lake.dfs.core.windows.net/t",
            {"adls.connection-string.lake.dfs.core.windows.net": "https://store.example.org"},
        ),
    ],
)
def test_own_credentials_are_not_sent_to_an_endpoint_that_a_catalog_names(
    path: str, options: dict[str, str]
) -> None:
    reach = AccessPolicy((path,), with_endpoint=False)
    with pytest.raises(InvalidOption):
        ObjectFiles(settings_for(path, options, reach)).bucket(path)


@pytest.mark.parametrize("reach", [UNBOUNDED, DRIVER, NOWHERE, AccessPolicy(("oss://lake",))])
def test_store_without_an_identity_gets_no_credentials_of_the_environment(reach: AccessPolicy) -> None:
    options = {"fs.oss.endpoint": "https://oss-cn-hangzhou.aliyuncs.com"}
    with pytest.raises(InvalidOption) as caught:
        ObjectFiles(settings_for("oss://lake/t", options, reach)).bucket("oss://lake/t")
    assert caught.value.option == "fs.oss.accessKeyId"
