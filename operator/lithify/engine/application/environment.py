"""Locations from which a driver reads credentials, and to which it writes progress and outcomes.

Made by `lithify drive` from environment variables; used by `execution`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lithify.contract.outcome import Progress
from lithify.engine.application.exchange import (
    Exchange,
    FolderExchange,
    NoExchange,
    PodExchange,
)
from lithify.engine.application.pod import PodAddress
from lithify.engine.application.progress import Tell, Throttled, to_file


@dataclass(frozen=True, slots=True)
class DriverEnvironment:
    """A driver's environment.

    Attributes:
        outcome: the file for the outcome.
        secrets: the folder of the mounted Secret.
        progress: the file for progress; None for the pod's annotation.
        members: the folder for outcomes of single runs; None for the pod's annotations.
        pod: the process's own pod; None outside of pods.
        pod_ip: the address by which executors reach the driver, where it must be set.
    """

    outcome: Path
    secrets: Path = Path()
    progress: Path | None = None
    members: Path | None = None
    pod: PodAddress | None = None
    pod_ip: str | None = None

    @contextmanager
    def telling(self) -> Iterator[Tell]:
        """Reports progress: to a file, to the pod's annotation, or not at all."""
        if self.progress is not None:
            yield to_file(self.progress)
        elif self.pod is not None:
            with Throttled(self.pod.annotate) as tell:
                yield tell
        else:
            yield _silent

    @property
    def exchange(self) -> Exchange:
        """The exchange for outcomes of single runs."""
        if self.members is not None:
            return FolderExchange(self.members)
        return NoExchange() if self.pod is None else PodExchange(self.pod)


def _silent(progress: Progress) -> None:
    del progress
