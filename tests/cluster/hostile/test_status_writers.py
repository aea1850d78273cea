"""A user who may write the statuses of one namespace holds up no other one, and has nothing deleted."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from cluster.hostile.tenants import Tenants
from lithify.resources.compaction import Reason
from lithify.resources.names import OWN_KINDS
from support.operators.objects import compaction
from support.operators.server import COMPACTIONS, PODS, TABLES, Object
from support.operators.stage import Stage

WRITER = "status-writer"
LAST, FIRST = "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"
MOST = (1 << 63) - 1
ENDED, CLAIMED = ["ended-0", "ended-1"], ["claimed-0", "claimed-1", "claimed-2"]


def condition(kind: str, status: str, reason: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": LAST}


def may_write_statuses_only(stage: Stage) -> None:
    """Makes the account."""
    statuses = ",".join(f"{kind.plural}.{kind.group}/status" for kind in OWN_KINDS)
    stage.kubectl("create", "serviceaccount", WRITER)
    stage.kubectl("create", "role", WRITER, "--verb=get,patch", f"--resource={statuses}")
    account = f"{stage.server.namespace}:{WRITER}"
    stage.kubectl("create", "rolebinding", WRITER, f"--role={WRITER}", f"--serviceaccount={account}")


def forge(stage: Stage, kind: str, name: str, status: dict[str, Any]) -> str:
    """Writes a status as that account; returns what the API server says against it."""
    account = f"system:serviceaccount:{stage.server.namespace}:{WRITER}"
    kubectl = stage.kubectl
    command = [str(kubectl.program), f"--kubeconfig={kubectl.kubeconfig}", f"--cache-dir={kubectl.cache}"]
    command += [f"--namespace={kubectl.namespace}", f"--as={account}", "patch", kind, name]
    command += ["--subresource=status", "--type=merge", "-p", json.dumps({"status": status})]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stderr


def forge_all(stage: Stage, bystander: Object) -> None:
    """Statuses with extreme times and numbers, and runs that claim drivers."""
    driver = {"name": bystander["metadata"]["name"], "uid": bystander["metadata"]["uid"], "startTime": FIRST}
    for name in ENDED:
        over = [condition("Succeeded", "True", "Compacted")]
        status = {"conditions": over, "startTime": LAST, "completionTime": LAST, "attempts": 1}
        assert forge(stage, "compaction", name, status) == ""
    for name in CLAIMED:
        running = [condition("Succeeded", "Unknown", "Running")]
        status = {"conditions": running, "startTime": LAST, "stageTime": FIRST, "attempts": 1}
        status |= {"driver": driver, "sharedRun": None, "failures": {"outOfMemory": MOST}}
        assert forge(stage, "compaction", name, status) == ""
    table = {"lastSuccessTime": LAST, "heldUntil": FIRST, "runs": MOST, "consecutiveFailures": MOST}
    table |= {"observation": {"files": MOST, "bytes": MOST, "dueBytes": MOST}}
    assert forge(stage, "laketable", "orders", table) == ""
    for kind in ("catalog", "compactionpolicy"):
        name = "lake" if kind == "catalog" else "default"
        assert forge(stage, kind, name, {"conditions": [condition("Ready", "True", "Ready")]}) == ""


@pytest.fixture
def bystander(tenants: Tenants) -> Object:
    """A pod of the attacker's namespace that is nobody's driver."""
    stage = tenants.attacker
    container = {"name": "main", "image": "localhost/none"}
    spec = {"containers": [container], "nodeSelector": {"no": "where"}}
    stage.kubectl.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "precious"}, "spec": spec})
    return stage.server.get(PODS, "precious")


def test_forged_statuses_hold_up_no_other_namespace(tenants: Tenants, bystander: Object) -> None:
    victim, attacker = tenants.victim, tenants.attacker
    victim.operator.options = (*victim.operator.options, "--max-runs", "2", "--max-runs-per-namespace", "1")
    tenants.run(attacker)
    attacker.kubectl.apply(*(compaction(name, "orders") for name in (*ENDED, *CLAIMED)))
    may_write_statuses_only(attacker)
    forge_all(attacker, bystander)
    victim.operator.restart()

    forge_all(attacker, bystander)
    tenants.run(victim)
    forge_all(attacker, bystander)
    tenants.has_pod(victim)
    victim.stands("run", Reason.SUBMITTING)
    for name in CLAIMED:
        attacker.server.patch(COMPACTIONS, name, {"spec": {"cancel": True}})
        attacker.story.until(COMPACTIONS, name, _misses_its_driver)
    assert "deletionTimestamp" not in attacker.server.get(PODS, "precious")["metadata"]
    assert attacker.server.get(TABLES, "orders")["status"]["activeCompaction"] in ("run", *CLAIMED)
    assert victim.operator.is_running


def _misses_its_driver(run: Object) -> bool:
    return "missingSince" in run["status"]["driver"]
