"""Reads the state of a driver from its pod.

Pure; called by `kubernetes`. Trouble is reported for a pod that cannot start and for one that ended without
an outcome; an outcome alone counts where there is one. Every user who may change pods can write their fields,
so nothing here raises: malformed fields count as missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from lithify.contract.outcome import Outcome, read_outcome, read_progress
from lithify.controller.driver import DriverPhase, DriverState, Trouble
from lithify.controller.launching.ownership import (
    mapping_in,
    mappings_in,
    metadata_of,
    owner_of,
    text_in,
    texts_in,
)
from lithify.controller.launching.template import CONTAINER
from lithify.plain_text import repeatable
from lithify.resources.names import ANNOTATION_PROGRESS, FINALIZER_DRIVER, LABEL_ATTEMPT

Pod = Mapping[str, Any]
Found = tuple[Trouble | None, str]

OVERDUE = timedelta(seconds=30)
"""Time after the grace period after which a terminating pod's node counts as lost."""

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
_PULLED_IN_VAIN = re.compile(r'Back-off pulling image "[^"]*": (?=ErrImagePull: )')
_GATED = "SchedulingGated"
_EVICTED_BY_QUEUE = "TerminationTarget"
"""Message of Kueue for a pod that it preempts."""
_OUT_OF_MEMORY = "OOMKilled"
_KILLED = 137
_TERMINATED = 143
_LONGEST_ATTEMPT = 9
"""Maximum number of digits of an attempt's number."""


def state_of(pod: Pod, now: datetime) -> DriverState:
    """The driver in a pod; `now` is aware."""
    metadata = metadata_of(pod)
    container = _container_state(mapping_in(pod, "status"))
    ended = mapping_in(container, "terminated")
    owner_uid = text_in(owner_of(pod) or {}, "uid")
    outcome = read_outcome(text_in(ended, "message"))
    if outcome is not None and outcome.run != owner_uid:
        outcome = None  # it is another run's
    phase = _phase(pod, container)
    trouble, message = (None, "") if outcome is not None else _trouble(pod, phase, ended, now)
    return DriverState(
        name=text_in(metadata, "name"),
        uid=text_in(metadata, "uid"),
        owner_uid=owner_uid,
        attempt=_attempt(metadata, outcome),
        phase=phase,
        trouble=trouble,
        message=message,
        terminating=metadata.get("deletionTimestamp") is not None,
        released=FINALIZER_DRIVER not in texts_in(metadata, "finalizers"),
        started=_time(mapping_in(container, "running") or ended, "startedAt"),
        finished=_time(ended, "finishedAt"),
        progress=read_progress(text_in(mapping_in(metadata, "annotations"), ANNOTATION_PROGRESS)),
        outcome=outcome,
        exit_code=_exit_code(ended),
    )


def executors_text(pods: Iterable[Pod]) -> str:
    """Why none of the executors in these pods has started; empty if the pods do not say."""
    pods = list(pods)
    if not pods:
        return "Spark has made no pods for them yet; see the log of the driver's pod if that persists"
    return next((message for _, message in map(_waiting, pods) if message), "")


def _container_state(status: Pod) -> Pod:
    containers = mappings_in(status, "containerStatuses")
    return next((mapping_in(one, "state") for one in containers if one.get("name") == CONTAINER), {})


def _phase(pod: Pod, container: Pod) -> DriverPhase:
    phase = text_in(mapping_in(pod, "status"), "phase")
    if container.get("terminated") or phase in ("Succeeded", "Failed"):
        return DriverPhase.ENDED
    if metadata_of(pod).get("deletionTimestamp") and not _node(pod):
        return DriverPhase.ENDED  # no kubelet runs it, so no status will ever come
    return DriverPhase.RUNNING if container.get("running") else DriverPhase.STARTING


def _trouble(pod: Pod, phase: DriverPhase, ended: Pod, now: datetime) -> Found:
    if phase is DriverPhase.ENDED:
        return _end(pod, ended)
    if _is_out_of_reach(pod, now):
        return Trouble.UNREACHABLE, f"node {_node(pod)} does not report"
    return _waiting(pod) if phase is DriverPhase.STARTING else (None, "")


