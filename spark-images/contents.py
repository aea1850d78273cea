"""Reads out of an image's OCI archive the files that say which software is in it, without unpacking it.

Used by `sbom`. Layers are laid over each other as a node does it, so what a later one removes is not there.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

READ = re.compile(
    r"usr/lib/os-release"
    r"|var/lib/dpkg/status"
    r"|usr/share/doc/[^/]+/copyright"
    r"|.*/dist-packages/lithify/__init__\.py"
    r"|.*\.dist-info/(METADATA|sboms/.*\.json)"
    r"|.*/jars/[^/]+\.jar"
)
"""Paths of files whose content is read."""
NAMES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
REMOVED, EMPTIED = ".wh.", ".wh..wh..opq"


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in an image.

    Attributes:
        name: of the image, as far as the archive knows.
        digest: `sha256:...` of its manifest: what a registry calls it.
        config: its OCI configuration, with architecture and labels.
        files: content by path, without the leading slash; of the paths that READ matches.
    """

    name: str
    digest: str
    config: Mapping[str, Any]
    files: Mapping[str, bytes] = field(repr=False)


def read_archive(path: Path) -> Contents:
    """Reads an archive, such as `docker buildx build --output type=oci` writes it.

    Raises:
        ValueError: it is no OCI archive, or has images of several platforms.
    """
    with tarfile.open(path) as archive:
        members = {member.name.removeprefix("./"): member for member in archive}
        if "index.json" not in members:
            raise ValueError(f"{path} is no OCI archive: it has no index.json")

        def blob(digest: str) -> Any:
            return archive.extractfile(members[f"blobs/{digest.replace(':', '/')}"])

        index = json.load(archive.extractfile(members["index.json"]) or b"")
        found = _manifest(index, lambda digest: json.load(blob(digest)))
        manifest = json.load(blob(found["digest"]))
        files: dict[str, bytes] = {}
        for layer in manifest["layers"]:
            with blob(layer["digest"]) as packed, tarfile.open(fileobj=packed, mode="r:*") as unpacked:
                _lay_over(files, unpacked)
        annotations = found.get("annotations", {})
        name = next((annotations[key] for key in NAMES if key in annotations), path.stem)
        return Contents(name, found["digest"], json.load(blob(manifest["config"]["digest"])), files)


def _manifest(index: Mapping[str, Any], load: Any) -> dict[str, Any]:
    """The description of the only image's manifest. Attestations of a builder are no images."""
    found = list(_manifests(index, load, {}))
    if len(found) != 1:
        raise ValueError(f"the archive has {len(found)} images; build one platform at a time (--platform)")
    return found[0]


def _manifests(index: Mapping[str, Any], load: Any, above: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for entry in index["manifests"]:
        annotations = {**above, **entry.get("annotations", {})}
        if "index" in entry["mediaType"] or "manifest.list" in entry["mediaType"]:
            yield from _manifests(load(entry["digest"]), load, annotations)
        elif entry.get("platform", {}).get("os") != "unknown":
            yield {**entry, "annotations": annotations}


def _lay_over(files: dict[str, bytes], layer: tarfile.TarFile) -> None:
    added: dict[str, bytes] = {}
    for member in layer:
        path = PurePosixPath(member.name)
        if path.name.startswith(REMOVED):
            gone = path.parent if path.name == EMPTIED else path.with_name(path.name.removeprefix(REMOVED))
            for name in [name for name in files if PurePosixPath(name).is_relative_to(gone)]:
                del files[name]
        elif READ.fullmatch(str(path)) and (member.isreg() or member.islnk()):
            content = layer.extractfile(member)
            added[str(path)] = content.read() if content else b""
        else:
            files.pop(str(path), None)
    files.update(added)
