"""What entries of a manifest take from its list, and what deletes take from their bounds. Pure.

Called by `view` and by `carrying`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, flags, integers, is_null, whole, with_columns
from lithify.formats.iceberg.manifests.entries import ADDED, DELETED
from lithify.formats.iceberg.manifests.entry_columns import DecodedManifest
from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent, ManifestFile
from lithify.formats.iceberg.manifests.schemas import PATH_FIELD


def inherited(decoded: DecodedManifest, manifest: ManifestFile) -> pa.Table:
    """The entries of a manifest with the ids and sequence numbers that they take from its list.

    The number of the snapshot that added a file is not known where writers before Iceberg 1.0 have carried it
    over; nothing depends on it.

    Raises:
        ValueError: an entry that is not new has no sequence number of its own.
    """
    rows = decoded.rows
    snapshot = whole(rows["snapshot_id"]).fill_null(manifest.snapshot_id)
    sequence = manifest.sequence or 0
    may_inherit = (integers(rows["status"]) == ADDED) | (sequence == 0)
    lacks = is_null(rows["sequence_number"])
    if (lacks & ~may_inherit & (integers(rows["status"]) != DELETED)).any():
        raise ValueError("an entry that is not new has no sequence_number")
    numbers = {
        "sequence_number": np.where(lacks, sequence, integers(rows["sequence_number"])),
        "file_sequence_number": pc.if_else(
            pc.and_(rows["file_sequence_number"].is_null(), pa.array(may_inherit)),
            pa.scalar(sequence, pa.int64()),
            rows["file_sequence_number"],
        ),
    }
    first = _first_row_ids(rows, manifest)
    return with_columns(rows, snapshot_id=snapshot, first_row_id=first, **numbers)


def _first_row_ids(rows: pa.Table, manifest: ManifestFile) -> pa.Array:
    """Row ids: of files without one, in their order from the manifest's first one on; else all null."""
    if manifest.first_row_id is None or manifest.content is ManifestContent.DELETES:
        return pa.nulls(len(rows), pa.int64())
    own = rows["first_row_id"]
    takes = is_null(own) & (integers(rows["status"]) != DELETED)
    counted = np.where(takes, integers(rows["record_count"]), 0)
    given = manifest.first_row_id + np.cumsum(counted) - counted
    values = np.where(takes, given, integers(own))
    return pa.array(values, pa.int64(), mask=is_null(own) & ~takes)


def with_referenced(rows: pa.Table) -> pa.Table:
    """Adds the one data file from which a delete file deletes, by its own word or by its equal bounds."""
    lower, upper = (rows[f"{side}_bounds.{PATH_FIELD}"] for side in ("lower", "upper"))
    is_position = integers(rows["content"]) == 1
    from_bounds = _texts(lower, is_position & flags(pc.equal(lower, upper)))
    stated = whole(rows["referenced_data_file"])
    referenced = pc.if_else(
        pa.array(is_position), pc.coalesce(stated, from_bounds), pa.scalar(None, pa.string())
    )
    names = [f"{side}_bounds.{PATH_FIELD}" for side in ("lower", "upper")]
    return with_columns(rows.drop_columns(names), referenced=referenced)


def _texts(column: pa.ChunkedArray, where: Flags) -> pa.Array:
    """Bytes as texts where the mask is true."""
    kept = pc.if_else(pa.array(where), whole(column), pa.scalar(None, pa.binary()))
    return whole(kept).cast(pa.string())
