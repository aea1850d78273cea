"""The figures of partitions of a keyed table and what is due in each, by the rules of planning. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from lithify.clock import epoch_millis
from lithify.formats.mixed.due import judged, verdicts_of
from lithify.formats.mixed.trigger_options import MajorOptions
from lithify.formats.protocol.model import TriggerVerdict


@dataclass(frozen=True, slots=True)
class PartitionJudge:
    """Tells what is due in partitions; implements `Judge`.

    Attributes:
        options: from which figures on partitions are due.
        now: the time of the observation.
    """

    options: MajorOptions
    now: datetime

    @property
    def terms(self) -> str:
        """The options."""
        return str(self.options)

    def figures(self, files: pa.Table) -> pa.Table:
        """The figures of each partition; see `due.judged`."""
        return judged(files, self.options, epoch_millis(self.now))

    def verdicts(self, row: Mapping[str, Any]) -> list[TriggerVerdict]:
        """The verdict of each trigger on a partition, given its row of `figures`."""
        return verdicts_of(row, self.options, epoch_millis(self.now))
