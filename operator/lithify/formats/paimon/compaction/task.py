"""The base of the tasks of every kind of table.

Tasks are made by the planners, numbered by `step`, shipped to executors by a runner, and run there. Their
results hold no rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from lithify.clock import Clock
from lithify.engine.rewrite.budget import Budget
from lithify.engine.tasks.execution import carry_out
from lithify.engine.tasks.task import StepTask
from lithify.files.model import InputFile
from lithify.formats.paimon.data_files.new_files import NewFiles
from lithify.formats.paimon.data_files.reader import Reading
from lithify.formats.paimon.data_files.writer import FileTarget
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.protocol.results import TaskOutputs, TaskResult
from lithify.io.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionTask(StepTask):
    """What every task of a Paimon table has.

    Attributes:
        schemas: the schemas of the input files, by id.
        storage: access to the files.
        budget: memory budget.
    """

    schemas: Mapping[int, Schema]
    storage: Storage
    budget: Budget

    @property
    @abstractmethod
    def read_files(self) -> Sequence[InputFile]:
        """All files that are read."""

    @property
    @abstractmethod
    def folder(self) -> str:
        """Where new files are, for messages."""

    @abstractmethod
    def write(self, files: NewFiles) -> TaskOutputs:
        """Reads, and writes new files; returns their metadata. The caller deletes them if it raises."""

    @property
    def input_sizes(self) -> dict[str, int]:
        """Bytes of the files to read, by path."""
        return {file.path: file.size for file in self.read_files}

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Reads, writes, and deletes the new files if that fails; see `execution.carry_out`.

        Args:
            clock: source of creation times.
            attempt: number of the try, from 0.
            attempt_id: unique among all tries of all tasks of the attempt; part of the file names.
        """
        files = NewFiles(self.writer(attempt_id), self.storage, clock)
        return carry_out(self.write, files, self.index, self.folder, attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteTask(CompactionTask):
    """Reads all rows of some files and writes them into new files of one bucket.

    Attributes:
        files: the input files, in the order of their rows.
        target: where and how to write.
    """

    files: tuple[InputFile, ...]
    target: FileTarget

    @property
    def read_files(self) -> tuple[InputFile, ...]:
        """The input files."""
        return self.files

    @property
    def folder(self) -> str:
        """The bucket's directory."""
        return self.target.folder

    def reading(self, files: Sequence[InputFile], plain: Sequence[str] = ()) -> Reading:
        """How files are read, with half of the memory for reading.

        Args:
            files: text columns that all of these have as dictionaries are read as such.
            plain: columns that are not read as dictionaries.
        """
        return Reading(
            files,
            self.schemas,
            self.target.schema,
            plain,
            self.storage,
            share=self.budget.reading // 2,
            options=self.target.options.parquet.variants,
        )


AnyTask = TypeVar("AnyTask", bound=CompactionTask)
