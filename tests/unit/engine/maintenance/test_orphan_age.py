"""How old orphans must be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lithify.clock import SystemClock, epoch_millis
from lithify.engine.maintenance.orphan_age import check_settings, written_before
from lithify.errors import InvalidOption
from lithify.formats.protocol.maintenance import MaintenanceSettings

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


class Noon(SystemClock):
    """A clock that stands."""

    def now(self) -> datetime:
        return NOON


@pytest.mark.parametrize(
    ("settings", "at_fault"),
    [
        (MaintenanceSettings(orphan_age=timedelta(hours=23)), "--older-than"),
        (MaintenanceSettings(orphan_age=timedelta(days=-3)), "--older-than"),
        (MaintenanceSettings(most_share=0.0), "most share"),
        (MaintenanceSettings(most_share=1.5), "most share"),
        (MaintenanceSettings(most_share=float("nan")), "most share"),
    ],
    ids=["hours", "the future", "nothing", "more than all", "no number"],
)
def test_unsafe_settings_are_refused(settings: MaintenanceSettings, at_fault: str) -> None:
    with pytest.raises(InvalidOption, match=at_fault):
        check_settings(settings)


def test_a_day_is_enough() -> None:
    check_settings(MaintenanceSettings(orphan_age=timedelta(days=1), most_share=1.0))


def test_age_counts_from_the_clock() -> None:
    settings = MaintenanceSettings(orphan_age=timedelta(days=2))
    assert written_before(settings, Noon()) == epoch_millis(NOON - timedelta(days=2))
