"""The test cluster itself: what the other tests rely on."""

from __future__ import annotations

import pytest

from infrastructure.cluster.fixtures import Cluster
from infrastructure.cluster.kubectl import Kubectl, KubectlFailed


def test_a_namespace_takes_pods_at_once(kubectl: Kubectl) -> None:
    kubectl("run", "sleeper", "--image=none")
    assert kubectl.get("pod", "sleeper")["status"]["phase"] == "Pending"


def test_our_resources_are_there(cluster: Cluster) -> None:
    names = cluster.kubectl("api-resources", "--api-group=lithify.dev", "-o", "name").split()
    assert len(names) == 4


def test_errors_of_kubectl_reach_the_test(kubectl: Kubectl) -> None:
    with pytest.raises(KubectlFailed) as caught:
        kubectl("get", "pod", "missing")
    assert "NotFound" in caught.value.stderr


def test_owned_objects_go_with_their_owner(kubectl: Kubectl) -> None:
    kubectl.apply(_table("owner"))
    owner = kubectl.get("laketable", "owner")["metadata"]
    reference = {"apiVersion": "lithify.dev/v1alpha1", "kind": "LakeTable", "name": "owner"}
    kubectl.apply(
        _table("owned")
        | {"metadata": {"name": "owned", "ownerReferences": [reference | {"uid": owner["uid"]}]}}
    )
    kubectl("delete", "laketable", "owner")
    kubectl("wait", "--for=delete", "--timeout=60s", "laketable/owned")


def _table(name: str) -> dict[str, object]:
    return {
        "apiVersion": "lithify.dev/v1alpha1",
        "kind": "LakeTable",
        "metadata": {"name": name},
        "spec": {"catalogRef": {"name": "lake"}, "identifier": "db.t"},
    }
