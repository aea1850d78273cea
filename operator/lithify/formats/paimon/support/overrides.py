"""Checks the table options that a run overrides. Called by `opening`."""

from __future__ import annotations

from collections.abc import Mapping

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.picking_options import PICKING_RULE, SMALL_FILE_AGE
from lithify.formats.paimon.support.loading import load
from lithify.settings import table_option

_TUNING = (
    "compaction.",
    "num-sorted-run.",
    "num-levels",
    "target-file-size",
    "file.compression",
    "metadata.stats-",
    "manifest.",
    "commit.",
    "write-only",
    "parquet.",
    PICKING_RULE,
    SMALL_FILE_AGE,
)
"""Prefixes of options that may be overridden: other options determine the table's rows."""


def check_overrides(overrides: Mapping[str, str]) -> None:
    """Checks that a run overrides only options that tune compaction and file writing.

    Raises:
        InvalidOption: it overrides another one.
    """
    for key in overrides:
        if not key.startswith(_TUNING):
            raise InvalidOption(
                table_option(key),
                "it cannot be overridden for a run, only options that tune compaction and file writing can",
            )
        if load().options.rule(key) is None:
            raise InvalidOption(table_option(key), "Lithify knows no such option; check its name")
