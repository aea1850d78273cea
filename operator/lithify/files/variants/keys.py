"""The metadata of variants: the keys of their objects' fields.

Each row has a dictionary of its own, and most rows the same one. All keys of a batch get a number each, its
*code*, in the order in which objects sort their fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.files.variants.binary import (
    Ints,
    Spans,
    spans_of,
    unsigned,
    within,
)
from lithify.files.variants.encoding import Malformed

_VERSION = 1
_JAVA_ORDER = np.arange(256, dtype=np.uint8)
_JAVA_ORDER[[0xEE, 0xEF]] = 0xFE, 0xFF
"""Java orders strings by UTF-16, where characters of four bytes in UTF-8 come before U+E000."""


class FieldNames:
    """The keys of the rows of a batch.

    Args:
        metadata: the metadata of the rows, binary, none null.

    Raises:
        Malformed: the metadata of a row cannot be read.
    """

    def __init__(self, metadata: pa.Array) -> None:
        distinct = metadata.dictionary_encode()
        self._dictionary_of: Ints = distinct.indices.to_numpy().astype(np.int64)
        self._counts, names = _names_of(spans_of(distinct.dictionary))
        self._firsts = np.cumsum(self._counts) - self._counts
        self._codes, self._names = _coded(names)
        owners = np.repeat(np.arange(len(self._counts)), self._counts)
        places = owners * max(1, len(self._names)) + self._codes
        self._order = np.argsort(places, kind="stable")
        self._places = places[self._order]

    def codes(self, rows: Ints, ids: Ints) -> Ints:
        """The codes of keys, from their indexes in the metadata of rows.

        Raises:
            Malformed: the metadata has no such index.
        """
        dictionary = self._dictionary_of[rows]
        if (ids >= self._counts[dictionary]).any():
            raise Malformed("a field has a key that its metadata does not know")
        codes: Ints = self._codes[self._firsts[dictionary] + ids]
        return codes

    def ids(self, rows: Ints, codes: Ints) -> Ints:
        """The inverse of `codes`.

        Raises:
            Malformed: the metadata of a row lacks the key.
        """
        dictionary = self._dictionary_of[rows]
        places = dictionary * max(1, len(self._names)) + codes
        found = np.searchsorted(self._places, places)
        if (found >= len(self._places)).any() or (self._places[found] != places).any() or (codes < 0).any():
            raise Malformed("the metadata lacks the key of a shredded field")
        return self._order[found] - self._firsts[dictionary]

    def codes_of(self, names: Sequence[str]) -> Ints:
        """The codes of names, -1 for those that no row has."""
        found = pc.index_in(pa.array(names, pa.string()), value_set=self._names)
        return cast(Ints, found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64))

    def name(self, code: int) -> str:
        """The name of a key."""
        return str(self._names[code].as_py())

    def __len__(self) -> int:
        return len(self._names)


def _names_of(metadata: Spans) -> tuple[Ints, Spans]:
    """The number of keys of each dictionary, and all their names."""
    if (metadata.sizes < 3).any():
        raise Malformed("there is no metadata")
    data, starts = metadata.data, metadata.starts
    heads = data[starts].astype(np.int64)
    if ((heads & 0x0F) != _VERSION).any():
        raise Malformed("its metadata has another version")
    width = (heads >> 6) + 1
    if (1 + 2 * width > metadata.sizes).any():
        raise Malformed("its metadata is cut off")
    counts = unsigned(data, starts + 1, width)
    offsets_at = starts + 1 + width
    strings_at = offsets_at + (counts + 1) * width
    if (strings_at > metadata.ends).any():
        raise Malformed("its metadata is cut off")
    owner, number = np.repeat(np.arange(len(counts)), counts), within(counts)
    begins = unsigned(data, offsets_at[owner] + number * width[owner], width[owner])
    ends = unsigned(data, offsets_at[owner] + (number + 1) * width[owner], width[owner])
    names = Spans(data, strings_at[owner] + begins, ends - begins)
    if (names.sizes < 0).any() or (names.ends > metadata.ends[owner]).any():
        raise Malformed("its metadata is cut off")
    return counts, names


def _coded(names: Spans) -> tuple[Ints, pa.Array]:
    """The code of each name, and the names by code, in Java's order."""
    everywhere = np.zeros(len(names), np.bool_)
    encoded = names.to_arrow(pa.binary(), nulls=everywhere).dictionary_encode()
    distinct = spans_of(encoded.dictionary)
    as_java = Spans(_JAVA_ORDER[distinct.data], distinct.starts, distinct.sizes)
    order = pc.sort_indices(as_java.to_arrow(pa.binary(), nulls=np.zeros(len(distinct), np.bool_)))
    ranks = np.empty(len(distinct), np.int64)
    ranks[order.to_numpy()] = np.arange(len(distinct))
    return ranks[encoded.indices.to_numpy()], encoded.dictionary.take(order).cast(pa.string())
