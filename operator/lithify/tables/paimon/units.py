"""What commits need of a plan, whatever the kind of table: the buckets and the files that leave them.

Implemented by the plans of `primary_key` and `append`, used by their steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.model import BucketId, DataFile
from lithify.tables.paimon.metadata.view import View


class BucketUnit(Protocol):
    """The work of a run in one bucket."""

    @property
    def bucket(self) -> BucketId:
        """The bucket."""
        ...

    @property
    def inputs(self) -> tuple[DataFile, ...]:
        """All files that are rewritten or upgraded."""
        ...

    @property
    def rewritten(self) -> tuple[DataFile, ...]:
        """Files that are rewritten."""
        ...

    @property
    def upgraded(self) -> tuple[DataFile, ...]:
        """Files that only change level."""
        ...

    @property
    def output_level(self) -> int | None:
        """New level of upgraded files; None where files have no levels."""
        ...


AnyUnit = TypeVar("AnyUnit", bound=BucketUnit)
AnyUnit_co = TypeVar("AnyUnit_co", bound=BucketUnit, covariant=True)


class BucketPlan(Protocol[AnyUnit_co]):
    """The work of a run."""

    @property
    def view(self) -> View:
        """The snapshot that was planned on."""
        ...

    @property
    def strategy(self) -> Strategy:
        """The strategy of the run."""
        ...

    @property
    def units(self) -> Sequence[AnyUnit_co]:
        """The work, one unit per bucket."""
        ...
