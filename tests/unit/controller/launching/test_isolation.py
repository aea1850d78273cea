"""What a pod template must not hold, by field; everything else passes."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.controller.launching.isolation import Bounds
from lithify.controller.launching.template import check
from lithify.errors import InvalidOption
from support.cases import case

FIELD = "spec.spark.driver.podTemplate"
BOUNDS = Bounds("lithify-driver")


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


def ours(**container: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "sidecar"}, {"name": "lithify", **container}])


def beside(**container: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "lithify"}, {"name": "sidecar", **container}])


def privileged(**context: Any) -> dict[str, Any]:
    return beside(securityContext=context)


REACHING_OUT = [
    case(pod(hostNetwork=True), "spec.hostNetwork", id="network"),
    case(pod(hostPID=True), "spec.hostPID", id="processes"),
    case(pod(hostIPC=True), "spec.hostIPC", id="shared memory"),
    case(
        pod(volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {"path": "/"}}]),
        "spec.volumes[1].hostPath",
        id="files",
    ),
    case(privileged(privileged=True), "spec.containers[1].securityContext.privileged", id="privileged"),
    case(
        privileged(allowPrivilegeEscalation=True),
        "spec.containers[1].securityContext.allowPrivilegeEscalation",
        id="escalation",
    ),
    case(
        privileged(capabilities={"add": ["NET_ADMIN"]}),
        "spec.containers[1].securityContext.capabilities.add",
        id="capabilities",
    ),
    case(privileged(procMount="Unmasked"), "spec.containers[1].securityContext.procMount", id="proc"),
    case(privileged(runAsUser=0), "spec.containers[1].securityContext.runAsUser", id="root"),
    case(privileged(runAsNonRoot=False), "spec.containers[1].securityContext.runAsNonRoot", id="maybe root"),
    case(pod(securityContext={"runAsUser": 0}), "spec.securityContext.runAsUser", id="root of the pod"),
    case(
        pod(securityContext={"seccompProfile": {"type": "Unconfined"}}),
        "spec.securityContext.seccompProfile",
        id="system calls",
    ),
    case(
        pod(securityContext={"appArmorProfile": {"type": "Unconfined"}}),
        "spec.securityContext.appArmorProfile",
        id="profile",
    ),
    case(
        pod(securityContext={"windowsOptions": {"hostProcess": True}}),
        "spec.securityContext.windowsOptions.hostProcess",
        id="process of a Windows host",
    ),
    case(
        pod(initContainers=[{"name": "i", "securityContext": {"privileged": True}}]),
        "spec.initContainers[0].securityContext.privileged",
        id="first container",
    ),
    case(beside(ports=[{"containerPort": 1, "hostPort": 1}]), "spec.containers[1].ports", id="port"),
]

SET_BY_US = [
    *(
        case({"metadata": {name: value}}, f"metadata.{name}", id=name)
        for name, value in {
            "name": "x",
            "generateName": "x",
            "namespace": "x",
            "ownerReferences": [],
            "finalizers": ["x"],
        }.items()
    ),
    case(pod(nodeName="n"), "spec.nodeName", id="node"),
    case(pod(hostname="n"), "spec.hostname", id="host name"),
    case(pod(activeDeadlineSeconds=7), "spec.activeDeadlineSeconds", id="deadline"),
    case(pod(restartPolicy="Always"), "spec.restartPolicy", id="restarts"),
    case(pod(serviceAccountName="admin"), "spec.serviceAccountName", id="account"),
    case(pod(serviceAccount="admin"), "spec.serviceAccount", id="account by its old name"),
    case(ours(command=["sh"]), "spec.containers.command", id="command"),
    case(ours(args=["-c"]), "spec.containers.args", id="arguments"),
    case(ours(image="x"), "spec.containers.image", id="image"),
    case(ours(lifecycle={}), "spec.containers.lifecycle", id="lifecycle"),
    case(ours(terminationMessagePath="/x"), "spec.containers.terminationMessagePath", id="last words"),
    case(
        ours(resources={"limits": {"memory": "9Gi"}}), "spec.containers.resources.limits.memory", id="memory"
    ),
    case(ours(resources={"requests": {"cpu": 1}}), "spec.containers.resources.requests.cpu", id="cores"),
]


@pytest.mark.parametrize(("template", "field"), [*REACHING_OUT, *SET_BY_US])
def test_refused_by_the_name_of_the_field(template: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        check(FIELD, template, BOUNDS)
    assert caught.value.option == f"{FIELD}.{field}"


@pytest.mark.parametrize(("template", "field"), REACHING_OUT)
def test_reaching_out_is_the_operators_to_allow(template: dict[str, Any], field: str) -> None:
    del field
    check(FIELD, template, Bounds("lithify-driver", host_access=True))


@pytest.mark.parametrize(("template", "field"), SET_BY_US)
def test_what_we_set_is_nobodys_to_allow(template: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        check(FIELD, template, Bounds("lithify-driver", host_access=True))
    assert caught.value.option.endswith(field)


@pytest.mark.parametrize(
    "template",
    [
        case(None, id="none"),
        case({}, id="empty"),
        case(pod(serviceAccountName="lithify-driver", restartPolicy="Never"), id="what we say ourselves"),
        case(pod(hostNetwork=False, securityContext={"runAsNonRoot": True, "runAsUser": 1}), id="harmless"),
        case(
            beside(image="proxy", command=["run"], resources={"limits": {"cpu": 1}}), id="a container beside"
        ),
        case(ours(resources={"limits": {"nvidia.com/gpu": 1, "ephemeral-storage": "1Gi"}}), id="resources"),
        case(pod(volumes=[{"name": "s", "secret": {"secretName": "x"}}]), id="a Secret"),
    ],
)
def test_everything_else_passes(template: object) -> None:
    check(FIELD, template, BOUNDS)
