"""Table options of how long snapshots are kept.

Called by `maintenance`; observations read what they need of it through `snapshot_options`. Names, defaults
and checks are those of Paimon's CoreOptions and SchemaValidation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.option_reader import OptionReader

_MIN, _MAX, _TIME = "num-retained.min", "num-retained.max", "time-retained"
_LIMIT = "snapshot.expire.limit"
_ALL = (1 << 31) - 1
_HOUR = 3_600_000


@dataclass(frozen=True, slots=True)
class RetentionOptions:
    """How long snapshots are kept.

    Attributes:
        least: number of snapshots that are always kept.
        most: number of snapshots above which age does not count.
        millis: age from which a snapshot may go.
        limit: number of snapshots that may go at a time.
        is_decoupled: whether changelogs are kept longer than their snapshots.
    """

    least: int = 10
    most: int = _ALL
    millis: int = _HOUR
    limit: int = 50
    is_decoupled: bool = False


def read_retention(options: Mapping[str, str]) -> RetentionOptions:
    """Reads how long a table's snapshots are kept.

    Raises:
        InvalidOption: a value cannot be parsed, or Paimon refuses it.
    """
    reader = OptionReader(options)
    least = reader.integer(f"snapshot.{_MIN}", 10, low=1)
    most = reader.integer(f"snapshot.{_MAX}", _ALL)
    millis = reader.duration(f"snapshot.{_TIME}", _HOUR)
    if most < least:
        raise InvalidOption(f"snapshot.{_MAX}", f"{most} is less than snapshot.{_MIN}, which is {least}")
    return RetentionOptions(
        least=least,
        most=most,
        millis=millis,
        limit=reader.integer(_LIMIT, 50),
        is_decoupled=reader.integer(f"changelog.{_MAX}", most) > most
        or reader.integer(f"changelog.{_MIN}", least) > least
        or reader.duration(f"changelog.{_TIME}", millis) > millis,
    )
