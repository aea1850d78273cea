"""The kubelet's expansion of variables: a Go program around Kubernetes' own `expand.go`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infrastructure.building.go_programs import GoPrograms

PROGRAM = GoPrograms(
    name="expansion",
    sources=Path(__file__).resolve().parent / "go",
    packages=(".",),
    target="cluster",
    takes="a few seconds",
)


@dataclass(frozen=True, slots=True)
class Expanded:
    """A container as its process sees it.

    Attributes:
        variables: its environment, without those whose values come from elsewhere.
        command: command and arguments.
    """

    variables: Mapping[str, str]
    command: Sequence[str]


@dataclass(frozen=True, slots=True)
class Container:
    """What a pod's manifest says of a container.

    Attributes:
        manifest: the container, as in the manifest.
        known: variables whose values come from elsewhere, for example from Secrets.
    """

    manifest: Mapping[str, Any]
    known: Mapping[str, str] = field(default_factory=dict)


def expand(containers: Sequence[Container]) -> list[Expanded]:
    """The containers after expansion.

    Raises:
        NotBuilt: the program is not there yet.
    """
    asked = [
        {
            "known": one.known,
            "env": [found for found in one.manifest["env"] if "value" in found],
            "command": one.manifest["command"],
            "args": one.manifest["args"],
        }
        for one in containers
    ]
    program = str(PROGRAM.built() / "expansion")
    result = subprocess.run([program], input=json.dumps(asked), capture_output=True, text=True, check=True)
    return [
        Expanded(
            variables={variable["name"]: variable["value"] for variable in one["env"]},
            command=[*one["command"], *one["args"]],
        )
        for one in json.loads(result.stdout)
    ]
