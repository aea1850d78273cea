"""What a driver is told: one attempt as JSON, the same for pods and for processes.

Made by `controller.launching.ordering`, read by `lithify drive`. In a pod the JSON stands in the environment,
where all who may read the pod can read it, so it names the files of a mounted Secret; a process gets it
through a pipe, with the credentials. Both sides may be of different releases: unknown fields are dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from pydantic import Field, ValidationError

from lithify.contract.executors import ExecutorSizing
from lithify.errors import InvalidOption
from lithify.resources.compaction import RunStrategy
from lithify.resources.modelling import part, plain, read
from lithify.tables.io.reach import DRIVER

VARIABLE = "LITHIFY_ORDER"
"""The environment variable that holds instructions; without it they come through stdin."""
SECRETS_VARIABLE = "LITHIFY_SECRETS"
"""The environment variable that names the folder of the mounted Secret."""
MEMBERS_VARIABLE = "LITHIFY_MEMBERS"
"""The environment variable that names the folder of a shared driver process for the outcomes of its runs;
without it, annotations of the pod are used."""
OUTCOME_VARIABLE = "LITHIFY_OUTCOME"
"""The environment variable that names the file for the outcome."""
PROGRESS_VARIABLE = "LITHIFY_PROGRESS"
"""The environment variable that names the file for progress; without it, the pod's annotation is used."""
POD_NAME_VARIABLE = "LITHIFY_POD_NAME"
POD_NAMESPACE_VARIABLE = "LITHIFY_POD_NAMESPACE"
POD_ADDRESS_VARIABLE = "LITHIFY_POD_IP"


@part()
class MemberInstructions:
    """What one run of a shared driver has of its own."""

    run: str
    identifier: str
    table_uuid: str | None = None
    overrides: Mapping[str, str] = Field(default_factory=dict)
    time_zone: str = "UTC"
    strategy: RunStrategy = RunStrategy.MINOR
    partitions: tuple[Mapping[str, str], ...] = ()
    buckets: tuple[int, ...] = ()
    held: Mapping[str, str] = Field(default_factory=dict)


@part()
class Instructions:
    """One attempt at one compaction.

    `credentials` are catalog options, for a process only; `credential_files` says for a pod which file of the
    mounted Secret holds which option, and `secret` how the Secret is called. Sizes are in bytes; unless
    `task_size` is set, tasks are `task_share` of the size that is usual for the table. A run commits when it
    has read `commit_every`, or earlier, by the time that takes. With a `sizing` the number of executors
    follows from the plan; if none has come after `patience` seconds, the attempt ends. `held` are
    fingerprints of groups by path: those that still have these files are left out. `own_prefixes` and
    `own_with_endpoint` say where the rights of the driver's own process may be used, see `Reach`.
    `plan_only` has the driver plan, report the plan and end; only operators of older releases ask for that.
    With `members`, the driver compacts their tables one after the other; all else is true of each of them.
    """

    run: str
    attempt: int
    plan_only: bool = False
    format: str = "paimon"
    identifier: str
    table_uuid: str | None = None
    warehouse: str
    catalog_options: Mapping[str, str] = Field(default_factory=dict)
    secret: str = ""
    credential_files: Mapping[str, str] = Field(default_factory=dict)
    credentials: Mapping[str, str] = Field(default_factory=dict, repr=False)
    overrides: Mapping[str, str] = Field(default_factory=dict)
    time_zone: str = "UTC"
    strategy: RunStrategy = RunStrategy.MINOR
    partitions: tuple[Mapping[str, str], ...] = ()
    buckets: tuple[int, ...] = ()
    held: Mapping[str, str] = Field(default_factory=dict)
    task_memory: int
    task_size: int | None = None
    task_share: float = 1.0
    commit_every: int | None = None
    master: str
    conf: Mapping[str, str] = Field(default_factory=dict)
    executor_template: Mapping[str, Any] | None = None
    sizing: ExecutorSizing | None = None
    patience: int | None = None
    own_prefixes: tuple[str, ...] | None = DRIVER.prefixes
    own_with_endpoint: bool = DRIVER.with_endpoint
    members: tuple[MemberInstructions, ...] | None = Field(default=None, max_length=50)

    def of_member(self, member: MemberInstructions) -> Instructions:
        """The instructions for one run of a shared driver, as if it had the driver for itself."""
        own = {one.name: getattr(member, one.name) for one in fields(member)}
        return replace(self, members=None, **own)


def write_instructions(instructions: Instructions) -> str:
    """The instructions as JSON."""
    return json.dumps(plain(instructions), ensure_ascii=False, separators=(",", ":"))


def read_instructions(text: str) -> Instructions:
    """The instructions in a text.

    Raises:
        InvalidOption: there are none. The message does not show the text, which may hold credentials.
    """
    try:
        return read(Instructions, json.loads(text))
    except ValidationError as error:
        places = ", ".join(".".join(map(str, one["loc"])) for one in error.errors(include_input=False))
        raise InvalidOption("instructions", f"{places} cannot be understood") from None
    except ValueError:
        raise InvalidOption("instructions", "they are incomplete or no JSON") from None
