"""File indexes of new files in random histories, and what Java's readers take from them.

Called by `playing` and `append`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import DataFile, Row
from java.fuzz.indexes import NANOS, asked_for, root_of
from support.comparing.file_indexes import assert_same_indexes, columns_and_kinds
from support.comparing.rows import EVERY_VALUE

_MOST_ASKED = 6
_ONE = ("equal", "not_equal", "less_than", "less_or_equal", "greater_than", "greater_or_equal")
_NONE = ("is_null", "is_not_null")
_SEVERAL = ("in", "not_in")
_EXACT = ("equal", "in")
"""What readers are asked of values that Java orders in two ways, or of which indexes have a part only."""
_ZEROS = (0.0, "-0.0", "NaN")
"""To Java's indexes the zeros of floats are two values, to its filters one."""


@dataclass(frozen=True, slots=True)
class IndexedTable:
    """What a table asks for by now.

    Attributes:
        options: of the newest schema.
        types: of the columns, by their names; indexed values of MAPs are `column[key]`.
        places: where a row has each column.
    """

    options: Mapping[str, str]
    types: Mapping[str, str]
    places: Mapping[str, int]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> IndexedTable:
        """From a schema as Paimon stores it."""
        types = {field["name"]: field["type"] for field in schema["fields"]}
        for name, _ in asked_for(schema["options"]):
            column = name.partition("[")[0]
            if isinstance(types[column], dict):
                types[name] = types[column]["value"]
        atoms = {name: kind for name, kind in types.items() if isinstance(kind, str)}
        places = {field["name"]: at for at, field in enumerate(schema["fields"], 1)}
        return cls(schema["options"], atoms, places)

    @property
    def asked_for(self) -> set[tuple[str, str]]:
        """Columns and kinds of indexes."""
        return asked_for(self.options)

    def values(self, name: str, rows: Sequence[Row]) -> list[Any]:
        """The values of a column, or of a key of a MAP, but nulls and what no filter should name."""
        column, _, key = name.partition("[")
        found = (row[self.places[column]] for row in rows)
        if key:
            found = (value for pairs in found for at, value in pairs or () if at == key.removesuffix("]"))
        is_float = root_of(self.types[name]) in ("FLOAT", "DOUBLE")
        return [value for value in found if value is not None and not (is_float and value in _ZEROS)]


def assert_indexed_alike(
    ours: Sequence[DataFile], java: Sequence[DataFile], types: Mapping[str, str]
) -> None:
    """New files have the indexes that Java's have; if there are as many, each file has those of Java's."""
    mine, theirs = ([columns_and_kinds(file) for file in files] for files in (ours, java))
    assert {*map(frozenset, mine)} == {*map(frozenset, theirs)}
    if len(ours) == len(java):
        assert_same_indexes(zip(ours, java, strict=True), types)


def assert_all_indexed(files: Sequence[DataFile], asked: set[tuple[str, str]]) -> None:
    """Every new file has the indexes that the table asks for, and no others."""
    assert all(columns_and_kinds(file) == asked for file in files)


def assert_skipped_alike(
    oracle: Oracle,
    tables: tuple[Table, Table],
    pairs: Sequence[tuple[DataFile, DataFile]],
    filters: Sequence[Filter],
) -> None:
    """Indexes leave as many rows of each file of ours as of the one that Java has made."""
    if not pairs or not filters:
        return
    mine, theirs = (oracle.file_index_rows(table, filters) for table in tables)
    for ask, of_ours, of_java in zip(filters, mine, theirs, strict=True):
        assert [of_ours[one.name] for one, _ in pairs] == [of_java[other.name] for _, other in pairs], ask


def asks_of_indexes(random: Random, table: IndexedTable, rows: Sequence[Row]) -> list[Filter]:
    """Questions about columns with indexes: values that are there, others, several, ranges, nulls."""
    names = sorted({name for name, _ in table.asked_for})
    drawn = [
        ask for name in names for ask in _asks_of(random, name, table.types[name], table.values(name, rows))
    ]
    return random.sample(drawn, min(_MOST_ASKED, len(drawn)))


def _asks_of(random: Random, name: str, kind: str, found: Sequence[Any]) -> Iterator[Filter]:
    kind = kind.removesuffix(" NOT NULL")
    other = EVERY_VALUE[kind](random)
    values = [*random.choices(found, k=3 if found else 0), *([other] if other not in _ZEROS else [])]
    is_exact = kind.startswith(("BYTES", "BINARY", "VARBINARY", *NANOS))
    for operator in random.sample(_EXACT if is_exact else (*_ONE, *_SEVERAL, *_NONE), 2):
        if operator in _NONE:
            yield {"column": name, "op": operator}
        elif operator in _SEVERAL and values:
            yield {"column": name, "op": operator, "literals": random.choices(values, k=2)}
        elif values:
            yield {"column": name, "op": operator, "literal": random.choice(values)}
