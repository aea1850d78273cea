"""Objects that nobody can read, in a real API server: each costs only itself, whoever leads.

An API server keeps up to 10,000 levels wherever it does not know a field, and in `managedFields` of any
object that somebody may write, pods included. So requests are texts here: Python's own JSON cannot make them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from copy import deepcopy
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from infrastructure.cluster.fixtures import Cluster
from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.cluster.client import ClusterClient
from lithify.controller.reconciling.intake import Intake
from lithify.controller.reconciling.queue import Queue
from lithify.controller.reconciling.store import Store
from lithify.resources.crd import definition_of, manifest
from lithify.resources.names import (
    CATALOG,
    COMPACTION,
    LABEL_COMPACTION,
    LAKE_TABLE,
    OWN_KINDS,
    POD,
    POLICY,
    ObjectKey,
    ResourceKind,
)
from support.operators.objects import catalog, compaction, lake_table, policy
from support.operators.operating import RunningOperator, ended_after

pytestmark = pytest.mark.cluster
DEPTHS = (400, 900, 1_200, 9_000)
"""What Python decodes and then stumbles over, what it does not decode, and the most that is stored."""
NO_DATE = "0000-01-01T00:00:00Z"
"""A time that Kubernetes accepts and Python does not have."""


def nested(levels: int, opening: str = '{"f:a":', closing: str = "}") -> str:
    return f"{opening * levels}{{}}{closing * levels}"


def body_of(kind: ResourceKind, name: str) -> dict[str, Any]:
    if kind is POD:
        metadata = {"name": name, "labels": {LABEL_COMPACTION: name}}
        spec = {"containers": [{"name": "any", "image": "localhost/none"}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    made = {
        CATALOG: catalog(name, "/nowhere"),
        POLICY: policy(name),
        LAKE_TABLE: lake_table(name, catalog="none", policy="none"),
        COMPACTION: compaction(name, "none"),
    }
    return made[kind]


class Texts:
    """Requests to one namespace as texts, with the answers as texts."""

    def __init__(self, port: int, namespace: str) -> None:
        self._port = port
        self._namespace = namespace

    def create(self, kind: ResourceKind, text: str) -> None:
        root = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
        self._ask("POST", f"/{root}/namespaces/{self._namespace}/{kind.plural}", text)

    def _ask(self, method: str, path: str, text: str) -> str:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, text, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            found = answer.read().decode()
        finally:
            connection.close()
        assert answer.status < 300, found[:500]
        return found

    def create_deep(self, kind: ResourceKind, name: str, levels: int) -> None:
        """An object whose `managedFields` go that deep."""
        body = body_of(kind, name)
        body["metadata"]["managedFields"] = [
            {
                "manager": "any",
                "operation": "Update",
                "apiVersion": body["apiVersion"],
                "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": "here",
            }
        ]
        self.create(kind, json.dumps(body).replace('"here"', nested(levels)))


@pytest.fixture
def texts(port: int, namespace: str) -> Texts:
    """Requests to the test's namespace."""
    return Texts(port, namespace)


