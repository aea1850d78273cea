"""How old a file must be before it may be an orphan. Pure.

Called by the removal of orphans in any format, before it reads anything. A younger file may belong to a
writer that has not committed yet: nothing names it, and its commit would be broken.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from lithify.clock import Clock, epoch_millis
from lithify.errors import InvalidOption
from lithify.formats.protocol.maintenance import MaintenanceSettings
from lithify.io.locations import STORES
from lithify.io.storage import Storage
from lithify.settings import ORPHAN_AGE

LEAST_AGE = timedelta(days=1)
"""As long as an attempt of ours may be silent and still be cleaned up by others (`attempts.ages`)."""


def check_settings(settings: MaintenanceSettings) -> None:
    """Checks what a person or policy has set.

    Raises:
        InvalidOption: the age is less than a day, or the share is none.
    """
    if settings.orphan_age < LEAST_AGE:
        problem = "it must be at least one day: younger files may belong to writers that have not committed"
        raise InvalidOption(ORPHAN_AGE, problem)
    if not 0 < settings.most_share <= 1:
        raise InvalidOption("most share", "it must be more than 0 and at most 1")


def age_refusals(storage: Storage) -> Iterator[str]:
    """Why the ages of files cannot be told, if so."""
    if not (storage.is_local or storage.objects is not None):
        yield (
            f"a file system other than a local one and {STORES}: this release cannot tell how old its files "
            "are"
        )


def written_before(settings: MaintenanceSettings, clock: Clock) -> int:
    """The time in milliseconds before which a file must have been written for the last time."""
    return epoch_millis(clock.now() - settings.orphan_age)
