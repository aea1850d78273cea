"""Small files that get their name when they are complete, and others that delete them before."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithify.errors import StorageError
from support.data_files import local_storage


def test_a_text_that_something_deletes_before_it_has_its_name_is_an_error_of_the_storage(
    tmp_path: Path,
) -> None:
    def delete_all() -> bool:
        for file in tmp_path.iterdir():
            file.unlink()
        return True

    with pytest.raises(StorageError) as caught:
        local_storage(tmp_path).create_text(f"{tmp_path}/journal", "text", delete_all)

    assert caught.value.path == f"{tmp_path}/journal"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_that_only_the_caller_knows_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="another"):
        local_storage(tmp_path).create_text(
            f"{tmp_path}/journal", "text", lambda: bool((tmp_path / "another").stat())
        )
    assert list(tmp_path.iterdir()) == []
