"""Properties of tables that say how long commits are tried. Pure; `support` has checked their values."""

from __future__ import annotations

from collections.abc import Mapping

from lithify.engine.commit.patience import Patience
from lithify.formats.iceberg.properties import digits_in


def commit_patience(properties: Mapping[str, str]) -> Patience:
    """How long a commit is tried; defaults are those of Iceberg."""
    return Patience(
        max_retries=digits_in(properties, "commit.retry.num-retries", 4),
        min_wait=digits_in(properties, "commit.retry.min-wait-ms", 100) / 1000,
        max_wait=digits_in(properties, "commit.retry.max-wait-ms", 60_000) / 1000,
        timeout=digits_in(properties, "commit.retry.total-timeout-ms", 1_800_000) / 1000,
    )
