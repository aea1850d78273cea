"""Table options of how long snapshots, changelogs and consumers are kept.

Called by `maintenance`, and by observations, which must not fail for values that only an expiry refuses.
Names, defaults and checks are those of Paimon's CoreOptions and SchemaValidation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.option_reader import OptionReader, parse_millis
from lithify.settings import table_option

_MIN, _MAX, _TIME = "num-retained.min", "num-retained.max", "time-retained"
_LIMIT = "snapshot.expire.limit"
_CONSUMERS, _CHANGELOG_ONLY = "consumer.expiration-time", "consumer.changelog-only"
_PRODUCER, _NO_PRODUCER = "changelog-producer", "none"
_ALL = (1 << 31) - 1
_HOUR = 3_600_000
_OVERRIDABLE = (f"snapshot.{_MIN}", f"snapshot.{_MAX}", f"snapshot.{_TIME}", _LIMIT)
"""Options that one expiry may override. Those of changelogs say what readers of streams rely on."""


@dataclass(frozen=True, slots=True)
class ChangelogRetention:
    """How long changelogs are kept that outlive their snapshots.

    Attributes:
        least: number of snapshots and changelogs that are always kept.
        most: number of snapshots and changelogs above which age does not count.
        millis: age from which a changelog may go.
        is_of_files: whether the table has changelog files, so that a changelog needs no data files.
    """

    least: int
    most: int
    millis: int
    is_of_files: bool


@dataclass(frozen=True, slots=True)
class RetentionOptions:
    """How long snapshots are kept.

    Attributes:
        least: number of snapshots that are always kept.
        most: number of snapshots above which age does not count.
        millis: age from which a snapshot may go.
        limit: number of snapshots that may go at a time.
        changelogs: how long changelogs are kept that outlive their snapshots; None if none do.
        consumer_millis: age from which a consumer goes that has not moved; None if they stay.
        is_consumer_of_changelogs: whether consumers keep changelogs only, and no snapshots; never without
            changelogs that outlive these.
    """

    least: int = 10
    most: int = _ALL
    millis: int = _HOUR
    limit: int = 50
    changelogs: ChangelogRetention | None = None
    consumer_millis: int | None = None
    is_consumer_of_changelogs: bool = False


@dataclass(frozen=True, slots=True)
class KeptSnapshots:
    """Minimum retention of snapshots in milliseconds; with more than `most` snapshots it does not apply."""

    millis: int
    most: int


def read_kept(options: Mapping[str, str]) -> KeptSnapshots:
    """Reads for how long and how many snapshots of a table an expiry keeps.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    reader = OptionReader(options)
    return KeptSnapshots(
        reader.duration(f"snapshot.{_TIME}", _HOUR), reader.integer(f"snapshot.{_MAX}", _ALL)
    )


def read_retention(options: Mapping[str, str]) -> RetentionOptions:
    """Reads what an expiry needs to know.

    Raises:
        InvalidOption: a value cannot be parsed, or Paimon refuses it.
    """
    reader, kept = OptionReader(options), read_kept(options)
    least = reader.integer(f"snapshot.{_MIN}", 10, low=1)
    if kept.most < least:
        problem = f"{kept.most} is less than snapshot.{_MIN}, which is {least}"
        raise InvalidOption(f"snapshot.{_MAX}", problem)
    changelogs = _changelogs(reader, least, kept)
    is_of_changelogs = reader.boolean(_CHANGELOG_ONLY, default=False)
    return RetentionOptions(
        least=least,
        most=kept.most,
        millis=kept.millis,
        limit=reader.integer(_LIMIT, 50),
        changelogs=changelogs,
        consumer_millis=reader.optional(_CONSUMERS, parse_millis),
        is_consumer_of_changelogs=is_of_changelogs and changelogs is not None,
    )


def _changelogs(reader: OptionReader, least: int, kept: KeptSnapshots) -> ChangelogRetention | None:
    """How long changelogs are kept; None if no longer than snapshots, so that they go with these."""
    found = ChangelogRetention(
        least=reader.integer(f"changelog.{_MIN}", least, low=1),
        most=reader.integer(f"changelog.{_MAX}", kept.most),
        millis=reader.duration(f"changelog.{_TIME}", kept.millis),
        is_of_files=reader.text(_PRODUCER, _NO_PRODUCER).lower() != _NO_PRODUCER,
    )
    if found.most < found.least:
        problem = f"{found.most} is less than changelog.{_MIN}, which is {found.least}"
        raise InvalidOption(f"changelog.{_MAX}", problem)
    is_longer = found.most > kept.most or found.least > least or found.millis > kept.millis
    return found if is_longer else None


def overridden(options: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, str]:
    """The options of a table as one expiry sees them, with its overrides.

    Raises:
        InvalidOption: one says something else than which snapshots are kept.
    """
    for key in overrides:
        if key not in _OVERRIDABLE:
            problem = f"it cannot be overridden for an expiry, only {', '.join(_OVERRIDABLE)} can"
            raise InvalidOption(table_option(key), problem)
    return {**options, **overrides}
