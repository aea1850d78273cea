"""The partition fields of a spec with their types, by pyiceberg's transforms. Pure."""

from __future__ import annotations

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from lithify.errors import CorruptTable
from lithify.formats.iceberg.table.metadata import TableMetadata


def partition_fields(metadata: TableMetadata, spec_id: int) -> tuple[tuple[int, str, str], ...]:
    """Id, name and type of each partition field of a spec, under the current schema.

    Raises:
        CorruptTable: the spec or the schema is none, or the schema lacks a column of the spec.
    """
    try:
        schema = Schema.model_validate(dict(metadata.schemas[metadata.schema_id]))
        spec = PartitionSpec.model_validate({**metadata.specs[spec_id], "spec-id": spec_id})
        fields = spec.partition_type(schema).fields
    except (ValueError, LookupError) as error:
        problem = f"the partition spec {spec_id} does not fit the schema ({type(error).__name__})"
        raise CorruptTable(metadata.file or metadata.location, problem) from error
    return tuple((field.field_id, field.name, str(field.field_type)) for field in fields)
