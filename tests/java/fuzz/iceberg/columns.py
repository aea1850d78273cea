"""Columns of random Iceberg tables: values of each type as SQL, and what may be done to them.

The values follow from a row's id and a salt, so that rows are made by queries and told apart by their ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FIXED: Final[Mapping[str, str]] = {
    "id": "BIGINT",
    "day": "DATE",
    "kind": "STRING",
    "amount": "DECIMAL(10,2)",
}
"""Columns that every table has, and that only some changes concern."""
VALUES: Final[Mapping[str, str]] = {
    "BIGINT": "id * 3 + {salt}",
    "INT": "IF(id % 5 = {salt} % 5, NULL, CAST(id % 100 + {salt} AS INT))",
    "STRING": "IF(id % 11 = 0, NULL, concat('text ', id % 13, ' ', {salt}))",
    "FLOAT": "CAST(IF(id % 9 = 0, 'NaN', id / 4 + {salt}) AS FLOAT)",
    "DOUBLE": "CAST(IF(id % 8 = 0, '-0.0', id / 4 - {salt}) AS DOUBLE)",
    "BOOLEAN": "IF(id % 4 = 0, NULL, id % 2 = {salt} % 2)",
    "DATE": "date_add(DATE '1969-12-30', CAST(id % 7 + {salt} AS INT))",
    "TIMESTAMP": "timestamp_micros(id * 3600000001 - 5000000 * {salt})",
    "TIMESTAMP_NTZ": "CAST(timestamp_micros(id * 1800000007 - {salt}) AS TIMESTAMP_NTZ)",
    "BINARY": "IF(id % 6 = 0, NULL, CAST(concat('b', id % 17, {salt}) AS BINARY))",
    "DECIMAL(10,2)": "CAST(id * 1.25 + {salt} AS DECIMAL(10, 2))",
    "DECIMAL(14,2)": "CAST(id * 1.25 + {salt} AS DECIMAL(14, 2))",
    "DECIMAL(30,2)": "CAST(id * 1.25 - {salt} AS DECIMAL(30, 2))",
    "ARRAY<STRING>": "IF(id % 7 = 1, NULL, sequence(1, id % 4))",
    "MAP<STRING,INT>": "IF(id % 7 = 2, NULL, map('a', CAST(id AS INT), 'b', {salt}))",
    "STRUCT<x:INT,y:STRING>": "IF(id % 7 = 3, NULL, named_struct('x', CAST(id AS INT), 'y', 's{salt}'))",
}
"""Queries of values by the type as Spark prints it in upper case, without spaces."""
DEFAULTS: Final[Mapping[str, tuple[str, object]]] = {
    "INT": ("INT", 7),
    "BIGINT": ("BIGINT", 1 << 40),
    "STRING": ("STRING", "low"),
    "DOUBLE": ("DOUBLE", 2.5),
    "BOOLEAN": ("BOOLEAN", True),
    "DATE": ("DATE", "2024-02-29"),
}
"""Defaults of new columns in Iceberg's JSON form."""
PROMOTIONS: Final[Mapping[str, str]] = {
    "INT": "BIGINT",
    "FLOAT": "DOUBLE",
    "DECIMAL(10,2)": "DECIMAL(14,2)",
    "DECIMAL(14,2)": "DECIMAL(30,2)",
}
EQUALITY: Final = (("id",), ("id",), ("kind",), ("kind", "day"), ("amount", "id"), ("c0",), ("c1", "kind"))
"""Sets of columns that equality deletes compare; those that a table does not have, or not any more, are left
out."""
_KEYED: Final[Mapping[str, str]] = {
    "id": "id",
    "day": "date_add(DATE '2024-02-27', CAST(id % 5 AS INT))",
    "kind": "IF(id % 7 = 0, NULL, concat(char(97 + id % 3), '-', id % 2))",
}


def value(name: str, kind: str, salt: int) -> str:
    """The value of a column as SQL."""
    if name in _KEYED:
        return _KEYED[name]
    if kind in VALUES:
        return f"CAST({VALUES[kind].format(salt=salt)} AS {kind})"
    return "NULL"


def rows(columns: Mapping[str, str], first: int, count: int, salt: int) -> str:
    """A query of rows with ids from a first one on, with all columns in their order."""
    values = ", ".join(f"{value(name, kind, salt)} AS {name}" for name, kind in columns.items())
    return f"SELECT {values} FROM range({first}, {first + count}, 1, 1)"


def columns_of(schema: Mapping[str, object]) -> dict[str, str]:
    """Names and types of a table's columns, from the schema in its metadata."""
    fields = schema["fields"]
    assert isinstance(fields, list)
    return {each["name"]: _spark(each["type"]) for each in fields}


def _spark(kind: object) -> str:
    if isinstance(kind, str):
        plain = kind.replace(" ", "").upper()
        names = {"LONG": "BIGINT", "TIMESTAMPTZ": "TIMESTAMP", "TIMESTAMP": "TIMESTAMP_NTZ"}
        return names.get(plain, plain)
    assert isinstance(kind, dict)
    if kind["type"] == "list":
        return f"ARRAY<{_spark(kind['element'])}>"
    if kind["type"] == "map":
        return f"MAP<{_spark(kind['key'])},{_spark(kind['value'])}>"
    parts = ",".join(f"{each['name']}:{_spark(each['type'])}" for each in kind["fields"])
    return f"STRUCT<{parts}>"
