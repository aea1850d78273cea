"""Partitions of tables in any format: typed values with their spec, and how users select some of them.

Adapters make specs and values. Users write texts (`address.Selection`); a field of a spec parses them, and
values are compared by type: `1` selects what `01` does, and no text but the spec's own selects null. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import TypeAlias
from uuid import UUID

from lithify.errors import InvalidOption
from lithify.formats.protocol.address import Selection
from lithify.settings import PARTITIONS

Scalar: TypeAlias = bool | int | float | Decimal | str | bytes | date | time | datetime | UUID | None
"""The value of a field. Formats that store days or times as numbers may keep these."""


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A field of a spec.

    Attributes:
        name: its name, as users write it: in Paimon a column, in Iceberg the name of the partition field.
        type: the type of its values, for messages, for example `DATE`.
        parse: reads a value that a user wrote; raises ValueError if the text is none.
        transform: how values follow from the column, as the format writes it.
    """

    name: str
    type: str
    parse: Callable[[str], Scalar] = field(compare=False)
    transform: str = "identity"


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """How a table, or a part of its files, is partitioned.

    Attributes:
        id: its id in the table; formats with a single spec use 0.
        fields: its fields; none if it does not partition.
        null_text: what users write, and paths have, for null; None if no value is null.
    """

    id: int
    fields: tuple[PartitionField, ...]
    null_text: str | None = None

    def parse(self, texts: Mapping[str, str]) -> Mapping[int, Scalar] | None:
        """The values that texts mean, by the number of the field; None if the spec lacks one of the fields.

        Raises:
            InvalidOption: a text is no value of its field.
        """
        numbers = {each.name: number for number, each in enumerate(self.fields)}
        if not texts.keys() <= numbers.keys():
            return None
        return {numbers[name]: self._value(self.fields[numbers[name]], text) for name, text in texts.items()}

    def _value(self, field: PartitionField, text: str) -> Scalar:
        if text == self.null_text:
            return None
        try:
            return field.parse(text)
        except ValueError as error:
            problem = f"'{text}' is no value of the partition column {field.name} ({field.type})"
            raise InvalidOption(PARTITIONS, problem) from error


@dataclass(frozen=True, slots=True)
class PartitionValues:
    """A partition.

    Attributes:
        spec: the spec that made it. Partitions of different specs are different, whatever their values.
        values: a value for each field.
        texts: the same for people, as the format spells them; null as the spec's `null_text`.
    """

    spec: PartitionSpec
    values: tuple[Scalar, ...]
    texts: tuple[str, ...] = field(compare=False)

    @property
    def path(self) -> str:
        """The partition for people, for example `dt=2026-01-01/region=eu`; empty without fields."""
        return "/".join(f"{name}={text}" for name, text in self.by_name.items())

    @property
    def by_name(self) -> dict[str, str]:
        """The texts by the name of their field: what a user writes to select this partition."""
        return {field.name: text for field, text in zip(self.spec.fields, self.texts, strict=True)}


class PartitionFilter:
    """Selects partitions whose values match any of some sets of texts; without any it selects all.

    Args:
        wanted: sets of texts by the name of the field, as users write them.
    """

    def __init__(self, wanted: Sequence[Mapping[str, str]]) -> None:
        self._wanted = wanted
        self._parsed: dict[int, list[Mapping[int, Scalar] | None]] = {}

    def check(self, table: str, specs: Collection[PartitionSpec]) -> None:
        """Checks that each set of texts fits one of a table's specs.

        Raises:
            InvalidOption: a column is in no spec, or a text is no value of its column.
        """
        for texts in self._wanted:
            fitting = [spec for spec in specs if spec.parse(texts) is not None]
            if not fitting:
                known = {each.name: None for spec in specs for each in spec.fields}
                column = next((name for name in sorted(texts) if name not in known), ", ".join(texts))
                names = ", ".join(known) or "it is not partitioned"
                raise InvalidOption(PARTITIONS, f"{column} is not a partition column of {table} ({names})")

    @property
    def selects_all(self) -> bool:
        """Whether it selects whatever there is."""
        return not self._wanted

    def selects(self, partition: PartitionValues) -> bool:
        """Whether a partition is selected."""
        return not self._wanted or any(self._matches(partition))

    def unmatched(self, partitions: Iterable[PartitionValues]) -> list[Mapping[str, str]]:
        """The sets of texts that match none of some partitions."""
        found = [False] * len(self._wanted)
        for partition in partitions:
            found = [was or now for was, now in zip(found, self._matches(partition), strict=True)]
        return [texts for texts, is_found in zip(self._wanted, found, strict=True) if not is_found]

    def _matches(self, partition: PartitionValues) -> Iterable[bool]:
        parsed = self._parsed.get(partition.spec.id)
        if parsed is None:
            parsed = self._parsed[partition.spec.id] = [partition.spec.parse(each) for each in self._wanted]
        return (
            values is not None
            and all(is_same(partition.values[number], value) for number, value in values.items())
            for values in parsed
        )


def wanted_partitions(selection: Selection, table: str, spec: PartitionSpec) -> PartitionFilter:
    """What a selection wants of a table that is divided into partitions of one spec, and into nothing else.

    Args:
        selection: the selection.
        table: the table's name.
        spec: its current spec.

    Raises:
        InvalidOption: it names buckets, what is no partition column, or a text that is no value of it.
    """
    selection.check_without_buckets(table, "partition")
    wanted = PartitionFilter(selection.partitions)
    wanted.check(table, (spec,))
    return wanted


def is_same(value: Scalar, other: Scalar) -> bool:
    """Whether two values of one field are the same; NaN is the same as NaN, and 0.0 another than -0.0."""
    if isinstance(value, float) and isinstance(other, float):
        if math.isnan(value) or math.isnan(other):
            return math.isnan(value) and math.isnan(other)
        return value == other and math.copysign(1, value) == math.copysign(1, other)
    return value == other
