"""Options for shredding VARIANT columns. Built by adapters, used by the Parquet writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.files.field_ids import PartIds, own_ids
from lithify.files.types import ColumnType
from lithify.files.variants.shape import simple_types

__all__ = ["NOT_SHREDDED", "InferenceOptions", "VariantOptions", "simple_types"]


@dataclass(frozen=True, slots=True)
class InferenceOptions:
    """How types are inferred.

    Attributes:
        rows: number of rows to look at (`variant.shredding.maxInferBufferRow`).
        width: maximum number of columns in a file (`variant.shredding.maxSchemaWidth`).
        depth: maximum depth (`variant.shredding.maxSchemaDepth`).
        share: minimum share of the rows that have a field for it to get a column
            (`variant.shredding.minFieldCardinalityRatio`).
    """

    rows: int = 4096
    width: int = 300
    depth: int = 50
    share: float = 0.1


@dataclass(frozen=True, slots=True)
class VariantOptions:
    """How VARIANT columns are shredded.

    Attributes:
        types: the simple types of columns that are shredded (`variant.shreddingSchema`).
        inference: how types are inferred for all VARIANT columns, None if they are not
            (`variant.inferShreddingSchema`).
        part_ids: the field ids of the parts of a shredded column.
    """

    types: Mapping[str, ColumnType]
    inference: InferenceOptions | None = None
    part_ids: PartIds = own_ids


NOT_SHREDDED = VariantOptions({})
