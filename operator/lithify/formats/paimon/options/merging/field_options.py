"""The options `fields.<column>.*` of a column, which say how its values are aggregated.

Read by the modules beside this one and by `changelogs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.formats.paimon.options.option_reader import OptionReader

NO_LIMIT = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The options `fields.<column>.*` of one column.

    Attributes:
        column: name of the column.
        ignore_retract: whether retractions are ignored.
        distinct: whether collections have no duplicates.
        delimiter: delimiter between the texts of a list.
        nested_key: the fields that identify a row in an array.
        count_limit: number of rows at which an array takes no more rows.
        time_field: the field of a map's values that tells which entry is newer, None for the last field.
    """

    column: str
    ignore_retract: bool = False
    distinct: bool = False
    delimiter: str = ","
    nested_key: tuple[str, ...] = ()
    count_limit: int = NO_LIMIT
    time_field: str | None = None

    @property
    def function_option(self) -> str:
        """The option that names the column's function, for messages."""
        return f"fields.{self.column}.aggregate-function"


def field_options(options: Mapping[str, str], column: str) -> FieldOptions:
    """Reads a table's options about the aggregation of a column.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    reader, prefix = OptionReader(options), f"fields.{column}"
    nested_key = options.get(f"{prefix}.nested-key")
    return FieldOptions(
        column=column,
        ignore_retract=reader.boolean(f"{prefix}.ignore-retract", default=False),
        distinct=reader.boolean(f"{prefix}.distinct", default=False),
        delimiter=options.get(f"{prefix}.list-agg-delimiter", ","),
        nested_key=() if nested_key is None else tuple(name.strip() for name in nested_key.split(",")),
        count_limit=reader.integer(f"{prefix}.count-limit", NO_LIMIT),
        time_field=options.get(f"{prefix}.ts-field"),
    )
