"""Messages between a shared driver and the operator about single runs: by files or by pod annotations.

Used by `shared`; `environment` chooses one.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lithify.contract.outcome import Outcome, write_outcome
from lithify.engine.application.outcome import replace_file
from lithify.engine.application.pod import PodAddress
from lithify.resources.names import OUTCOME_PREFIX, STOP_PREFIX


class Exchange(Protocol):
    """Reports outcomes of single runs while the driver goes on, and returns which runs are to end early."""

    def tell(self, outcome: Outcome) -> bool:
        """Reports an outcome to the operator; returns whether that certainly succeeded."""
        ...

    def unwanted(self) -> Collection[str]:
        """Ids of the runs that are to end early; the last known ones if there is no response."""
        ...


@dataclass(frozen=True, slots=True)
class FolderExchange:
    """An exchange by files `<run>.json` and `<run>.stop` of a folder, for processes."""

    folder: Path

    def tell(self, outcome: Outcome) -> bool:
        """Writes the outcome into a file of its own."""
        try:
            replace_file(self.folder / f"{outcome.run}.json", write_outcome(outcome))
        except OSError:
            return False
        return True

    def unwanted(self) -> Collection[str]:
        """The runs for which there is a mark."""
        return {path.stem for path in self.folder.glob("*.stop")}


@dataclass(frozen=True, slots=True)
class PodExchange:
    """An exchange by annotations of the pod."""

    pod: PodAddress

    def tell(self, outcome: Outcome) -> bool:
        """Writes the outcome into an annotation of its own."""
        with suppress(Exception):
            return self.pod.patch({f"{OUTCOME_PREFIX}{outcome.run}": write_outcome(outcome)})
        return False

    def unwanted(self) -> Collection[str]:
        """The runs for which there is a mark."""
        with suppress(Exception):
            marks = self.pod.annotations()
            return {name.removeprefix(STOP_PREFIX) for name in marks if name.startswith(STOP_PREFIX)}
        return ()


class NoExchange:
    """For a driver without a pod or a folder: all outcomes are reported at its end."""

    def tell(self, outcome: Outcome) -> bool:
        """Returns False: the outcome is reported at the driver's end."""
        del outcome
        return False

    def unwanted(self) -> Collection[str]:
        """Returns no runs."""
        return ()
