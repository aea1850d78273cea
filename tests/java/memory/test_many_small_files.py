"""Tables that have very many small files, of which only the metadata exists.

A driver plans them, and commits as if its tasks had found no rows; an observer looks at them. Resident memory
of these processes is measured with few files and with many: what a file more takes is bounded.
`make soak`, and pytest called directly, take a million files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from support.cases import case
from support.invented.append_table import CLUSTERED, AppendShape, make_append_table
from support.invented.shape import Shape
from support.invented.table import make_invented
from support.looks import Observer
from support.planned import run_without_data

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(1800)]

FEW, MANY, MILLION = 5_000, 35_000, 1_000_000
SMALL_MANIFESTS = ManifestOptions(target_size=256 << 10)
"""Decoding a manifest takes memory by its size: few files fill several of these."""
AT_ONCE = 2_500
"""Files that a plan takes at most, so that few files are many of these; a driver takes 100,000."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of table, and how many bytes one file more may take.

    Attributes:
        driver: in a driver, from the plan to the commit.
        observer: in an observation.
        partitions: number of partitions.
        marked: share of the files that have a deletion vector.
        options: options of the table.
        commits: whether the driver goes on to the commit.
    """

    driver: int
    observer: int
    partitions: int = 1
    marked: float = 0.0
    options: dict[str, str] = field(default_factory=dict)
    commits: bool = True


@pytest.fixture
def many(request: pytest.FixtureRequest) -> int:
    return MILLION if request.config.getoption("--sample") is None else MANY


@pytest.mark.parametrize(
    "kind",
    [
        case(Kind(1200, 1200), id="one partition"),
        case(Kind(1200, 1200, partitions=20), id="many partitions"),
        case(Kind(2000, 2500, marked=0.5, commits=False), id="deletion vectors"),
        case(Kind(1200, 1500, options=CLUSTERED), id="clustering"),
    ],
)
def test_memory_is_bounded(oracle: Oracle, tmp_path: Path, kind: Kind, many: int) -> None:
    drivers, observers = [], []
    for files in (FEW, many):
        folder = tmp_path / f"{files}"
        shape = AppendShape(files, kind.partitions, kind.marked)
        options = {"compaction.file-num-limit": f"{AT_ONCE}", **kind.options}
        table = make_append_table(oracle, folder / "warehouse", shape, options, SMALL_MANIFESTS)
        with Observer(table, folder / "kept") as observer:
            looked = observer.look()
        taken = run_without_data(table, commit=kind.commits, at_once=AT_ONCE)
        assert looked.files == files
        drivers.append(taken.peak_bytes)
        observers.append(looked.peak_bytes)

    more = many - FEW
    assert drivers[1] - drivers[0] <= more * kind.driver
    assert observers[1] - observers[0] <= more * kind.observer


def test_memory_of_a_run_on_all_buckets_is_bounded(oracle: Oracle, tmp_path: Path, many: int) -> None:
    peaks = []
    for files in (FEW, many):
        shape = Shape(files, buckets=files // 100, due=1.0)
        table = make_invented(oracle, tmp_path / f"{files}", shape)
        peaks.append(run_without_data(table, at_once=AT_ONCE).peak_bytes)
    assert peaks[1] - peaks[0] <= (many - FEW) * 4500
