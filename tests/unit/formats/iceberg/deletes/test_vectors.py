"""Puffin files with deletion vectors: other readers find the vectors, and footers are as specified."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.vectors import write_vectors
from lithify.io.local_storage import local_storage


def test_pyiceberg_reads_written_vectors(tmp_path: Path) -> None:
    path = tmp_path / "a.puffin"
    vectors = {"file:///one": bitmap_of([0, 5, 70_000]), "file:///two": bitmap_of(range(100, 5000))}

    places = write_vectors(local_storage([str(tmp_path)]), str(path), vectors)

    puffin = PuffinFile(path.read_bytes())
    read = deletion_vectors_from_puffin_file(puffin)
    found = {each.referenced_data_file: sorted(each.to_vector().to_pylist()) for each in read}
    assert found == {name: sorted(bitmap) for name, bitmap in vectors.items()}
    assert [(blob.offset, blob.length) for blob in puffin.footer.blobs] == [
        (place.offset, place.length) for place in places.values()
    ]


def test_footer_has_what_the_specification_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "a.puffin"
    write_vectors(local_storage([str(tmp_path)]), str(path), {"file:///one": bitmap_of([3])})

    data = path.read_bytes()
    length = struct.unpack("<i", data[-12:-8])[0]
    footer = json.loads(data[-12 - length : -12])
    assert data[:4] == data[-4:] == data[-16 - length : -12 - length] == b"PFA1"
    assert data[-8:-4] == bytes(4)
    (blob,) = footer["blobs"]
    assert blob["type"] == "deletion-vector-v1"
    assert (blob["snapshot-id"], blob["sequence-number"]) == (-1, -1)
    assert blob["properties"] == {"referenced-data-file": "file:///one", "cardinality": "1"}
