"""Keys hash, nodes relate and names are read as in Arctic, whose own classes answer."""

from __future__ import annotations

import base64
import math
import random
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from infrastructure.arctic.client import Arctic
from lithify.columns.column_groups import Numbers
from lithify.files.types import Field, arrow_type
from lithify.formats.iceberg.data_files.schema import parse_type
from lithify.formats.mixed.file_names import FileKind, FileNames, names_in_base, names_in_change
from lithify.formats.mixed.key_hashes import key_hashes, nodes_of
from lithify.formats.mixed.nodes import (
    children_of,
    indexes_of,
    is_ancestor_or_same,
    masks_of,
    parents_of,
)

ROWS = 400
BUCKETS = 16
EPOCH = datetime(1970, 1, 1)
CHARACTERS = "aZ09 _/%äß湖\N{GRINNING FACE}\u0000\uffff"


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of keys: how its values are drawn, and their form in requests."""

    draw: Callable[[random.Random], Any]
    form: Callable[[Any], Any] = lambda value: value


def _text(chance: random.Random) -> str:
    return "".join(chance.choices(CHARACTERS, k=chance.randrange(12)))


def _moment(chance: random.Random) -> datetime:
    return EPOCH + timedelta(microseconds=chance.randrange(-(10**16), 10**16))


def _double(chance: random.Random) -> float:
    drawn = struct.unpack("<d", chance.randbytes(8))[0]
    return drawn if math.isfinite(drawn) else chance.choice((0.0, -0.0, math.inf, -math.inf, math.nan))


def _float(chance: random.Random) -> float:
    drawn = struct.unpack("<f", chance.randbytes(4))[0]
    return float(drawn) if math.isfinite(drawn) else -0.0


def _wide(chance: random.Random) -> Decimal:
    digits = chance.randrange(1, 39)
    sign = chance.choice((0, 1))
    return Decimal((sign, tuple(chance.randrange(10) for _ in range(digits)), -10))


def _number_form(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


KINDS: Mapping[str, Kind] = {
    "boolean": Kind(lambda chance: chance.random() < 0.5),
    "int": Kind(lambda chance: chance.randrange(-(2**31), 2**31)),
    "long": Kind(lambda chance: chance.randrange(-(2**63), 2**63)),
    "float": Kind(_float, _number_form),
    "double": Kind(_double, _number_form),
    "string": Kind(_text),
    "date": Kind(lambda chance: date.fromordinal(chance.randrange(1, 3_000_000)), date.isoformat),
    "time": Kind(
        lambda chance: (EPOCH + timedelta(microseconds=chance.randrange(86_400 * 10**6))).time(),
        time.isoformat,
    ),
    "timestamp": Kind(_moment, datetime.isoformat),
    "timestamptz": Kind(
        lambda chance: _moment(chance).replace(tzinfo=UTC),
        lambda value: value.replace(tzinfo=None).isoformat(),
    ),
    "decimal(9, 2)": Kind(lambda chance: Decimal(chance.randrange(-(10**9) + 1, 10**9)).scaleb(-2), str),
    "decimal(18, 0)": Kind(lambda chance: Decimal(chance.randrange(-(10**18) + 1, 10**18)), str),
    "decimal(38, 10)": Kind(_wide, lambda value: f"{value:f}"),
    "binary": Kind(lambda chance: chance.randbytes(chance.randrange(40)), _encoded),
}


@pytest.mark.parametrize(
    "kinds",
    [*([kind] for kind in KINDS), ["long", "string"], ["string", "date", "decimal(9, 2)"]],
    ids=" and ".join,
)
def test_keys_hash_and_lie_in_nodes_as_in_arctic(arctic: Arctic, kinds: list[str]) -> None:
    chance = random.Random(" ".join(kinds))
    fields = [Field(f"k{number}", parse_type(kind, "k")) for number, kind in enumerate(kinds)]
    values = [[KINDS[kind].draw(chance) for _ in range(ROWS)] for kind in kinds]
    arrays = [pa.array(each, arrow_type(field.type)) for each, field in zip(values, fields, strict=True)]
    rows = [
        [KINDS[kind].form(value) for kind, value in zip(kinds, row, strict=True)]
        for row in zip(*values, strict=True)
    ]
    columns = {field.name: kind for field, kind in zip(fields, kinds, strict=True)}
    answered = arctic.hash_keys(columns, rows, BUCKETS)
    ours = zip(
        key_hashes(arrays, fields).tolist(), nodes_of(arrays, fields, BUCKETS - 1).tolist(), strict=True
    )
    assert [list(each) for each in ours] == answered


def test_nodes_relate_as_in_arctic(arctic: Arctic) -> None:
    ids = list(range(1, 64))
    answered = arctic.nodes(ids)
    numbers = np.array(ids)
    assert masks_of(numbers).tolist() == [node.mask for node in answered]
    assert indexes_of(numbers).tolist() == [node.index for node in answered]
    assert [children_of(each) for each in ids] == [(node.left, node.right) for node in answered]
    assert parents_of(numbers).tolist() == [node.parent or 1 for node in answered]
    pairs = [(below, above) for below in ids for above in ids]
    related = is_ancestor_or_same(
        np.array([pair[1] for pair in pairs]), np.array([pair[0] for pair in pairs])
    )
    assert related.tolist() == arctic.below(pairs)


NAMES = (
    "5-B-7-00000-0-123-00001.parquet",
    "4-I-0-00003-12-123-00001.parquet",
    "6-ED-9-00000-0-123-00002.parquet",
    "6-PD-9-00000-0-123-00002.parquet",
    "1-IED-9-00000-0-x-y",
    "00000-0-5ac0c8d2-00001.parquet",
    "12-X-9-00000-0-123-00002.parquet",
    "x5-B-7-00000-0-123-00001.parquet",
    "5-B-7-00000-0.parquet",
    "5-B-7-00000-0-",
    "5-b-7-00000-0-123-00001.parquet",
    "/t/base/data/p=5-I-1-0-0-/5-B-7-00000-0-123-00001.parquet",
    "/t/change/data/p=a/part-00000.parquet",
)


@pytest.mark.parametrize("name", NAMES)
def test_name_is_read_as_in_arctic(arctic: Arctic, name: str) -> None:
    (parsed,) = arctic.parse_names([name], sequence=77)
    ours = (names_in_base(pa.array([name])), names_in_change(pa.array([name]), _numbers(77)))
    theirs = [(each.node, each.transaction_id, each.type) for each in (parsed.base, parsed.change)]
    assert [_of(names) for names in ours] == theirs


def _numbers(*values: int) -> Numbers:
    return np.array(values, np.int64)


def _of(names: FileNames) -> tuple[int, int, str]:
    return int(names.nodes[0]), int(names.transactions[0]), list(FileKind)[int(names.kinds[0])].value
