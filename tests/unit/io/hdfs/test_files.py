"""Which name nodes may be asked, before any of them is."""

from __future__ import annotations

import pickle

import pytest

from lithify.errors import OutOfReach
from lithify.io.access_policy import NOWHERE, AccessPolicy
from lithify.io.hdfs.files import HdfsFiles
from lithify.io.hdfs.settings import read_settings
from support.cases import case

SERVICE = {
    "dfs.ha.namenodes.lake": "nn1,nn2",
    "dfs.namenode.rpc-address.lake.nn1": "nn1.example.org:8020",
    "dfs.namenode.rpc-address.lake.nn2": "nn2.example.org:8020",
}
BOTH = ("hdfs://nn1.example.org:8020/w", "hdfs://nn2.example.org/w")


@pytest.mark.parametrize(
    ("granted", "path"),
    [
        case(BOTH[:1], "hdfs://lake/w/t", id="one of two"),
        case(("hdfs://lake/w",), "hdfs://lake/w/t", id="the name that the Catalog gives them"),
        case(BOTH, "hdfs://lake/x", id="another path"),
        case(BOTH, "hdfs://nn1.example.org:8021/w", id="another port"),
        case((), "hdfs://nn1.example.org/w", id="none"),
    ],
)
def test_each_name_node_needs_a_grant(granted: tuple[str, ...], path: str) -> None:
    files = HdfsFiles(read_settings(SERVICE, AccessPolicy(granted, with_endpoint=False)))
    with pytest.raises(OutOfReach) as caught:
        files.bucket(path)
    assert caught.value.where == path


def test_granted_paths_are_reached_on_executors_too() -> None:
    files = HdfsFiles(read_settings(SERVICE, AccessPolicy(BOTH)))
    there = pickle.loads(pickle.dumps(files))
    assert there.bucket("hdfs://lake/w/t/x")[1] == "w/t/x"
    assert there.place("hdfs://LAKE/w//t") == there.place("hdfs://lake:8020/w/t")


def test_credentials_of_other_stores_open_nothing() -> None:
    with pytest.raises(OutOfReach):
        HdfsFiles(read_settings({}, NOWHERE)).bucket("hdfs://nn/w")
