"""Applying what each snapshot changes comes to the same as reading everything."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.tables.model import OrderKey
from lithify.tables.paimon.entries import ADD, DELETE, Entry
from lithify.tables.paimon.history import removed_bytes
from lithify.tables.paimon.live import Gathering, Misfit
from support.cases import case
from unit.planning.trees import repeatable
from unit.tables.manifests import file_meta


def change(
    kind: int, name: str, level: int = 0, place: tuple[bytes, int] = (b"p", 0), size: int = 100
) -> Entry:
    return Entry(kind, place[0], place[1], 2, file_meta(name, level, size=size))


def gathering(buckets: object = None) -> Gathering:
    return Gathering(OrderKey, buckets)  # type: ignore[arg-type]  # what another one gathered


def random_history(rng: Random) -> list[list[Entry]]:
    """Deltas of appends, compactions, upgrades and overwrites in two partitions with two buckets."""
    live: dict[tuple[tuple[bytes, int], str], Entry] = {}
    history = []
    for number in range(rng.randint(0, 12)):
        places = [(partition, bucket) for partition in (b"p", b"q") for bucket in (0, 1)]
        delta: list[Entry] = []
        kind = rng.choice(("append", "append", "compact", "upgrade", "overwrite", "nothing"))
        for place in rng.sample(places, rng.randint(1, 4)):
            there = [entry for (where, _), entry in live.items() if where == place]
            gone = there if kind == "overwrite" else rng.sample(there, rng.randint(0, len(there)))
            if kind == "append":
                names = [f"f{number}-{each}" for each in range(rng.randint(1, 3))]
                delta += (change(ADD, name, 0, place, rng.randint(1, 99)) for name in names)
            elif kind != "nothing":
                delta += (replace(entry, kind=DELETE) for entry in gone)
                if kind == "upgrade":
                    delta += (
                        replace(entry, file=entry.file.upgraded(entry.file.level + 1)) for entry in gone
                    )
                elif gone:
                    delta.append(change(ADD, f"f{number}-new", 5, place, rng.randint(1, 99)))
        for entry in sorted(delta, key=lambda entry: entry.kind, reverse=True):
            where = ((entry.partition, entry.bucket), entry.file.name)
            live.pop(where, None) if entry.kind == DELETE else live.update({where: entry})
        rng.shuffle(delta)
        history.append(delta)
    return history


@pytest.mark.thorough
@repeatable
@given(st.randoms(use_true_random=False), st.integers(0, 12))
def test_step_by_step_is_the_same_as_all_at_once(rng: Random, seen: int) -> None:
    history = random_history(rng)
    everything = [entry for delta in history for entry in delta]
    first = gathering().everything(entry for delta in history[:seen] for entry in delta)

    stepwise = gathering(first)
    for delta in history[seen:]:
        stepwise.apply(delta)

    rng.shuffle(everything)
    assert stepwise.buckets == gathering().everything(everything)


def test_what_was_gathered_before_is_left_alone() -> None:
    before = gathering().everything([change(ADD, "a")])
    after = gathering(before)
    after.apply([change(DELETE, "a"), change(ADD, "b")])
    assert [sorted(files) for files in before.values()] == [[("a", 0)]]
    assert [sorted(files) for files in after.buckets.values()] == [[("b", 0)]]


@pytest.mark.parametrize(
    "delta",
    [
        case([change(ADD, "a")], id="a file is added that is there"),
        case([change(DELETE, "b")], id="a file is removed that is not there"),
        case([change(DELETE, "a", level=5)], id="a file is removed from another level"),
        case([change(DELETE, "a", place=(b"p", 1))], id="a file is removed from another bucket"),
        case([change(DELETE, "a", place=(b"q", 0))], id="a file is removed from another partition"),
    ],
)
def test_what_does_not_fit_is_noticed(delta: list[Entry]) -> None:
    before = gathering().everything([change(ADD, "a")])
    with pytest.raises(Misfit):
        gathering(before).apply(delta)


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        case([], 0, id="nothing"),
        case([change(ADD, "a")], 0, id="added"),
        case([change(DELETE, "a", size=7), change(ADD, "b", 5)], 7, id="rewritten"),
        case([change(DELETE, "a", size=7), change(ADD, "a", 5, size=7)], 0, id="lifted to another level"),
    ],
)
def test_bytes_that_older_snapshots_still_hold(delta: list[Entry], expected: int) -> None:
    assert removed_bytes(delta) == expected
