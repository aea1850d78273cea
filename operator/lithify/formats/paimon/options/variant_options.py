"""Table options for shredding VARIANT columns. Called by `file_options`."""

from __future__ import annotations

import json

from lithify.files.types import ColumnType
from lithify.files.variants.options import (
    NOT_SHREDDED,
    InferenceOptions,
    VariantOptions,
    simple_types,
)
from lithify.formats.paimon.options.option_reader import OptionReader, as_ratio
from lithify.formats.paimon.schema.part_ids import part_id
from lithify.formats.paimon.schema.type_texts import parse_type

_SHREDDING = ("variant.shreddingSchema", "parquet.variant.shreddingSchema")
"""The first that is set applies. Paimon 1.4 honours only the second one, later versions both."""
_INFERENCE = "variant.shredding"


def read_variant_options(reader: OptionReader) -> VariantOptions:
    """Reads how VARIANT columns are shredded; as in Paimon, a given type disables inference.

    Raises:
        InvalidOption: a value cannot be parsed, or is not a type into which variants are shredded.
    """
    for key in _SHREDDING:
        types = reader.optional(key, _simple_types)
        if types is not None:
            return VariantOptions(types, part_ids=part_id)
    if not reader.boolean("variant.inferShreddingSchema", default=False):
        return NOT_SHREDDED
    default = InferenceOptions()
    share = reader.optional(f"{_INFERENCE}.minFieldCardinalityRatio", as_ratio)
    return VariantOptions(
        {},
        InferenceOptions(
            rows=reader.integer(f"{_INFERENCE}.maxInferBufferRow", default.rows, low=1),
            width=reader.integer(f"{_INFERENCE}.maxSchemaWidth", default.width),
            depth=reader.integer(f"{_INFERENCE}.maxSchemaDepth", default.depth),
            share=default.share if share is None else share,
        ),
        part_ids=part_id,
    )


def _simple_types(text: str) -> dict[str, ColumnType]:
    try:
        row = parse_type(json.loads(text))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is not a type as Paimon's schemas spell it: {error}") from error
    return simple_types(row)