def _end(pod: Pod, ended: Pod) -> Found:
    """Why a driver without an outcome has ended."""
    status = mapping_in(pod, "status")
    reason, code, left = text_in(ended, "reason"), _exit_code(ended), text_in(ended, "message")
    if reason == _OUT_OF_MEMORY:
        return Trouble.OUT_OF_MEMORY, "the driver needed more memory than its pod's limit"
    if reason in _CONFIGURATION:
        return Trouble.CONFIGURATION, _sentence(reason, left or text_in(status, "message"))
    disruption = _condition(status, "DisruptionTarget", "True") or _condition(
        status, _EVICTED_BY_QUEUE, "True"
    )
    if disruption is not None:
        return Trouble.DISRUPTED, _said(disruption)
    if text_in(status, "reason"):
        return Trouble.DISRUPTED, _said(status)
    if metadata_of(pod).get("deletionTimestamp"):
        return Trouble.DISRUPTED, "the pod was deleted"
    if code in (_KILLED, _TERMINATED):
        return Trouble.DISRUPTED, f"the driver was killed (exit code {code})"
    if not ended:
        return Trouble.DISRUPTED, "the pod ended, and its node does not report how"
    outcome = "an outcome that cannot be read" if left else "no outcome"
    return None, f"the driver ended with code {code} and left {outcome}; see the log of its pod"


def _waiting(pod: Pod) -> Found:
    """Why a driver does not start."""
    status = mapping_in(pod, "status")
    for waiting in _waits(status):
        if text_in(waiting, "reason") in _IMAGE:
            return Trouble.IMAGE, _said(waiting)
        if text_in(waiting, "reason") in _CONFIGURATION:
            return Trouble.CONFIGURATION, _said(waiting)
    unscheduled = _condition(status, "PodScheduled", "False")
    gates = [text_in(gate, "name") for gate in mappings_in(mapping_in(pod, "spec"), "schedulingGates")]
    if gates:
        return Trouble.GATED, f"it waits to be admitted by {', '.join(gates)}"
    if unscheduled is not None and unscheduled.get("reason") != _GATED:
        return Trouble.UNSCHEDULABLE, _said(unscheduled)
    return None, ""


def _waits(status: Pod) -> Iterable[Pod]:
    containers = [*mappings_in(status, "initContainerStatuses"), *mappings_in(status, "containerStatuses")]
    waits = [mapping_in(mapping_in(one, "state"), "waiting") for one in containers]
    return [waiting for waiting in waits if waiting]


def _is_out_of_reach(pod: Pod, now: datetime) -> bool:
    status = mapping_in(pod, "status")
    if status.get("phase") == "Unknown" or status.get("reason") == "NodeLost":
        return True
    # For pods, unlike other objects, this is the end of the grace period.
    due = _time(metadata_of(pod), "deletionTimestamp")
    return due is not None and now - OVERDUE > due


def _condition(status: Pod, kind: str, value: str) -> Pod | None:
    conditions = mappings_in(status, "conditions")
    return next((one for one in conditions if one.get("type") == kind and one.get("status") == value), None)


def _attempt(metadata: Pod, outcome: Outcome | None) -> int:
    label = text_in(mapping_in(metadata, "labels"), LABEL_ATTEMPT)
    if label.isascii() and label.isdigit() and len(label) <= _LONGEST_ATTEMPT:
        return int(label)
    return 0 if outcome is None else outcome.attempt


def _node(pod: Pod) -> str:
    return text_in(mapping_in(pod, "spec"), "nodeName")


def _exit_code(ended: Pod) -> int | None:
    code = ended.get("exitCode")
    return code if isinstance(code, int) else None


def _said(found: Pod) -> str:
    reason, message = text_in(found, "reason"), repeatable(text_in(found, "message"))
    # During retries a kubelet alternates between the error of a pull and its back-off.
    again = _PULLED_IN_VAIN.match(message)
    return message[again.end() :] if again else _sentence(reason, message)


def _sentence(reason: str, message: str) -> str:
    return ": ".join(part for part in (reason, message) if part)


def _time(found: Pod, name: str) -> datetime | None:
    """A time; None if Python cannot represent it: a grace period may reach beyond the year 9999."""
    try:
        moment = datetime.fromisoformat(text_in(found, name))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
