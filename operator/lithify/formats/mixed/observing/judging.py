"""The figures of partitions of a keyed table and what is due in each, by the rules of planning. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from lithify.clock import epoch_millis
from lithify.formats.mixed.due import judged
from lithify.formats.mixed.trigger_options import TriggerOptions


@dataclass(frozen=True, slots=True)
class PartitionJudge:
    """Tells what is due in partitions; implements `Judge`.

    Attributes:
        options: the options of the triggers.
        write_nodes: number of nodes into which base files are divided.
        now: the time of the observation.
    """

    options: TriggerOptions
    write_nodes: int
    now: datetime

    @property
    def terms(self) -> str:
        """The options and the number of nodes."""
        return f"{self.options} {self.write_nodes}"

    def figures(self, files: pa.Table) -> pa.Table:
        """The figures of each partition; see `due.judged`."""
        return judged(files, self.options, self.write_nodes, epoch_millis(self.now))
