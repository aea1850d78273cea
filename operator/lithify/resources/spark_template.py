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
    """What Kueue admits of a run before it may start."""

    GROUP = "Group"
    DRIVER = "Driver"


@part()
class DriverPod:
    """The pod that plans and commits."""

    cores: int = Field(default=1, description="Its processor cores.", ge=1, le=64)
    memory: Quantity = Field(default="1Gi", description="Its memory in all.")
    scratch_size: Quantity | None = Field(
        default=None, description="The most that it may keep in /tmp. Default: what its node allows."
    )
    pod_template: PodTemplate | None = Field(
        default=None, description="A pod template to start from: volumes, tolerations, affinity, labels..."
    )


@part(
    Rule("self.minInstances <= self.maxInstances", "minInstances is not above maxInstances", ".minInstances")
)
class ExecutorPods:
    """The pods that rewrite files."""

    min_instances: int = Field(default=1, description="At least so many.", ge=1, le=10000)
    max_instances: int = Field(default=4, description="At most so many.", ge=1, le=10000)
    cores: int = Field(
        default=1, description="Processor cores of each; so many tasks at a time.", ge=1, le=64
    )
    memory: Quantity = Field(default="2Gi", description="Memory of each in all.")
    scratch_size: Quantity | None = Field(
        default=None,
        description="The most that each may keep in /tmp, where wide merges spill.",
    )
    pod_template: PodTemplate | None = Field(
        default=None, description="A pod template to start from, as for the driver."
    )


@part()
class KueueTemplate:
    """How runs are queued by Kueue, which has to be in the cluster with its pod integration on."""

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
        "count as the largest of them. Driver: only it waits and counts; executors start beside the quota.",
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
        description="Image of driver and executors. Default: the one that the operator was started with.",
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
        description="How much a run reads between two commits at most, but for a bucket that is larger. "
        "Default: about what takes five minutes.",
    )
    target_run_seconds: int = Field(
        default=600,
        description="About how long a run should take: so many executors are asked for, "
        "between minInstances and maxInstances.",
        ge=30,
        le=86400,
    )
    dynamic_allocation: bool = Field(
        default=False,
        description="Executors end when they find nothing to do any more, down to minInstances.",
    )
    kueue: KueueTemplate | None = Field(default=None, description="Queues runs by Kueue.")
