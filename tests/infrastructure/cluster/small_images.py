"""Small images of the tests' own: what holds a pod's network, and a shell to try things with."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infrastructure.cluster.archive import write_archive
from infrastructure.cluster.containerd import PAUSE
from infrastructure.cluster.packages import busybox, unpacked

PROBE = "localhost/lithify/probe:test"
"""A shell and its friends, as user 185 unless a pod says otherwise."""


def write_pause(out: Path, programs: Path) -> None:
    """Writes the archive of the image that every pod begins with."""
    _write(out, PAUSE, {"/pause": programs / "pause"}, {"Entrypoint": ["/pause"]})


def write_probe(out: Path) -> None:
    """Writes the archive of the image `PROBE`."""
    config = {"Entrypoint": ["/bin/busybox"], "Env": ["PATH=/bin"], "User": "185:185"}
    _write(out, PROBE, {"/bin/busybox": busybox(unpacked()), "/bin/sh": Path("busybox")}, config)


def _write(out: Path, name: str, files: Mapping[str, Path], config: Mapping[str, Any]) -> None:
    """Writes an image of few programs: absolute paths are copied, others become links."""
    with tempfile.TemporaryDirectory() as scratch:
        layer = Path(scratch) / "layer"
        (layer / "tmp").mkdir(parents=True)
        (layer / "tmp").chmod(0o1777)
        for target, source in files.items():
            path = layer / target.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            if source.is_absolute():
                path.write_bytes(source.read_bytes())
                path.chmod(0o755)
            else:
                path.symlink_to(source)
        write_archive(out, name, config, [layer])
