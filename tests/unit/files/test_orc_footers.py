"""Footers of ORC files that a task keeps: all of many narrow files, the newest of wide ones."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from lithify.errors import CorruptTable, MissingFile
from lithify.files.orc.footers import OrcFooters
from support.data_files import local_storage


def _files(folder: Path, files: int, columns: int) -> list[str]:
    first = folder / "0.orc"
    orc.write_table(pa.table({f"c{number}": [1] for number in range(columns)}), first)
    paths = [folder / f"{number}.orc" for number in range(files)]
    for path in paths[1:]:
        path.write_bytes(first.read_bytes())
    return [str(path) for path in paths]


def test_footers_of_many_narrow_files_are_read_once(tmp_path: Path) -> None:
    paths = _files(tmp_path, 300, 3)
    footers = OrcFooters(local_storage(tmp_path))
    first = [footers.of(path) for path in paths]

    assert all(footers.of(path) is known for path, known in zip(paths, first, strict=True))


@pytest.mark.thorough
def test_oldest_footers_of_wide_files_give_way(tmp_path: Path) -> None:
    paths = _files(tmp_path, 140, 100)
    footers = OrcFooters(local_storage(tmp_path))
    first = [footers.of(path) for path in paths]

    assert footers.of(paths[-1]) is first[-1]
    assert footers.of(paths[20]) is first[20]
    assert footers.of(paths[0]) is not first[0]
    assert footers.of(paths[0]) == first[0]


def test_what_is_no_orc_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "bad.orc").write_bytes(b"ORC and nothing else")
    footers = OrcFooters(local_storage(tmp_path))

    for _ in range(2):
        with pytest.raises(CorruptTable):
            footers.of(str(tmp_path / "bad.orc"))
    with pytest.raises(MissingFile):
        footers.of(str(tmp_path / "none.orc"))
