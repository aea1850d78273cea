"""The labels that open Spark's ports: who may make pods with them, as a real API server judges."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

import pytest

from chart.conftest import NARROW, TABLES, WIDE, Installed, account_of
from infrastructure.chart.accounts import PATIENCE
from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.launching.pod import DRIVER_ROLE, EXECUTOR_ROLE, LABEL_MANAGER, LABEL_ROLE, MANAGER

PODS = "tests-of-labels"
"""A namespace that nobody else uses; its accounts may make pods."""
DRIVER, EXECUTOR = ({LABEL_MANAGER: MANAGER, LABEL_ROLE: role} for role in (DRIVER_ROLE, EXECUTOR_ROLE))
ADMIN = ""


def account(name: str) -> str:
    return account_of(PODS, name)


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
    kubectl("create", "role", "pods", "--verb=get,create,patch", "--resource=pods,pods/status")
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
        pytest.param(
            account("other"), pod("one", {LABEL_MANAGER: MANAGER}), True, id="no driver and no executor"
        ),
    ],
)
def test_who_may_make_pods(pods: Kubectl, user: str, made: dict[str, Any], *, allowed: bool) -> None:
    arguments = ("create", "--dry-run=server", "-f", "-")
    said = asked(pods, user, *arguments, stdin=json.dumps(made))
    assert (said == "") is allowed, said
    assert allowed or "are reserved" in said


@pytest.mark.parametrize("subresource", [[], ["--subresource=status"]], ids=["pods", "their status"])
@pytest.mark.parametrize(
    ("labels", "patch", "allowed"),
    [
        pytest.param({"app": "x"}, EXECUTOR, False, id="labels put on a pod"),
        pytest.param(
            {**EXECUTOR, "spark-app-selector": "c-a-1"},
            {"spark-app-selector": "c-b-1"},
            False,
            id="another run",
        ),
        pytest.param(EXECUTOR, {"app": "x"}, True, id="other labels"),
        pytest.param(EXECUTOR, {LABEL_MANAGER: None}, True, id="a pod that is given up"),
    ],
)
def test_labels_stay_as_they_were_made(
    pods: Kubectl,
    labels: dict[str, str],
    patch: dict[str, str | None],
    subresource: list[str],
    *,
    allowed: bool,
) -> None:
    made = json.dumps(pod("changed", labels))
    assert asked(pods, OPERATOR, "create", "-f", "-", stdin=made) == ""
    try:
        change = json.dumps({"metadata": {"labels": patch}})
        arguments = ("patch", "pod", "changed", "--type=merge", "-p", change, *subresource)
        said = asked(pods, account("other"), *arguments)
        assert (said == "") is allowed, said
    finally:
        pods("delete", "pod", "changed", "--grace-period=0", "--force")


def test_it_judges_nothing_where_there_are_no_tables(installed: Installed) -> None:
    """One release names its namespaces, the other one none."""
    bindings = installed.kubectl.get("validatingadmissionpolicybindings")["items"]
    places = {one["metadata"]["name"]: one["spec"].get("matchResources") for one in bindings}
    assert "lithify-reserved-labels" in places
    (names,) = places["narrow-reserved-labels"]["namespaceSelector"]["matchExpressions"]
    assert names["values"] == [TABLES]
