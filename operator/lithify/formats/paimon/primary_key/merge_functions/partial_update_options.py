"""Reads a table's options of the merge engine partial-update; called by `choosing`.

Refuses, with the option at fault, what Paimon refuses when a table is created or opened, and also options
whose result is undefined in Paimon, such as groups that share a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.option_reader import OptionReader
from lithify.formats.paimon.primary_key.merge_functions.accumulating import (
    Accumulation,
    LastNonNull,
    LateValues,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.factory import aggregate_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import field_options
from lithify.formats.paimon.primary_key.merge_functions.aggregates.unions import UNIONS
from lithify.formats.paimon.primary_key.merge_functions.partial_update import PartialUpdate, Retractions
from lithify.formats.paimon.primary_key.merge_functions.sequence_groups import Aggregated, SequenceGroup
from lithify.formats.paimon.schema.schema import Schema

_PREFIX, _GROUP = "fields", "sequence-group"
_DEFAULT_FUNCTION = f"{_PREFIX}.default-aggregate-function"
_ON_DELETE = "partial-update.remove-record-on-delete"
_ON_GROUP = "partial-update.remove-record-on-sequence-group"
_LAST_NON_NULL = "last_non_null_value"
_FIRST_NON_NULL = ("first_non_null_value", "first_not_null_value")
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
            *("nested_update", "nested_partial_update", *UNIONS),
        ),
        LateValues.SWAPPED,
    ),
}
"""The functions that reproduce Java's results with late values, and the effect of late values in each."""


@dataclass(frozen=True, slots=True)
class GroupOption:
    """One option `fields.<sequence fields>.sequence-group = <columns>`."""

    name: str
    fields: tuple[str, ...]
    columns: tuple[str, ...]


def group_options(options: Mapping[str, str]) -> list[GroupOption]:
    """The sequence-group options as written, ordered by option name."""
    return [
        GroupOption(name, _split(name[len(_PREFIX) + 1 : -len(_GROUP) - 1]), _split(options[name]))
        for name in sorted(options)
        if name.startswith(_PREFIX) and name.endswith(_GROUP)
    ]


def partial_update_of(schema: Schema, *, ignore_deletes: bool) -> PartialUpdate:
    """The merge function of a table.

    Raises:
        InvalidOption: Paimon or this release refuses an option.
    """
    options = schema.options
    written = group_options(options)
    _check_groups(schema, written)
    keys = {*schema.primary_key, *schema.partition_keys}
    groups = _removing(schema, [_group(schema, each) for each in written])
    grouped = {name for each in written for name in (*each.fields, *each.columns)}
    plain = tuple(column.name for column in schema.columns if column.name not in keys | grouped)
    _check_plain(schema, plain)
    return PartialUpdate(
        plain=plain,
        required=tuple(
            column.name for column in schema.columns if not column.type.nullable and column.name not in keys
        ),
        groups=tuple(groups),
        retractions=_retractions(options, has_groups=bool(groups), ignores=ignore_deletes),
    )


def _split(names: str) -> tuple[str, ...]:
    return tuple(names.split(","))


def _check_groups(schema: Schema, written: Sequence[GroupOption]) -> None:
    """Checks that groups have only existing columns outside the key and share none."""
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


def _group(schema: Schema, written: GroupOption) -> SequenceGroup:
    columns = [name for name in written.columns if name not in written.fields]
    functions = {name: _function(schema.options, name) for name in columns}
    return SequenceGroup(
        fields=written.fields,
        columns=tuple(name for name, function in functions.items() if function is None),
        aggregates={
            name: _aggregated(schema, name, function)
            for name, function in functions.items()
            if function is not None
        },
    )


def _function(options: Mapping[str, str], column: str) -> str | None:
    return options.get(f"{_PREFIX}.{column}.aggregate-function", options.get(_DEFAULT_FUNCTION))


def _aggregated(schema: Schema, column: str, function: str) -> Aggregated:
    about = field_options(schema.options, column)
    if function == _LAST_NON_NULL:
        return LastNonNull(column, about.ignore_retract)
    # Accumulation leaves out what is ignored before the function sees it.
    made = aggregate_of(function, schema.column(column).type, replace(about, ignore_retract=False))
    if function not in _LATE_VALUES:
        raise InvalidOption(
            f"{_PREFIX}.{column}.aggregate-function",
            f"what {function} makes of records that come late in a sequence group is not known to be as in "
            f"Paimon (accepted in sequence groups: {', '.join(sorted([*_LATE_VALUES, _LAST_NON_NULL]))})",
        )
    return Accumulation(
        column=column,
        function=made,
        late=_late_values(function, ignores_retractions=about.ignore_retract),
        ignores_retractions=about.ignore_retract,
        starts_over=_starts_over(function, distinct=about.distinct),
    )


def _late_values(function: str, *, ignores_retractions: bool) -> LateValues:
    if function == "collect" and ignores_retractions:
        return (
            LateValues.PREPENDED
        )  # Paimon's wrapper for ignore-retract loses the special treatment of late values
    return _LATE_VALUES[function]


def _starts_over(function: str, *, distinct: bool) -> bool:
    """Whether the values of a delete that becomes the row can be the initial values.

    Paimon copies these values unchanged: the state of first values stays, and duplicate elements remain.
    """
    return function not in ("first_value", *_FIRST_NON_NULL) and not (function == "collect" and distinct)


def _check_plain(schema: Schema, plain: Sequence[str]) -> None:
    """Checks that columns outside of groups have no function except last_non_null_value."""
    for name in plain:
        function = _function(schema.options, name)
        if function not in (None, _LAST_NON_NULL):
            own = f"{_PREFIX}.{name}.aggregate-function"
            raise InvalidOption(
                own if own in schema.options else _DEFAULT_FUNCTION,
                f"column {name} is in no sequence group, as {function} requires; Paimon refuses it, too",
            )


def _removing(schema: Schema, groups: Sequence[SequenceGroup]) -> list[SequenceGroup]:
    """The groups, with `removes` set for groups in which deletes remove the record."""
    text = schema.options.get(_ON_GROUP)
    if text is None:
        return [*groups]
    names = {*_split(text)}
    fields = {name for group in groups for name in group.fields}
    if not names <= fields:
        raise InvalidOption(_ON_GROUP, f"{', '.join(sorted(names - fields))}: no sequence field of any group")
    return [replace(group, removes=not names.isdisjoint(group.fields)) for group in groups]


def _retractions(options: Mapping[str, str], *, has_groups: bool, ignores: bool) -> Retractions:
    removes = OptionReader(options).boolean(_ON_DELETE, default=False)
    if ignores and removes:
        raise InvalidOption(_ON_DELETE, "it contradicts ignore-delete = true; Paimon refuses both together")
    if ignores and _ON_GROUP in options:
        raise InvalidOption(_ON_GROUP, "it contradicts ignore-delete = true; Paimon refuses both together")
    if removes and has_groups:
        raise InvalidOption(
            _ON_DELETE, f"it contradicts the table's sequence groups; use {_ON_GROUP} instead, as Paimon does"
        )
    if ignores:
        return Retractions.IGNORED
    if has_groups:
        return Retractions.IN_GROUPS
    return Retractions.REMOVE if removes else Retractions.REFUSED
