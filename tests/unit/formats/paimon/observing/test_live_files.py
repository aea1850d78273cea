"""Applying what each snapshot changes comes to the same as reading everything."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.paimon.manifests.entries import ADD, DELETE
from lithify.formats.paimon.manifests.entry_columns import NARROW
from lithify.formats.paimon.manifests.live_entries import live_of
from lithify.formats.paimon.manifests.vector_columns import NOTHING_MARKED, with_vectors
from lithify.formats.paimon.observing.history import removed_bytes
from lithify.formats.paimon.observing.live_files import Misfit, applied
from lithify.formats.paimon.observing.observation_cache import FILES
from support.cases import case
from support.live_files import rows_of
from support.merge_trees import repeatable

Place = tuple[bytes, int]
Change = tuple[int, Place, str, int, int]
"""Kind, place, name, level and size."""


def change(kind: int, name: str, level: int = 0, place: Place = (b"p", 0), size: int = 100) -> Change:
    return (kind, place, name, level, size)


def entries(changes: Sequence[Change]) -> pa.Table:
    """Changes as the columns that manifests are decoded into."""
    rows = [
        {
            "kind": kind,
            "partition": place[0],
            "bucket": place[1],
            "total_buckets": 2,
            "name": name,
            "size": size,
            "rows": 10,
            "min_key": b"",
            "max_key": b"",
            "min_sequence": 1,
            "max_sequence": 2,
            "schema_id": 0,
            "level": level,
            "extra_files": [],
            "created_millis": 0,
            "delete_rows": 0,
        }
        for kind, place, name, level, size in changes
    ]
    return pa.Table.from_pylist(rows, NARROW)


def in_order(history: Sequence[Sequence[Change]]) -> pa.Table:
    """The changes of some snapshots, in each what it adds first."""
    deltas = [entries(delta).sort_by("kind") for delta in history]
    return with_vectors(pa.concat_tables([entries([]), *deltas]), NOTHING_MARKED)


def everything(history: Sequence[Sequence[Change]]) -> pa.Table:
    live = live_of([entries([]), *map(entries, history)])
    return with_vectors(live, NOTHING_MARKED).select(FILES.names)


def random_history(rng: Random) -> list[list[Change]]:
    """Deltas of appends, compactions, upgrades and overwrites in two partitions with two buckets."""
    live: dict[tuple[Place, str], Change] = {}
    history = []
    for number in range(rng.randint(0, 12)):
        places = [(partition, bucket) for partition in (b"p", b"q") for bucket in (0, 1)]
        delta: list[Change] = []
        kind = rng.choice(("append", "append", "compact", "upgrade", "overwrite", "nothing"))
        for place in rng.sample(places, rng.randint(1, 4)):
            there = [each for (where, _), each in live.items() if where == place]
            gone = there if kind == "overwrite" else rng.sample(there, rng.randint(0, len(there)))
            if kind == "append":
                names = [f"f{number}-{each}" for each in range(rng.randint(1, 3))]
                delta += (change(ADD, name, 0, place, rng.randint(1, 99)) for name in names)
            elif kind != "nothing":
                delta += ((DELETE, *each[1:]) for each in gone)
                if kind == "upgrade":
                    delta += ((ADD, where, name, level + 1, size) for _, where, name, level, size in gone)
                elif gone:
                    delta.append(change(ADD, f"f{number}-new", 5, place, rng.randint(1, 99)))
        for each in sorted(delta, reverse=True):
            where = (each[1], each[2])
            live.pop(where, None) if each[0] == DELETE else live.update({where: each})
        rng.shuffle(delta)
        history.append(delta)
    return history


@pytest.mark.thorough
@repeatable
@given(st.randoms(use_true_random=False), st.integers(0, 12), st.integers(1, 12))
def test_what_snapshots_change_is_the_same_as_all_that_is_there(rng: Random, seen: int, steps: int) -> None:
    """However many snapshots were seen, and however many an update takes at a time."""
    history = random_history(rng)
    files = everything(history[:seen])
    for start in range(seen, len(history), steps):
        files = applied(files, in_order(history[start : start + steps]))

    shuffled = [list(delta) for delta in history]
    rng.shuffle(shuffled)
    assert sorted(map(repr, rows_of(files))) == sorted(map(repr, rows_of(everything(shuffled))))


@pytest.mark.parametrize(
    "deltas",
    [
        case([[change(ADD, "a")]], id="a file is added that is there"),
        case([[change(DELETE, "b")]], id="a file is removed that is not there"),
        case([[change(ADD, "a"), change(DELETE, "b")]], id="as many there that should not be as the reverse"),
        case([[change(DELETE, "a", level=5)]], id="a file is removed from another level"),
        case([[change(DELETE, "a", place=(b"p", 1))]], id="a file is removed from another bucket"),
        case([[change(DELETE, "a", place=(b"q", 0))]], id="a file is removed from another partition"),
        case([[change(ADD, "b"), change(ADD, "b")]], id="a file is added twice"),
        case([[change(ADD, "b")], [change(ADD, "b")]], id="a file is added by two snapshots"),
        case([[change(DELETE, "a")], [change(DELETE, "a")]], id="a file is removed by two snapshots"),
        case([[change(DELETE, "a"), change(ADD, "a")]], id="a snapshot removes what it adds, which is there"),
    ],
)
def test_what_does_not_fit_is_noticed(deltas: list[list[Change]]) -> None:
    with pytest.raises(Misfit):
        applied(everything([[change(ADD, "a")]]), in_order(deltas))


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        case([], {("a", 0): 100}, id="nothing"),
        case([[change(ADD, "b"), change(DELETE, "b")]], {("a", 0): 100}, id="added and removed at once"),
        case([[change(ADD, "a", 5), change(DELETE, "a")]], {("a", 5): 100}, id="lifted to another level"),
        case(
            [[change(DELETE, "a")], [change(ADD, "a", size=7)]], {("a", 0): 7}, id="removed, and added again"
        ),
        case([[change(DELETE, "a")]], {}, id="the last one removed"),
    ],
)
def test_deltas_leave_the_files_that_are_live(
    deltas: list[list[Change]], expected: dict[tuple[str, int], int]
) -> None:
    left = applied(everything([[change(ADD, "a")]]), in_order(deltas))
    assert {
        (name, level): size for name, level, size in rows_of(left.select(["name", "level", "size"]))
    } == expected


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        case([], 0, id="nothing"),
        case([change(ADD, "a")], 0, id="added"),
        case([change(DELETE, "a", size=7), change(ADD, "b", 5)], 7, id="rewritten"),
        case([change(DELETE, "a", size=7), change(ADD, "a", 5, size=7)], 0, id="lifted to another level"),
    ],
)
def test_bytes_that_older_snapshots_still_hold(delta: list[Change], expected: int) -> None:
    assert removed_bytes(entries(delta)) == expected
