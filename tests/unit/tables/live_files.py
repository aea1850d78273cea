"""Frames of live files as manifests give them, made of the files that tests of planning work with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple

import polars as pl

from lithify.tables.model import Bucket, DataFile

_FIELDS = {
    "name": pl.String,
    "size": pl.Int64,
    "rows": pl.Int64,
    "level": pl.Int32,
    "min_key": pl.Binary,
    "max_key": pl.Binary,
    "min_sequence": pl.Int64,
    "max_sequence": pl.Int64,
    "created_millis": pl.Int64,
    "delete_rows": pl.Int64,
    "schema_id": pl.Int64,
}
SCHEMA = {"partition": pl.Binary, "bucket": pl.Int32, **_FIELDS}


def live_files(buckets: Iterable[Bucket]) -> pl.DataFrame:
    """The files of some buckets. Their key bounds are order keys already, not rows."""
    rows = [(each.id.partition, each.id.bucket, *astuple(file)) for each in buckets for file in each.files]
    return pl.DataFrame(rows, SCHEMA, orient="row")


def files_of_one(files: Iterable[DataFile]) -> pl.DataFrame:
    """The files of one bucket."""
    return pl.DataFrame([(b"", 3, *astuple(file)) for file in files], SCHEMA, orient="row")
