"""Entries come back in the parts of their groups, each whole and in order."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from lithify.engine.observe.spill import Spill
from support.cases import case
from unit.engine.observe.lake import table_of

BYTES_AND_NUMBERS = pa.schema({"partition": pa.binary(), "bucket": pa.int32(), "n": pa.int64()})
TEXTS = pa.schema({"folder": pa.string(), "n": pa.int64()})


@pytest.mark.parametrize("in_memory", [case(False, id="in a folder"), case(True, id="in memory")])
@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize(
    ("schema", "groups"),
    [
        case(
            BYTES_AND_NUMBERS, [(name, number) for name in (b"p", b"q") for number in range(40)], id="buckets"
        ),
        case(TEXTS, [(f"größe={number}",) for number in range(80)], id="folders"),
    ],
)
def test_each_group_is_in_one_part(
    schema: pa.Schema, groups: list[tuple[object, ...]], parts: int, in_memory: bool, tmp_path: Path
) -> None:
    rng, names = Random(parts), schema.names[:-1]
    rows = [(*rng.choice(groups), number) for number in range(1000)]
    entries = table_of(rows, schema)

    with closing(Spill(None if in_memory else tmp_path, names, parts)) as spill:
        for start in range(0, 1000, 300):
            spill.add(entries.slice(start, 300))
        found = [pa.concat_tables(spill.part(number)) for number in range(parts)]
        assert list(tmp_path.iterdir()) == [], "the file has no name"

    assert all(part["n"].to_pylist() == sorted(part["n"].to_pylist()) for part in found)
    assert sorted(pa.concat_tables(found)["n"].to_pylist()) == [*range(1000)]
    assert all(0 < len(part) < 2000 / parts for part in found), "parts are of about the same size"
    places = [{tuple(row.values()) for row in part.select(names).to_pylist()} for part in found]
    assert sum(map(len, places)) == len(set().union(*places)) == 80
