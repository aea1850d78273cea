"""Labels and annotations that Kueue needs on the pods of a run. Pure; used by `pod`.

Kueue's plain-pod integration holds a pod back until it is admitted. A group is admitted when its first pod
exists, and each of its pods counts like that one, so the driver requests as much as the largest of them.
Kueue lets the executors of an admitted driver pass; those of a group carry a mark that they are counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lithify.resources.spark_template import KueueTemplate, QueueAdmission

QUEUE = "kueue.x-k8s.io/queue-name"
MANAGED = "kueue.x-k8s.io/managed"
GROUP = "kueue.x-k8s.io/pod-group-name"
TOTAL = "kueue.x-k8s.io/pod-group-total-count"
FIRST_IS_ENOUGH = "kueue.x-k8s.io/pod-group-fast-admission"
ROLE = "kueue.x-k8s.io/role-hash"
RETRIABLE = "kueue.x-k8s.io/retriable-in-group"
PARENT = "kueue.x-k8s.io/pod-suspending-parent"

_ROLE = "lithify"
"""All pods of a group have one role: Kueue recognizes them by the first."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Labels and annotations of a pod."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


def is_group(kueue: KueueTemplate | None) -> bool:
    """Whether all pods of a run are admitted together."""
    return kueue is not None and kueue.admission is QueueAdmission.GROUP


def driver_marks(kueue: KueueTemplate | None, group: str, executors: int) -> Marks:
    """Marks of the driver; a group ends with the driver, whatever happened to executors."""
    if kueue is None:
        return Marks()
    if not is_group(kueue):
        return Marks({QUEUE: kueue.queue_name})
    marks = _member(kueue, group, executors)
    return Marks(marks.labels, marks.annotations | {RETRIABLE: "false"})


def executor_marks(kueue: KueueTemplate | None, group: str, executors: int) -> Marks:
    """Marks of executors."""
    if kueue is None or not is_group(kueue):
        return Marks()
    marks = _member(kueue, group, executors)
    return Marks(marks.labels | {MANAGED: "true"}, marks.annotations | {PARENT: "lithify-driver"})


def _member(kueue: KueueTemplate, group: str, executors: int) -> Marks:
    annotations = {TOTAL: str(1 + executors), FIRST_IS_ENOUGH: "true", ROLE: _ROLE}
    return Marks({QUEUE: kueue.queue_name, GROUP: group}, annotations)
