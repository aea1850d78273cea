"""Recursive listings of local folders as columns."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from lithify.io import listings
from lithify.io.listings import LISTED, local_listings
from lithify.io.local_storage import local_storage


def listed(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of each file."""
    found = pa.concat_tables([LISTED.empty_table(), *local_listings(folder)]).to_pylist()
    assert all(list(row) == LISTED.names for row in found)
    return {row["path"]: (row["size"], row["modified_millis"]) for row in found}


def test_files_of_all_levels_are_listed_with_size_and_time(tmp_path: Path) -> None:
    (tmp_path / "a=1" / "b").mkdir(parents=True)
    (tmp_path / "top").write_bytes(b"12")
    (tmp_path / "a=1" / "b" / "deep ü").write_bytes(b"123")
    for path in (tmp_path / "top", tmp_path / "a=1" / "b" / "deep ü"):
        os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    assert listed(tmp_path) == {"top": (2, 1_700_000_000_123), "a=1/b/deep ü": (3, 1_700_000_000_123)}


def test_links_are_neither_listed_nor_followed(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "table", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    (folder / "file").symlink_to(elsewhere / "file")
    (folder / "folder").symlink_to(elsewhere)
    (folder / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "pipe")
    assert listed(folder) == {}


def test_names_that_are_no_text_are_left_out(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff")).touch()
    (tmp_path / "good").touch()
    assert set(listed(tmp_path)) == {"good"}


def test_missing_folder_has_no_files(tmp_path: Path) -> None:
    assert listed(tmp_path / "nowhere") == {}


def test_batches_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "_BATCH", 3)
    for number in range(8):
        (tmp_path / f"{number}").touch()
    assert [len(batch) for batch in local_listings(tmp_path)] == [3, 3, 2]


def test_storage_lists_only_its_roots(tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "file").touch()
    storage = local_storage([str(tmp_path / "table")])
    assert [batch["path"].to_pylist() for batch in storage.listings(str(tmp_path / "table"))] == [["file"]]
    with pytest.raises(Exception, match="outside the table's folder"):
        list(storage.listings(str(tmp_path)))
