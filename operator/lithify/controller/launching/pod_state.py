"""What a driver's pod says about the driver.

Pure; called by `kubernetes`. Trouble is told of a pod that cannot start and of one that ended without a word;
where the driver left an outcome, that alone counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from lithify.controller.driver import DriverPhase, DriverState, Trouble
from lithify.controller.launching.pod import owner_of
from lithify.controller.launching.template import CONTAINER
from lithify.resources.names import ANNOTATION_PROGRESS, FINALIZER_DRIVER, LABEL_ATTEMPT
from lithify.resources.outcome import Outcome, read_outcome, read_progress

Pod = Mapping[str, Any]
Found = tuple[Trouble | None, str]

OVERDUE = timedelta(seconds=30)
"""Past its time of grace, a pod that is still there this long is on a node that nobody hears of."""

_IMAGE = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_CONFIGURATION = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "StartError",
        "ContainerCannotRun",
        "PreCreateHookError",
        "PreStartHookError",
    }
)
_GATED = "SchedulingGated"
_EVICTED_BY_QUEUE = "TerminationTarget"
"""What Kueue says of a pod that it takes back for others."""
_OUT_OF_MEMORY = "OOMKilled"
_KILLED = 137
_TERMINATED = 143


def state_of(pod: Pod, now: datetime) -> DriverState:
    """The driver in a pod."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    container = _container_state(status)
    ended = container.get("terminated") or {}
    outcome = read_outcome(ended.get("message") or "")
    phase = _phase(pod, container)
    trouble, message = (None, "") if outcome is not None else _trouble(pod, phase, ended, now)
    running = container.get("running") or ended
    return DriverState(
        name=metadata["name"],
        uid=metadata["uid"],
        owner_uid=str((owner_of(pod) or {}).get("uid", "")),
        attempt=_attempt(metadata, outcome),
        phase=phase,
        trouble=trouble,
        message=message,
        terminating=metadata.get("deletionTimestamp") is not None,
        released=FINALIZER_DRIVER not in (metadata.get("finalizers") or []),
        started=_time(running.get("startedAt")),
        progress=read_progress((metadata.get("annotations") or {}).get(ANNOTATION_PROGRESS, "")),
        outcome=outcome,
        exit_code=ended.get("exitCode"),
    )


def _container_state(status: Mapping[str, Any]) -> Mapping[str, Any]:
    containers = status.get("containerStatuses") or []
    state = next((one.get("state") for one in containers if one.get("name") == CONTAINER), None)
    return state or {}


def _phase(pod: Pod, container: Mapping[str, Any]) -> DriverPhase:
    phase = (pod.get("status") or {}).get("phase")
    if container.get("terminated") or phase in ("Succeeded", "Failed"):
        return DriverPhase.ENDED
    if pod["metadata"].get("deletionTimestamp") and not pod.get("spec", {}).get("nodeName"):
        return DriverPhase.ENDED  # no kubelet has it, so nothing will ever run or be reported
    return DriverPhase.RUNNING if container.get("running") else DriverPhase.STARTING


def _trouble(pod: Pod, phase: DriverPhase, ended: Mapping[str, Any], now: datetime) -> Found:
    if phase is DriverPhase.ENDED:
        return _end(pod, ended)
    if _is_out_of_reach(pod, now):
        return Trouble.UNREACHABLE, f"nobody hears of node {pod.get('spec', {}).get('nodeName')}"
    return _waiting(pod) if phase is DriverPhase.STARTING else (None, "")


def _end(pod: Pod, ended: Mapping[str, Any]) -> Found:
    """Why a driver has ended that left no outcome."""
    status = pod.get("status") or {}
    reason, code = ended.get("reason", ""), ended.get("exitCode")
    said = ended.get("message") or status.get("message") or ""
    if reason == _OUT_OF_MEMORY:
        return Trouble.OUT_OF_MEMORY, "the driver needed more memory than its pod may have"
    if reason in _CONFIGURATION:
        return Trouble.CONFIGURATION, _sentence(reason, said)
    disruption = _condition(status, "DisruptionTarget", "True") or _condition(
        status, _EVICTED_BY_QUEUE, "True"
    )
    if disruption is not None:
        return Trouble.DISRUPTED, _sentence(disruption.get("reason", ""), disruption.get("message", ""))
    if status.get("reason"):
        return Trouble.DISRUPTED, _sentence(status["reason"], status.get("message", ""))
    if pod["metadata"].get("deletionTimestamp"):
        return Trouble.DISRUPTED, "the pod was deleted"
    if code in (_KILLED, _TERMINATED):
        return Trouble.DISRUPTED, f"the driver was killed (exit code {code})"
    if not ended:
        return Trouble.DISRUPTED, "the pod ended, and its node does not say how"
    return None, f"the driver ended with code {code} and left no outcome; see the log of its pod"


def _waiting(pod: Pod) -> Found:
    """Why a driver does not start."""
    status = pod.get("status") or {}
    for waiting in _waits(status):
        reason, said = waiting.get("reason", ""), waiting.get("message", "")
        if reason in _IMAGE:
            return Trouble.IMAGE, _sentence(reason, said)
        if reason in _CONFIGURATION:
            return Trouble.CONFIGURATION, _sentence(reason, said)
    unscheduled = _condition(status, "PodScheduled", "False")
    if pod.get("spec", {}).get("schedulingGates"):
        gates = ", ".join(str(gate.get("name")) for gate in pod["spec"]["schedulingGates"])
        return Trouble.GATED, f"it waits to be admitted by {gates}"
    if unscheduled is not None and unscheduled.get("reason") != _GATED:
        return Trouble.UNSCHEDULABLE, _sentence(unscheduled.get("reason", ""), unscheduled.get("message", ""))
    return None, ""


def _waits(status: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    containers = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    states = [one.get("state") or {} for one in containers]
    return [state["waiting"] for state in states if state.get("waiting")]


def _is_out_of_reach(pod: Pod, now: datetime) -> bool:
    status = pod.get("status") or {}
    if status.get("phase") == "Unknown" or status.get("reason") == "NodeLost":
        return True
    # For pods, unlike other objects, this is when their time of grace is over.
    due = _time(pod["metadata"].get("deletionTimestamp"))
    return due is not None and now > due + OVERDUE


def _condition(status: Mapping[str, Any], kind: str, value: str) -> Mapping[str, Any] | None:
    conditions = status.get("conditions") or []
    return next((one for one in conditions if one.get("type") == kind and one.get("status") == value), None)


def _attempt(metadata: Mapping[str, Any], outcome: Outcome | None) -> int:
    label = (metadata.get("labels") or {}).get(LABEL_ATTEMPT, "")
    if label.isdigit():
        return int(label)
    return 0 if outcome is None else outcome.attempt


def _sentence(reason: str, message: str) -> str:
    return ": ".join(part for part in (reason, message) if part)


def _time(text: object) -> datetime | None:
    return datetime.fromisoformat(text) if isinstance(text, str) else None
