"""`lithify remove-orphans` on a table with leftovers: it lists, and deletes only if it is told to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from support.small_tables import SmallTable
from unit.cli.conftest import Lithify, named

LEFT = tuple(f"data-6c8d7959-43d4-4c51-8de8-7c2e2fe89b4{number}-0.parquet" for number in range(3))
DAY = 86_400


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    """Leftovers of one, two and four days ago, in a table of a week ago."""
    table = SmallTable(tmp_path_factory.mktemp("model") / "warehouse").create()
    table.append()
    for path in files(table):
        age(table.folder / path, 7)
    for name, days in zip(LEFT, (1.1, 2.1, 4.1), strict=True):
        (table.folder / "dt=a" / "bucket-0" / name).write_bytes(b"12345")
        age(table.folder / "dt=a" / "bucket-0" / name, days)
    return table


@pytest.fixture
def small(model: SmallTable, tmp_path: Path) -> SmallTable:
    shutil.copytree(model.warehouse, tmp_path / "warehouse")
    return SmallTable(tmp_path / "warehouse")


def age(path: Path, days: float) -> None:
    at = path.stat().st_mtime - days * DAY
    os.utime(path, (at, at))


def files(small: SmallTable) -> set[str]:
    return {str(path.relative_to(small.folder)) for path in small.folder.rglob("*") if path.is_file()}


def test_files_are_only_listed(lithify: Lithify, small: SmallTable) -> None:
    before = files(small)
    told = lithify("remove-orphans", *named(small.address)).out
    found = lithify("remove-orphans", *named(small.address), "--json").json
    assert files(small) == before
    assert told.startswith("db.t  would delete 1 data file, 5 bytes; the oldest snapshot that is left is 1\n")
    assert LEFT[2] in "".join(told.split())
    assert (found["kind"], found["status"]) == ("RemoveOrphans", "Planned")
    assert found["figures"] == {"data_files": 1, "index_files": 0, "metadata_files": 0, "bytes": 5}
    assert [Path(path).name for path in found["samples"]] == [LEFT[2]]


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        ([], LEFT[2:]),
        (["--older-than", "2d"], LEFT[1:]),
        (["--older-than", "25h"], LEFT),
        (["--older-than", "30d"], ()),
    ],
    ids=["three days", "two", "a day and an hour", "a month"],
)
def test_files_of_an_age_are_deleted(
    lithify: Lithify, small: SmallTable, words: list[str], gone: tuple[str, ...]
) -> None:
    before = files(small)
    found = lithify("remove-orphans", *named(small.address), "--delete", *words, "--json").json
    assert {Path(path).name for path in before - files(small)} == set(gone)
    assert found["status"] == ("Done" if gone else "NothingToDo")
    assert found["figures"]["data_files"] == len(gone)


@pytest.mark.parametrize(
    ("words", "at_fault"),
    [
        (["--older-than", "23h"], "--older-than"),
        (["--older-than", "0d"], "--older-than"),
        (["--older-than", "soon"], "--older-than"),
        (["--most-share", "0"], "most share"),
        (["--most-share", "0.01"], "most share"),
        (["--bucket", "1"], "--bucket"),
    ],
    ids=["too young", "now", "no age", "no share", "too many", "a part of the table"],
)
def test_unsafe_words_are_refused_by_name(
    lithify: Lithify, small: SmallTable, words: list[str], at_fault: str
) -> None:
    before = files(small)
    ended = lithify("remove-orphans", *named(small.address), "--delete", *words)
    assert ended.code == 2
    assert at_fault in ended.sentence
    assert files(small) == before
