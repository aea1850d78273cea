"""Reads Dockerfiles: the instructions that ours use, and no others.

Used by `build`. Says what is in a file, does nothing.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

KNOWN = frozenset({"RUN", "COPY", "ENV", "LABEL", "USER", "WORKDIR", "ENTRYPOINT", "CMD"})
_OPTION = re.compile(r"--([a-z]+)(?:=(\S+))?\s+")


class NotUnderstood(Exception):
    """A Dockerfile says something that is not known here."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, such as RUN, with its options (`--from=build`) and the rest as it stands there."""

    word: str
    rest: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def pairs(self) -> dict[str, str]:
        """The settings of an ENV or a LABEL."""
        return dict(word.split("=", 1) for word in shlex.split(self.rest))

    @property
    def words(self) -> list[str]:
        """The words of a COPY, or of a command in JSON."""
        return list(json.loads(self.rest)) if self.rest.startswith("[") else self.rest.split()


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: what it is based on, another stage or an image, and what is done to it."""

    name: str
    base: str
    instructions: Sequence[Instruction]


def read_stages(text: str) -> dict[str, Stage]:
    """The stages of a Dockerfile by their names, in order.

    Raises:
        NotUnderstood: an instruction or an option is not known here.
    """
    arguments: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    instructions: list[Instruction] = []
    for line in _lines(text):
        word, _, rest = line.partition(" ")
        if word == "ARG" and not stages:
            name, _, value = rest.partition("=")
            arguments[name] = value
        elif word == "FROM":
            base, _, name = rest.partition(" AS ")
            instructions = []
            stages[name] = Stage(name, _filled(base, arguments), instructions)
        elif word in KNOWN and stages:
            instructions.append(_instruction(word, rest))
        else:
            raise NotUnderstood(f"this instruction is not known to tests/node/images: {line}")
    return stages


def read_file(path: Path) -> dict[str, Stage]:
    """The stages of a Dockerfile; raises like `read_stages`."""
    return read_stages(path.read_text(encoding="utf-8"))


def configuration(stages: Mapping[str, Stage], last: str) -> dict[str, object]:
    """The `config` part of an OCI image: what stands in its last stage."""
    environment: dict[str, str] = {}
    labels: dict[str, str] = {}
    found: dict[str, object] = {}
    for instruction in stages[last].instructions:
        match instruction.word:
            case "ENV":
                environment |= instruction.pairs
            case "LABEL":
                labels |= instruction.pairs
            case "USER":
                found["User"] = instruction.rest
            case "WORKDIR":
                found["WorkingDir"] = instruction.rest
            case "ENTRYPOINT":
                found["Entrypoint"] = instruction.words
            case "CMD":
                found["Cmd"] = instruction.words
    return {**found, "Env": [f"{name}={value}" for name, value in environment.items()], "Labels": labels}


def _instruction(word: str, rest: str) -> Instruction:
    options: dict[str, str] = {}
    while (match := _OPTION.match(rest)) is not None:
        options[match[1]] = match[2] or ""
        rest = rest[match.end() :]
    allowed = {"RUN": {"mount"}, "COPY": {"from", "chmod"}}.get(word, set())
    if unknown := options.keys() - allowed:
        raise NotUnderstood(f"{word} with {', '.join(sorted(unknown))} is not known to tests/node/images")
    return Instruction(word, rest, options)


def _filled(text: str, arguments: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda match: arguments[match[1]], text)


def _lines(text: str) -> list[str]:
    """Instructions, each on one line, without comments."""
    kept = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(kept))
    return [line.strip() for line in joined.splitlines() if line.strip()]
