"""The labels that open Spark's ports: who may make pods with them, as a real API server judges."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

import pytest

from cluster.chart.conftest import NARROW, TABLES, WIDE, Installed, account_of
from infrastructure.chart.accounts import PATIENCE
from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.launching.network_policy import network_policy
from lithify.controller.launching.pod import (
    APP_LABEL,
    DRIVER_ROLE,
    EXECUTOR_ROLE,
    LABEL_MANAGER,
    LABEL_ROLE,
    MANAGER,
    PodSettings,
    driver_pod,
)
from lithify.resources.names import LABEL_COMPACTION
from support.launching.orders import order

PODS = "tests-of-labels"
"""A namespace that nobody else uses; its accounts may make pods."""
DRIVER, EXECUTOR = ({LABEL_MANAGER: MANAGER, LABEL_ROLE: role} for role in (DRIVER_ROLE, EXECUTOR_ROLE))
ONE_RUN = {**EXECUTOR, APP_LABEL: "c-a-1", LABEL_COMPACTION: "a"}
SUBRESOURCES = ["", "status", "ephemeralcontainers", "resize"]
ADMIN = ""


def account(name: str) -> str:
    return account_of(PODS, name)


CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"
OPERATOR, OTHER_OPERATOR = account_of(WIDE, "lithify-operator"), account_of(NARROW, "narrow-operator")


def asked(kubectl: Kubectl, user: str, *arguments: str, stdin: str = "") -> str:
    """What the API server says to a user; empty if it lets them."""
    found = subprocess.run(
        [
            str(kubectl.program),
            f"--kubeconfig={kubectl.kubeconfig}",
            f"--cache-dir={kubectl.cache}",
            f"--namespace={PODS}",
            *([f"--as={user}"] if user else []),
            *arguments,
        ],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stderr if found.returncode else ""


def pod(name: str, labels: dict[str, str], account: str = "lithify-driver") -> dict[str, Any]:
    container = {"name": "c", "image": "image"}
    spec = {"serviceAccountName": account, "containers": [container], "nodeSelector": {"no": "where"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def until_judged(kubectl: Kubectl) -> None:
    """An API server heeds a new policy a moment after it has stored it."""
    made, deadline = json.dumps(pod("one", DRIVER)), monotonic() + PATIENCE
    while "are reserved" not in asked(kubectl, ADMIN, "create", "--dry-run=server", "-f", "-", stdin=made):
        assert monotonic() < deadline
        sleep(0.2)


@pytest.fixture(scope="module")
def pods(installed: Installed) -> Iterator[Kubectl]:
    kubectl = installed.kubectl.within(PODS)
    installed.kubectl("create", "namespace", PODS)
    for name in ("lithify-driver", "other"):
        kubectl("create", "serviceaccount", name)
    pods = ["pods", "pods/binding", *(f"pods/{name}" for name in SUBRESOURCES if name)]
    kubectl("create", "role", "pods", "--verb=get,create,update", f"--resource={','.join(pods)}")
    subjects = [f"--serviceaccount={PODS}:{name}" for name in ("lithify-driver", "other")]
    subjects += [f"--serviceaccount={NARROW}:narrow-operator"]
    kubectl("create", "rolebinding", "pods", "--role=pods", *subjects)
    until_judged(kubectl)
    yield kubectl
    installed.kubectl("delete", "namespace", PODS, "--wait=false")


@pytest.mark.parametrize(
    ("user", "made", "allowed"),
    [
        pytest.param(OPERATOR, pod("one", DRIVER), True, id="the operator makes drivers"),
        pytest.param(OTHER_OPERATOR, pod("one", DRIVER), True, id="so does one that is named"),
        pytest.param(account("lithify-driver"), pod("one", EXECUTOR), True, id="a driver makes executors"),
        pytest.param(account("lithify-driver"), pod("one", DRIVER), False, id="but no drivers"),
        pytest.param(account("other"), pod("one", EXECUTOR), False, id="executors of another account"),
        pytest.param(account("other"), pod("one", DRIVER), False, id="an account that may create pods"),
        pytest.param(ADMIN, pod("one", EXECUTOR), False, id="nor does an administrator"),
        pytest.param(account("other"), pod("one", {"app": "x"}), True, id="others are none of ours"),
        pytest.param(account("other"), pod("one", {LABEL_MANAGER: MANAGER}), False, id="without a role"),
        pytest.param(
            account("other"),
            pod("one", {LABEL_MANAGER: MANAGER, APP_LABEL: "c-a-1"}),
            False,
            id="of a run, without a role",
        ),
        pytest.param(CONTROLLER, pod("one", ONE_RUN), False, id="a ReplicaSet of somebody's"),
        pytest.param(account("other"), pod("one", {APP_LABEL: "spark-1"}), True, id="Spark without Lithify"),
    ],
)
def test_who_may_make_pods(pods: Kubectl, user: str, made: dict[str, Any], *, allowed: bool) -> None:
    arguments = ("create", "--dry-run=server", "-f", "-")
    said = asked(pods, user, *arguments, stdin=json.dumps(made))
    assert (said == "") is allowed, said
    assert allowed or "are reserved" in said


@pytest.mark.parametrize("subresource", SUBRESOURCES)
@pytest.mark.parametrize(
    ("labels", "changes", "allowed"),
    [
        pytest.param({"app": "x"}, ONE_RUN, False, id="labels put on a pod"),
        pytest.param({APP_LABEL: "c-a-1"}, {LABEL_MANAGER: MANAGER}, False, id="one that was missing"),
        pytest.param({LABEL_MANAGER: MANAGER, APP_LABEL: "c-a-1"}, EXECUTOR, False, id="a role"),
        pytest.param(ONE_RUN, {APP_LABEL: "c-b-1"}, False, id="another run"),
        pytest.param(ONE_RUN, {LABEL_COMPACTION: "b"}, False, id="another Compaction"),
        pytest.param(ONE_RUN, {LABEL_MANAGER: None}, False, id="a pod without its policy"),
        pytest.param(ONE_RUN, {LABEL_ROLE: None, APP_LABEL: None}, False, id="a pod without its run"),
        pytest.param(ONE_RUN, {"app": "x"}, True, id="other labels"),
    ],
)
def test_only_the_operator_changes_reserved_labels(
    pods: Kubectl,
    labels: dict[str, str],
    changes: dict[str, str | None],
    subresource: str,
    *,
    allowed: bool,
) -> None:
    assert asked(pods, OPERATOR, "create", "-f", "-", stdin=json.dumps(pod("changed", labels))) == ""
    try:
        found = pods.get("pod", "changed")
        before = found["metadata"]["labels"]
        changed = {name: value for name, value in {**before, **changes}.items() if value is not None}
        found["metadata"]["labels"] = changed
        if subresource == "ephemeralcontainers":
            found["spec"]["ephemeralContainers"] = [{"name": "more", "image": "image"}]
        path = f"/api/v1/namespaces/{PODS}/pods/changed/{subresource}".rstrip("/")
        said = asked(pods, account("other"), "replace", "--raw", path, "-f", "-", stdin=json.dumps(found))
        after = pods.get("pod", "changed")["metadata"]["labels"]
        assert allowed or after == before
        assert not allowed or said == ""
        if subresource in ("", "status"):  # the other ones drop changes of labels
            assert (after == changed) is allowed
            assert allowed or "are reserved" in said
    finally:
        pods("delete", "pod", "changed", "--grace-period=0", "--force")


@pytest.mark.parametrize("path", ["pods/bound/binding", "bindings"])
def test_a_binding_adds_no_reserved_label(pods: Kubectl, path: str) -> None:
    """From Kubernetes 1.35 on, the API server copies a Binding's labels to its pod."""
    assert asked(pods, account("other"), "create", "-f", "-", stdin=json.dumps(pod("bound", {}))) == ""
    try:
        target = {"apiVersion": "v1", "kind": "Node", "name": "node-1"}
        metadata = {"name": "bound", "labels": ONE_RUN}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        raw = f"/api/v1/namespaces/{PODS}/{path}"
        said = asked(pods, ADMIN, "create", "--raw", raw, "-f", "-", stdin=json.dumps(binding))
        assert "are reserved" in said
        metadata["labels"] = {"app": "x"}
        assert asked(pods, ADMIN, "create", "--raw", raw, "-f", "-", stdin=json.dumps(binding)) == ""
    finally:
        pods("delete", "pod", "bound", "--grace-period=0", "--force")


