"""Checks columns of arrays, maps and rows against the aggregate functions that options name for them.

Called by `field_functions`; the functions that aggregate find keys and times of rows here, too.
"""

from __future__ import annotations

from lithify.errors import InvalidOption
from lithify.files.types import ColumnType
from lithify.formats.paimon.options.merging.field_options import FieldOptions

_BY_IDENTITY = "Paimon tells binaries apart by identity, so that it never finds one again"
NO_COMPARISON = "Paimon 1.4 fails to compare rows and other nested values, or nulls among them"
_TIMED, _UPDATE, _PARTIAL_UPDATE = "merge_map_with_keytime", "nested_update", "nested_partial_update"


def comparison_problem(element: ColumnType) -> str | None:
    """Why elements of a type cannot be compared as in Paimon; None if they can."""
    if element.is_nested:
        return NO_COMPARISON
    return _BY_IDENTITY if element.is_binary else None


def time_field(column: ColumnType, options: FieldOptions) -> str:
    """The field of a map's rows that tells which entry is newer: the last one unless the options name it."""
    return column.fields[1].type.fields[-1].name if options.time_field is None else options.time_field


def check_elements(column: ColumnType, options: FieldOptions) -> None:
    """Checks the elements of an array from which duplicates are to be left out.

    Raises:
        InvalidOption: this release cannot compare them.
    """
    element = column.fields[0].type
    problem = comparison_problem(element)
    if options.distinct and problem is not None:
        raise InvalidOption(
            f"fields.{options.column}.distinct", f"elements of type {element.root}: {problem}"
        )


def check_map(column: ColumnType, options: FieldOptions) -> None:
    """Checks the keys of a map.

    Raises:
        InvalidOption: this release cannot compare them.
    """
    part = column.fields[0].type
    problem = comparison_problem(part)
    if problem is not None:
        raise InvalidOption(options.function_option, f"keys of type {part.root}: {problem}")


def check_timed_map(column: ColumnType, options: FieldOptions) -> None:
    """Checks that a map has rows with a text field for the time.

    Raises:
        InvalidOption: it has not, or this release cannot compare its keys.
    """
    check_map(column, options)
    value = column.fields[1].type
    if value.root != "ROW" or len(value.fields) < 2:
        problem = f"Paimon has {_TIMED} for maps of ROWs of two fields or more only"
        raise InvalidOption(options.function_option, problem)
    time, types = time_field(column, options), {part.name: part.type for part in value.fields}
    if time not in types:
        raise InvalidOption(f"fields.{options.column}.ts-field", f"the map's rows have no field {time}")
    if not types[time].is_string:
        raise InvalidOption(
            options.function_option,
            f"Paimon compares times as texts, and the field {time} is no CHAR, VARCHAR or STRING",
        )


def check_nested_update(column: ColumnType, options: FieldOptions) -> None:
    """Checks an array of rows and the key of the rows, if they have one.

    Raises:
        InvalidOption: it is no array of rows, or the key cannot be used.
    """
    _check_rows(_UPDATE, column, options)
    _check_key(column.fields[0].type, options)


def check_nested_partial_update(column: ColumnType, options: FieldOptions) -> None:
    """Checks an array of rows and the key of the rows.

    Raises:
        InvalidOption: it is no array of rows, or it has no usable key.
    """
    _check_rows(_PARTIAL_UPDATE, column, options)
    if not options.nested_key:
        raise InvalidOption(f"fields.{options.column}.nested-key", f"{_PARTIAL_UPDATE} needs a key")
    _check_key(column.fields[0].type, options)


def _check_rows(name: str, column: ColumnType, options: FieldOptions) -> None:
    if column.root != "ARRAY" or column.fields[0].type.root != "ROW":
        raise InvalidOption(options.function_option, f"Paimon has {name} for arrays of ROWs only")


def _check_key(rows: ColumnType, options: FieldOptions) -> None:
    """Checks that the rows have the fields of the key, and that their values can be compared."""
    option, types = f"fields.{options.column}.nested-key", {part.name: part.type for part in rows.fields}
    missing = [name for name in options.nested_key if name not in types]
    if missing:
        raise InvalidOption(option, f"the array's rows have no field {missing[0]}")
    if any(types[name].is_nested or types[name].is_float for name in options.nested_key):
        raise InvalidOption(option, "this release does not compare nested values and floating point numbers")
