"""The optional arguments that several operations share."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from infrastructure.oracle.model import Partition


class WriteHow(TypedDict, total=False):
    """How rows are written; `bucket` and `buckets` (one per row) are for tables with dynamic buckets."""

    bucket: int
    buckets: Sequence[int]
    options: Mapping[str, str]
    commit_user: str
    commit_identifier: int
    overwrite_partition: Mapping[str, str]
    watermark: int
    properties: Mapping[str, str]


class Filter(TypedDict):
    """A predicate on one column that is read; README.md lists the operators and which literals they take."""

    column: str
    op: str
    literal: NotRequired[Any]
    literals: NotRequired[Sequence[Any]]


class ReadWhat(TypedDict, total=False):
    """What is read: by default all columns of all rows of the newest snapshot.

    With a `filter` Paimon skips what statistics rule out and tests the rest row by row. Unless `raw_kinds`
    is set, an update (`+U`) is told as `+I`: which of them Java tells depends on whether it had to merge.
    With `in_order` the rows are in the order in which Java reads them.
    """

    options: Mapping[str, str]
    snapshot_id: int
    tag: str
    projection: Sequence[str]
    partition: Mapping[str, str]
    filter: Filter
    raw_kinds: bool
    in_order: bool


class CompactWhat(TypedDict, total=False):
    """What is compacted, by default all buckets; without `commit` the result is only prepared."""

    partitions: Sequence[Partition]
    buckets: Sequence[int]
    options: Mapping[str, str]
    commit: bool
    commit_user: str
    commit_identifier: int
    properties: Mapping[str, str]
