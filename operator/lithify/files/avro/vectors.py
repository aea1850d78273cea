"""Decodes vectors in Avro blocks as a whole instead of number by number.

Called by the decoder beside this module. Avro writes a list as blocks of elements, each block preceded by a
count, with a zero at the end; Java writes a vector as one block. If elements have a fixed width and none is
null, all vectors of a length take the same number of bytes, and a column of them can be read as fixed bytes.
Each vector is then checked: if one is encoded differently, the column reports that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.files.avro.container import as_long
from lithify.files.model import FileColumn
from lithify.files.types import ColumnType, arrow_type

_WIDTHS = {"BOOLEAN": ("boolean", 1), "FLOAT": ("float", 4), "DOUBLE": ("double", 8)}
"""Bytes of elements with a fixed width in Avro; integers are varints instead."""
_SOME = 2
"""The union branch before a nullable element that is not null."""
_NULLABLE = 2
"""Number of branches of a union of null and a type."""


@dataclass(frozen=True, slots=True)
class WholeVectors:
    """A column of vectors as fixed bytes.

    Attributes:
        type: the column's type.
        count: the encoded number of elements, with which each vector begins.
        width: bytes of an element.
        branches: whether a union branch precedes each element.
    """

    type: ColumnType
    count: bytes
    width: int
    branches: bool

    @property
    def size(self) -> int:
        """Bytes of a vector, including its count and the final zero."""
        return len(self.count) + self.type.precision * (self.branches + self.width) + 1

    def column(self, values: Sequence[bytes | None]) -> pa.Array | None:
        """The vectors as a column; None if one of them is encoded differently."""
        known = np.array([value is not None for value in values], dtype=np.bool_)
        data = np.frombuffer(b"".join(filter(None, values)), dtype=np.uint8)
        elements = self._elements(data.reshape(-1, self.size))
        if elements is None:
            return None
        offsets = np.cumsum(np.concatenate(([0], known * self.type.precision)), dtype=np.int32)
        mask = None if known.all() else pa.array(~known)
        kind = arrow_type(self.type)
        parts = _array(elements, kind.value_type)
        return pa.ListArray.from_arrays(pa.array(offsets), parts, type=kind, mask=mask)

    def _elements(self, vectors: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8] | None:
        """The bytes of all elements; None if any other byte has an unexpected value."""
        head = len(self.count)
        as_expected = (vectors[:, :head] == np.frombuffer(self.count, np.uint8)).all()
        if not as_expected or vectors[:, -1].any():
            return None
        elements = vectors[:, head:-1].reshape(-1, self.branches + self.width)
        if self.branches and not (elements[:, 0] == _SOME).all():
            return None
        return np.ascontiguousarray(elements[:, int(self.branches) :])


def whole_vectors(schema: Mapping[str, Any], columns: Sequence[FileColumn]) -> dict[str, WholeVectors]:
    """The columns that can be read as fixed bytes, by name.

    Args:
        schema: the schema in the file's header.
        columns: the columns to be read.
    """
    written = {field["name"]: field["type"] for field in schema["fields"]}
    vectors = (column for column in columns if column.type.root == "VECTOR" and column.name in written)
    found = {column.name: _whole(_not_null(written[column.name]), column.type) for column in vectors}
    return {name: whole for name, whole in found.items() if whole is not None}


def with_whole_vectors(plain: Mapping[str, Any], vectors: Mapping[str, WholeVectors]) -> dict[str, Any]:
    """A plain schema in which these columns are fixed bytes."""
    fields = []
    for number, field in enumerate(plain["fields"]):
        if whole := vectors.get(field["name"]):
            kind = {"type": "fixed", "name": f"vector{number}", "size": whole.size}
            fields.append({**field, "type": ["null", kind] if isinstance(field["type"], list) else kind})
        else:
            fields.append(field)
    return {**plain, "fields": fields}


def _whole(written: Any, kind: ColumnType) -> WholeVectors | None:
    if not isinstance(written, Mapping) or written["type"] != "array":
        return None
    items = written["items"]
    element, width = _WIDTHS.get(kind.fields[0].type.root, ("", 0))
    if _not_null(items) != element:
        return None
    return WholeVectors(kind, as_long(kind.precision), width, isinstance(items, list))


def _not_null(written: Any) -> Any:
    """The type other than null in a union of two."""
    return written[1] if isinstance(written, list) and len(written) == _NULLABLE else written


def _array(elements: npt.NDArray[np.uint8], kind: pa.DataType) -> pa.Array:
    """Little-endian elements of a fixed width as numbers, bit by bit the same."""
    if pa.types.is_boolean(kind):
        return pa.array(elements.ravel().astype(np.bool_))
    return pa.Array.from_buffers(kind, len(elements), [None, pa.py_buffer(elements)])
