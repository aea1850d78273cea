"""The chart and a real API server: all is accepted, upgrades disturb nobody, and nothing gets stuck."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.chart.conftest import TABLES, WIDE, Installed, account_of
from infrastructure.chart.accounts import kubeconfig_of
from infrastructure.chart.cases import CASES
from infrastructure.chart.rendering import CHART, Object, render
from infrastructure.cluster.kubectl import Kubectl
from lithify.resources.crd import DEFINITIONS
from lithify.resources.names import API_VERSION, FINALIZER_DRIVER, LABEL_COMPACTION
from support.runs import LITHIFY

OF_THE_CLUSTER = {
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
OPERATOR = account_of(WIDE, "lithify-operator")
"""Who may make pods with the labels of drivers."""


@pytest.fixture(scope="module")
def strict(installed: Installed) -> Kubectl:
    """A namespace that only takes restricted pods."""
    name = "restricted"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    installed.kubectl.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    )
    installed.kubectl("-n", name, "wait", "--for=create", "--timeout=60s", "serviceaccount/default")
    return installed.kubectl.within(name)


def trial(kubectl: Kubectl, *objects: Object) -> None:
    """Has the API server check objects."""
    items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    arguments = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    kubectl("apply", *arguments, "-f", "-", stdin=json.dumps(items))


def moved(found: Object, namespace: str | None) -> Object:
    """An object in another namespace."""
    metadata = {name: value for name, value in found["metadata"].items() if name != "namespace"}
    return {
        **found,
        "metadata": metadata if found["kind"] in OF_THE_CLUSTER else {**metadata, "namespace": namespace},
    }


@pytest.mark.parametrize("case", CASES)
def test_the_api_server_accepts_everything(strict: Kubectl, case: str) -> None:
    of_kubernetes = [
        found for found in render(CASES[case]).objects if not found["apiVersion"].startswith("monitoring.")
    ]
    trial(strict, *(moved(found, strict.namespace) for found in of_kubernetes))


@pytest.mark.parametrize("case", ["defaults", "everything"])
def test_pods_are_let_into_a_restricted_namespace(strict: Kubectl, case: str) -> None:
    for number, found in enumerate(render(CASES[case]).of("Deployment", "Job")):
        template = found["spec"]["template"]
        spec = {**template["spec"], "serviceAccountName": "default"}
        metadata = {**template["metadata"], "name": f"pod-{number}", "namespace": strict.namespace}
        strict(
            "create", "--dry-run=server", "-f", "-",
            stdin=json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}),
        )  # fmt: skip


def driver(kubectl: Kubectl, name: str) -> str:
    """A Compaction with a driver's pod, as the operator makes it; the pod's uid."""
    spec = {"tableRef": {"name": "orders"}, "suspend": True}
    kubectl.apply({"apiVersion": API_VERSION, "kind": "Compaction", "metadata": {"name": name}, "spec": spec})
    owner = {"apiVersion": API_VERSION, "kind": "Compaction", "name": name, "controller": True}
    uid = kubectl("get", "compaction", name, "-o", "jsonpath={.metadata.uid}")
    labels = {"app.kubernetes.io/managed-by": "lithify", "app.kubernetes.io/component": "driver"}
    metadata = {
        "name": f"{name}-lithify",
        "labels": {**labels, LABEL_COMPACTION: name},
        "finalizers": [FINALIZER_DRIVER],
        "ownerReferences": [{**owner, "uid": uid}],
    }
    container = {"name": "lithify", "image": "lithify:test"}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    kubectl("create", "-f", "-", f"--as={OPERATOR}", stdin=json.dumps(made))
    return kubectl("get", "pod", f"{name}-lithify", "-o", "jsonpath={.metadata.uid}")


def pod(kubectl: Kubectl, name: str) -> dict[str, Any] | None:
    found = kubectl("get", "pod", name, "--ignore-not-found", "-o", "json").strip()
    return json.loads(found)["metadata"] if found else None


def test_an_upgrade_changes_definitions_and_disturbs_no_run(installed: Installed) -> None:
    kubectl = installed.kubectl.within(TABLES)
    uid = driver(kubectl, "upgraded")
    name = f"{DEFINITIONS[0].kind.plural}.{DEFINITIONS[0].kind.group}"
    # As an older release would have left it.
    forget = [{"op": "remove", "path": "/spec/names/categories"}]
    kubectl("patch", "crd", name, "--type=json", "-p", json.dumps(forget))
    installed.helm("upgrade", WIDE, str(CHART), "--take-ownership", "--set", "replicaCount=3")
    found = kubectl.get("crd", name)
    assert found["spec"]["names"]["categories"]
    assert found["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    running = pod(kubectl, "upgraded-lithify")
    assert running is not None
    assert (running["uid"], "deletionTimestamp" in running) == (uid, False)
    kubectl("delete", "compaction", "upgraded")
    kubectl("patch", "pod", "upgraded-lithify", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_definitions_applied_by_hand_can_be_taken_over(installed: Installed) -> None:
    """Whoever began with `kubectl apply -f crds/` can go on with Helm."""
    strip = [
        {"op": "remove", "path": "/metadata/labels"},
        {"op": "remove", "path": "/metadata/annotations"},
    ]
    for definition in DEFINITIONS:
        name = f"{definition.kind.plural}.{definition.kind.group}"
        installed.kubectl("patch", "crd", name, "--type=json", "-p", json.dumps(strip))
    installed.helm("upgrade", WIDE, str(CHART), "--take-ownership")
    for definition in DEFINITIONS:
        found = installed.kubectl.get("crd", f"{definition.kind.plural}.{definition.kind.group}")
        assert found["metadata"]["annotations"]["meta.helm.sh/release-namespace"] == WIDE


LEAVING: dict[str, dict[str, Any]] = {
    "leaving-the-cluster": {
        "drivers": {"namespaces": ["leaving-the-cluster-tables"]},
        "reservedLabels": {"alsoBy": [OPERATOR]},
    },
    "leaving-a-namespace": {
        "watchNamespaces": ["leaving-a-namespace-tables"],
        "reservedLabels": {"alsoBy": [OPERATOR]},
        "rbac": {"aggregatedRoles": False},
        "crds": {"install": False},
    },
}


@pytest.mark.parametrize("release", LEAVING)
def test_uninstalling_lets_go_of_everything_but_what_was_declared(
    installed: Installed, release: str, tmp_path: Path
) -> None:
    """The hook's own steps, with the hook's own rights; nothing runs pods here, so its pod is a process."""
    tables = f"{release}-tables"
    installed.kubectl("create", "namespace", tables)
    installed.kubectl("-n", tables, "wait", "--for=create", "--timeout=60s", "serviceaccount/default")
    installed.install(release, {**LEAVING[release], "fullnameOverride": release})
    kubectl, home = installed.kubectl.within(tables), installed.kubectl.within(release)
    driver(kubectl, "in-flight")

    hook = [found for found in installed.rendered(release).objects if _is_hook(found)]
    rights = [found for found in hook if found["kind"] != "Job"]
    home.apply(*rights)
    (job,) = (found for found in hook if found["kind"] == "Job")
    account = job["spec"]["template"]["spec"]["serviceAccountName"]
    kubeconfig = kubeconfig_of(installed.kubectl, release, account, tmp_path)
    released = subprocess.run(
        [LITHIFY, *installed.container(release, "Job")["args"], "--kubeconfig", str(kubeconfig)],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "KUBECONFIG"},
    )
    assert released.returncode == 0, released.stderr
    assert "orbidden" not in released.stderr
    assert pod(kubectl, "in-flight-lithify") is None
    deployment = installed.rendered(release).one("Deployment")["metadata"]["name"]
    assert home.get("deployment", deployment)["spec"]["replicas"] == 0
    assert home("get", "leases", "-o", "name") == ""
    home("delete", *(f"{found['kind']}/{found['metadata']['name']}" for found in rights))

    installed.helm("uninstall", release, "--no-hooks")
    left = home("get", "deployments,services,roles,rolebindings,networkpolicies,pods", "-o", "name")
    assert left == ""
    assert kubectl("get", "compaction", "in-flight", "-o", "name")
    installed.kubectl("delete", "namespace", tables, release, "--timeout=120s")
    assert len(installed.kubectl.get("crd")["items"]) == len(DEFINITIONS)


def _is_hook(found: Object) -> bool:
    return "helm.sh/hook" in found["metadata"].get("annotations", {})


def test_the_examples_of_batch_schedulers_are_accepted(strict: Kubectl) -> None:
    folder = CHART.parents[1] / "examples" / "batch-schedulers"
    found = [one for path in sorted(folder.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text())]
    assert found
    trial(strict, *(moved(one, strict.namespace) for one in found if one["apiVersion"] == API_VERSION))
