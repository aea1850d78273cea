"""The request of a run, from the operator's instructions and the mounted Secret. Used by `attempt`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from lithify.clock import SystemClock
from lithify.contract.order import Instructions, MaintenanceInstructions
from lithify.engine.rewrite.budget import Budget
from lithify.engine.run.driver import Request
from lithify.engine.run.steps import Commits
from lithify.errors import NotFound
from lithify.formats.protocol.maintenance import DEFAULT_SETTINGS, MaintenanceSettings
from lithify.formats.protocol.tasks import Sizing


def credentials_of(told: Instructions, folder: Path) -> dict[str, str]:
    """The catalog options that are kept in a Secret.

    Raises:
        NotFound: the Secret, or a key of it, does not exist.
    """
    found = dict(told.credentials)
    for option, key in told.credential_files.items():
        try:
            found[option] = (folder / key).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            hint = f"the Catalog's spec.secretRef takes {option} from it ({type(error).__name__})"
            raise NotFound("key", f"{key} in Secret {told.secret}", hint) from error
    return found


def request_of(told: Instructions, credentials: Mapping[str, str]) -> Request:
    """The request of a run.

    Raises:
        InvalidOption: the time zone does not exist.
    """
    told.table.zone()
    return Request(
        table=replace(told.table, catalog_options={**told.table.catalog_options, **credentials}),
        selection=told.selection,
        run=told.run,
        sizing=Sizing(told.task_size, Budget(told.task_memory), told.task_share),
        commits=Commits(told.commit_every),
        canary=told.canary,
    )


def clock_of(told: Instructions) -> SystemClock:
    """The machine's clock in the table's zone."""
    return SystemClock(told.table.zone())


def settings_of(told: MaintenanceInstructions) -> MaintenanceSettings:
    """The settings of maintenance; the format's defaults where the instructions say nothing."""
    if told.orphan_seconds is None:
        return DEFAULT_SETTINGS
    return replace(DEFAULT_SETTINGS, orphan_age=timedelta(seconds=told.orphan_seconds))
