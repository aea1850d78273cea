"""From manifests to the work of a run: files with their deletes, spec by spec, for the bins that are due."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from lithify.formats.iceberg.manifests.compared_bounds import ComparedColumn
from lithify.formats.iceberg.manifests.delete_index import delete_index
from lithify.formats.iceberg.manifests.file_objects import FileObjects
from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent, ManifestFile
from lithify.formats.iceberg.manifests.schemas import PATH_FIELD
from lithify.formats.iceberg.manifests.view import ManifestReader, Statistics, View
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, Partition
from lithify.formats.iceberg.planning.clustering import ClusterColumn
from lithify.formats.iceberg.planning.figures import figures_of
from lithify.formats.iceberg.planning.options import PlanningOptions
from lithify.formats.iceberg.planning.plan import plan_rewrites
from lithify.formats.iceberg.planning.units import RewriteUnit, units
from support.iceberg_manifests import BY_DAY, Entry, entry, listed, manifest_bytes

OPTIONS = PlanningOptions(target_size=1000, min_size=750, max_size=1800)


@dataclass
class Made:
    """A table in memory."""

    files: dict[str, bytes] = field(default_factory=dict)
    manifests: list[ManifestFile] = field(default_factory=list)

    def add(
        self,
        entries: list[Entry],
        content: ManifestContent = ManifestContent.DATA,
        partition: Any = BY_DAY,
        **more: Any,
    ) -> None:
        path = f"m{len(self.files)}"
        self.files[path] = manifest_bytes(entries, 3, partition)
        self.manifests.append(listed(path, content=content, **more))

    def read_bytes(self, path: str, most: int) -> bytes:
        return self.files[path]

    def view(self, **statistics: Any) -> View:
        return ManifestReader(self).view(self.manifests, Statistics(**statistics))


def planned(
    view: View, columns: Any = (), compared: Any = None, options: PlanningOptions = OPTIONS
) -> Iterator[RewriteUnit]:
    index = delete_index(view.data, view.deletes, {4}, compared)
    plan = plan_rewrites(view.data, figures_of(view, index, 0, {}), options, columns)
    return units(plan, FileObjects(view, index))


def day(number: int, path: str, size: int = 300, **more: Any) -> Entry:
    partition = {"day": number, "part": 0}
    return entry(partition=partition, file_path=path, file_size_in_bytes=size, **more)


def test_files_come_with_everything_that_a_task_needs() -> None:
    made = Made()
    made.add([day(0, f"f{n}", sort_order_id=2) for n in range(5)] + [day(1, "other")], first_row_id=100)
    deletes = [
        day(0, "p.puffin", 80, content=1, file_format="PUFFIN", record_count=3, sequence=7)
        | {"status": 0, "snapshot_id": 1}
    ]
    deletes[0]["data_file"] |= {
        "referenced_data_file": "f1",
        "content_offset": 4,
        "content_size_in_bytes": 40,
    }
    bounds = {PATH_FIELD: b"f3"}
    made.add(
        [*deletes, day(0, "d", 90, content=1, lower_bounds=bounds, upper_bounds=bounds)],
        ManifestContent.DELETES,
    )
    (unit,) = planned(made.view())
    partition = Partition(0, (date(1970, 1, 1), 0))
    vector = DeleteFile(
        "p.puffin", 80, 3, Content.POSITION_DELETES, "puffin", 7, partition, (), "f1", 4, 40, row=0
    )
    other = DeleteFile("d", 90, 10, Content.POSITION_DELETES, "parquet", 5, partition, (), "f3", row=1)
    found = {1: (vector,), 3: (other,)}
    assert unit.partition == partition
    assert unit.files == tuple(
        DataFile(f"f{n}", 300, 10, "parquet", 5, partition, 100 + 10 * n, 2, found.get(n, ()), row=n)
        for n in range(5)
    )
    assert [each.trigger for each in unit.verdicts if each.fired] == ["DeletedRows", "FileSizes"]


def test_files_of_other_specs_are_rewritten_together() -> None:
    made = Made()
    made.add([day(0, "a"), day(1, "b")])
    made.add([entry(file_path=f"old{n}", file_size_in_bytes=300) for n in range(4)], partition=(), spec_id=4)
    made.add([day(n, f"older{n}") for n in range(3)], spec_id=3)
    (unit,) = planned(made.view())
    assert unit.partition is None
    assert [file.path for file in unit.files] == [
        "old0",
        "old1",
        "old2",
        "old3",
        "older0",
        "older1",
        "older2",
    ]
    assert [file.partition.spec_id for file in unit.files] == [4, 4, 4, 4, 3, 3, 3]


def test_equality_deletes_of_an_unpartitioned_spec_apply_to_all_files() -> None:
    made = Made()
    made.add([day(n // 5, f"f{n}") for n in range(10)], sequence=5)
    deletes = [entry(content=2, file_path="all", equality_ids=[1, 2])]
    made.add(deletes, ManifestContent.DELETES, (), spec_id=4, sequence=6)
    found = [*planned(made.view())]
    assert len(found) == 2
    for unit in found:
        for file in unit.files:
            assert [each.equality_ids for each in file.deletes] == [(1, 2)]


def test_equality_deletes_are_left_out_by_bounds() -> None:
    made = Made()

    def between(low: int, high: int) -> dict[str, Any]:
        lower, upper = ({1: struct.pack("<q", each)} for each in (low, high))
        counts = {"value_counts": {1: 10}, "null_value_counts": {1: 0}}
        return {"lower_bounds": lower, "upper_bounds": upper, **counts}

    made.add([day(0, f"f{n}", **between(10 * n, 10 * n + 9)) for n in range(5)], sequence=5)
    made.add(
        [day(0, "e", content=2, equality_ids=[1], **between(18, 21))], ManifestContent.DELETES, sequence=6
    )
    ids = frozenset({1})
    (unit,) = planned(made.view(bounds=ids, counts=ids), compared={1: ComparedColumn("long")})
    assert [len(file.deletes) for file in unit.files] == [0, 1, 1, 0, 0]


def test_files_are_joined_in_the_order_of_their_bounds() -> None:
    made = Made()
    for n in (3, 1, 4, 0, 2):
        bound = {1: struct.pack("<q", n)}
        made.add([day(0, f"f{n}", lower_bounds=bound, upper_bounds=bound)])
    columns = [ClusterColumn(1, "long", is_sorted=True)]
    (unit,) = planned(made.view(bounds=frozenset({1})), columns)
    assert [file.path for file in unit.files] == ["f0", "f1", "f2", "f3", "f4"]


def test_table_without_files_has_no_work() -> None:
    assert [*planned(Made().view())] == []


def test_statistics_of_an_empty_table_are_not_missed() -> None:
    made = Made()
    made.add([day(0, "e", content=2, equality_ids=[1])], ManifestContent.DELETES)
    ids = frozenset({1})
    columns = [ClusterColumn(1, "long", is_sorted=True)]
    assert [*planned(made.view(bounds=ids, counts=ids), columns, {1: ComparedColumn("long")})] == []
