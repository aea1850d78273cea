"""Which position delete files of a base store may still delete a row of a live file. Pure.

Called for the figures of partitions. Iceberg's rules do not know nodes, so a commit can only drop a delete
file that may be about several data files once all older ones of its partition are gone. Until then it stays,
though readers of keyed tables apply it to no file any more, and there is nothing to gain by rewriting any.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, Numbers, flags, integers, is_null, whole
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.mixed.file_names import names_in_base
from lithify.formats.mixed.nodes import ids_at, masks_of

_NEVER = np.iinfo(np.int64).max


def needed_deletes(view: View) -> Flags:
    """Mask of the delete files that apply to a data file of a view: of their node or below, and not newer."""
    data, deletes = view.data, view.deletes
    nodes, own = names_in_base(data["file_path"]).nodes, names_in_base(deletes["file_path"]).nodes
    found = np.zeros(len(deletes), dtype=bool)
    for mask in np.unique(masks_of(own)).tolist():
        rows, below = np.flatnonzero(masks_of(own) == mask), np.flatnonzero(masks_of(nodes) >= mask)
        least = _least_sequences(
            _pairs(integers(data["partition"])[below], ids_at(mask, nodes[below])),
            integers(data["sequence_number"])[below],
            _pairs(integers(deletes["partition"])[rows], own[rows]),
        )
        found[rows] = integers(deletes["sequence_number"])[rows] >= least
    referenced = deletes["referenced"]
    is_live = flags(pc.is_in(whole(referenced), value_set=whole(data["file_path"])))
    return np.asarray(found & (is_null(referenced) | is_live))


def _pairs(partitions: Numbers, nodes: Numbers) -> Numbers:
    """Partitions and nodes as an array of pairs."""
    return np.stack([partitions.astype(np.int64), nodes], axis=1)


def _least_sequences(pairs: Numbers, sequences: Numbers, wanted: Numbers) -> Numbers:
    """The least sequence number of files with each of the wanted pairs; `_NEVER` where there is none."""
    _, places = np.unique(np.concatenate([pairs, wanted]), axis=0, return_inverse=True)
    least = np.full(len(pairs) + len(wanted), _NEVER, dtype=np.int64)
    np.minimum.at(least, places[: len(pairs)], sequences)
    found: Numbers = least[places[len(pairs) :]]
    return found
