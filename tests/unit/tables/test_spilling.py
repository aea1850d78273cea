"""Entries come back in the parts of their buckets, each whole and in order."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random

import polars as pl
import pytest

from lithify.tables.paimon.observing.spilling import Spill
from support.cases import case


@pytest.mark.parametrize("in_memory", [case(False, id="in a folder"), case(True, id="in memory")])
@pytest.mark.parametrize("parts", [1, 4])
def test_each_bucket_is_in_one_part(parts: int, in_memory: bool, tmp_path: Path) -> None:
    rng = Random(parts)
    rows = [(rng.choice((b"p", b"q")), rng.randrange(40), number) for number in range(1000)]
    entries = pl.DataFrame(rows, {"partition": pl.Binary, "bucket": pl.Int32, "n": pl.Int64}, orient="row")

    with closing(Spill(None if in_memory else tmp_path, parts)) as spill:
        for start in range(0, 1000, 300):
            spill.add(entries.slice(start, 300))
        found = [pl.concat(spill.part(number)) for number in range(parts)]
        assert list(tmp_path.iterdir()) == [], "the file has no name"

    assert all(part["n"].is_sorted() for part in found)
    assert sorted(pl.concat(found).rows()) == sorted(rows)
    places = [set(part.select("partition", "bucket").rows()) for part in found]
    assert sum(map(len, places)) == len(set().union(*places)) == 80
