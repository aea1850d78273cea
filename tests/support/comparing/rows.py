"""Random rows of tables of any columns: values of every type, keys, and the tables that take them.

Used by `shapes` and by the random histories of `fuzz`. The same seed draws the same rows.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Protocol

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from support.comparing.sketches import SKETCHES, small_sketches

Value = Callable[[Random], Any]


def integers(low: int, high: int) -> Value:
    return lambda random: random.randint(low, high)


def decimals(digits: int, scale: int) -> Value:
    return lambda random: str(Decimal(random.randint(1 - 10**digits, 10**digits - 1)).scaleb(-scale))


def texts(*pool: str) -> Value:
    return lambda random: random.choice(pool) + str(random.randint(0, 400))


def timestamps(digits: int, first: int = 1960) -> Value:
    def value(random: Random) -> str:
        moment = datetime(first, 1, 1) + timedelta(microseconds=random.randint(0, 4 * 10**15))
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[: 20 + digits].rstrip(".")

    return value


def nanos(digits: int) -> Value:
    """Timestamps of more than microseconds; one in four lies where int64 nanoseconds cannot reach."""

    def value(random: Random) -> str:
        year = random.choice([1, 1677, 2262, 9999]) if random.random() < 0.25 else random.randint(1900, 2100)
        fraction = f"{random.randint(0, 10**9 - 1):09d}"[:digits].rstrip("0")
        time = f"{year:04d}-12-31T23:{random.randint(0, 59):02d}:59"
        return f"{time}.{fraction}" if fraction else time

    return value


def variants(random: Random) -> Any:
    """Records that are alike more often than not, and anything else."""
    number = random.randint(-(2**40), 2**40)
    record: dict[str, Any] = {"a": number, "b": {"c": [None, True]}, "d": [{"e": number % 9}] * (number % 3)}
    others = {"f": f"text {number % 50}", "g": number % 100 + 0.25, "a": None}
    record.update({name: value for name, value in others.items() if random.random() < 0.2})
    return random.choice([number, "text", [1, number], {}, record, record, record, record])


def dates(random: Random) -> str:
    return (date(1965, 1, 1) + timedelta(days=random.randint(0, 40_000))).isoformat()


def base64s(random: Random) -> str:
    return b64encode(random.randbytes(random.randint(0, 12))).decode()


def floats(random: Random) -> Any:
    return random.choice(["NaN", "-0.0", 0.0, "Infinity", "-Infinity", random.randint(-99, 99) / 8])


VALUES: dict[str, Value] = {
    "BOOLEAN": lambda random: random.random() < 0.5,
    "TINYINT": integers(-128, 127),
    "SMALLINT": integers(-(2**15), 2**15 - 1),
    "INT": integers(-(2**31), 2**31 - 1),
    "BIGINT": integers(-(2**63), 2**63 - 1),
    "FLOAT": floats,
    "DOUBLE": floats,
    "DECIMAL(9, 2)": decimals(9, 2),
    "DECIMAL(18, 0)": decimals(18, 0),
    "DECIMAL(38, 10)": decimals(38, 10),
    "STRING": texts("", "a", "zz", "ä", "€", "\U0001f600", "longer than sixteen characters "),
    "VARCHAR(20)": texts("v"),
    "CHAR(4)": lambda random: f"{random.randint(0, 9999):04d}",
    "BYTES": base64s,
    "BINARY(3)": lambda random: "AAEC" if random.random() < 0.5 else "//8A",
    "DATE": dates,
    "TIME(0)": lambda random: f"{random.randint(0, 23):02d}:{random.randint(0, 59):02d}:59",
    "TIME(3)": lambda random: f"{random.randint(0, 23):02d}:15:30.{random.randint(1, 9)}",
    "TIMESTAMP(0)": timestamps(0),
    "TIMESTAMP(3)": timestamps(3),
    "TIMESTAMP(6)": timestamps(6),
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": timestamps(3),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": timestamps(6),
    "VARIANT": variants,
    "TIMESTAMP(7)": nanos(7),
    "TIMESTAMP(9)": nanos(9),
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": nanos(9),
}

_NANOS = ("TIMESTAMP(7", "TIMESTAMP(9")
AVRO_VALUES = {kind: value for kind, value in VALUES.items() if kind != "VARIANT" and kind[:11] not in _NANOS}
"""What may be in files of every format."""
ORC_VALUES: dict[str, Value] = {
    **{kind: value for kind, value in AVRO_VALUES.items() if not kind.startswith("TIMESTAMP(6)")},
    "TIMESTAMP(5)": timestamps(5, 1970),
    "TIMESTAMP(5) WITH LOCAL TIME ZONE": timestamps(5, 1970),
}
"""What may be in ORC files: PyArrow cannot write microseconds before 1970 to them."""
EVERY_VALUE: dict[str, Value] = {
    **ORC_VALUES,
    **VALUES,
    "DECIMAL(4, 4)": decimals(4, 4),
    "DECIMAL(19, 3)": decimals(19, 3),
    "VARCHAR(3)": lambda random: f"{random.randint(0, 999)}",
    "VARBINARY(5)": lambda random: b64encode(random.randbytes(random.randint(0, 5))).decode(),
    "TIME(1)": lambda random: f"{random.randint(0, 23):02d}:15:30.{random.randint(1, 9)}",
    "TIMESTAMP(1)": timestamps(1),
    "TIMESTAMP(4)": timestamps(4, 1970),
    "TIMESTAMP(0) WITH LOCAL TIME ZONE": timestamps(0),
    "TIMESTAMP(8)": nanos(8),
}
"""These, and some of other lengths."""


def value_of(written: Any) -> Value:
    """Values of a type as schema files have it, null now and then."""
    if isinstance(written, str):
        atomic = EVERY_VALUE[written.removesuffix(" NOT NULL")]
        return atomic if written.endswith("NOT NULL") else _or_null(atomic)
    root, _, suffix = written["type"].partition(" ")
    if root == "ROW":
        fields = [value_of(field["type"]) for field in written["fields"]]
        value = _record(fields)
    elif root == "ARRAY":
        value = _several(value_of(written["element"]))
    elif root == "VECTOR":
        value = _as_many(EVERY_VALUE[written["element"].removesuffix(" NOT NULL")], written["length"])
    else:
        count = integers(1, 9)
        key, item = (
            (written["key"], value_of(written["value"])) if root == "MAP" else (written["element"], count)
        )
        value = _pairs(VALUES[key.removesuffix(" NOT NULL")], item)
    return value if suffix else _or_null(value)


def _or_null(value: Value) -> Value:
    return lambda random: None if random.random() < 0.1 else value(random)


def _record(fields: list[Value]) -> Value:
    return lambda random: [field(random) for field in fields]


def _several(element: Value) -> Value:
    return lambda random: [element(random) for _ in range(random.randint(0, 3))]


def _as_many(element: Value, length: int) -> Value:
    return lambda random: [element(random) for _ in range(length)]


def _pairs(key: Value, item: Value) -> Value:
    return lambda random: [list(pair) for pair in {key(random): item(random) for _ in range(3)}.items()]


def without_nan(value: Value) -> Value:
    """What keys and sequence fields may have: NaN there is refused."""

    def ordered(random: Random) -> Any:
        drawn = value(random)
        return 0.0 if drawn == "NaN" else drawn

    return ordered


class Layout(Protocol):
    """The columns of a table when it is made, and its options."""

    @property
    def partition(self) -> Mapping[str, tuple[str, Sequence[Any]]]:
        """Partition columns, their types and the values that they take."""
        ...

    @property
    def key(self) -> Mapping[str, str]:
        """Key columns and their types."""
        ...

    @property
    def values(self) -> Mapping[str, str]:
        """The other columns and their types."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """Table options."""
        ...


def create(
    oracle: Oracle,
    table: Table,
    layout: Layout,
    options: Mapping[str, str],
    moving: Collection[str] = (),
) -> None:
    """Makes a table; the key has all of its partition columns but for those between which rows move."""
    partition = {name: kind for name, (kind, _) in layout.partition.items()}
    key = [*(name for name in partition if name not in moving), *layout.key]
    fixed = {
        name: f"{kind} NOT NULL" if name in key else kind
        for name, kind in {**partition, **layout.key}.items()
    }
    oracle.create_table(
        table,
        {**fixed, **layout.values},
        primary_key=key,
        partition_keys=[*partition],
        options=options,
    )


def draw_keys(random: Random, layout: Layout, count: int) -> list[tuple[Any, ...]]:
    """So many different keys, or fewer."""
    return sorted({_key(random, layout) for _ in range(count)}, key=repr)


def _key(random: Random, layout: Layout) -> tuple[Any, ...]:
    """A key; without -0.0 among several columns: Java's writers sort it before the 0.0 it equals."""
    key = tuple(without_nan(EVERY_VALUE[kind])(random) for kind in layout.key.values())
    return key if len(key) == 1 else tuple(map(positive, key))


