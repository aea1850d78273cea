"""Finds buckets that certainly need no clustering, from their statistics and the schemas of their files.

Called by planning and by the observer before they create objects for a bucket's files. Conservative, like
`resting`. Reads nothing except older schemas, on demand.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers, integers
from lithify.engine.tasks.blocked_groups import GROUP_ERRORS
from lithify.formats.paimon.buckets.resting import is_all_at_top, triggers_nothing
from lithify.formats.paimon.options.clustering_options import clustering_columns
from lithify.formats.paimon.options.option_reader import OptionReader
from lithify.formats.paimon.planning.clustering.plan import SameColumns
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.protocol.strategy import Strategy


def same_columns(newest: Schema, schema_of: Callable[[int], Schema]) -> SameColumns:
    """Tells whether a schema of a table has the clustering columns of the newest one.

    Args:
        newest: the newest schema.
        schema_of: reads a schema by its number.
    """
    columns, known = _columns(newest), {newest.id: True}

    def has_same_columns(schema_id: int) -> bool:
        if schema_id not in known:
            known[schema_id] = _columns(schema_of(schema_id)) == columns
        return known[schema_id]

    return has_same_columns


def _columns(schema: Schema) -> tuple[str, ...]:
    return clustering_columns(OptionReader(schema.options))


def have_same_columns(files: pa.Table, has_same_columns: SameColumns) -> bool:
    """Whether all files were written with schemas that have the clustering columns of the newest one.

    If a schema cannot be read, they may have others: planning then finds out which buckets need the schema.
    """
    try:
        return all(has_same_columns(number) for number in np.unique(integers(files["schema_id"])).tolist())
    except GROUP_ERRORS:
        return False


def taken_at_once(files: pa.Table, options: ClusteringOptions) -> Numbers:
    """The rows of the files of one bucket that a plan takes, as if the others had not been written yet.

    These are new files beyond the limit, the newest ones: each takes memory until the commit. They stay in
    level 0. Files of a level may overlap, so they need not be sorted together with older ones.
    """
    level = integers(files["level"])
    new = np.flatnonzero(level == 0)
    if len(new) <= options.max_files:
        return np.arange(len(files))
    oldest = new[np.argsort(integers(files["min_sequence"])[new], kind="stable")][: options.max_files]
    rows: Numbers = np.sort(np.concatenate([np.flatnonzero(level != 0), oldest]))
    return rows


def rests(
    statistics: pa.Table,
    options: ClusteringOptions,
    strategy: Strategy,
    now: datetime,
    *,
    same_columns: bool,
) -> Flags:
    """Whether a bucket certainly has no work; others have to be planned to know.

    Args:
        statistics: one row per bucket, of `bucket_statistics`.
        options: the options that steer clustering.
        strategy: minor or full.
        now: an aware time in the table's time zone.
        same_columns: what `have_same_columns` says of all files.
    """
    is_at_top = is_all_at_top(statistics, options.universal)
    if strategy is Strategy.FULL:
        return is_at_top & same_columns
    has_no_trigger = triggers_nothing(statistics, options.universal, now)
    # Whether a partition counts as history depends on the files below the top level.
    return has_no_trigger if options.history is None else has_no_trigger & is_at_top
