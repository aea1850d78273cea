"""The elements of arrays: which ones are equal, and their hash codes in Java.

Used by `arrays`.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.nulls import gather
from lithify.columns.order import IntPart
from lithify.formats.paimon.primary_key.merge_functions.aggregates.elements import codes_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.hashing import Hashes, java_hashes


@dataclass(frozen=True, slots=True)
class ComparedElements:
    """Elements, and which ones are equal.

    Attributes:
        codes: a code per element, the same for equal ones.
        values: each different element at the place of its code, or all elements.
        is_by_code: whether `values` are the different elements.
    """

    codes: IntPart
    values: pa.Array
    is_by_code: bool

    @staticmethod
    def of(elements: pa.Array) -> ComparedElements:
        """Compares elements.

        Raises:
            TypeError: elements of the type cannot be compared.
        """
        if pa.types.is_string(elements.type) or pa.types.is_large_string(elements.type):
            # Texts often repeat. So they are found in a hash table, and each different one is hashed once.
            encoded = pc.dictionary_encode(elements, null_encoding="encode")
            return ComparedElements(encoded.indices.to_numpy(), encoded.dictionary, is_by_code=True)
        return ComparedElements(codes_of(elements), elements, is_by_code=False)

    def hashes(self, places: IntPart) -> Hashes:
        """The hash codes of the elements at some places."""
        if self.is_by_code:
            return java_hashes(self.values)[self.codes[places]]
        return java_hashes(gather(self.values, places))
