"""The options of planning, with the names and defaults of Iceberg's `rewrite_data_files`.

Read by the modules beside this one. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from lithify.errors import InvalidOption
from lithify.formats.iceberg.properties import digits_in, is_true, number_in

TARGET_SIZE = "target-file-size-bytes"
MIN_SIZE = "min-file-size-bytes"
MAX_SIZE = "max-file-size-bytes"
MIN_INPUT_FILES = "min-input-files"
REWRITE_ALL = "rewrite-all"
MAX_GROUP_SIZE = "max-file-group-size-bytes"
MAX_GROUP_FILES = "max-file-group-input-files"
DELETE_FILES = "delete-file-threshold"
DELETE_RATIO = "delete-ratio-threshold"
MAX_FILES = "max-files-to-rewrite"
JOB_ORDER = "rewrite-job-order"
OVERLAP = "lithify.overlap-threshold"
VECTOR_ROWS = "lithify.vector-rows-threshold"
EQUALITY_FILES = "lithify.equality-delete-file-threshold"
EQUALITY_INTERVAL = "lithify.equality-delete-interval-ms"
POSITION_FILES = "lithify.position-delete-file-threshold"
SHARED_FILES = "lithify.shared-position-delete-file-threshold"
DEAD_VECTORS = "lithify.dead-vector-bytes-threshold"
DANGLING = "lithify.dangling-delete-threshold"
INTERVAL = "compact.major.interval.max"
"""Options that Java does not have; the last one is that of keyed tables, in milliseconds."""
TARGET_SIZE_PROPERTY = "write.target-file-size-bytes"
"""The table property that is the default of the target size."""
AMORO_TARGET_SIZE = "self-optimizing.target-size"
AMORO_FILE_COUNT = "self-optimizing.minor.trigger.file-count"
AMORO_INTERVAL = "self-optimizing.minor.trigger.interval"
"""Properties of tables that Amoro optimizes, which count where neither a run nor Iceberg's own property says
anything. Values that are no positive number say nothing: they are not for us, and refuse no table.
"""

_OFF = -1
_MIN_RATIO, _MAX_RATIO = 0.75, 1.8


class JobOrder(StrEnum):
    """The order in which groups are rewritten."""

    NONE = "none"
    FEWEST_BYTES = "bytes-asc"
    MOST_BYTES = "bytes-desc"
    FEWEST_FILES = "files-asc"
    MOST_FILES = "files-desc"


@dataclass(frozen=True, slots=True)
class PlanningOptions:
    """The options of one plan. Sizes in bytes.

    Attributes:
        target_size: size of the files that are written.
        min_size: files below this are small.
        max_size: files above this are large.
        min_input_files: number of files from which a bin is rewritten even if it makes no whole file.
        rewrite_all: whether all files are rewritten, whatever their size.
        max_group_size: upper bound of a bin.
        max_group_files: upper bound of the files in a bin; None for no limit.
        delete_file_threshold: number of deletes from which a file is rewritten; None for no limit.
        delete_ratio_threshold: share of deleted rows from which a file is rewritten; counts deletes that are
            for that file alone.
        max_files: upper bound of the files that are rewritten; None for no limit.
        job_order: the order of the bins.
        keeps_clustering: whether files are joined with their neighbours only, where files are clustered.
        overlap_threshold: number of files with the same value of the sort order's first column from which
            they are rewritten; None for no limit.
        vector_rows_threshold: rows of a deletion vector from which its file is rewritten: readers and writers
            hold vectors in memory; None for no limit.
        small_millis: milliseconds after which small files are joined, however few; None for never.
        small_before: small files that were committed until then, in milliseconds since 1970, have waited so
            long; None for none.
        equality_files: number of equality delete files of a partition from which they become positions.
        equality_millis: milliseconds after which they do, however few; None for never.
        equality_before: equality delete files that were committed until then, in milliseconds since 1970,
            have waited so long; None for none.
        position_files: number of position delete files of one data file from which they become one.
        shared_files: number of position delete files about several data files of a partition from which they
            become one for each data file.
        dead_vector_bytes: bytes in Puffin files with vectors of a partition that no vector needs from which
            these vectors are written again, if less than half of the files is live.
        dangling_deletes: number of deletes of the table that apply to no data file from which a commit drops
            them that does nothing else.
    """

    target_size: int = 512 << 20
    min_size: int = 384 << 20
    max_size: int = int((512 << 20) * _MAX_RATIO)
    min_input_files: int = 5
    rewrite_all: bool = False
    max_group_size: int = 100 << 30
    max_group_files: int | None = None
    delete_file_threshold: int | None = None
    delete_ratio_threshold: float = 0.3
    max_files: int | None = None
    job_order: JobOrder = JobOrder.NONE
    keeps_clustering: bool = True
    overlap_threshold: int | None = 10
    vector_rows_threshold: int | None = 1_000_000
    small_millis: int | None = None
    small_before: int | None = None
    equality_files: int = 12
    equality_millis: int | None = 3_600_000
    equality_before: int | None = None
    position_files: int = 5
    shared_files: int = 12
    dead_vector_bytes: int = 16 << 20
    dangling_deletes: int = 100

    def at(self, now_millis: int) -> PlanningOptions:
        """The options at a time, in milliseconds since 1970."""
        small, equality = (
            None if millis is None else now_millis - millis
            for millis in (self.small_millis, self.equality_millis)
        )
        return replace(self, small_before=small, equality_before=equality)

    @property
    def write_max_size(self) -> int:
        """Size up to which a file may grow, so that no tiny one remains."""
        return int(self.target_size + (self.max_size - self.target_size) * 0.5)

    def expected_files(self, size: int) -> int:
        """The number of files that so many bytes make: a small remainder goes to the others."""
        if size < self.target_size:
            return 1
        whole, remainder = divmod(size, self.target_size)
        average = size // whole
        is_shared = average < min(1.1 * self.target_size, float(self.write_max_size))
        return whole + (remainder > self.min_size or (remainder > 0 and not is_shared))

    def split_size(self, size: int) -> int:
        """Bytes of input for each file that is written."""
        estimated = size // self.expected_files(size) + _SPLIT_OVERHEAD
        return self.target_size if estimated < self.target_size else min(estimated, self.write_max_size)


_SPLIT_OVERHEAD = 5 << 10


def planning_options(options: Mapping[str, str], properties: Mapping[str, str]) -> PlanningOptions:
    """Reads the options of a plan.

    Args:
        options: options by Java's names; others are ignored.
        properties: the table's properties.

    Raises:
        InvalidOption: a value is none, or values contradict each other.
    """
    default = PlanningOptions()
    size_of_amoro = digits_in(properties, AMORO_TARGET_SIZE) or default.target_size
    usual = number_in(properties, TARGET_SIZE_PROPERTY, size_of_amoro, 1)
    target = number_in(options, TARGET_SIZE, usual, 1)
    count_of_amoro = digits_in(properties, AMORO_FILE_COUNT)
    return PlanningOptions(
        target_size=target,
        min_size=number_in(options, MIN_SIZE, int(target * _MIN_RATIO), 0, target - 1),
        max_size=number_in(options, MAX_SIZE, int(target * _MAX_RATIO), target + 1),
        min_input_files=number_in(options, MIN_INPUT_FILES, count_of_amoro or default.min_input_files, 1),
        rewrite_all=is_true(options, REWRITE_ALL),
        max_group_size=number_in(options, MAX_GROUP_SIZE, default.max_group_size, 1),
        max_group_files=_optional(options, MAX_GROUP_FILES, 1),
        delete_file_threshold=_optional(options, DELETE_FILES, 0),
        delete_ratio_threshold=_ratio(options, default.delete_ratio_threshold),
        max_files=_optional(options, MAX_FILES, 1),
        job_order=_job_order(options),
        overlap_threshold=number_in(options, OVERLAP, default.overlap_threshold or 0, 2),
        vector_rows_threshold=number_in(options, VECTOR_ROWS, default.vector_rows_threshold or 0, 1),
        small_millis=_interval(options, INTERVAL, digits_in(properties, AMORO_INTERVAL) or None),
        equality_files=number_in(options, EQUALITY_FILES, count_of_amoro or default.equality_files, 1),
        equality_millis=_interval(
            options, EQUALITY_INTERVAL, digits_in(properties, AMORO_INTERVAL) or default.equality_millis
        ),
        position_files=number_in(options, POSITION_FILES, default.position_files, 2),
        shared_files=number_in(options, SHARED_FILES, count_of_amoro or default.shared_files, 1),
        dead_vector_bytes=number_in(options, DEAD_VECTORS, default.dead_vector_bytes, 1),
        dangling_deletes=number_in(options, DANGLING, default.dangling_deletes, 1),
    )


def _interval(options: Mapping[str, str], name: str, default: int | None) -> int | None:
    """Milliseconds; None for -1, which means never."""
    if name not in options:
        return default
    millis = number_in(options, name, _OFF, _OFF)
    return None if millis == _OFF else millis


def _optional(options: Mapping[str, str], name: str, least: int) -> int | None:
    return number_in(options, name, least, least) if name in options else None


def _ratio(options: Mapping[str, str], default: float) -> float:
    text = options.get(DELETE_RATIO)
    with suppress(ValueError):
        value = default if text is None else float(text)
        if 0 < value <= 1:
            return value
    raise InvalidOption(DELETE_RATIO, f"{text} has to be a number above 0 and at most 1")


def _job_order(options: Mapping[str, str]) -> JobOrder:
    text = options.get(JOB_ORDER, JobOrder.NONE).strip().lower()
    if text not in set(JobOrder):
        raise InvalidOption(JOB_ORDER, f"{text} is none of {', '.join(JobOrder)}")
    return JobOrder(text)
