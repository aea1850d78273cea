"""Containers of a pod template: command, resources, mounts, probes and lifecycle.

Used by `template`.
"""

from __future__ import annotations

from lithify.resources.pod_template.nodes import (
    PATH_LENGTH,
    TEXT_LENGTH,
    Schema,
    amount,
    fields,
    flag,
    listed,
    mapped,
    number,
    text,
)
from lithify.resources.pod_template.privileges import security_context


def container() -> Schema:
    """A container of any of a pod's lists."""
    return fields(
        name=text(),
        image=text(4096),
        imagePullPolicy=text(32),
        command=listed(text(TEXT_LENGTH), 256),
        args=listed(text(TEXT_LENGTH), 256),
        workingDir=text(PATH_LENGTH),
        **_environment(),
        **_volumes(),
        **_life(),
        ports=listed(_port(), 64),
        resources=resources(),
        resizePolicy=listed(fields(resourceName=text(), restartPolicy=text(32))),
        securityContext=security_context(),
        stdin=flag(),
        stdinOnce=flag(),
        tty=flag(),
        terminationMessagePath=text(PATH_LENGTH),
        terminationMessagePolicy=text(32),
    )


def resources() -> Schema:
    """Resources of a container, or of a pod as a whole."""
    return fields(
        limits=mapped(amount(), 32),
        requests=mapped(amount(), 32),
        claims=listed(fields(name=text(), request=text())),
    )


def field_reference() -> Schema:
    """A field of the pod."""
    return fields(apiVersion=text(), fieldPath=text(1024))


def resource_reference() -> Schema:
    """A resource of one of the pod's containers."""
    return fields(containerName=text(), resource=text(), divisor=amount())


def _environment() -> dict[str, Schema]:
    key = fields(name=text(), key=text(), optional=flag())
    source = fields(
        configMapKeyRef=key,
        secretKeyRef=key,
        fieldRef=field_reference(),
        resourceFieldRef=resource_reference(),
        fileKeyRef=fields(volumeName=text(), path=text(PATH_LENGTH), key=text(), optional=flag()),
    )
    whole = fields(name=text(), optional=flag())
    return {
        "env": listed(fields(name=text(1024), value=text(TEXT_LENGTH), valueFrom=source), 512),
        "envFrom": listed(fields(prefix=text(), configMapRef=whole, secretRef=whole), 64),
    }


def _volumes() -> dict[str, Schema]:
    mount = fields(
        name=text(),
        mountPath=text(PATH_LENGTH),
        subPath=text(PATH_LENGTH),
        subPathExpr=text(PATH_LENGTH),
        readOnly=flag(),
        recursiveReadOnly=text(32),
        mountPropagation=text(32),
        bindMountOptions=listed(text(63)),
    )
    return {
        "volumeMounts": listed(mount, 256),
        "volumeDevices": listed(fields(name=text(), devicePath=text(PATH_LENGTH)), 64),
    }


def _life() -> dict[str, Schema]:
    """Lifecycle hooks, restarts and probes of a container."""
    hook = fields(**_actions(), sleep=fields(seconds=number()))
    exit_codes = fields(operator=text(32), values=listed(number(), 256))
    return {
        "lifecycle": fields(postStart=hook, preStop=hook, stopSignal=text(32)),
        "livenessProbe": _probe(),
        "readinessProbe": _probe(),
        "startupProbe": _probe(),
        "restartPolicy": text(32),
        "restartPolicyRules": listed(fields(action=text(32), exitCodes=exit_codes), 32),
    }


def _actions() -> dict[str, Schema]:
    header = fields(name=text(), value=text(4096))
    return {
        "exec": fields(command=listed(text(TEXT_LENGTH), 256)),
        "httpGet": fields(
            host=text(),
            httpHeaders=listed(header),
            path=text(PATH_LENGTH),
            port=amount(),
            scheme=text(32),
            protocol=text(32),
        ),
        "tcpSocket": fields(host=text(), port=amount()),
    }


def _probe() -> Schema:
    return fields(
        **_actions(),
        grpc=fields(port=number(1, 65535), service=text(), mode=text(32)),
        initialDelaySeconds=number(),
        periodSeconds=number(),
        timeoutSeconds=number(),
        successThreshold=number(),
        failureThreshold=number(),
        terminationGracePeriodSeconds=number(),
    )


def _port() -> Schema:
    return fields(
        name=text(63),
        containerPort=number(0, 65535),
        hostPort=number(0, 65535),
        hostIP=text(64),
        protocol=text(32),
    )
