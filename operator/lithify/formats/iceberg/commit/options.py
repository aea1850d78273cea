"""Properties of tables that say how long commits are tried. Pure; `support` has checked their values."""

from __future__ import annotations

from collections.abc import Mapping

from lithify.engine.commit.patience import Patience

_RETRIES = ("commit.retry.num-retries", 4)
_MIN_WAIT = ("commit.retry.min-wait-ms", 100)
_MAX_WAIT = ("commit.retry.max-wait-ms", 60_000)
_TIMEOUT = ("commit.retry.total-timeout-ms", 1_800_000)


def commit_patience(properties: Mapping[str, str]) -> Patience:
    """How long a commit is tried; defaults are those of Iceberg."""
    return Patience(
        max_retries=_number(properties, _RETRIES),
        min_wait=_number(properties, _MIN_WAIT) / 1000,
        max_wait=_number(properties, _MAX_WAIT) / 1000,
        timeout=_number(properties, _TIMEOUT) / 1000,
    )


def _number(properties: Mapping[str, str], option: tuple[str, int]) -> int:
    name, default = option
    text = properties.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() else default
