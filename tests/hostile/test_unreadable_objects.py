"""Objects that nobody can read, in a real API server: each costs only itself, whoever leads.

An API server keeps up to 10,000 levels wherever it does not know a field, and in `managedFields` of any object that
somebody may write, pods included. So requests and answers are texts here: Python's own JSON cannot take them.
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
import yaml

from cluster.fixtures import Cluster
from cluster.kubectl import Kubectl
from end_to_end.objects import catalog, compaction, lake_table, policy
from end_to_end.operating import RunningOperator, ended_after
from lithify.controller.cluster.client import ClusterClient
from lithify.controller.reconciling.intake import Intake
from lithify.controller.reconciling.queue import Queue
from lithify.controller.reconciling.store import Store
from lithify.resources.crd import definition_of, manifest
from lithify.resources.names import (
    API_VERSION,
    CATALOG,
    COMPACTION,
    LABEL_COMPACTION,
    LAKE_TABLE,
    OWN_KINDS,
    POD,
    POLICY,
    Kind,
    ObjectKey,
)
from support.cases import case

pytestmark = pytest.mark.cluster
DEPTHS = (400, 900, 1_200, 9_000)
"""What Python decodes and then stumbles over, what it does not decode, and the most that is stored."""
NO_DATE = "0000-01-01T00:00:00Z"
"""A time that Kubernetes accepts and Python does not have."""


def nested(levels: int, opening: str = '{"f:a":', closing: str = "}") -> str:
    return f"{opening * levels}{{}}{closing * levels}"


def body_of(kind: Kind, name: str) -> dict[str, Any]:
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

    def create(self, kind: Kind, text: str) -> None:
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

    def create_deep(self, kind: Kind, name: str, levels: int) -> None:
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


def said_of(kubectl: Kubectl, what: str) -> tuple[str, str]:
    """Status and reason of Ready, once the object has it."""
    kubectl("wait", what, "--for=jsonpath={.status.conditions[?(@.type=='Ready')].status}=False", "--timeout=60s")
    found = kubectl("get", what, "-o", "jsonpath={.status.conditions[?(@.type=='Ready')]}")
    ready = json.loads(found)
    return ready["reason"], ready["message"]


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

    operator.kill()
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

    for kind in (CATALOG, POLICY):
        reason, message = said_of(kubectl, f"{kind.plural}/odd")
        assert (reason, "cannot be read" in message) in {("Unreadable", True), ("Invalid", False)}
    for kind in (LAKE_TABLE, COMPACTION):
        kubectl(
            "wait", "event", f"--field-selector=reason=Unreadable,involvedObject.kind={kind.name}",
            "--for=jsonpath={.involvedObject.name}=odd", "--timeout=60s",
        )  # fmt: skip
    assert operator.is_running, operator.said


def condition_at(time: str) -> dict[str, str]:
    return {"type": "Odd", "status": "True", "reason": "Odd", "message": "", "lastTransitionTime": time}
