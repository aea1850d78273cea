"""Two snapshots are compared by digests: only what changed is read, and every difference has its group."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pytest

from lithify.clock import SystemClock
from lithify.engine.run.digesting import Comparison, changed_sides, compared, digest_tasks
from lithify.errors import MissingFile
from support.cases import case

GONE = "gone"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that are numbers."""

    group: str
    files: str
    numbers: tuple[int, ...] = ()
    size: int = 10

    @property
    def path(self) -> str:
        return self.files

    def read(self) -> Iterator[pa.RecordBatch]:
        if self.files == GONE:
            raise MissingFile(self.files)
        yield pa.record_batch([pa.array(self.numbers, pa.int64())], names=["n"])


OLD, NEW = Rows("a", "f1", (1, 2)), Rows("a", "f2", (3,))
JOINED = Rows("a", "f3", (3, 2, 1))


def comparison(before: Sequence[Rows], after: Sequence[Rows], most_bytes: int = 15) -> Comparison:
    tasks = [*digest_tasks(changed_sides(before, after), most_bytes)]
    shipped = [pickle.loads(pickle.dumps(task)) for task in tasks]
    return compared(pickle.loads(pickle.dumps(task.run(SystemClock()))) for task in shipped)


SAME = [
    case([OLD, NEW], [JOINED], (1, 3), id="files that were joined"),
    case([OLD, NEW], [OLD, NEW], (0, 0), id="files that nobody touched"),
    case([OLD, NEW, Rows("b", "g", (7,))], [JOINED, Rows("b", "g", (7,))], (1, 3), id="some of both"),
    case([Rows("a", "e")], [], (1, 0), id="an empty file that went"),
]
DIFFERENT = [
    case([OLD, NEW], [OLD], "a", id="a lost file"),
    case([OLD], [OLD, OLD], "a", id="a file that is listed twice"),
    case([OLD], [Rows("b", "f1", (1, 2))], "ab", id="a file in another group"),
    case([OLD, NEW], [Rows("a", "f3", (3, 2, 2))], "a", id="a changed row"),
    case([OLD, Rows("b", "g", (1,))], [Rows("a", "h", (1,)), Rows("b", "i", (2, 1))], "ab", id="a moved row"),
]


@pytest.mark.parametrize("most_bytes", [1, 15, 1000])
@pytest.mark.parametrize(("before", "after", "figures"), SAME)
def test_the_same_rows(
    before: list[Rows], after: list[Rows], figures: tuple[int, int], most_bytes: int
) -> None:
    assert comparison(before, after, most_bytes) == Comparison(*figures, differences=())


@pytest.mark.parametrize(("before", "after", "groups"), DIFFERENT)
def test_different_rows(before: list[Rows], after: list[Rows], groups: str) -> None:
    assert "".join(each.group for each in comparison(before, after).differences) == groups


def test_a_difference_says_how_many_rows_there_were() -> None:
    (found,) = comparison([OLD], [NEW]).differences
    assert (found.before.rows, found.after.rows) == (2, 1)
    assert str(found).startswith("a: 2 rows, ")


def test_small_parts_share_a_task() -> None:
    sides = [*changed_sides([OLD, NEW], [JOINED])]
    assert [len(task.sides) for task in digest_tasks(sides, 20)] == [2, 1]
    assert [task.index for task in digest_tasks(sides, 1)] == [0, 1, 2]
    assert sum(next(digest_tasks(sides, 1000)).input_sizes.values()) == 30


def test_a_file_that_cannot_be_read_is_no_difference() -> None:
    with pytest.raises(MissingFile):
        comparison([Rows("a", GONE)], [])
