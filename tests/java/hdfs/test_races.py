"""Several committers at once on HDFS: every commit is whole, and one wins."""

from __future__ import annotations

import json
from pathlib import Path

from infrastructure.hdfs.fixtures import HdfsFolder
from infrastructure.objectstore.racing import CONTEXT, DEADLINE, Outcomes, mark, race, started
from support.hdfs_runs import address
from support.small_tables import SmallTable

ROUNDS = 60


def published(hdfs: HdfsFolder, folder: Path) -> None:
    """Puts a local warehouse into the folder."""
    cluster, key = hdfs.files.bucket(hdfs.url)
    for path in folder.rglob("*"):
        if path.is_file():
            cluster.write(f"{key}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def test_of_two_committers_one_wins_each_round(hdfs: HdfsFolder, tmp_path: Path) -> None:
    local = SmallTable(tmp_path / "lake").create()
    local.append()
    published(hdfs, tmp_path / "lake")
    first = local.numbers[-1]
    barrier = CONTEXT.Barrier(2)
    racers = {who: started(race, address(hdfs), who, barrier, ROUNDS) for who in ("left", "right")}

    outcomes: dict[str, Outcomes] = {}
    for who, (process, told) in racers.items():
        outcomes[who] = told.get(timeout=DEADLINE)
        process.join(DEADLINE)

    for number in range(first + 1, first + ROUNDS + 1):
        won = {who for who in racers if outcomes[who][number] == "OURS"}
        lost = {who for who in racers if outcomes[who][number] == "OUTRUN"}
        assert (len(won), len(lost)) == (1, 1)
        text = hdfs.files.read(f"{hdfs.url}/db.db/t/snapshot/snapshot-{number}", 1 << 20)
        assert json.loads(text)["deltaManifestList"] == mark(*won, number)
    assert not [name for name in hdfs.names() if ".lithify-" in name]
