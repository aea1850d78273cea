"""What images are made of, in MiB. Called by `python -m images sizes`."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

from images.build import Image
from images.cache import tar_of

PARTS = (
    ("Debian, Python, certificates, time zones", ()),
    ("Python packages", ("usr/local/lib/python3.11/dist-packages/pyarrow",)),
    ("Java", ("usr/lib/jvm",)),
    ("PySpark and its jars", ("usr/local/lib/python3.11/dist-packages/pyspark/jars",)),
    ("archive of loaded classes", ("usr/local/lib/python3.11/dist-packages/pyspark/classes.jsa",)),
    (
        "Lithify and scripts",
        ("usr/local/lib/python3.11/dist-packages/lithify", "usr/local/bin/lithify", "opt/entrypoint.sh"),
    ),
)
"""Parts of images, and a path by which the layer that brings one is known."""
MIB = 1 << 20


def table_of(images: Sequence[Image]) -> str:
    """A table of Markdown: part by part, uncompressed, and compressed in brackets."""
    columns = [_parts(image) for image in images]
    lines = ["|  | " + " | ".join(image.name for image in images) + " |", "| --- |" + " --- |" * len(images)]
    for part, _ in PARTS:
        lines.append(f"| {part} | " + " | ".join(_cell(column[part]) for column in columns) + " |")
    totals = [tuple(map(sum, zip(*column.values(), strict=True))) for column in columns]
    lines.append("| together | " + " | ".join(_cell(total) for total in totals) + " |")
    return "\n".join(lines)


def _cell(size: Sequence[int]) -> str:
    return f"{size[0] / MIB:.0f} ({size[1] / MIB:.0f})" if size[0] else ""


def _parts(image: Image) -> dict[str, tuple[int, int]]:
    sizes = dict.fromkeys((part for part, _ in PARTS), (0, 0))
    for layer in image.layers:
        part = _part(layer)
        tar = tar_of(layer)
        sizes[part] = (sizes[part][0] + tar.stat().st_size, sizes[part][1] + _compressed(tar))
    return sizes


def _part(layer: Path) -> str:
    found = (part for part, paths in PARTS if any((layer / path).exists() for path in paths))
    return next(found, PARTS[0][0])


def _compressed(tar: Path) -> int:
    with tar.open("rb") as content, TemporaryFile() as out:
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6) as packed:
            shutil.copyfileobj(content, packed, MIB)
        return out.tell()
