"""Instants in ORC files that do not name a time zone are refused where writers are not in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lithify.formats.paimon.schema.schema import Column, Schema
from lithify.formats.paimon.schema.type_texts import parse_type
from lithify.formats.paimon.support.instants import instant_refusals
from support.cases import case

ZONED = "TIMESTAMP(6) WITH LOCAL TIME ZONE"
ORC = {"file.format": "orc"}


def schema_of(*types: Any, options: Mapping[str, str]) -> Schema:
    columns = tuple(Column(number, f"c{number}", parse_type(text)) for number, text in enumerate(types))
    return Schema(id=0, columns=columns, primary_key=(), partition_keys=(), options=options)


@pytest.mark.parametrize(
    ("types", "options", "zone"),
    [
        case([ZONED], ORC, None, id="no zone declared"),
        case([ZONED], ORC, "UTC", id="writers in UTC"),
        case([ZONED, "TIMESTAMP(3)"], ORC, "Europe/Berlin", id="files name their zone"),
        case([ZONED], {"file.format": "parquet"}, "Europe/Berlin", id="Parquet"),
        case([ZONED], {**ORC, "orc.timestamp-ltz.legacy.type": "false"}, "Europe/Berlin", id="new form"),
        case(["INT"], ORC, "Europe/Berlin", id="no instants"),
    ],
)
def test_table_is_not_refused(types: list[str], options: dict[str, str], zone: str | None) -> None:
    assert list(instant_refusals(schema_of(*types, options=options), zone)) == []


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        case(ZONED, ORC, id="a column"),
        case({"type": "ARRAY", "element": ZONED}, ORC, id="inside of another type"),
        case(ZONED, {"file.format.per.level": "0:orc"}, id="ORC on one level"),
    ],
)
def test_instants_of_writers_elsewhere_are_refused_by_column(kind: Any, options: dict[str, str]) -> None:
    (reason,) = instant_refusals(schema_of("INT", kind, options=options), "Europe/Berlin")
    assert "c1" in reason
    assert "Europe/Berlin" in reason
