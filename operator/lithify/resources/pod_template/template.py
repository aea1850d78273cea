"""The pod template of a CompactionPolicy as a whole: its type in the model, and its schema.

Used by `resources.spark_template` and `launching.template`. The schema has every field of a
PodTemplateSpec, also those that Lithify refuses: the API server drops unknown fields silently,
while a refusal has a message. The model keeps a template as plain data, so that one accepted by an older
release can still be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from lithify.resources.pod_template.containers import container, resources
from lithify.resources.pod_template.nodes import (
    TEXT_LENGTH,
    Schema,
    fields,
    flag,
    listed,
    mapped,
    number,
    text,
)
from lithify.resources.pod_template.privileges import pod_security_context
from lithify.resources.pod_template.scheduling import scheduling
from lithify.resources.pod_template.volumes import volume

_CONTAINERS = 16


def _metadata() -> Schema:
    return fields(
        labels=mapped(text(63)),
        annotations=mapped(text(TEXT_LENGTH)),
        name=text(),
        generateName=text(),
        namespace=text(),
        finalizers=listed(text(), 32),
        ownerReferences=listed(fields(), 32),
    )


def _spec() -> Schema:
    option = fields(name=text(), value=text())
    return fields(
        containers=listed(container(), _CONTAINERS),
        initContainers=listed(container(), _CONTAINERS),
        ephemeralContainers=listed(fields(), _CONTAINERS),
        volumes=listed(volume(), 256),
        securityContext=pod_security_context(),
        resources=resources(),
        **scheduling(),
        **_identity(),
        dnsConfig=fields(nameservers=listed(text()), options=listed(option, 32), searches=listed(text(), 32)),
        dnsPolicy=text(32),
        hostAliases=listed(fields(ip=text(64), hostnames=listed(text(), 64)), 64),
        imagePullSecrets=listed(fields(name=text())),
        os=fields(name=text(32)),
        readinessGates=listed(fields(conditionType=text(317))),
        restartPolicy=text(32),
        shareProcessNamespace=flag(),
        activeDeadlineSeconds=number(),
        terminationGracePeriodSeconds=number(),
    )


def _identity() -> dict[str, Schema]:
    """A pod's account and name, and the namespaces that it shares with its node."""
    return {
        "automountServiceAccountToken": flag(),
        "enableServiceLinks": flag(),
        "hostIPC": flag(),
        "hostNetwork": flag(),
        "hostPID": flag(),
        "hostUsers": flag(),
        "hostname": text(),
        "hostnameOverride": text(),
        "serviceAccount": text(),
        "serviceAccountName": text(),
        "setHostnameAsFQDN": flag(),
        "subdomain": text(),
    }


SCHEMA: Schema = fields(metadata=_metadata(), spec=_spec())
"""The template's JSON schema; each object in it has exactly the fields that it names."""

PodTemplate = Annotated[Mapping[str, Any], Field(json_schema_extra=SCHEMA)]
"""A pod's metadata and spec as plain data. `misfits` checks it against the schema."""
