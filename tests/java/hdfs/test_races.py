"""Several committers at once on HDFS: every commit is whole, and one wins."""

from __future__ import annotations

import json
from pathlib import Path

from infrastructure.hdfs.fixtures import HdfsFolder
from infrastructure.objectstore.racing import CONTEXT, DEADLINE, Outcomes, mark, race, started
from support.hdfs_runs import address
from support.small_tables import SmallTable

ROUNDS = 60


def test_of_two_committers_one_wins_each_round(hdfs: HdfsFolder, tmp_path: Path) -> None:
    assert_one_wins_each_round(hdfs, tmp_path / "lake", ROUNDS)


def test_of_two_committers_with_kerberos_one_wins_each_round(secure_hdfs: HdfsFolder, tmp_path: Path) -> None:
    """Each in a process that logs in by itself."""
    assert_one_wins_each_round(secure_hdfs, tmp_path / "lake", ROUNDS // 3)


def assert_one_wins_each_round(hdfs: HdfsFolder, lake: Path, rounds: int) -> None:
    local = SmallTable(lake).create()
    local.append()
    hdfs.publish(lake)
    first = local.numbers[-1]
    barrier = CONTEXT.Barrier(2)
    racers = {who: started(race, address(hdfs), who, barrier, rounds) for who in ("left", "right")}

    outcomes: dict[str, Outcomes] = {}
    for who, (process, told) in racers.items():
        outcomes[who] = told.get(timeout=DEADLINE)
        process.join(DEADLINE)

    for number in range(first + 1, first + rounds + 1):
        won = {who for who in racers if outcomes[who][number] == "OURS"}
        lost = {who for who in racers if outcomes[who][number] == "OUTRUN"}
        assert (len(won), len(lost)) == (1, 1)
        text = hdfs.files.read(f"{hdfs.url}/db.db/t/snapshot/snapshot-{number}", 1 << 20)
        assert json.loads(text)["deltaManifestList"] == mark(*won, number)
    assert not [name for name in hdfs.names() if ".lithify-" in name]
