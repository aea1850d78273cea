"""The operator works with the rights that the chart gives it, and needs no others."""

from __future__ import annotations

import json
import subprocess
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cluster.chart.conftest import NARROW, TABLES, WIDE, Installed
from infrastructure.chart.accounts import OperatorProcess, kubeconfig_of, operator_as
from infrastructure.cluster.kubectl import Kubectl
from lithify.contract.outcome import Outcome, write_outcome
from lithify.resources.compaction import Reason
from lithify.resources.names import FINALIZER_DRIVER, LABEL_LOCK
from support.operators.objects import QUIET, catalog, compaction, policy, secret
from support.small_tables import SmallTable

ENDED = {"startedAt": "2026-05-04T11:00:00Z", "finishedAt": "2026-05-04T11:01:00Z"}
_NUMBERS = count(1)


class Run:
    """A Compaction whose driver's pod has no node; the test reports what a kubelet would."""

    def __init__(self, kubectl: Kubectl, operator: OperatorProcess, table: str) -> None:
        self.kubectl = kubectl
        self.operator = operator
        self.name = f"run-{next(_NUMBERS)}"
        kubectl.apply(compaction(self.name, table))

    @property
    def pod(self) -> dict[str, Any] | None:
        found = self.kubectl("get", "pod", f"{self.name}-lithify", "--ignore-not-found", "-o", "json")
        pod: dict[str, Any] | None = json.loads(found) if found.strip() else None
        return pod

    @property
    def reason(self) -> str:
        path = 'jsonpath={.status.conditions[?(@.type=="Succeeded")].reason}'
        return self.kubectl("get", "compaction", self.name, "--ignore-not-found", "-o", path)

    def is_submitted(self) -> Run:
        self.operator.until(lambda: self.pod is not None, f"the pod of {self.name}, which is {self.reason}")
        return self

    def ends_well(self) -> None:
        uid = self.kubectl("get", "compaction", self.name, "-o", "jsonpath={.metadata.uid}")
        message = write_outcome(Outcome(run=uid, attempt=1, reason=Reason.NOTHING_TO_DO))
        state = {"terminated": {"exitCode": 0, "reason": "Completed", "message": message, **ENDED}}
        container = {"name": "lithify", "state": state, "ready": False, "restartCount": 0}
        container |= {"image": "lithify:test", "imageID": ""}
        status = {"status": {"phase": "Succeeded", "containerStatuses": [container]}}
        pod = f"{self.name}-lithify"
        self.kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", json.dumps(status))
        self.operator.until(lambda: self.reason == Reason.NOTHING_TO_DO.value, f"{self.name} has ended")

    def is_cancelled(self) -> None:
        patch = json.dumps({"spec": {"cancel": True}})
        self.kubectl("patch", "compaction", self.name, "--type=merge", "-p", patch)
        over = {Reason.CANCELLED.value, ""}  # it is deleted at once, as the policy says
        self.operator.until(lambda: self.reason in over, f"{self.name} is cancelled")


@pytest.mark.parametrize("release", [WIDE, NARROW])
def test_an_operator_needs_no_other_rights(installed: Installed, release: str, tmp_path: Path) -> None:
    kubectl = installed.kubectl.within(TABLES)
    table = SmallTable(tmp_path / "warehouse", "db.orders").create()
    table.append()
    account = installed.rendered(release).one("Deployment")["spec"]["template"]["spec"]["serviceAccountName"]
    kubeconfig = kubeconfig_of(installed.kubectl, release, account, tmp_path)
    with operator_as(kubeconfig, installed.container(release)["args"], tmp_path) as operator:
        operator.until(lambda: "synced" in operator.said, "it leads")
        credentials = {"name": "credentials", "options": {"s3.access-key": "key"}}
        found = {"include": ["db.*"], "policyRef": {"name": "runs"}}
        kubectl.apply(
            secret("credentials", key="value"),
            policy("runs", triggers=QUIET, ttlSecondsAfterFinished=0),
            catalog("files", table.warehouse, secretRef=credentials, discovery=found),
        )
        operator.until(lambda: kubectl("get", "laketables", "-o", "name").strip(), "discovery")
        (lake,) = kubectl.get("laketables")["items"]
        name = lake["metadata"]["name"]

        first = Run(kubectl, operator, name).is_submitted()
        first.ends_well()
        operator.until(
            lambda: FINALIZER_DRIVER not in ((first.pod or {}).get("metadata", {}).get("finalizers") or []),
            "the pod is let go",
        )
        Run(kubectl, operator, name).is_submitted().is_cancelled()
        Run(kubectl, operator, name).is_submitted().ends_well()
        operator.until(lambda: not first.reason, "history is cleared")
        operator.until(lambda: not locks(installed.kubectl, release), "the table is unlocked")
        requests = operator.requests()
        kubectl("delete", "catalogs,laketables,compactionpolicies,compactions,secrets", "--all")

    refused = {what: codes for what, codes in requests.items() if codes & {"401", "403"}}
    assert refused == {}, operator.said
    assert "orbidden" not in operator.said
    # Or the above would prove little.
    assert {(verb, kind) for verb, kind in requests if kind != "Other"} == {
        *(("GET", kind) for kind in ("Catalog", "CompactionPolicy", "LakeTable", "Compaction")),
        *(("PATCH", kind) for kind in ("Catalog", "CompactionPolicy", "LakeTable", "Compaction")),
        *((verb, "Pod") for verb in ("GET", "POST", "PATCH", "DELETE")),
        *((verb, "Lease") for verb in ("GET", "POST", "PATCH", "DELETE")),
        *((verb, "NetworkPolicy") for verb in ("GET", "POST", "DELETE")),
        ("POST", "LakeTable"),
        ("DELETE", "Compaction"),
        ("GET", "Secret"),
        ("POST", "Event"),
        *((verb, "NetworkPolicy") for verb in ("GET", "POST", "DELETE")),
    }


