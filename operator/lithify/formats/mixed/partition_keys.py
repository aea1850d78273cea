"""The names of partitions in the optimized line: paths, as Iceberg's `partitionToPath` makes them.

Called by the rooms of the line and by planning. Writers spell values in several ways, so names that are read
are brought into the spelling of this release; then equal names are equal partitions. Names are read as
Amoro's `MixedDataFiles` does: the text null is no value, everything else is decoded. Pure.

There are partitions whose line readers do not find; they apply the changes of these again. Such partitions
must not be merged, so `problem_of` names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast
from urllib.parse import quote_plus, unquote_plus
from uuid import UUID

from lithify.errors import CorruptTable
from lithify.formats.iceberg.model import Partition, PartitionValue
from lithify.formats.iceberg.table.partition_paths import NULL_TEXT, PartitionField, PartitionSpec
from lithify.formats.iceberg.table.partition_values import parser_of
from lithify.formats.protocol.partition import PartitionField as SeamField
from lithify.formats.protocol.partition import PartitionSpec as SeamSpec
from lithify.formats.protocol.partition import PartitionValues

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_NULLS = frozenset({NULL_TEXT, _HIVE_NULL})
_FOUND = frozenset(
    {
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "string",
        "decimal",
        "date",
        "uuid",
        "timestamp",
        "timestamptz",
    }
)
"""Types of values that readers find again: they decode no binaries and times."""
_FLOATS = frozenset({"float", "double"})
"""Types whose values are found whatever the spelling: Java writes 0.1 and 1.0E22 where texts here differ."""
_UNKNOWN_TO_OLDER = frozenset({"timestamp", "timestamptz"})
_UNCHANGED = re.compile(r"[A-Za-z0-9._-]*")
"""Texts that no encoder changes: version 0.4 does not decode what it reads, and encodes it once more."""
_EPOCH = datetime(1970, 1, 1)  # with the zone of its type


@dataclass(frozen=True, slots=True)
class PartitionKeys:
    """The names of the partitions of a table.

    Attributes:
        spec: its current spec; keyed tables have no other.
        types: the types of the values of its fields, by Iceberg's names.
        location: the table's folder, for messages.
    """

    spec: PartitionSpec
    types: tuple[str, ...]
    location: str

    @property
    def seam(self) -> SeamSpec:
        """The spec as the seam has it."""
        pairs = zip(self.spec.fields, self.types, strict=True)
        fields = (
            SeamField(each.name, kind.upper(), parser_of(each.transform, kind), each.transform)
            for each, kind in pairs
        )
        return SeamSpec(self.spec.id, tuple(fields), NULL_TEXT)

    def values_of(self, key: str) -> PartitionValues:
        """The partition of a name in the spelling of `key_of`, as the seam has it.

        Raises:
            ValueError: a text is no value of its field.
        """
        spec = self.seam
        texts = tuple(unquote_plus(part.partition("=")[2]) for part in key.split("/")) if key else ()
        pairs = zip(spec.fields, texts, strict=True)
        values = (None if text == NULL_TEXT else field.parse(text) for field, text in pairs)
        return PartitionValues(spec, tuple(values), texts)

    def key_of(self, partition: Partition) -> str:
        """The name of a partition; empty in a table without partitions."""
        return self.spec.folder(partition)

    def read(self, path: str) -> str:
        """A stored name in the spelling of `key_of`.

        Raises:
            CorruptTable: it is no partition of the spec; Amoro cannot read such a table either.
        """
        if not self.spec.fields:
            return ""  # readers take any name for the only partition
        parts = path.split("/")
        try:
            pairs = zip(self.spec.fields, self.types, parts, strict=True)
            return self.spec.folder_of([self._text(*pair) for pair in pairs])
        except ValueError as error:
            raise CorruptTable(self.location, f"the optimized line names a partition {path}") from error

    def problem_of(self, partition: Partition, *, by_older: bool) -> str | None:
        """Why readers would not find the line of a partition; None if they do.

        Args:
            partition: the partition.
            by_older: whether readers of version 0.4 have to find it, which decode nothing.
        """
        pairs = zip(self.spec.fields, self.types, partition.values, strict=True)
        problems = (_problem(*pair, by_older=by_older) for pair in pairs)
        return next((problem for problem in problems if problem is not None), None)

    def _text(self, field: PartitionField, kind: str, part: str) -> str:
        """The value in a part of a stored name, spelled anew.

        Raises:
            ValueError: the part is not one of this field.
        """
        name, is_named, encoded = part.partition("=")
        if not is_named or name not in (field.name, quote_plus(field.name)):
            raise ValueError(part)
        text = unquote_plus(encoded, errors="strict")
        return NULL_TEXT if encoded == NULL_TEXT or text == _HIVE_NULL else _spelled(field, kind, text)


def _spelled(field: PartitionField, kind: str, text: str) -> str:
    """A text of a value as `PartitionSpec.texts` has it."""
    if field.transform != "identity":
        return text
    if kind in _FLOATS:
        return _text_of(field, cast(float, parser_of(field.transform, kind)(text)))
    spell = _SPELLED.get(kind)
    return text if spell is None else spell(text)


def _text_of(field: PartitionField, value: PartitionValue) -> str:
    return PartitionSpec(0, (field,)).texts(Partition(0, (value,)))[0]


def _micros(text: str) -> timedelta:
    return timedelta(microseconds=cast(int, parser_of("identity", "timestamp")(text)))


_SPELLED: Mapping[str, Callable[[str], str]] = {
    "timestamp": lambda text: (_EPOCH + _micros(text)).isoformat(),
    "timestamptz": lambda text: (_EPOCH.replace(tzinfo=UTC) + _micros(text)).isoformat(),
    "boolean": str.lower,
    "uuid": lambda text: str(UUID(text)),
}
"""Types whose values writers spell in several ways."""


def _problem(field: PartitionField, kind: str, value: PartitionValue, *, by_older: bool) -> str | None:
    text = _text_of(field, value)
    if kind.partition("(")[0] not in _FOUND:
        return f"field {field.name}: readers find no partitions by values of type {kind}"
    if value is not None and text in _NULLS:
        return f"field {field.name}: readers take the text {text} for null"
    if quote_plus(field.name) != field.name:
        return f"field {field.name}: readers do not decode its name"
    if by_older and (value is None or kind in _UNKNOWN_TO_OLDER or not _UNCHANGED.fullmatch(text)):
        return f"field {field.name}: readers of version 0.4 do not find the value {text}"
    return None
