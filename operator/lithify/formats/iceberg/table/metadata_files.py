"""Reads metadata files, compressed ones too, within bounds."""

from __future__ import annotations

import zlib

from lithify.columns.json_texts import parse_object
from lithify.errors import CorruptTable, MissingFile
from lithify.formats.iceberg.table.metadata import TableMetadata, parse_metadata
from lithify.io.small_files import MOST_TEXT
from lithify.io.storage import Storage

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31


def read_metadata(storage: Storage, path: str) -> TableMetadata:
    """Reads a metadata file.

    Raises:
        MissingFile: it does not exist.
        CorruptTable: it is none, or larger than any.
    """
    storage.check_inside(path)
    try:
        content = storage.read_bytes(path, MOST_TEXT)
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    try:
        return parse_metadata(parse_object(_plain(content, path).decode()), path)
    except ValueError as error:
        raise CorruptTable(path, f"it cannot be read as JSON ({error})") from error


def _plain(content: bytes, path: str) -> bytes:
    """The text of a file, whatever its name says about compression."""
    if not content.startswith(_GZIP):
        return content
    decoder = zlib.decompressobj(_GZIP_WINDOW)
    try:
        text = decoder.decompress(content, MOST_TEXT)
    except zlib.error as error:
        raise CorruptTable(path, f"it cannot be decompressed ({error})") from error
    if decoder.unconsumed_tail or not decoder.eof:
        raise CorruptTable(path, f"it is cut off, or larger than {MOST_TEXT} bytes")
    return text
