"""What a process loads that maintains tables: nothing that merges, nor what the operator's image lacks.

The operator's workers may plan maintenance; their image (`spark-images`) has neither Polars nor pyroaring.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from support.small_tables import SmallTable

MAINTAINING = "lithify.formats.paimon.maintaining"
MERGING = (
    "lithify.engine.rewrite",
    "lithify.engine.run",
    "lithify.files.orc",
    "lithify.files.parquet",
    "lithify.formats.paimon.append",
    "lithify.formats.paimon.compaction",
    "lithify.formats.paimon.data_files",
    "lithify.formats.paimon.primary_key",
)
ABSENT = ("polars", "pyroaring", "zstandard", "datasketches", "pyspark")
_SOURCES = Path(__file__).resolve().parents[5] / "operator"
_PLANNED = """
import sys
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, path=None, target=None: None if name in {absent!r} else found(name, path, target)
)
from lithify.clock import SystemClock
from lithify.formats.paimon.maintaining import open_maintained
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import DEFAULT_SETTINGS, MaintenanceKind
table = open_maintained(TableAddress({warehouse!r}, "db.t"), DEFAULT_SETTINGS)
wanted = (MaintenanceKind.EXPIRE_SNAPSHOTS, MaintenanceKind.EXPIRE_PARTITIONS)
kinds = [table.kinds[each]() for each in wanted]
plans = [kind.plan(SystemClock()) for kind in kinds]
print([plan.is_empty for plan in plans])
print(sorted(each for each in sys.modules if each.startswith({rooms!r})))
print(len(sys.modules["polars"].__dict__) < 20)
print([dict(kind.execute(plan).figures)["partitions"] for kind, plan in [*zip(kinds, plans)][1:]])
"""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("lithify", cache_dir=None)


@pytest.mark.parametrize("room", MERGING)
def test_maintenance_imports_no_room_that_merges(graph: grimp.ImportGraph, room: str) -> None:
    assert room in graph.modules
    upstream = graph.find_upstream_modules(MAINTAINING)
    assert {each for each in upstream if each == room or each.startswith(f"{room}.")} == set()


@pytest.mark.thorough
def test_maintenance_needs_nothing_that_only_merges_need(tmp_path: Path) -> None:
    table = SmallTable(tmp_path, options={"partition.expiration-time": "1 d"}).create()
    table.append("2020-01-01", "2999-01-01")
    code = _PLANNED.format(absent={*ABSENT}, warehouse=str(table.warehouse), rooms=MERGING)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(_SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[True, False]", "[]", "True", "[1]"]