def positive(drawn: Any) -> Any:
    """A value in which every zero is the positive one."""
    if isinstance(drawn, list):
        return [positive(part) for part in drawn]
    return 0.0 if drawn == "-0.0" else drawn


def values_of(oracle: Oracle, table: Table, layout: Layout) -> dict[str, Value]:
    """Values for each column that the table has by now; bitmaps or sketches where it aggregates these."""
    values = {column["name"]: value_of(column["type"]) for column in oracle.schema(table)["fields"]}
    groups = [name.split(".")[1] for name in layout.options if name.endswith(".sequence-group")]
    sequence = ",".join([layout.options.get("sequence.field", ""), *groups]).split(",")
    for name in values:
        function = layout.options.get(f"fields.{name}.aggregate-function")
        if function in SKETCHES:
            values[name] = _or_null(_one_of(small_sketches(oracle, function)))
    return {name: without_nan(value) if name in sequence else value for name, value in values.items()}


def _one_of(pool: Sequence[Any]) -> Value:
    return lambda random: random.choice(pool)


def draw_row(
    random: Random,
    layout: Layout,
    keys: Sequence[tuple[Any, ...]],
    values: Mapping[str, Value],
    deletes: float,
) -> Row:
    """A row with a value for each column in their order; so many of all are deletes."""
    kind = "-D" if random.random() < deletes else random.choice(["+I", "+U"])
    fixed = dict(zip(layout.key, random.choice(keys), strict=True))
    fixed.update({name: random.choice(pool) for name, (_, pool) in layout.partition.items()})
    return [kind, *(fixed[name] if name in fixed else values[name](random) for name in values)]
