"""Properties of tables that commits obey. Pure; `support` has checked their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.engine.commit.patience import Patience

_RETRIES = ("commit.retry.num-retries", 4)
_MIN_WAIT = ("commit.retry.min-wait-ms", 100)
_MAX_WAIT = ("commit.retry.max-wait-ms", 60_000)
_TIMEOUT = ("commit.retry.total-timeout-ms", 1_800_000)
_TARGET = ("commit.manifest.target-size-bytes", 8 << 20)
_MERGE_COUNT = ("commit.manifest.min-count-to-merge", 100)
_MERGES = "commit.manifest-merge.enabled"


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """How a table's commits are made.

    Attributes:
        patience: how long one is tried.
        manifest_bytes: size up to which manifests are merged.
        merge_count: number of new manifests that stay unmerged.
        merges: whether manifests are merged at all.
    """

    patience: Patience
    manifest_bytes: int
    merge_count: int
    merges: bool


def commit_options(properties: Mapping[str, str]) -> CommitOptions:
    """The options of a table; defaults are those of Iceberg."""
    return CommitOptions(
        patience=Patience(
            max_retries=_number(properties, _RETRIES),
            min_wait=_number(properties, _MIN_WAIT) / 1000,
            max_wait=_number(properties, _MAX_WAIT) / 1000,
            timeout=_number(properties, _TIMEOUT) / 1000,
        ),
        manifest_bytes=max(1, _number(properties, _TARGET)),
        merge_count=_number(properties, _MERGE_COUNT),
        merges=properties.get(_MERGES, "true").lower() != "false",
    )


def _number(properties: Mapping[str, str], option: tuple[str, int]) -> int:
    name, default = option
    text = properties.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() else default
