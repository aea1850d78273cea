"""Pod templates of a policy: none is deeper than its schema, none does what the baseline forbids."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy

import pytest
from kubernetes.client import ApiClient, ApiException, CoreV1Api
from kubernetes.config import new_client_from_config

from infrastructure.cluster.fixtures import Cluster
from infrastructure.cluster.kubectl import Kubectl, KubectlFailed
from support.operators.objects import policy
from support.operators.server import POLICIES, condition
from support.operators.stage import Stage
from support.pod_security import BASELINE, Template

pytestmark = pytest.mark.cluster
FORBIDDEN = 403
INVALID_ANYWAY = {"HostProcess", "/proc Mount Type"}
"""What Kubernetes refuses before it asks Pod Security, unless the pod has more that is unusual."""


@pytest.fixture
def pods(cluster: Cluster) -> Iterator[CoreV1Api]:
    """Requests about pods."""
    with new_client_from_config(str(cluster.kubeconfig)) as client:
        assert isinstance(client, ApiClient)
        yield CoreV1Api(client)


def whole(template: Template) -> Template:
    """A pod of a template that is valid but for what the template is about."""
    found = deepcopy(template)
    spec = found.setdefault("spec", {})
    spec.setdefault("containers", [{}])
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind, [])):
            container["name"] = f"{kind.lower()}-{index}" if (kind, index) != ("containers", 0) else "sidecar"
            container["image"] = "localhost/none"
            if kind == "initContainers" and any(name.endswith(("Probe", "cycle")) for name in container):
                container["restartPolicy"] = "Always"
            container.get("livenessProbe", {}).setdefault("successThreshold", 1)
    metadata = {**found.get("metadata", {}), "name": "any"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_the_table_of_our_checks_is_the_baseline_of_a_real_api_server(
    pods: CoreV1Api, kubectl: Kubectl, namespace: str
) -> None:
    """So a unit test that holds our checks against the table holds them against Kubernetes."""
    kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=baseline")
    admitted, judged = [], set()
    for control, forbidden, _ in BASELINE:
        for template in forbidden:
            try:
                pods.create_namespaced_pod(namespace, whole(template), dry_run="All")
                admitted.append((control, template))
            except ApiException as refused:
                if refused.status == FORBIDDEN and "violates PodSecurity" in str(refused.body):
                    judged.add(control)
    assert admitted == []
    assert judged == {control for control, _, _ in BASELINE} - INVALID_ANYWAY
    for _, _, allowed in BASELINE:
        for template in allowed:
            pods.create_namespaced_pod(namespace, whole(template), dry_run="All")


def nested(levels: int, *, lists: bool) -> str:
    """A JSON text: Python's own encoder gives up on what is that deep."""
    opening, closing = ("[", "]") if lists else ('{"a":', "}")
    return f'{opening * levels}"x"{closing * levels}'


def deep_policy(place: str, *, lists: bool) -> str:
    """A policy whose template is too deep at one place, which `%s` marks."""
    template = place.replace("%s", nested(1_200, lists=lists))
    spec = {"spark": {"executor": {"podTemplate": "here"}}}
    return json.dumps(policy("deep", **spec)).replace('"here"', template)


PLACES = {
    "all": "%s",
    "metadata": '{"metadata": %s}',
    "label": '{"metadata": {"labels": {"a": %s}}}',
    "scalar": '{"spec": {"schedulerName": %s}}',
    "affinity": '{"spec": {"affinity": {"nodeAffinity": %s}}}',
    "container": '{"spec": {"containers": [{"resources": {"limits": {"cpu": %s}}}]}}',
    "volume": '{"spec": {"volumes": [{"csi": {"volumeAttributes": %s}}]}}',
    "removed volume": '{"spec": {"volumes": [{"glusterfs": %s}]}}',
}


@pytest.mark.sampled(1, each="place")
@pytest.mark.parametrize("lists", [True, False], ids=["lists", "maps"])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_depth_is_refused_or_dropped(kubectl: Kubectl, place: str, lists: bool) -> None:
    text = deep_policy(place, lists=lists)
    with pytest.raises(KubectlFailed):
        kubectl("create", "--validate=strict", "-f", "-", stdin=text)
    try:
        kubectl("create", "--validate=ignore", "-f", "-", stdin=text)
    except KubectlFailed:
        return
    kept = kubectl("get", "compactionpolicy", "deep", "-o", "json")
    assert nested(30, lists=lists)[:60] not in "".join(kept.split())
    assert json.loads(kept)["spec"]["spark"]["executor"]["maxInstances"] == 4


@pytest.mark.parametrize(
    ("template", "field"),
    [
        pytest.param(
            {"spec": {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}},
            "spec.securityContext.sysctls[0]",
            id="sysctls",
        ),
        pytest.param(
            {"spec": {"priorityClassName": "system-node-critical"}}, "spec.priorityClassName", id="priority"
        ),
        pytest.param(
            {"spec": {"volumes": [{"name": "x", "flexVolume": {"driver": "a/b"}}]}},
            "spec.volumes[0].flexVolume",
            id="flexVolume",
        ),
        pytest.param(
            {"spec": {"volumes": [{"name": "x", "rbd": {}}]}},
            "spec.volumes[0].rbd",
            id="a volume that Kubernetes has no longer",
        ),
        pytest.param({"spec": {"nodeName": "control-plane"}}, "spec.nodeName", id="node"),
    ],
)
def test_the_policy_names_what_is_refused(stage: Stage, template: Template, field: str) -> None:
    name = stage.name("reaching-out")
    stage.kubectl.apply(policy(name, spark={"driver": {"podTemplate": template}}))
    found = stage.story.until(
        POLICIES, name, lambda found: condition(found, "Ready").get("status") == "False"
    )
    said = condition(found, "Ready")
    assert said["reason"] == "Invalid"
    assert f"spec.spark.driver.podTemplate.{field}: " in said["message"]
