"""The tables on which the oracle's own tests try its operations; `conftest` makes them."""

from __future__ import annotations

import json

from infrastructure.oracle.model import Row

COLUMNS = {
    "dt": "STRING NOT NULL",
    "id": "INT NOT NULL",
    "big": "BIGINT",
    "name": "STRING",
    "price": "DECIMAL(20, 4)",
    "at": "TIMESTAMP(6)",
    "day": "DATE",
    "raw": "BYTES",
    "ok": "BOOLEAN",
    "ratio": "DOUBLE",
}
PLAIN = {"id": "INT NOT NULL", "v": "STRING"}


def rich_row(key: int, version: int, kind: str = "+I") -> Row:
    return [
        kind,
        f"2024-01-0{key % 2 + 1}",
        key,
        key * 10**12,
        f'naïve "{version}"\n',
        f"{key}.2500",
        f"2024-05-06T07:08:09.{version}00001",
        "1969-12-31",
        "AAH/",
        key % 3 == 0,
        "-0.0" if key == 1 else key / 8,
    ]


def rich_expected() -> list[Row]:
    """What is left of `rich`: the newest version of each row, without the deleted ones."""
    rows = [rich_row(key, min(key, 2)) for key in range(20) if key % 5 != 0]
    return sorted(rows, key=lambda row: json.dumps(row, ensure_ascii=False, separators=(",", ":")))


def plain_rows(*keys: int, value: str = "a", kind: str = "+I") -> list[Row]:
    return [[kind, key, value] for key in keys]
