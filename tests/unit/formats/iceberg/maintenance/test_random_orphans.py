"""Random histories of Iceberg tables with leftovers: after each removal there is what pyiceberg needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lithify.formats.iceberg.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.maintenance import MaintenanceSettings
from support.iceberg_tables import Lakehouse, rows
from support.runs import ShiftedClock

STEPS = 12
SETTINGS = MaintenanceSettings(orphan_age=timedelta(days=1), most_share=1.0)


class History:
    """A table, and what was left in its folder."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = Random(seed)
        self.lakehouse = Lakehouse(folder)
        self.table: Table = self.lakehouse.table(properties={"write.metadata.previous-versions-max": "2"})
        self.folder = Path(self.table.location().removeprefix("file://"))
        self.leftovers: set[str] = set()

    def append(self) -> None:
        self.table.append(rows(*self.random.sample(range(20), 3)))

    def overwrite(self) -> None:
        self.table.overwrite(rows(self.random.randrange(20)))

    def delete(self) -> None:
        self.table.delete(f"id < {self.random.randrange(20)}")

    def tag(self) -> None:
        if self.table.snapshots():
            chosen = self.random.choice(self.table.snapshots()).snapshot_id
            self.table.manage_snapshots().create_tag(chosen, f"t{uuid4()}").commit()

    def forget(self) -> None:
        """An expiry of metadata alone, as pyiceberg's."""
        kept = {each.snapshot_id for each in self.table.metadata.refs.values()}
        ids = [each.snapshot_id for each in self.table.snapshots() if each.snapshot_id not in kept]
        if ids:
            chosen = self.random.sample(ids, self.random.randint(1, len(ids)))
            self.table.maintenance.expire_snapshots().by_ids(chosen).commit()

    def leave(self) -> None:
        """A crashed writer."""
        folder, name = self.random.choice(
            [("data", f"00000-1-{uuid4()}-00001.parquet"), ("metadata", f"{uuid4()}-m0.avro")]
        )
        (self.folder / folder).mkdir(parents=True, exist_ok=True)
        (self.folder / folder / name).write_bytes(b"left")
        self.leftovers.add(f"{folder}/{name}")

    def clean(self) -> None:
        needed, before = set(self.needed()), self.files()
        removal = OrphanRemoval(open_iceberg_table(self.lakehouse.address()), SETTINGS)
        removal.execute(removal.plan(ShiftedClock(timedelta(days=2))))
        assert self.files() == {path for path in before if path in needed or path.endswith(".metadata.json")}

    def files(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}

    def needed(self) -> Iterator[str]:
        """The data and metadata files of all snapshots, as pyiceberg reads them."""
        for snapshot in self.lakehouse.catalog().load_table(self.table.name()).snapshots():
            for path in self._paths(snapshot):
                yield path.removeprefix("file://").removeprefix(f"{self.folder}/")

    def _paths(self, snapshot: Snapshot) -> Iterator[str]:
        yield snapshot.manifest_list
        for manifest in snapshot.manifests(self.table.io):
            yield manifest.manifest_path
            for entry in manifest.fetch_manifest_entry(self.table.io, discard_deleted=True):
                yield entry.data_file.file_path


TURNS: list[tuple[Callable[[History], None], float]] = [
    (History.append, 5),
    (History.overwrite, 2),
    (History.delete, 2),
    (History.tag, 1),
    (History.forget, 3),
    (History.leave, 3),
    (History.clean, 2),
]


@pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(60))
def test_folder_has_what_snapshots_need_and_no_more(tmp_path: Path, seed: int) -> None:
    history = History(seed, tmp_path)
    history.append()
    for turn in history.random.choices(*zip(*TURNS, strict=True), k=STEPS):
        turn(history)
    history.leave()
    history.clean()
    assert not history.leftovers & history.files()
