"""Entries come back in the parts of their buckets, each whole and in order."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from lithify.formats.paimon.observing.spilling import Spill
from support.cases import case
from support.live_files import frame, rows_of


@pytest.mark.parametrize("in_memory", [case(False, id="in a folder"), case(True, id="in memory")])
@pytest.mark.parametrize("parts", [1, 4])
def test_each_bucket_is_in_one_part(parts: int, in_memory: bool, tmp_path: Path) -> None:
    rng = Random(parts)
    rows = [(rng.choice((b"p", b"q")), rng.randrange(40), number) for number in range(1000)]
    entries = frame(rows, pa.schema({"partition": pa.binary(), "bucket": pa.int32(), "n": pa.int64()}))

    with closing(Spill(None if in_memory else tmp_path, parts)) as spill:
        for start in range(0, 1000, 300):
            spill.add(entries.slice(start, 300))
        found = [pa.concat_tables(spill.part(number)) for number in range(parts)]
        assert list(tmp_path.iterdir()) == [], "the file has no name"

    assert all(part["n"].to_pylist() == sorted(part["n"].to_pylist()) for part in found)
    assert sorted(rows_of(pa.concat_tables(found))) == sorted(rows)
    places = [set(rows_of(part.select(["partition", "bucket"]))) for part in found]
    assert sum(map(len, places)) == len(set().union(*places)) == 80
