"""Iceberg tables of pyiceberg whose files are on an object store, by copies of them in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.schema import Schema
from pyiceberg.typedef import EMPTY_DICT
from pyiceberg.types import LongType, NestedField, StringType

from infrastructure.objectstore.fixtures import Bucket

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False), NestedField(2, "name", StringType(), required=False)
)


class CopiedFiles(PyArrowFileIO):
    """pyiceberg's access to files of a store, by their copies in a folder."""

    @staticmethod
    def parse_location(location: str, properties: Mapping[str, str] = EMPTY_DICT) -> tuple[str, str, str]:
        """The copy of a file; what is written about it has its own location."""
        path = location.replace(properties["copied.url"], properties["copied.folder"])
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return "file", "", path


def copies_of(bucket: Bucket) -> dict[str, str]:
    """The properties by which pyiceberg reads and writes the copies of a bucket's files."""
    copies = {"copied.url": bucket.url, "copied.folder": str(bucket.folder)}
    return {"py-io-impl": f"{__name__}.CopiedFiles", **copies}
