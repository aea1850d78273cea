"""The bucket key of a table: from which columns the bucket of a row is computed, and how.

Read by `postponed`, which computes buckets, and by `support`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from lithify.errors import InvalidOption
from lithify.files.types import ColumnType
from lithify.formats.paimon.schema.schema import Schema

BUCKET_KEY = "bucket-key"
BUCKET_FUNCTION = "bucket-function.type"


class BucketFunction(StrEnum):
    """How the bucket of a key is computed."""

    DEFAULT = "default"
    MOD = "mod"


@dataclass(frozen=True, slots=True)
class BucketKey:
    """The columns from which the bucket of a row is computed, and how.

    Attributes:
        columns: names of the columns.
        types: their types.
        function: the function.
    """

    columns: tuple[str, ...]
    types: tuple[ColumnType, ...]
    function: BucketFunction


def bucket_key(schema: Schema) -> BucketKey:
    """The bucket key of a table: its own, or else the primary key without partition columns.

    Raises:
        InvalidOption: the options do not define a bucket key that this release can compute.
    """
    columns = _columns(schema.options) or schema.primary_key
    unknown = [name for name in columns if name not in schema.primary_key]
    if unknown:
        raise InvalidOption(BUCKET_KEY, f"{unknown[0]} is no column of the primary key without partitions")
    types = tuple(schema.column(name).type for name in columns)
    written = schema.options.get(BUCKET_FUNCTION, BucketFunction.DEFAULT).strip().lower()
    try:
        function = BucketFunction(written)
    except ValueError:
        known = " and ".join(BucketFunction)
        raise InvalidOption(BUCKET_FUNCTION, f"'{written}' with bucket = -2; {known} are known") from None
    if function is BucketFunction.MOD and [kind.root for kind in types] not in (["INT"], ["BIGINT"]):
        raise InvalidOption(BUCKET_FUNCTION, "mod needs a bucket key of a single INT or BIGINT column")
    return BucketKey(columns, types, function)


def _columns(options: Mapping[str, str]) -> tuple[str, ...]:
    written = options.get(BUCKET_KEY, "")
    return tuple(written.split(",")) if written.strip() else ()
