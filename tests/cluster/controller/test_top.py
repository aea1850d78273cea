"""`lithify top` on a real API server: it reads the usage in the statuses of LakeTables."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from infrastructure.cluster.fixtures import Cluster
from infrastructure.cluster.kubectl import Kubectl
from lithify.cli.main import cli


@pytest.mark.parametrize(
    ("payer", "expected"),
    [("table", [("users", 1.25), ("orders", 0.042)]), ("namespace", [("", 1.292)])],
    ids=["by table", "by namespace"],
)
def test_usage_is_read_from_the_cluster(
    cluster: Cluster, kubectl: Kubectl, namespace: str, payer: str, expected: list[tuple[str, float]]
) -> None:
    for name, seconds in (("orders", 0.042), ("users", 1.25)):
        spec = {"catalogRef": {"name": "lake"}, "identifier": f"db.{name}"}
        body = {"apiVersion": "lithify.dev/v1alpha1", "kind": "LakeTable", "spec": spec}
        kubectl.apply({**body, "metadata": {"name": name}})
        status = json.dumps({"status": {"usage": {"runs": 1, "coreSeconds": seconds}}})
        kubectl("patch", "laketable", name, "--subresource=status", "--type=merge", "-p", status)

    arguments = ["--kubeconfig", str(cluster.kubeconfig), "--namespace", namespace, "--by", payer, "--json"]
    done = CliRunner().invoke(cli, ["top", *arguments])

    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [(one["table"], one["core_seconds"]) for one in found["usages"]] == expected
    assert {one["namespace"] for one in found["usages"]} == {namespace}
