"""Several committers at once on HDFS: every commit is whole, and one wins."""

from __future__ import annotations

from pathlib import Path

from infrastructure.hdfs.fixtures import HdfsFolder
from support.hdfs_runs import assert_one_wins_each_round

ROUNDS = 60


def test_of_two_committers_one_wins_each_round(hdfs: HdfsFolder, tmp_path: Path) -> None:
    assert_one_wins_each_round(hdfs, tmp_path / "lake", ROUNDS)
