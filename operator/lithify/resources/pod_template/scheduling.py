"""Scheduling of a template's pod: affinity, tolerations, topology spread, and the scheduler's name.

Used by `template`.
"""

from __future__ import annotations

from lithify.resources.pod_template.nodes import (
    LABEL_LENGTH,
    LARGEST_INT32,
    Schema,
    fields,
    label_selector,
    listed,
    mapped,
    number,
    text,
)

_TERMS = 16


def scheduling() -> dict[str, Schema]:
    """The fields of a pod's spec that the scheduler reads."""
    return {
        "affinity": fields(
            nodeAffinity=_node_affinity(), podAffinity=_pod_affinity(), podAntiAffinity=_pod_affinity()
        ),
        "evictionResponders": listed(fields(name=text(317), priority=number(-LARGEST_INT32))),
        "nodeName": text(),
        "nodeSelector": mapped(text(LABEL_LENGTH)),
        "overhead": mapped({"type": "string", "maxLength": 63}, 16),
        "preemptionPolicy": text(32),
        "priority": number(-LARGEST_INT32),
        "priorityClassName": text(),
        "resourceClaims": listed(
            fields(name=text(), resourceClaimName=text(), resourceClaimTemplateName=text())
        ),
        "runtimeClassName": text(),
        "schedulerName": text(),
        "schedulingGates": listed(fields(name=text(317))),
        "schedulingGroup": fields(podGroupName=text()),
        "tolerations": listed(_toleration(), 64),
        "topologySpreadConstraints": listed(_spread()),
    }


def _node_affinity() -> Schema:
    requirement = fields(key=text(317), operator=text(32), values=listed(text(), 64))
    term = fields(matchExpressions=listed(requirement), matchFields=listed(requirement))
    return fields(
        requiredDuringSchedulingIgnoredDuringExecution=fields(nodeSelectorTerms=listed(term, _TERMS)),
        preferredDuringSchedulingIgnoredDuringExecution=listed(
            fields(weight=number(1, 100), preference=term), _TERMS
        ),
    )


def _pod_affinity() -> Schema:
    term = fields(
        labelSelector=label_selector(),
        namespaceSelector=label_selector(),
        namespaces=listed(text(LABEL_LENGTH), 64),
        topologyKey=text(317),
        matchLabelKeys=listed(text(317)),
        mismatchLabelKeys=listed(text(317)),
    )
    return fields(
        requiredDuringSchedulingIgnoredDuringExecution=listed(term, _TERMS),
        preferredDuringSchedulingIgnoredDuringExecution=listed(
            fields(weight=number(1, 100), podAffinityTerm=term), _TERMS
        ),
    )


def _toleration() -> Schema:
    return fields(
        key=text(317),
        operator=text(32),
        value=text(LABEL_LENGTH),
        effect=text(32),
        tolerationSeconds=number(-LARGEST_INT32),
    )


def _spread() -> Schema:
    return fields(
        maxSkew=number(),
        minDomains=number(),
        topologyKey=text(317),
        whenUnsatisfiable=text(32),
        labelSelector=label_selector(),
        matchLabelKeys=listed(text(317)),
        nodeAffinityPolicy=text(32),
        nodeTaintsPolicy=text(32),
    )
