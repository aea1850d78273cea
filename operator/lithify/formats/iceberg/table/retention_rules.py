"""Properties of how long snapshots are kept. Names and defaults are those of Iceberg's TableProperties.

Called by `maintenance`, and by observations, which must not fail for values that only an expiry refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.formats.iceberg.properties import number_in

SNAPSHOT_AGE = "history.expire.max-snapshot-age-ms"
LEAST = "history.expire.min-snapshots-to-keep"
REFERENCE_AGE = "history.expire.max-ref-age-ms"


@dataclass(frozen=True, slots=True)
class RetentionRules:
    """How long a table keeps what says nothing itself. Ages in milliseconds.

    Attributes:
        max_snapshot_age: age up to which snapshots stay.
        min_snapshots: number of snapshots that each branch keeps whatever their age.
        max_reference_age: age of its snapshot up to which a branch or tag stays.
    """

    max_snapshot_age: int = 5 * 24 * 3_600_000
    min_snapshots: int = 1
    max_reference_age: int = (1 << 63) - 1


def read_rules(properties: Mapping[str, str]) -> RetentionRules:
    """Reads how long snapshots are kept.

    Raises:
        InvalidOption: a value is no whole number, negative, or keeps no snapshot.
    """
    rules = RetentionRules()
    return RetentionRules(
        max_snapshot_age=number_in(properties, SNAPSHOT_AGE, rules.max_snapshot_age, least=0),
        min_snapshots=number_in(properties, LEAST, rules.min_snapshots, least=1),
        max_reference_age=number_in(properties, REFERENCE_AGE, rules.max_reference_age, least=0),
    )
