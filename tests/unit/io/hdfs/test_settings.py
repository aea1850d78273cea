"""Options of HDFS: Hadoop's names, with Paimon's prefix or without it."""

from __future__ import annotations

import pytest

from lithify.errors import InvalidOption
from lithify.io.hdfs.kerberos import AUTHENTICATION, KEYTAB, PRINCIPAL, TICKET_CACHE, Login
from lithify.io.hdfs.settings import NameNode, is_option, read_settings
from lithify.io.locations import object_path
from support.cases import case

SERVICE = {
    "dfs.ha.namenodes.lake": "nn1, nn2",
    "dfs.namenode.rpc-address.lake.nn1": "First.example.org:8021",
    "dfs.namenode.rpc-address.lake.nn2": "second.example.org",
}
KERBEROS = {AUTHENTICATION: "kerberos"}
PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"


@pytest.mark.parametrize("prefix", ["", "hadoop."])
def test_name_service_has_the_name_nodes_of_the_options(prefix: str) -> None:
    options = {f"{prefix}{name}": value for name, value in SERVICE.items()}
    root = object_path("hdfs://lake/warehouse")
    assert root is not None

    found = read_settings(options).name_nodes_of(root.root)

    assert found == (NameNode("first.example.org", 8021), NameNode("second.example.org", 8020))
    assert all(map(is_option, options))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("hdfs://namenode:9000/w", NameNode("namenode", 9000)),
        ("hdfs://NameNode/w", NameNode("namenode", 8020)),
    ],
)
def test_path_names_its_name_node(path: str, expected: NameNode) -> None:
    root = object_path(path)
    assert root is not None
    assert read_settings(SERVICE).name_nodes_of(root.root) == (expected,)


def test_plain_options_are_read() -> None:
    found = read_settings(
        {
            "hadoop.username": "lithify",
            "hadoop.dfs.replication": "2",
            "dfs.client.use.datanode.hostname": "true",
            "hadoop.security.authentication": "simple",
            "dfs.client.failover.proxy.provider.lake": PROVIDER,
            "fs.defaultFS": "hdfs://lake",
            "lithify.hdfs.patience-seconds": "3",
        }
    )
    assert (found.user, found.replication, found.uses_host_names, found.patience) == ("lithify", 2, True, 3.0)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        case({}, None, id="none"),
        case({"hadoop.security.authentication": "simple"}, None, id="simple"),
        case(KERBEROS, Login(), id="the process's own"),
        case({f"hadoop.{AUTHENTICATION}": "Kerberos"}, Login(), id="with Paimon's prefix"),
        case({**KERBEROS, TICKET_CACHE: "true"}, Login(), id="a ticket cache"),
        case(
            {**KERBEROS, PRINCIPAL: "a/host@B.C", KEYTAB: "/etc/a.keytab", TICKET_CACHE: "false"},
            Login("a/host@B.C", "/etc/a.keytab"),
            id="a keytab",
        ),
        case(
            {**KERBEROS, "security.principal": "a", "security.keytab": "/k"},
            Login("a", "/k"),
            id="older names",
        ),
    ],
)
def test_login_is_as_the_options_say(options: dict[str, str], expected: Login | None) -> None:
    assert read_settings(options).login == expected


@pytest.mark.parametrize(
    ("options", "named"),
    [
        case({"hadoop.security.authentication": "ldap"}, AUTHENTICATION, id="another authentication"),
        case({KEYTAB: "/etc/a.keytab"}, KEYTAB, id="a keytab without Kerberos"),
        case({**KERBEROS, PRINCIPAL: "a@B"}, KEYTAB, id="a principal without a keytab"),
        case({**KERBEROS, KEYTAB: "/etc/a.keytab"}, PRINCIPAL, id="a keytab without a principal"),
        case({**KERBEROS, PRINCIPAL: "a@B", KEYTAB: "a.keytab"}, KEYTAB, id="a relative path"),
        case({**KERBEROS, PRINCIPAL: "a b", KEYTAB: "/etc/a.keytab"}, PRINCIPAL, id="no principal"),
        case({**KERBEROS, TICKET_CACHE: "false"}, TICKET_CACHE, id="neither a keytab nor tickets"),
        case({**KERBEROS, "hadoop.username": "a"}, "hadoop.username", id="a user besides the principal"),
        case({"dfs.ha.namenodes.lake": "nn1"}, "dfs.namenode.rpc-address.lake.nn1", id="no address"),
        case({"dfs.ha.namenodes.lake": " ,"}, "dfs.ha.namenodes.lake", id="no name nodes"),
        case(
            {**SERVICE, "dfs.namenode.rpc-address.lake.nn2": "host:99999"},
            "dfs.namenode.rpc-address.lake.nn2",
            id="a port that is none",
        ),
        case(
            {**SERVICE, "dfs.namenode.rpc-address.lake.nn2": "hdfs://host:8020"},
            "dfs.namenode.rpc-address.lake.nn2",
            id="a URL",
        ),
        case({"hadoop.username": "a b"}, "hadoop.username", id="no user"),
        case({"dfs.replication": "0"}, "dfs.replication", id="no replicas"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(options: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_settings(options)
    assert named in caught.value.option