def locks(kubectl: Kubectl, home: str) -> list[str]:
    return kubectl("-n", home, "get", "leases", "-l", f"{LABEL_LOCK}=true", "-o", "name").split()


def can(kubectl: Kubectl, account: str, verb: str, what: str, namespace: str) -> bool:
    """Whether a service account may do something, as the API server sees it."""
    what, *subresource = what.split(" ")
    asked = [
        "auth",
        "can-i",
        verb,
        what,
        *subresource,
        f"--as=system:serviceaccount:{account}",
        "--namespace",
        namespace,
    ]
    result = subprocess.run(
        [str(kubectl.program), f"--kubeconfig={kubectl.kubeconfig}", f"--cache-dir={kubectl.cache}", *asked],
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stdout.strip() == "yes"


DRIVER = f"{TABLES}:lithify-driver"
OPERATOR, OF_ONE_NAMESPACE = f"{WIDE}:lithify-operator", f"{NARROW}:narrow-operator"


@pytest.mark.parametrize(
    ("account", "verb", "what", "namespace", "allowed"),
    [
        pytest.param(DRIVER, "create", "pods", TABLES, True, id="a driver makes executors"),
        pytest.param(DRIVER, "deletecollection", "pods", TABLES, True, id="and ends them together"),
        pytest.param(DRIVER, "patch", "pods", TABLES, True, id="a driver says how far it is"),
        pytest.param(DRIVER, "create", "pods", "default", False, id="but not elsewhere"),
        pytest.param(DRIVER, "get", "secrets", TABLES, False, id="a driver reads no Secrets"),
        pytest.param(DRIVER, "create", "configmaps", TABLES, False, id="a driver makes no ConfigMaps"),
        pytest.param(
            DRIVER, "create", "pods --subresource=exec", TABLES, False, id="a driver enters no pods"
        ),
        pytest.param(DRIVER, "patch", "compactions.lithify.dev", TABLES, False, id="nor changes its run"),
        pytest.param(OPERATOR, "create", "pods", "default", True, id="all namespaces"),
        pytest.param(OPERATOR, "list", "secrets", TABLES, False, id="Secrets are not listed"),
        pytest.param(OPERATOR, "get", "secrets/any", TABLES, True, id="any Secret by its name"),
        pytest.param(OPERATOR, "patch", "catalogs.lithify.dev", TABLES, False, id="specs stay as they are"),
        pytest.param(OPERATOR, "create", "leases", TABLES, False, id="Leases at home alone"),
        pytest.param(OPERATOR, "create", "rolebindings", TABLES, False, id="no rights for others"),
        pytest.param(OPERATOR, "get", "serviceaccounts", TABLES, True, id="a missing account is looked for"),
        pytest.param(OPERATOR, "create", "serviceaccounts", TABLES, False, id="but not made"),
        pytest.param(
            OPERATOR, "create", "pods --subresource=exec", TABLES, False, id="an operator enters no pods"
        ),
        pytest.param(OF_ONE_NAMESPACE, "create", "pods", TABLES, True, id="one namespace"),
        pytest.param(OF_ONE_NAMESPACE, "create", "pods", "default", False, id="and no other"),
        pytest.param(
            OF_ONE_NAMESPACE, "get", "secrets/credentials", TABLES, True, id="the Secret that is named"
        ),
        pytest.param(OF_ONE_NAMESPACE, "get", "secrets/any", TABLES, False, id="and none else"),
    ],
)
def test_what_accounts_may_do(
    installed: Installed, account: str, verb: str, what: str, namespace: str, *, allowed: bool
) -> None:
    assert can(installed.kubectl, account, verb, what, namespace) is allowed
