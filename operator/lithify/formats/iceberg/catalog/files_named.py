"""Names of metadata files in catalogs that hold pointers. Pure."""

from __future__ import annotations

import re

from lithify.formats.iceberg.catalog.model import Pointer

_NUMBERED = re.compile(r"(?P<number>[0-9]{1,9})-.*")


def named_by_uuid(base: Pointer, folder: str, nonce: str) -> str:
    """The place of the next metadata file: the number after the base's, and a UUID."""
    found = _NUMBERED.fullmatch(base.location.rpartition("/")[2])
    number = int(found["number"]) + 1 if found else 0
    return f"{folder}/{number:05d}-{nonce}.metadata.json"
