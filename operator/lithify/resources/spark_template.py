"""The Spark application of a CompactionPolicy: image, pods, sizes, settings, and its place in a queue."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from lithify.resources.modelling import Rule, matching, part, rules
from lithify.resources.objects import Reference
from lithify.resources.pod_template.template import PodTemplate
from lithify.resources.quantities import Quantity


class PullPolicy(StrEnum):
    """When an image is pulled."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class QueueAdmission(StrEnum):
    """What Kueue must admit before a run may start."""

    GROUP = "Group"
    DRIVER = "Driver"


@part()
class DriverPod:
    """The pod that plans and commits."""

    cores: int = Field(default=1, description="Its processor cores.", ge=1, le=64)
    memory: Quantity = Field(default="1Gi", description="Its total memory.")
    scratch_size: Quantity | None = Field(
        default=None, description="Size limit of its /tmp. Default: what its node allows."
    )
    pod_template: PodTemplate | None = Field(
        default=None, description="A pod template to start from: volumes, tolerations, affinity, labels..."
    )


@part(
    Rule(
        "self.minInstances <= self.maxInstances",
        "minInstances must not be above maxInstances",
        ".minInstances",
    )
)
class ExecutorPods:
    """The pods that rewrite files."""

    min_instances: int = Field(default=1, description="Minimum number.", ge=1, le=10000)
    max_instances: int = Field(default=4, description="Maximum number.", ge=1, le=10000)
    cores: int = Field(
        default=1,
        description="Processor cores of each, and the number of tasks that it runs at a time.",
        ge=1,
        le=64,
    )
    memory: Quantity = Field(default="2Gi", description="Total memory of each.")
    scratch_size: Quantity | None = Field(
        default=None,
        description="Size limit of the /tmp of each, where wide merges spill.",
    )
    pod_template: PodTemplate | None = Field(
        default=None, description="A pod template to start from, as for the driver."
    )


@part()
class KueueTemplate:
    """Queueing of runs by Kueue, which must be in the cluster with its pod integration enabled."""

    queue_name: str = matching(
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "the name of a LocalQueue has lower-case letters, digits and -, and begins and ends with a letter or "
        "digit, such as lake-queue",
        description="The LocalQueue, in the namespace of the table.",
        max_length=63,
    )
    admission: QueueAdmission = Field(
        default=QueueAdmission.GROUP,
        description="Group: driver and executors are admitted together, a fixed number of pods that each "
        "count as the largest of them. Driver: only the driver waits and counts; executors are outside "
        "the quota.",
    )


@part(
    Rule(
        "!self.dynamicAllocation || !has(self.kueue) || self.kueue.admission == 'Driver'",
        "a group that Kueue admits has a fixed size, so dynamicAllocation must be off",
        ".dynamicAllocation",
    )
)
class SparkTemplate:
    """The Spark application that compacts."""

    image: str | None = Field(
        default=None,
        description="Image of driver and executors. Default: the one that the operator is configured with.",
        min_length=1,
        max_length=512,
    )
    image_pull_policy: PullPolicy | None = Field(default=None, description="When to pull it.")
    image_pull_secrets: tuple[Reference, ...] = Field(
        default=(), description="Secrets to pull it with.", max_length=8
    )
    service_account_name: str = Field(
        default="lithify-driver", description="Service account of the driver.", min_length=1, max_length=253
    )
    driver: DriverPod = Field(default=DriverPod(), description="The driver.")
    executor: ExecutorPods = Field(default=ExecutorPods(), description="The executors.")
    conf: Mapping[
        Annotated[str, Field(min_length=1, max_length=256)], Annotated[str, Field(max_length=1024)]
    ] = Field(
        default_factory=dict,
        description="Spark settings.",
        max_length=128,
        json_schema_extra=rules(
            Rule(
                "self.all(name, name.startsWith('spark.') && name.size() <= 256)",
                "names of Spark settings begin with spark. and have at most 256 characters",
            )
        ),
    )
    task_memory: Quantity = Field(default="384Mi", description="Memory of one task's merge.")
    task_size: Quantity | None = Field(
        default=None, description="About how much one task reads. Default: four target file sizes."
    )
    commit_every: Quantity | None = Field(
        default=None,
        description="Maximum size that a run reads between two commits, except for a larger group of files. "
        "Default: about what takes five minutes.",
    )
    target_run_seconds: int = Field(
        default=600,
        description="About how long a run should take; sets the number of executors, between "
        "minInstances and maxInstances.",
        ge=30,
        le=86400,
    )
    dynamic_allocation: bool = Field(
        default=False,
        description="Idle executors end, down to minInstances.",
    )
    kueue: KueueTemplate | None = Field(default=None, description="Queues runs by Kueue.")
