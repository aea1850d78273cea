"""Options for shredding VARIANT columns. Built by adapters, used by the Parquet writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.files.types import ColumnType
from lithify.files.variants.inference import InferenceOptions
from lithify.files.variants.shape import simple_types

__all__ = ["NOT_SHREDDED", "InferenceOptions", "VariantOptions", "simple_types"]


@dataclass(frozen=True, slots=True)
class VariantOptions:
    """How VARIANT columns are shredded.

    Attributes:
        types: the simple types of columns that are shredded (`variant.shreddingSchema`).
        inference: how types are inferred for all VARIANT columns, None if they are not
            (`variant.inferShreddingSchema`).
    """

    types: Mapping[str, ColumnType]
    inference: InferenceOptions | None = None


NOT_SHREDDED = VariantOptions({})
