"""Partition specs as tasks and groups have them, and the folders of partitions. Pure; needs no library.

Texts of values are those of Java's `toHumanString`, as paths have them before they are quoted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from urllib.parse import quote_plus
from uuid import UUID

from lithify.formats.iceberg.model import Partition, PartitionValue
from lithify.formats.iceberg.table.metadata import TableMetadata

NULL_TEXT = "null"
"""What paths have for null."""

WHOLE = "all"
"""The place of files in a table without partitions."""
OLDER_SPECS = "older-specs"
"""The place of files whose spec is not the current one."""
DANGLING = "dangling-deletes"
"""The place of deletes that apply to no data file, whatever their partition."""

_EPOCH = datetime(1970, 1, 1)  # hours of a partition have no zone
_MONTHS = 12
_FIRST_YEAR = 1970


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A field of a partition spec.

    Attributes:
        source: id of the field that it is made of.
        name: its name.
        transform: its transform, as table metadata have it.
    """

    source: int
    name: str
    transform: str


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """A partition spec.

    Attributes:
        id: its id.
        fields: its fields, in order.
    """

    id: int
    fields: tuple[PartitionField, ...] = ()

    @property
    def constants(self) -> Mapping[int, int]:
        """Places of the fields whose values are those of a column, by the id of that."""
        identities = (pair for pair in enumerate(self.fields) if pair[1].transform == "identity")
        return {each.source: place for place, each in identities}

    def texts(self, partition: Partition) -> tuple[str, ...]:
        """The values of a partition of this spec as texts."""
        return tuple(
            _text(each.transform, value) for each, value in zip(self.fields, partition.values, strict=True)
        )

    def folder(self, partition: Partition) -> str:
        """The folder of a partition of this spec, relative to that of the data; empty without fields."""
        return self.folder_of(self.texts(partition))

    def folder_of(self, texts: Sequence[str]) -> str:
        """The folder of the partition with these texts."""
        pairs = zip(self.fields, texts, strict=True)
        return "/".join(f"{quote_plus(each.name)}={quote_plus(text)}" for each, text in pairs)


def spec_of(metadata: TableMetadata, spec_id: int) -> PartitionSpec:
    """A spec of a table."""
    fields = metadata.specs[spec_id].get("fields") or ()
    return PartitionSpec(
        spec_id,
        tuple(PartitionField(each["source-id"], each["name"], each["transform"]) for each in fields),
    )


def place_of(partition: Partition | None, spec: PartitionSpec) -> str:
    """Where files are, for people; `partition` is None for files of other specs than the current one."""
    if partition is None:
        return OLDER_SPECS
    return spec.folder(partition) or WHOLE


def _text(transform: str, value: PartitionValue) -> str:
    if value is None:
        return NULL_TEXT
    if isinstance(value, int) and not isinstance(value, bool):
        match transform:
            case "year":
                return f"{_FIRST_YEAR + value:04}"
            case "month":
                return f"{_FIRST_YEAR + value // _MONTHS:04}-{value % _MONTHS + 1:02}"
            case "day" | "hour":
                with suppress(OverflowError):  # years that Python does not have
                    moment = _EPOCH + timedelta(**{f"{transform}s": value})
                    return (
                        moment.strftime("%Y-%m-%d-%H") if transform == "hour" else moment.date().isoformat()
                    )
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(UUID(int=value.int)) if isinstance(value, UUID) else str(value)
