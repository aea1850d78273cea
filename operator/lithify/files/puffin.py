"""Puffin files: blobs one after the other, and a footer that says what they are and where they lie. Pure.

Used by adapters of formats that store statistics and deletion vectors in such files; what is in a blob is
theirs. Follows Iceberg's Puffin specification; nothing is compressed here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lithify import __version__
from lithify.errors import CorruptTable, UnsupportedTable

MAGIC = b"PFA1"
NOT_COMMITTED = -1
"""Snapshot and sequence number of blobs that are written before the commit is known."""
_LENGTH_BYTES, _FLAG_BYTES = 4, 4
_END_BYTES = _LENGTH_BYTES + _FLAG_BYTES + len(MAGIC)
"""Bytes behind the footer's JSON: its length, its flags, and magic bytes."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob, as the footer describes it.

    Attributes:
        type: what it is.
        fields: ids of the fields that it is about.
        snapshot: id of the snapshot from which it was computed.
        sequence: the sequence number of that.
        offset: its first byte.
        length: its bytes.
        properties: more about it.
    """

    type: str
    fields: tuple[int, ...] = ()
    snapshot: int = NOT_COMMITTED
    sequence: int = NOT_COMMITTED
    offset: int = 0
    length: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PuffinFile:
    """A file that is made whole: its bytes, those of them that are the footer, and its blobs."""

    data: bytes
    footer_bytes: int
    blobs: tuple[Blob, ...]


def footer(blobs: Sequence[Blob]) -> bytes:
    """The footer: magic bytes, JSON, its length, flags of which none is set, magic bytes."""
    described = {
        "blobs": [_described(blob) for blob in blobs],
        "properties": {"created-by": f"lithify version {__version__}"},
    }
    payload = json.dumps(described).encode()
    length = len(payload).to_bytes(_LENGTH_BYTES, "little")
    return b"".join((MAGIC, payload, length, bytes(_FLAG_BYTES), MAGIC))


def puffin_file(contents: Sequence[tuple[Blob, bytes]]) -> PuffinFile:
    """A file of some blobs; their offsets and lengths are set."""
    blobs, offset = list[Blob](), len(MAGIC)
    for blob, content in contents:
        blobs.append(replace(blob, offset=offset, length=len(content)))
        offset += len(content)
    end = footer(blobs)
    data = b"".join((MAGIC, *(content for _, content in contents), end))
    return PuffinFile(data, len(end), tuple(blobs))


def parse_footer(data: bytes, path: str) -> tuple[Blob, ...]:
    """The blobs of a file.

    Args:
        data: all of its bytes.
        path: its location, for messages.

    Raises:
        CorruptTable: it is no Puffin file, or a blob is not within it.
        UnsupportedTable: its footer or a blob is compressed.
    """
    end = len(data) - _END_BYTES
    if end < 2 * len(MAGIC) or not data.startswith(MAGIC) or not data.endswith(MAGIC):
        raise CorruptTable(path, "it is no Puffin file")
    length = int.from_bytes(data[end : end + _LENGTH_BYTES], "little", signed=True)
    start = end - length
    if any(data[end + _LENGTH_BYTES : -len(MAGIC)]):
        raise UnsupportedTable(path, ("the footer of a Puffin file is compressed",))
    if length < 0 or start < 2 * len(MAGIC) or data[start - len(MAGIC) : start] != MAGIC:
        raise CorruptTable(path, f"a footer of {length} bytes")
    blobs = _parsed(data[start:end], path)
    last = start - len(MAGIC)
    for blob in blobs:
        if blob.offset < len(MAGIC) or blob.length < 0 or blob.offset + blob.length > last:
            raise CorruptTable(path, f"a blob of {blob.length} bytes at {blob.offset}")
    return blobs


def _parsed(payload: bytes, path: str) -> tuple[Blob, ...]:
    try:
        found = json.loads(payload)["blobs"]
        compressed = [blob["type"] for blob in found if blob.get("compression-codec") is not None]
        blobs = tuple(map(_blob, found))
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise CorruptTable(path, f"the footer describes no blobs ({type(error).__name__})") from error
    if compressed:
        raise UnsupportedTable(path, tuple(f"a blob {kind} is compressed" for kind in compressed))
    return blobs


def _blob(found: Mapping[str, Any]) -> Blob:
    return Blob(
        type=str(found["type"]),
        fields=tuple(map(int, found.get("fields") or ())),
        snapshot=int(found["snapshot-id"]),
        sequence=int(found["sequence-number"]),
        offset=int(found["offset"]),
        length=int(found["length"]),
        properties={str(key): str(value) for key, value in (found.get("properties") or {}).items()},
    )


def _described(blob: Blob) -> dict[str, Any]:
    described: dict[str, Any] = {
        "type": blob.type,
        "fields": list(blob.fields),
        "snapshot-id": blob.snapshot,
        "sequence-number": blob.sequence,
        "offset": blob.offset,
        "length": blob.length,
    }
    return {**described, "properties": dict(blob.properties)} if blob.properties else described
