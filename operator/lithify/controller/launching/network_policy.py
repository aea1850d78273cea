"""The NetworkPolicy of a run: only its own pods reach Spark's ports in each other.

Pure; used by `kubernetes`, which creates one before the driver's pod and deletes it afterwards. Spark admits
any client that knows the run's secret, and gives it tasks with the credentials of the table's storage. One
policy per run also separates the runs of a namespace, and works without a list of namespaces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lithify.controller.launching.egress import egress_rules
from lithify.controller.launching.ownership import (
    is_owned_by,
    mapping_in,
    mappings_in,
    metadata_of,
    text_in,
)
from lithify.controller.launching.pod import (
    APP_LABEL,
    DRIVER_ROLE,
    EXECUTOR_ROLE,
    LABEL_MANAGER,
    LABEL_ROLE,
)
from lithify.controller.launching.spark_conf import BLOCK_PORT, DRIVER_PORT
from lithify.resources.names import GROUP, NETWORK_POLICY

_LABELS = (LABEL_MANAGER, APP_LABEL)
"""Labels of a driver's pod that its executors have, too; the second one is unique to each attempt."""
_ROLES = {"key": LABEL_ROLE, "operator": "In", "values": [DRIVER_ROLE, EXECUTOR_ROLE]}
"""The chart's ValidatingAdmissionPolicy reserves all labels that are selected here."""

Plain = dict[str, Any]


def network_policy(pod: Mapping[str, Any], egress: Sequence[Mapping[str, Any]] | None) -> Plain:
    """The policy of the run of a driver's pod; it has the pod's owners.

    Args:
        pod: the manifest of the driver's pod.
        egress: what the pods of the run may reach besides each other, as rules of a NetworkPolicy; None if
            that is not limited.
    """
    metadata = pod["metadata"]
    each_other = {"podSelector": {"matchLabels": _shared_labels(pod), "matchExpressions": [_ROLES]}}
    ports = [{"port": port, "protocol": "TCP"} for port in (DRIVER_PORT, BLOCK_PORT)]
    spec: Plain = {
        "podSelector": each_other["podSelector"],
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [each_other], "ports": ports}],
    }
    if egress is not None:
        spec["policyTypes"] = ["Ingress", "Egress"]
        spec["egress"] = [{"to": [each_other], "ports": ports}, *egress_rules(egress)]
    return {
        "apiVersion": NETWORK_POLICY.api_version,
        "kind": NETWORK_POLICY.name,
        "metadata": {
            "name": policy_name(pod),
            "namespace": metadata["namespace"],
            "labels": _own_labels(pod),
            "ownerReferences": [dict(owner) for owner in metadata["ownerReferences"]],
        },
        "spec": spec,
    }


def policy_name(pod: Mapping[str, Any]) -> str:
    """The name of the policy of a driver's pod, by attempt; empty if the pod lacks the labels."""
    return text_in(mapping_in(metadata_of(pod), "labels"), APP_LABEL)


def belongs_together(policy: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Whether a policy was made for the run of a driver's pod."""
    owners = mappings_in(metadata_of(pod), "ownerReferences")
    return any(is_owned_by(policy, text_in(owner, "uid")) for owner in owners)


def _own_labels(pod: Mapping[str, Any]) -> dict[str, str]:
    """The labels of a pod that identify its run; a template may have added any others."""
    labels = pod["metadata"]["labels"]
    return {name: value for name, value in labels.items() if name in _LABELS or name.startswith(f"{GROUP}/")}


def _shared_labels(pod: Mapping[str, Any]) -> dict[str, str]:
    labels = pod["metadata"]["labels"]
    return {name: labels[name] for name in _LABELS}
