"""What a policy of these tests has Spark run: small pods that can be held at fault points.

Drivers and executors share a volume with the test, in which the named pipes of `Holds` are: a
PersistentVolume over a folder of this machine, because the restricted Pod Security Standard allows pods no
folder of the node.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.operators.holds import Holds
from support.operators.objects import Object

_VOLUME = "holds"


def holds_volume(namespace: str, folder: Path) -> tuple[Object, Object]:
    """The volume and the claim to it, bound to each other."""
    name = f"{_VOLUME}-{namespace}"
    size = {"storage": "1Mi"}
    shared = {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeMode": "Filesystem"}
    volume = {
        **shared,
        "capacity": size,
        "claimRef": {"namespace": namespace, "name": _VOLUME},
        "hostPath": {"path": str(folder), "type": "Directory"},
        "persistentVolumeReclaimPolicy": "Retain",
    }
    claim = {**shared, "volumeName": name, "resources": {"requests": size}}
    return (
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": volume},
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": _VOLUME, "namespace": namespace},
            "spec": claim,
        },
    )


def spark(holds: Holds, **changes: Any) -> dict[str, Any]:
    """A Spark template of a policy; `driver`, `executor` and `conf` are joined with what these tests need."""
    conf = {"spark.kubernetes.executor.request.cores": "200m"}
    driver = {"memory": "900Mi", "podTemplate": _held(holds)}
    executor = {"memory": "1200Mi", "maxInstances": 2, "podTemplate": _held(holds)}
    return {
        "taskMemory": "128Mi",
        **changes,
        "driver": {**driver, **changes.get("driver", {})},
        "executor": {**executor, **changes.get("executor", {})},
        "conf": {**conf, **changes.get("conf", {})},
    }


def _held(holds: Holds) -> dict[str, Any]:
    container = {
        "name": "lithify",
        "env": [{"name": "LITHIFY_FAULTS", "value": holds.faults}],
        "volumeMounts": [{"name": _VOLUME, "mountPath": str(holds.folder)}],
    }
    volumes = [{"name": _VOLUME, "persistentVolumeClaim": {"claimName": _VOLUME}}]
    return {"spec": {"containers": [container], "volumes": volumes}}
