"""The request of a run, from the operator's instructions and the mounted Secret. Used by `attempt`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

from lithify.clock import SystemClock, find_zone
from lithify.contract.order import Instructions
from lithify.errors import InvalidOption, NotFound
from lithify.job.driver import Request
from lithify.job.steps import Commits
from lithify.planning.merge_tree.policy import Strategy
from lithify.rewriting.budget import Budget
from lithify.settings import TIME_ZONE
from lithify.tables.format import Selection, Sizing, TableAddress
from lithify.tables.io.reach import Reach


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
    """What is to be compacted.

    Raises:
        InvalidOption: the time zone does not exist.
    """
    zone_of(told)
    return Request(
        table=TableAddress(
            warehouse=told.warehouse,
            name=told.identifier,
            catalog_options={**told.catalog_options, **credentials},
            overrides=told.overrides,
            reach=Reach(told.own_prefixes, told.own_with_endpoint),
            format=told.format,
        ),
        strategy=Strategy(told.strategy.value.lower()),
        selection=Selection(told.partitions, frozenset(told.buckets)),
        run=told.run,
        sizing=Sizing(told.task_size, Budget(told.task_memory), told.task_share),
        commits=Commits(told.commit_every),
        table_uuid=told.table_uuid,
        held=told.held,
    )


def clock_of(told: Instructions) -> SystemClock:
    """The machine's clock in the table's zone."""
    return SystemClock(zone_of(told))


def zone_of(told: Instructions) -> ZoneInfo:
    """The time zone of the table's writers.

    Raises:
        InvalidOption: there is none of that name.
    """
    try:
        return find_zone(told.time_zone)
    except ValueError as error:
        raise InvalidOption(TIME_ZONE, str(error)) from error