def test_labels_that_network_policies_select_are_reserved(installed: Installed) -> None:
    policy = network_policy(driver_pod(order(), PodSettings()), None)
    selector = policy["spec"]["podSelector"]
    selected = {*selector["matchLabels"], *(one["key"] for one in selector["matchExpressions"])}
    (admission,) = (
        one
        for one in installed.kubectl.get("validatingadmissionpolicies")["items"]
        if one["metadata"]["name"] == "lithify-reserved-labels"
    )
    reserved = next(one for one in admission["spec"]["variables"] if one["name"] == "after")["expression"]
    assert {name for name in selected if f"'{name}'" in reserved} == selected
    needed = admission["spec"]["matchConstraints"]["objectSelector"]["matchLabels"]
    assert needed.items() <= selector["matchLabels"].items()
    assert not admission.get("status", {}).get("typeChecking", {}).get("expressionWarnings")


def test_it_judges_nothing_where_there_are_no_tables(installed: Installed) -> None:
    """One release names its namespaces, the other one none."""
    bindings = installed.kubectl.get("validatingadmissionpolicybindings")["items"]
    places = {one["metadata"]["name"]: one["spec"].get("matchResources") for one in bindings}
    assert "lithify-reserved-labels" in places
    (names,) = places["narrow-reserved-labels"]["namespaceSelector"]["matchExpressions"]
    assert names["values"] == [TABLES]
