"""Appends, deletes and compactions in any order keep every row that nobody deleted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import EqualTo

from support.iceberg_commits import (
    Planned,
    commit,
    delete_positions,
    live_rows,
    map_of,
    plan,
    rewritten,
)
from support.iceberg_tables import NAME, Lakehouse, rows


@dataclass(slots=True)
class Play:
    """A table, the ids that it must have, and compactions that are under way."""

    lakehouse: Lakehouse
    expected: set[int]
    following: int
    planned: list[tuple[Planned, int]]

    def act(self, action: str, choice: int) -> None:
        getattr(self, action)(choice)

    def append(self, choice: int) -> None:
        new = range(self.following, self.following + 1 + choice % 3)
        self.lakehouse.catalog().load_table(NAME).append(rows(*new))
        self.expected.update(new)
        self.following = new.stop

    def delete_by_copy(self, choice: int) -> None:
        gone = choice % self.following
        if gone in self.expected:  # pyiceberg warns of deletes that match nothing
            self.lakehouse.catalog().load_table(NAME).delete(EqualTo("id", gone))
            self.expected.discard(gone)

    def delete_by_position(self, choice: int) -> None:
        address = self.lakehouse.address()
        files = [each for each in plan(address).files if len(live_rows(each))]
        if files:
            file = files[choice % len(files)]
            place = choice % file.rows
            ids = live_rows(file)["id"].to_pylist()
            delete_positions(address, {file.path: [place]}, names_file=choice % 2 == 0)
            after = {each.path: each for each in plan(address).files}[file.path]
            self.expected -= set(ids) - set(live_rows(after)["id"].to_pylist())

    def begin(self, choice: int) -> None:
        self.planned.append((plan(self.lakehouse.address()), choice))

    def finish(self, choice: int) -> None:
        if self.planned:
            planned, taken = self.planned.pop(choice % len(self.planned))
            chosen = [file for place, file in enumerate(planned.files) if taken >> place & 1]
            if chosen and all(Path(file.path.removeprefix("file://")).exists() for file in chosen):
                change = rewritten(planned, chosen)
                commit(planned, change, maps={change.group: map_of(planned, change)} if choice % 4 else None)

    def rows(self) -> set[int]:
        found = self.lakehouse.catalog().load_table(NAME).scan().to_arrow()["id"].to_pylist()
        assert len(found) == len(set(found))
        return set(found)


ACTIONS = st.tuples(
    st.sampled_from(["append", "delete_by_copy", "delete_by_position", "begin", "begin", "finish", "finish"]),
    st.integers(0, 255),
)


@pytest.mark.thorough
@settings(deadline=None)
@given(actions=st.lists(ACTIONS, min_size=3, max_size=12))
def test_no_interleaving_loses_or_brings_back_a_row(actions: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        lakehouse = Lakehouse(Path(folder))
        lakehouse.table()
        play = Play(lakehouse, set(), 0, [])
        for choice in (1, 2, 1):
            play.append(choice)
        for action, choice in actions:
            play.act(action, choice)
            assert play.rows() == play.expected
