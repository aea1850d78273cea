"""Table options of when partitions expire. Names, defaults and checks are those of Paimon's CoreOptions.

Called by `maintaining`. `partition.expiration-check-interval` and `end-input.check-partition-expire` say how
often writers look; the caller of an expiry has decided that. `partition.mark-done-action` and its like say
what writers do at the end of a partition, and nothing of its expiry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from lithify.formats.paimon.names.date_patterns import DatePattern
from lithify.formats.paimon.options.option_reader import OptionReader, as_positive, parse_age

_MOST = 100


class ExpiryStrategy(StrEnum):
    """What the time of a partition is: that in its values, or that of its newest file."""

    VALUES_TIME = "values-time"
    UPDATE_TIME = "update-time"


@dataclass(frozen=True, slots=True)
class PartitionExpiryOptions:
    """When partitions expire.

    Attributes:
        kept: age from which a partition goes.
        strategy: what its time is.
        formatter: how the text of a time is written; None as in SQL.
        pattern: the text of a time, with `$` before names of partition columns; None for the first column.
        most: number of partitions that may go at a time.
        batch: number of partitions that go in one commit; None for all.
    """

    kept: timedelta
    strategy: ExpiryStrategy = ExpiryStrategy.VALUES_TIME
    formatter: DatePattern | None = None
    pattern: str | None = None
    most: int = _MOST
    batch: int | None = None


def read_partition_expiry(options: Mapping[str, str]) -> PartitionExpiryOptions | None:
    """Reads when partitions expire; None if they do not.

    Raises:
        InvalidOption: a value cannot be parsed, or this release does not know it.
    """
    reader = OptionReader(options)
    millis = reader.optional("partition.expiration-time", parse_age)
    if millis is None:
        return None
    return PartitionExpiryOptions(
        kept=timedelta(milliseconds=millis),
        strategy=reader.optional("partition.expiration-strategy", _strategy) or ExpiryStrategy.VALUES_TIME,
        formatter=reader.optional("partition.timestamp-formatter", DatePattern),
        pattern=options.get("partition.timestamp-pattern"),
        most=reader.integer("partition.expiration-max-num", _MOST, low=1),
        batch=reader.optional("partition.expiration-batch-size", as_positive),
    )


def _strategy(text: str) -> ExpiryStrategy:
    try:
        return ExpiryStrategy(text)
    except ValueError as error:
        raise ValueError(f"this release knows only {' and '.join(ExpiryStrategy)}") from error
