"""Volumes of a pod template. Used by `template`, and by `launching.isolation`, which checks their kinds."""

from __future__ import annotations

from lithify.resources.pod_template.containers import field_reference, resource_reference
from lithify.resources.pod_template.nodes import (
    PATH_LENGTH,
    Schema,
    amount,
    fields,
    flag,
    label_selector,
    listed,
    mapped,
    number,
    text,
)

CONTAINED = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
"""Kinds that the restricted level of the Pod Security Standards allows, and volumes of OCI images."""
OF_THE_NODE = ("fc", "flexVolume", "hostPath", "iscsi", "nfs")
"""Kinds that reach the node's files, its network or its programs, and that Kubernetes still has."""
FORMER = (
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
)
"""Kinds that Kubernetes has removed or replaced by CSI drivers; they are in the schema to be refused."""


def volume() -> Schema:
    """A volume of any kind."""
    return fields(
        name=text(),
        configMap=fields(**_files(), name=text(), optional=flag()),
        secret=fields(**_files(), secretName=text(), optional=flag()),
        downwardAPI=fields(items=listed(_downward_file(), 64), **_default()),
        emptyDir=fields(medium=text(63), sizeLimit=amount(), mode=number()),
        ephemeral=fields(volumeClaimTemplate=_claim_template()),
        persistentVolumeClaim=fields(claimName=text(), readOnly=flag()),
        projected=fields(sources=listed(_projection(), 32), **_default()),
        image=fields(reference=text(4096), pullPolicy=text(32)),
        csi=fields(
            driver=text(),
            fsType=text(63),
            readOnly=flag(),
            volumeAttributes=mapped(text(4096)),
            nodePublishSecretRef=fields(name=text()),
        ),
        **_of_the_node(),
        **{kind: fields() for kind in FORMER},
    )


def _of_the_node() -> dict[str, Schema]:
    secret = fields(name=text())
    return {
        "hostPath": fields(path=text(PATH_LENGTH), type=text(32)),
        "nfs": fields(server=text(), path=text(PATH_LENGTH), readOnly=flag()),
        "fc": fields(
            fsType=text(63),
            lun=number(),
            readOnly=flag(),
            targetWWNs=listed(text(), 32),
            wwids=listed(text(), 32),
        ),
        "flexVolume": fields(
            driver=text(), fsType=text(63), options=mapped(text(4096)), readOnly=flag(), secretRef=secret
        ),
        "iscsi": fields(
            chapAuthDiscovery=flag(),
            chapAuthSession=flag(),
            fsType=text(63),
            initiatorName=text(),
            iqn=text(),
            iscsiInterface=text(),
            lun=number(),
            portals=listed(text(), 32),
            readOnly=flag(),
            secretRef=secret,
            targetPortal=text(),
        ),
    }


def _keys() -> Schema:
    return listed(fields(key=text(), path=text(PATH_LENGTH), mode=number(), user=number()), 64)


def _files() -> dict[str, Schema]:
    return {"items": _keys(), **_default()}


def _default() -> dict[str, Schema]:
    return {"defaultMode": number(), "defaultUser": number()}


def _downward_file() -> Schema:
    return fields(
        path=text(PATH_LENGTH),
        mode=number(),
        user=number(),
        fieldRef=field_reference(),
        resourceFieldRef=resource_reference(),
    )


def _projection() -> Schema:
    return fields(
        configMap=fields(name=text(), items=_keys(), optional=flag()),
        secret=fields(name=text(), items=_keys(), optional=flag()),
        downwardAPI=fields(items=listed(_downward_file(), 64)),
        serviceAccountToken=fields(
            audience=text(1024), expirationSeconds=number(), path=text(PATH_LENGTH), user=number()
        ),
        clusterTrustBundle=fields(
            name=text(),
            signerName=text(1024),
            labelSelector=label_selector(),
            optional=flag(),
            path=text(PATH_LENGTH),
            user=number(),
        ),
        podCertificate=fields(
            signerName=text(1024),
            keyType=text(63),
            maxExpirationSeconds=number(),
            credentialBundlePath=text(PATH_LENGTH),
            keyPath=text(PATH_LENGTH),
            certificateChainPath=text(PATH_LENGTH),
            userAnnotations=mapped(text(4096)),
            user=number(),
        ),
    )


def _claim_template() -> Schema:
    source = {"apiGroup": text(), "kind": text(), "name": text()}
    spec = fields(
        accessModes=listed(text(32)),
        dataSource=fields(**source),
        dataSourceRef=fields(**source, namespace=text()),
        resources=fields(limits=mapped(amount(), 32), requests=mapped(amount(), 32)),
        selector=label_selector(),
        storageClassName=text(),
        volumeAttributesClassName=text(),
        volumeMode=text(32),
        volumeName=text(),
    )
    metadata = fields(labels=mapped(text(63)), annotations=mapped(text(4096)))
    return fields(metadata=metadata, spec=spec)
