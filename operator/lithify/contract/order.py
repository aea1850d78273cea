"""The order for a driver: one attempt as JSON, the same for pods and for processes.

Made by `controller.launching.ordering`, read by `lithify drive`. In a pod the JSON stands in the environment,
where everyone with read access to the pod sees it, so it only names the files of a mounted Secret; a process
gets it through a pipe, with the credentials.

Both sides have the same release, so the format may change between releases: the launcher sets instructions
and image (or this Python) together, the driver reads them once, at the start, and a driver that outlives its
operator receives no further instructions. Unknown fields are dropped nevertheless. Only a policy that names
its own image can combine an older driver with newer instructions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field, ValidationError

from lithify.contract.executors import ExecutorSizing
from lithify.errors import InvalidOption
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.resources.modelling import part, plain, read

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
class MaintenanceInstructions:
    """Maintenance that an attempt does instead of a compaction. `orphan_seconds` is the age of orphans."""

    kind: MaintenanceKind
    is_dry_run: bool = False
    orphan_seconds: int | None = None


@part()
class MemberInstructions:
    """The fields specific to one run of a shared driver. All runs use the first one's catalog options."""

    run: str
    table: TableAddress
    selection: Selection = Field(default_factory=Selection)
    maintenance: MaintenanceInstructions | None = None
    canary: bool = False


@part()
class Instructions:
    """One attempt at one compaction, or at one run of maintenance.

    `table` has no credentials. `credentials` are catalog options, for a process only; `credential_files` says
    for a pod which file of the mounted Secret holds which option, and `secret` the Secret's name.
    With `canary`, a copy of the table is compacted first and compared. Sizes are in bytes; unless `task_size`
    is set, tasks are `task_share` of the size that is usual for the table. A run commits when it has read
    `commit_every`, or earlier, by the time that takes. With a `sizing` the number of executors follows from
    the plan; if none has come after `patience` seconds, the attempt ends. With `members`, the driver compacts
    their tables one after the other; other fields apply to each.
    """

    run: str
    attempt: int
    table: TableAddress
    selection: Selection = Field(default_factory=Selection)
    maintenance: MaintenanceInstructions | None = None
    canary: bool = False
    secret: str = ""
    credential_files: Mapping[str, str] = Field(default_factory=dict)
    credentials: Mapping[str, str] = Field(default_factory=dict, repr=False)
    task_memory: int
    task_size: int | None = None
    task_share: float = 1.0
    commit_every: int | None = None
    master: str
    conf: Mapping[str, str] = Field(default_factory=dict)
    executor_template: Mapping[str, Any] | None = None
    sizing: ExecutorSizing | None = None
    patience: int | None = None
    members: tuple[MemberInstructions, ...] | None = Field(default=None, max_length=50)

    def of_member(self, member: MemberInstructions) -> Instructions:
        """The instructions for one run of a shared driver, as if the driver were the run's own."""
        table = replace(member.table, catalog_options=self.table.catalog_options)
        return replace(
            self,
            members=None,
            run=member.run,
            table=table,
            selection=member.selection,
            maintenance=member.maintenance,
            canary=member.canary,
        )


def write_instructions(instructions: Instructions) -> str:
    """The instructions as JSON."""
    return json.dumps(plain(instructions), ensure_ascii=False, separators=(",", ":"))


def read_instructions(text: str) -> Instructions:
    """Parses instructions.

    Raises:
        InvalidOption: the text contains none. The message does not show the text, which may hold credentials.
    """
    try:
        return read(Instructions, json.loads(text))
    except ValidationError as error:
        places = ", ".join(".".join(map(str, one["loc"])) for one in error.errors(include_input=False))
        raise InvalidOption("instructions", f"{places} cannot be understood") from None
    except ValueError:
        raise InvalidOption("instructions", "they are incomplete or no JSON") from None
