"""Columns of every supported type: values that statistics get wrong most easily, and questions about them.

`test_filtered_reads` puts them into files of few values each. Values ascend in Paimon's order: floats end
with NaN, text is ordered by its UTF-8 bytes, bytes are signed.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infrastructure.oracle.arguments import Filter

INEQUALITIES = ("less_than", "less_or_equal", "greater_than", "greater_or_equal")
COMPARISONS = ("equal", "not_equal", *INEQUALITIES)
_BEYOND_OR = 21
"""So many literals make Java look at an `in` as such, and no longer as an OR of comparisons."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: a telling id.
        kind: its type.
        values: what its rows hold, ascending; nulls come in addition.
        absent: literals that no row holds: below, between and above the values where there is room.
        prefixes: what `starts_with` asks for.
        thorough: whether each value gets a file and questions of its own, or only some of them do.
    """

    name: str
    kind: str
    values: tuple[Any, ...]
    absent: tuple[Any, ...] = ()
    prefixes: tuple[str, ...] = ()
    thorough: bool = False

    def groups(self) -> list[list[Any]]:
        """What the files hold: a single value, neighbours and a null, only nulls, or everything."""
        singles = [[value] for value in (self.values if self.thorough else self.values[::2])]
        starts = (2,) if self.thorough else range(1, len(self.values), 2)
        pairs = [[*self.values[at : at + 2], None] for at in starts]
        return [*singles, *pairs, [None], [*self.values, None]]

    def filters(self) -> Iterator[Filter]:
        """Questions about the column."""
        some = (self.values[0], self.values[len(self.values) // 2], self.values[-1])
        for op in COMPARISONS:
            for literal in (*(self.values if self.thorough else some), *self.absent):
                yield {"column": self.name, "op": op, "literal": literal}
        for op in ("in", "not_in"):
            for literals in (some[::2], [some[1], *self.absent] * _BEYOND_OR):
                yield {"column": self.name, "op": op, "literals": literals}
        for op in ("is_null", "is_not_null"):
            yield {"column": self.name, "op": op}
        for prefix in self.prefixes:
            yield {"column": self.name, "op": "starts_with", "literal": prefix}


def _base64(*values: bytes) -> tuple[str, ...]:
    return tuple(b64encode(value).decode() for value in values)


def _integers(bits: int) -> tuple[int, ...]:
    return (-(2 ** (bits - 1)), -1, 0, 7, 2 ** (bits - 1) - 1)


def _moments(digits: int) -> tuple[str, ...]:
    """Timestamps with so many digits behind the second."""
    last = f".{'9' * digits}" if digits else ""
    some = f".{'123456'[:digits]}" if digits else ""
    return (
        "0001-01-01T00:00:00",
        f"1969-12-31T23:59:59{last}",
        "1970-01-01T00:00:00",
        f"2024-02-29T10:11:12{some}",
        f"9999-12-31T23:59:59{last}",
    )


_FLOATS = ("-Infinity", -1.5, "-0.0", 0.0, 0.25, 2.5, 1e30, "Infinity", "NaN")
_LARGE = f"{'9' * 28}.{'9' * 10}"

BEFORE_SURROGATES = "中" * 15 + "\ud7ff, whose successor is no character"
_TEXTS = (
    "",
    "abcdefghijklmnop",
    "abcdefghijklmnopq",
    "abcdefghijklmno\U0010ffff, whose 16th has no successor",
    "m" * 5000,
    "é" * 20,
    BEFORE_SURROGATES,
    "\U0001f600" * 20,
    "\U0010ffff" * 20,
)
_NO_TEXTS = ("a", "abcdefghijklmnopp", "abcdefghijklmoq", "m" * 16, "é" * 16, "\U0001f601", "\U0010ffff" * 30)
_PREFIXES = (
    *("", "abc", "abcdefghijklmnop", "abcdefghijklmnopq", "m" * 17),
    *("é" * 17, "中" * 15, "\U0001f600" * 17, "\U0010ffff"),
)

COLUMNS = (
    Column("boolean", "BOOLEAN", (False, True)),
    Column("tinyint", "TINYINT", _integers(8), (-2, 100)),
    Column("smallint", "SMALLINT", _integers(16), (-2, 100)),
    Column("int", "INT", _integers(32), (-2, 100)),
    Column("bigint", "BIGINT", _integers(64), (-2, 2**40)),
    Column("float", "FLOAT", _FLOATS, (-2.0, 0.125), thorough=True),
    Column("double", "DOUBLE", _FLOATS, (-2.0, 0.125), thorough=True),
    Column("decimal_4", "DECIMAL(4, 2)", ("-99.99", "-0.01", "0.00", "1.00", "99.99"), ("-1.00", "0.50")),
    Column("decimal_18", "DECIMAL(18, 0)", (f"-{'9' * 18}", "-1", "0", "128", "9" * 18), ("-2", "127")),
    Column(
        "decimal_38",
        "DECIMAL(38, 10)",
        (f"-{_LARGE}", "-1.0000000000", "0.0000000000", "1.2800000000", _LARGE),
        ("-2.0000000000", "99999999999.0000000000"),
        thorough=True,
    ),
    Column("char", "CHAR(3)", ("aaa", "abc", "äöü", "\U0001f600bc"), ("aab", "zzz"), ("a", "ä", "b")),
    Column("varchar", "VARCHAR(20)", ("", "v" * 16, "v" * 17, "\uffff" * 20), ("w",), ("v" * 17, "")),
    Column("text", "STRING", _TEXTS, _NO_TEXTS, _PREFIXES, thorough=True),
    Column(
        "binary", "BINARY(2)", _base64(b"\x80\x00", b"\xff\xff", b"\x00\x01", b"\x7f\x7f"), _base64(b"a\x00")
    ),
    Column("bytes", "BYTES", _base64(b"", b"\x80", b"\xff" * 40, b"\x00", b"\x7f"), _base64(b"\x90", b"a")),
    Column(
        "date", "DATE", ("0001-01-01", "1969-12-31", "1970-01-01", "9999-12-31"), ("1582-10-10", "2000-01-01")
    ),
    Column("time_0", "TIME(0)", ("00:00:00", "12:34:56", "23:59:59"), ("00:00:01", "13:00:00")),
    Column("time_3", "TIME(3)", ("00:00:00", "12:34:56.789", "23:59:59.999"), ("12:34:56.788",)),
    *(Column(f"timestamp_{p}", f"TIMESTAMP({p})", _moments(p), ("2000-01-01T00:00:00",)) for p in range(7)),
    *(
        Column(f"instant_{p}", f"TIMESTAMP({p}) WITH LOCAL TIME ZONE", _moments(p), ("2000-01-01T00:00:00",))
        for p in (0, 3, 6)
    ),
)

LONG_KEYS = Column(
    "key",
    "STRING",
    (
        "a" * 127 + "\U0010ffff" * 9,
        "a" * 128,
        "a" * 128 + "b",
        "é" * 200,
        "中" * 127 + "\ud7ff, whose successor is no character",
        "\U0001f600" * 200,
        "\U0010ffff" * 200,
    ),
    ("", "a" * 128 + "a", "é" * 128, "\U0001f600" * 128, "\U0010ffff" * 300),
    ("", "a" * 127, "a" * 129, "é" * 129, "\U0001f600" * 129, "\U0010ffff"),
    thorough=True,
)
"""A key column: its statistics are cut at 128 code points, and no row has a null there."""