@pytest.fixture
def operator(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[RunningOperator]:
    """An operator for the test's namespace, not started yet."""
    made = RunningOperator(
        kubeconfig=cluster.kubeconfig,
        namespace=namespace,
        state=tmp_path / "state",
        log=tmp_path / "operator.log",
    )
    with ExitStack() as stack:
        yield stack.enter_context(ended_after(made))


def until_it_works(operator: RunningOperator, kubectl: Kubectl, name: str) -> None:
    """Returns when a policy that is applied now has been looked at; none of the hostile ones holds it up."""
    kubectl.apply(policy(name))
    kubectl("wait", f"compactionpolicy/{name}", "--for=condition=Ready", "--timeout=60s")
    assert operator.is_running, operator.said


def test_a_leader_survives_whatever_is_stored_before_and_after(
    operator: RunningOperator, texts: Texts, kubectl: Kubectl
) -> None:
    for kind in (*OWN_KINDS, POD):
        for levels in DEPTHS:
            texts.create_deep(kind, f"before-{levels}", levels)
    operator.restart()
    until_it_works(operator, kubectl, "good")
    kubectl("wait", "compactionpolicy/before-9000", "--for=condition=Ready", "--timeout=60s")

    for kind in (*OWN_KINDS, POD):
        for levels in DEPTHS:
            texts.create_deep(kind, f"after-{levels}", levels)
    until_it_works(operator, kubectl, "better")
    kubectl("wait", "compactionpolicy/after-9000", "--for=condition=Ready", "--timeout=60s")

    operator.stop()
    operator.restart()
    until_it_works(operator, kubectl, "best")


def test_an_object_that_cannot_be_read_says_so(operator: RunningOperator, kubectl: Kubectl) -> None:
    kubectl.apply(*(body_of(kind, "odd") for kind in OWN_KINDS))
    times = {
        CATALOG: {"conditions": [condition_at(NO_DATE)]},
        POLICY: {"conditions": [condition_at(NO_DATE)]},
        LAKE_TABLE: {"lastSuccessTime": NO_DATE},
        COMPACTION: {"startTime": NO_DATE},
    }
    for kind, status in times.items():
        patch = json.dumps({"status": status})
        kubectl("patch", kind.plural, "odd", "--subresource=status", "--type=merge", "-p", patch)
    operator.restart()
    until_it_works(operator, kubectl, "good")

    for kind in OWN_KINDS:
        about = f"--field-selector=reason=Unreadable,involvedObject.kind={kind.name}"
        kubectl("wait", "event", about, "--for=jsonpath={.involvedObject.name}=odd", "--timeout=60s")
    run = kubectl.get(COMPACTION.plural, "odd")
    assert run["status"]["startTime"] == NO_DATE, "nobody decides about a run that cannot be read"
    kubectl("wait", "compactionpolicy/odd", "--for=condition=Ready", "--timeout=60s")
    kubectl("wait", "laketable/odd", "--for=condition=PolicyReady=False", "--timeout=60s")
    kubectl("delete", "compaction/odd")
    until_it_works(operator, kubectl, "better")


def condition_at(time: str) -> dict[str, str]:
    return {"type": "Odd", "status": "True", "reason": "Odd", "message": "", "lastTransitionTime": time}


def former(group: str) -> tuple[ResourceKind, dict[str, Any]]:
    """The definition of policies as it was: templates were kept as they came. Its names are its own."""
    kind = ResourceKind("FormerPolicy", "formerpolicies", group=group)
    made = manifest(definition_of(POLICY))
    made["metadata"]["name"] = f"{kind.plural}.{group}"
    names = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": "formerpolicy",
    }
    made["spec"] |= {"group": group, "names": names}
    return kind, made


def with_open_templates(definition: dict[str, Any]) -> dict[str, Any]:
    made = deepcopy(definition)
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spark = schema["properties"]["spec"]["properties"]["spark"]["properties"]
    for pod in ("driver", "executor"):
        spark[pod]["properties"]["podTemplate"] = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
    return made


TEMPLATES = {
    "deep": f'{{"metadata": {nested(1_200)}}}',
    "deeper": f'{{"spec": {{"volumes": [{{"name": "a", "csi": {nested(9_000)}}}]}}}}',
    "in-a-text": f'{{"metadata": {{"labels": {{"a": {nested(900, "[", "]").replace("{}", "")}}}}}}}',
    "of-another-shape": '{"metadata": [], "spec": {"containers": {"name": 7}}}',
}


@pytest.mark.asyncio
async def test_what_an_older_definition_let_in_is_read_under_both(
    api: ClusterClient, cluster: Cluster, port: int, namespace: str, kubectl: Kubectl
) -> None:
    kind, new = former(f"{namespace}.example.com")
    kubectl.apply(with_open_templates(new))
    try:
        kubectl.await_definition(new["metadata"]["name"])
        texts = Texts(port, namespace)
        for name, template in {**TEMPLATES, "good": "{}"}.items():
            spec = {"spark": {"driver": {"podTemplate": "here"}}}
            body = {
                "apiVersion": kind.api_version,
                "kind": kind.name,
                "metadata": {"name": name},
                "spec": spec,
            }
            texts.create(kind, json.dumps(body).replace('"here"', template))
        assert names_read(await api.list(kind, namespace)) == {*TEMPLATES, "good"}

        kubectl.apply(new)
        await until_pruned(api, kind, ObjectKey(namespace, "deep"))
        assert names_read(await api.list(kind, namespace)) == {*TEMPLATES, "good"}
    finally:
        kubectl("delete", "crd", new["metadata"]["name"], "--wait=false")


def names_read(listed: list[Any]) -> set[str]:
    """The policies that the operator takes in, none of which it would follow but the good one."""
    store = Store()
    intake = Intake(store, Queue({}))
    for body in listed:
        intake.take(POLICY, body, gone=False)
    assert store.unreadable == {}
    return {policy.metadata.name for policy in store.policies}


async def until_pruned(api: ClusterClient, kind: ResourceKind, key: ObjectKey) -> None:
    """Returns when the API server goes by the new definition, and drops fields that are unknown."""
    async with asyncio.timeout(60):
        while True:
            found = await api.get(kind, key)
            assert found is not None
            if not found["spec"]["spark"]["driver"]["podTemplate"]["metadata"]:
                return
            await asyncio.sleep(0.1)
