"""Reads options of sequence groups: columns with their own order of records, and how they are aggregated.

Called by `partial_update` beside this module. Refuses groups whose result is undefined in Paimon, such as
groups that share a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.merging.field_functions import (
    DEFAULT,
    UNION_NAMES,
    FieldFunction,
    field_function,
)
from lithify.formats.paimon.options.merging.field_options import field_options
from lithify.formats.paimon.schema.schema import Schema

PREFIX = "fields"
DEFAULT_FUNCTION = f"{PREFIX}.default-aggregate-function"
_GROUP = "sequence-group"
_FIRST_NON_NULL = ("first_non_null_value", "first_not_null_value")


class LateValues(Enum):
    """Effect of a late value, one that is older in its group than a record before it."""

    ADDED = "added"
    """Aggregated like any other value: the function is commutative."""
    IGNORED = "ignored"
    """Ignored: the accumulator counts as the last value."""
    PREPENDED = "prepended"
    """Aggregated as if older than all values so far."""
    SWAPPED = "swapped"
    """The function gets the late value as its accumulator, and the accumulator as its value."""


_LATE_VALUES: Mapping[str, LateValues] = {
    "sum": LateValues.ADDED,
    "product": LateValues.ADDED,
    "max": LateValues.ADDED,
    "min": LateValues.ADDED,
    "bool_and": LateValues.ADDED,
    "bool_or": LateValues.ADDED,
    "listagg": LateValues.PREPENDED,
    "collect": LateValues.ADDED,
    "last_value": LateValues.IGNORED,
    **dict.fromkeys(
        (
            *("first_value", *_FIRST_NON_NULL, "merge_map", "merge_map_with_keytime"),
            *("nested_update", "nested_partial_update", *UNION_NAMES),
        ),
        LateValues.SWAPPED,
    ),
}
"""The functions that reproduce Java's results with late values, and the effect of late values in each."""


@dataclass(frozen=True, slots=True)
class AggregatedColumn:
    """How a column of a sequence group is aggregated.

    Attributes:
        function: the aggregate function; it never gets retractions that are ignored.
        late: effect of late values; None for last_non_null_value, which has rules of its own.
        ignores_retractions: whether retractions are ignored.
        starts_over: whether the values of a delete can be the initial values. If False, Paimon's state does
            not distinguish such values from others.
    """

    function: FieldFunction
    late: LateValues | None
    ignores_retractions: bool
    starts_over: bool = True

    @property
    def column(self) -> str:
        """Name of the column."""
        return self.function.options.column


@dataclass(frozen=True, slots=True)
class SequenceGroupOptions:
    """A sequence group.

    Attributes:
        fields: the sequence fields, most significant first.
        columns: the columns that are replaced.
        aggregates: the columns that are aggregated.
        removes: whether a delete that is the newest in the group removes the whole record.
    """

    fields: tuple[str, ...]
    columns: tuple[str, ...]
    aggregates: tuple[AggregatedColumn, ...]
    removes: bool = False


@dataclass(frozen=True, slots=True)
class WrittenGroup:
    """One option `fields.<sequence fields>.sequence-group = <columns>`."""

    name: str
    fields: tuple[str, ...]
    columns: tuple[str, ...]


def written_groups(options: Mapping[str, str]) -> list[WrittenGroup]:
    """The sequence-group options as written, ordered by option name."""
    return [
        WrittenGroup(name, split_names(name[len(PREFIX) + 1 : -len(_GROUP) - 1]), split_names(options[name]))
        for name in sorted(options)
        if name.startswith(PREFIX) and name.endswith(_GROUP)
    ]


def sequence_group(schema: Schema, written: WrittenGroup) -> SequenceGroupOptions:
    """Reads how the columns of a group are merged.

    Raises:
        InvalidOption: a value cannot be parsed, or the function of a column cannot be used.
    """
    columns = [name for name in written.columns if name not in written.fields]
    functions = {name: function_name(schema.options, name) for name in columns}
    return SequenceGroupOptions(
        fields=written.fields,
        columns=tuple(name for name, function in functions.items() if function is None),
        aggregates=tuple(
            _aggregated(schema, name, function)
            for name, function in functions.items()
            if function is not None
        ),
    )


def function_name(options: Mapping[str, str], column: str) -> str | None:
    """The name of a column's aggregate function; None if neither the column nor the table has one."""
    return options.get(f"{PREFIX}.{column}.aggregate-function", options.get(DEFAULT_FUNCTION))


def _aggregated(schema: Schema, column: str, name: str) -> AggregatedColumn:
    about = field_options(schema.options, column)
    # What is ignored is left out before the function sees it.
    function = field_function(name, schema.column(column).type, replace(about, ignore_retract=False))
    if name == DEFAULT:
        return AggregatedColumn(function, None, about.ignore_retract)
    if name not in _LATE_VALUES:
        raise InvalidOption(
            f"{PREFIX}.{column}.aggregate-function",
            f"what {name} makes of records that come late in a sequence group is not known to be as in "
            f"Paimon (accepted in sequence groups: {', '.join(sorted([*_LATE_VALUES, DEFAULT]))})",
        )
    return AggregatedColumn(
        function=function,
        late=_late_values(name, ignores_retractions=about.ignore_retract),
        ignores_retractions=about.ignore_retract,
        starts_over=_starts_over(name, distinct=about.distinct),
    )


def _late_values(function: str, *, ignores_retractions: bool) -> LateValues:
    if function == "collect" and ignores_retractions:
        # Paimon's wrapper for ignore-retract loses the special treatment of late values.
        return LateValues.PREPENDED
    return _LATE_VALUES[function]


def _starts_over(function: str, *, distinct: bool) -> bool:
    """Whether the values of a delete that becomes the row can be the initial values.

    Paimon copies these values unchanged: the state of first values stays, and duplicate elements remain.
    """
    return function not in ("first_value", *_FIRST_NON_NULL) and not (function == "collect" and distinct)


def split_names(names: str) -> tuple[str, ...]:
    """Names between commas, with their blanks."""
    return tuple(names.split(","))


def check_groups(schema: Schema, written: Sequence[WrittenGroup]) -> None:
    """Checks that groups have only existing columns outside the key and share none.

    Raises:
        InvalidOption: a group does not.
    """
    known = {column.name for column in schema.columns}
    seen: dict[str, str] = {}
    for each in written:
        for name in (*each.fields, *each.columns):
            if name not in known:
                raise InvalidOption(each.name, f"the table has no column {name!r}")
            if name in schema.primary_key or name in schema.partition_keys:
                raise InvalidOption(
                    each.name,
                    f"column {name} is part of the primary key, and Paimon 1.4 makes it null in rows without "
                    "a value in the group's sequence fields",
                )
            if name in seen and seen[name] != each.name:
                raise InvalidOption(
                    each.name,
                    f"column {name} is in the group {seen[name]}, too; which of them counts depends on the "
                    "order in which Java meets the options",
                )
            seen[name] = each.name
        columns = [*each.columns]
        if len({*columns}) < len(columns) or len({*each.fields}) < len(each.fields):
            raise InvalidOption(each.name, "it names a column twice")
