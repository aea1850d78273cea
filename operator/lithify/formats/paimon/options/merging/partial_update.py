"""Reads a table's options of the merge engine partial-update.

Refuses, with the option at fault, what Paimon refuses when a table is created or opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.merging.field_functions import DEFAULT
from lithify.formats.paimon.options.merging.sequence_groups import (
    DEFAULT_FUNCTION,
    PREFIX,
    SequenceGroupOptions,
    check_groups,
    function_name,
    sequence_group,
    split_names,
    written_groups,
)
from lithify.formats.paimon.options.option_reader import OptionReader
from lithify.formats.paimon.schema.schema import Schema

_ON_DELETE = "partial-update.remove-record-on-delete"
_ON_GROUP = "partial-update.remove-record-on-sequence-group"


class Retractions(Enum):
    """Effect of records that retract their key."""

    REFUSED = "refused"
    IGNORED = "ignored"
    REMOVE = "remove"
    """Deletes (-D) remove the record; -U does nothing."""
    IN_GROUPS = "in groups"
    """They retract the values of sequence groups."""


@dataclass(frozen=True, slots=True)
class PartialUpdateOptions:
    """How records are merged column by column.

    Attributes:
        plain: the columns outside the key and all sequence groups.
        required: the columns outside the key that are declared NOT NULL.
        groups: the sequence groups; no column is in two of them.
        retractions: effect of records that retract their key.
    """

    plain: tuple[str, ...]
    required: tuple[str, ...]
    groups: tuple[SequenceGroupOptions, ...]
    retractions: Retractions


def read_partial_update(schema: Schema, *, ignore_deletes: bool) -> PartialUpdateOptions:
    """Reads how records are merged column by column.

    Raises:
        InvalidOption: Paimon or this release refuses an option.
    """
    options = schema.options
    written = written_groups(options)
    check_groups(schema, written)
    keys = {*schema.primary_key, *schema.partition_keys}
    groups = _removing(schema, [sequence_group(schema, each) for each in written])
    grouped = {name for each in written for name in (*each.fields, *each.columns)}
    plain = tuple(column.name for column in schema.columns if column.name not in keys | grouped)
    _check_plain(schema, plain)
    return PartialUpdateOptions(
        plain=plain,
        required=tuple(
            column.name for column in schema.columns if not column.type.nullable and column.name not in keys
        ),
        groups=tuple(groups),
        retractions=_retractions(options, has_groups=bool(groups), ignores=ignore_deletes),
    )


def _check_plain(schema: Schema, plain: Sequence[str]) -> None:
    """Checks that columns outside of groups have no function except last_non_null_value."""
    for name in plain:
        function = function_name(schema.options, name)
        if function not in (None, DEFAULT):
            own = f"{PREFIX}.{name}.aggregate-function"
            raise InvalidOption(
                own if own in schema.options else DEFAULT_FUNCTION,
                f"column {name} is in no sequence group, as {function} requires; Paimon refuses it, too",
            )


def _removing(schema: Schema, groups: Sequence[SequenceGroupOptions]) -> list[SequenceGroupOptions]:
    """The groups, with `removes` set for groups in which deletes remove the record."""
    text = schema.options.get(_ON_GROUP)
    if text is None:
        return [*groups]
    names = {*split_names(text)}
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
