"""Archives as Docker writes them: unlike ours, with packed layers, an index in the index, attestations."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from infrastructure.images.build import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "spark-images"))
from contents import read_archive

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
PLATFORM = {"os": "linux", "architecture": "amd64"}
ATTESTATION = {"os": "unknown", "architecture": "unknown"}
STATUS = "var/lib/dpkg/status"
PACKAGES = "usr/local/lib/python3.11/dist-packages"


class Archive:
    """An archive in the making."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    def blob(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self._blobs[f"blobs/sha256/{digest}"] = content
        return f"sha256:{digest}"

    def image(self, *layers: Mapping[str, bytes], packed: bool = True) -> str:
        """An image of layers; the digest of its manifest."""
        tars = [gzip.compress(tar_of(layer)) if packed else tar_of(layer) for layer in layers]
        found = {
            "config": {"digest": self.blob(b'{"architecture": "amd64"}')},
            "layers": [{"digest": self.blob(tar)} for tar in tars],
        }
        return self.blob(json.dumps(found).encode())

    def index(self, *entries: tuple[str, str, Mapping[str, str]]) -> dict[str, Any]:
        return {
            "manifests": [
                {"mediaType": kind, "digest": digest, "platform": platform}
                for kind, digest, platform in entries
            ]
        }

    def write(self, path: Path, index: Mapping[str, Any]) -> Path:
        path.write_bytes(tar_of({**self._blobs, "index.json": json.dumps(index).encode()}))
        return path


def tar_of(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def test_an_index_in_the_index_with_attestations(tmp_path: Path) -> None:
    archive = Archive()
    image = archive.image({STATUS: b"status", "etc/passwd": b"not read"})
    inner = archive.index((MANIFEST, image, PLATFORM), (MANIFEST, archive.image(), ATTESTATION))
    outer = archive.index((INDEX, archive.blob(json.dumps(inner).encode()), {}))
    found = read_archive(archive.write(tmp_path / "operator.tar", outer))
    assert (found.name, found.digest, found.files) == ("operator", image, {STATUS: b"status"})
    assert found.config == {"architecture": "amd64"}


@pytest.mark.parametrize("packed", [True, False])
def test_what_a_later_layer_removes_is_not_there(packed: bool, tmp_path: Path) -> None:
    below = {
        f"{PACKAGES}/a-1.dist-info/METADATA": b"a",
        f"{PACKAGES}/b-1.dist-info/METADATA": b"b",
        f"{PACKAGES}/pyspark/jars/x-1.jar": b"x",
        f"{PACKAGES}/kept-1.dist-info/METADATA": b"kept",
        STATUS: b"old",
    }
    above = {
        f"{PACKAGES}/.wh.a-1.dist-info": b"",
        f"{PACKAGES}/b-1.dist-info/.wh.METADATA": b"",
        f"{PACKAGES}/pyspark/jars/.wh..wh..opq": b"",
        f"{PACKAGES}/pyspark/jars/y-1.jar": b"y",
        STATUS: b"new",
    }
    archive = Archive()
    image = archive.image(below, above, packed=packed)
    found = read_archive(archive.write(tmp_path / "x.tar", archive.index((MANIFEST, image, PLATFORM))))
    assert found.files == {
        f"{PACKAGES}/kept-1.dist-info/METADATA": b"kept",
        f"{PACKAGES}/pyspark/jars/y-1.jar": b"y",
        STATUS: b"new",
    }


def test_one_platform_at_a_time(tmp_path: Path) -> None:
    archive = Archive()
    images = [(MANIFEST, archive.image({STATUS: name}), PLATFORM) for name in (b"amd64", b"arm64")]
    with pytest.raises(ValueError, match="2 images"):
        read_archive(archive.write(tmp_path / "x.tar", archive.index(*images)))


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(tar_of({"manifest.json": b"[]"}))
    with pytest.raises(ValueError, match=r"no index\.json"):
        read_archive(tmp_path / "x.tar")
