"""New files of a task: those of a failed task are deleted, and they end by the options of their format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lithify.engine.rewrite.budget import Budget
from lithify.files.written_files import WrittenFiles, rolling_of
from lithify.io.local_storage import local_storage
from support.data_files import target
from support.manifests import schema as table_schema

OPTIONS = target(Path(), table_schema([("n", "BIGINT")], []), {"target-file-size": "10 mb"}).options
BUDGET = Budget()


@dataclass(frozen=True)
class File:
    size: int
    rows: int


class Opened(WrittenFiles):
    def open_next(self, *paths: Path) -> int:
        self._will_write(*map(str, paths))
        return next(self._numbers)


def test_written_files_are_deleted_whether_or_not_they_are_there(tmp_path: Path) -> None:
    files = Opened("w", local_storage([str(tmp_path)]))
    one, other, missing, foreign = (tmp_path / name for name in ("1", "2", "3", "4"))
    assert [files.open_next(one), files.open_next(other, missing)] == [0, 1]
    for path in (one, other, foreign):
        path.write_text("x")
    files.delete()
    assert [*tmp_path.iterdir()] == [foreign]


@pytest.mark.parametrize(("name", "share"), [("parquet", 1.0), ("orc", 0.5), ("avro", 1.0)])
def test_fewer_rows_are_gathered_for_formats_that_copy_them(name: str, share: float) -> None:
    found = rolling_of([File(100, 10)], replace(OPTIONS, format=name), BUDGET, share=0.5)
    assert found.row_group_bytes == int(BUDGET.row_group * share * 0.5)


def test_files_end_by_the_size_of_their_inputs_rows() -> None:
    found = rolling_of([File(100, 10), File(300, 10)], OPTIONS, BUDGET, absorbs_rest=False)
    assert (found.bytes_per_row, found.target_size, found.absorbs_rest) == (20, 10 << 20, False)
    assert rolling_of([], OPTIONS, BUDGET).bytes_per_row == 0
