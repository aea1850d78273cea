"""Values of people who install the chart, for checks of what comes out; each has a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infrastructure.chart.rendering import render

SNAPSHOTS = Path(__file__).resolve().parents[2] / "unit" / "chart" / "snapshots"
HEADER = (
    "# Rendered by `make chart`; the case {} of tests/infrastructure/chart/cases.py. "
    "CRDs and dashboard are left out.\n"
)

CASES: Mapping[str, Mapping[str, Any]] = {
    "defaults": {},
    "namespaces": {
        "watchNamespaces": ["lake", "shop"],
        "rbac": {"secrets": "Named", "secretNames": ["lake-credentials"], "aggregatedRoles": False},
        "crds": {"install": False},
        "release": {"enabled": False},
        "reservedLabels": {"enabled": False},
    },
    "everything": {
        "fullnameOverride": "compaction",
        "commonLabels": {"team": "data"},
        "image": {"digest": "sha256:" + "a" * 64, "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "spark": {"image": {"repository": "registry.example/spark", "tag": "1.2.3"}},
        "drivers": {
            "namespaces": ["lake"],
            "serviceAccount": {
                "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/lake"},
                "imagePullSecrets": [{"name": "registry"}],
            },
        },
        "serviceAccount": {"annotations": {"iam.gke.io/gcp-service-account": "lithify@example"}},
        "operator": {
            "maxRuns": 10,
            "maxRunsPerNamespace": 3,
            "maxTimeoutSeconds": 60,
            "minCheckSeconds": 5,
            "maxDiscoveredTables": 500,
            "extraArgs": ["--identity=one"],
            "allowHostAccess": True,
            "allowedAddresses": ["10.20.0.0/16", "*.storage.svc.cluster.local"],
            "ownIdentity": [{"namespace": "lake", "warehouse": "s3://acme-lake/"}],
        },
        "rbac": {"catalogWriters": ["edit", "admin"]},
        "reservedLabels": {"alsoBy": ["system:serviceaccount:other:lithify-operator"]},
        "crds": {"keep": False, "annotations": {"owner": "data"}},
        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
        "podAnnotations": {"sidecar.istio.io/inject": "false"},
        "podLabels": {"cost-centre": "4711"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "spot", "operator": "DoesNotExist"}]}]
                }
            }
        },
        "priorityClassName": "system-cluster-critical",
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
        "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "envFrom": [{"configMapRef": {"name": "proxy"}}],
        "extraVolumes": [{"name": "authority", "configMap": {"name": "authority"}}],
        "extraVolumeMounts": [{"name": "authority", "mountPath": "/etc/authority", "readOnly": True}],
        "networkPolicy": {
            "metricsFrom": [
                {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
            ],
            "egress": {
                "enabled": True,
                "apiServerTo": [{"ipBlock": {"cidr": "10.0.0.1/32"}}],
                "to": [{"to": [{"ipBlock": {"cidr": "10.20.0.0/16"}}], "ports": [{"port": 9000}]}],
            },
        },
        "metrics": {
            "perTable": True,
            "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
            "prometheusRule": {
                "enabled": True,
                "namespace": "monitoring",
                "labels": {"release": "prometheus"},
                "alertLabels": {"team": "data"},
                "disabled": ["LithifyApiErrors"],
                "thresholds": {"level0Files": 50, "sizeAmplification": 2.5},
            },
            "dashboard": {"enabled": True, "namespace": "monitoring", "annotations": {"folder": "Data"}},
        },
        "argocd": {"healthScripts": True},
        "extraObjects": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "{{ .Release.Name }}-more"},
                "data": {"namespace": "{{ .Release.Namespace }}"},
            }
        ],
    },
    "openshift": {"openshift": True, "serviceAccount": {"create": False, "name": "lithify"}},
    "bare": {
        "replicaCount": 1,
        "rbac": {"create": False},
        "crds": {"install": False},
        "serviceAccount": {"create": False, "name": "ours"},
        "drivers": {"serviceAccount": {"create": False}},
        "podDisruptionBudget": {"enabled": False},
        "networkPolicy": {"enabled": False},
        "reservedLabels": {"enabled": False},
        "metrics": {"service": {"enabled": False}},
        "release": {"enabled": False},
        "topologySpreadConstraints": [],
    },
}


def snapshot(name: str) -> str:
    """What a case's snapshot should hold."""
    return HEADER.format(name) + render(CASES[name]).without(
        "templates/crds.yaml", "templates/dashboard.yaml"
    )


def write_snapshots() -> None:
    """Writes all of them."""
    SNAPSHOTS.mkdir(parents=True, exist_ok=True)
    for path in SNAPSHOTS.glob("*.yaml"):
        path.unlink()
    for name in CASES:
        (SNAPSHOTS / f"{name}.yaml").write_text(snapshot(name), encoding="utf-8")
