"""Random histories of tables without rows lose no file that is needed; `make fuzz` plays others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from java.fuzz.maintenance.history import MaintenanceHistory
from java.fuzz.maintenance.interrupting import in_order
from java.fuzz.maintenance.planted import HISTORIES, PLANTED

STEPS = 12
MOST = 200
"""Histories in which each planted fault must be found."""


@pytest.fixture(autouse=True)
def _in_order() -> Iterator[None]:
    with in_order():
        yield


@pytest.mark.sampled(8, each="format_")
@pytest.mark.parametrize("format_", HISTORIES)
def test_no_needed_file_is_deleted(tmp_path: Path, format_: str, seed: int) -> None:
    history = HISTORIES[format_](seed, tmp_path)
    try:
        history.play(STEPS)
    finally:
        print(history.log, history.counts)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fault", PLANTED)
def test_histories_find_a_planted_fault(tmp_path: Path, fault: str) -> None:
    make, plant = PLANTED[fault]
    found = (number for number in range(MOST) if _fails(make, tmp_path / f"{number}", number, plant))
    number = next(found, None)
    assert number is not None, f"{fault} was not found by {MOST} histories"
    assert not _fails(make, tmp_path / "clean", number, lambda _: None)


def _fails(
    make: Callable[..., MaintenanceHistory],
    folder: Path,
    seed: int,
    plant: Callable[[pytest.MonkeyPatch], object],
) -> bool:
    """Whether a history fails with a fault."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        try:
            make(seed, folder).play(STEPS)
        except Exception as error:  # noqa: BLE001  # however it shows
            print(f"found by history {seed}: {type(error).__name__}: {str(error)[:200]}")
            return True
    return False
