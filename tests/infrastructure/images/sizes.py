"""What images are made of, in MiB. Called by `python -m infrastructure.images build` and `sizes`."""

from __future__ import annotations

import gzip
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from infrastructure.images.build import Image
from infrastructure.images.cache import tar_of

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
PACKAGES = "usr/local/lib/python3.11/dist-packages"
SHOWN = 4 * MIB
"""Python packages below this size are summed up."""
MARKS = ("<!-- sizes -->", "<!-- end of sizes -->")


def totals_of(images: Sequence[Image]) -> str:
    """A line an image: how large it is."""
    return "\n".join(
        f"{image.name}: {unpacked / MIB:.0f} MiB unpacked, {packed / MIB:.0f} MiB compressed"
        for image in images
        for unpacked, packed in [_total(image)]
    )


def tables_of(images: Sequence[Image]) -> str:
    """Tables of Markdown: the parts of the images, and the Python packages in them."""
    return f"{table_of(images)}\n\nThe Python packages, unpacked:\n\n{packages_of(images)}"


def document(page: Path, tables: str) -> None:
    """Puts tables into a page, between its marks."""
    before, rest = page.read_text(encoding="utf-8").split(MARKS[0])
    _, after = rest.split(MARKS[1])
    page.write_text(f"{before}{MARKS[0]}\n{tables}\n{MARKS[1]}{after}", encoding="utf-8")


def packages_of(images: Sequence[Image]) -> str:
    """A table of the largest Python packages."""
    columns = [_packages(image) for image in images]
    largest = {name: max(column[name] for column in columns) for column in columns for name in column}
    shown = sorted((name for name in largest if largest[name] >= SHOWN), key=lambda name: -largest[name])
    lines = ["|  | " + " | ".join(image.name for image in images) + " |", "| --- |" + " --- |" * len(images)]
    lines += [f"| {name} | " + " | ".join(_size(column[name]) for column in columns) + " |" for name in shown]
    rest = [sum(size for name, size in column.items() if name not in shown) for column in columns]
    return "\n".join([*lines, "| others | " + " | ".join(map(_size, rest)) + " |"])


def _packages(image: Image) -> Mapping[str, int]:
    """The size of each package: what is in its folders, and of no other part of the image."""
    found: Counter[str] = Counter()
    for layer in image.layers:
        if (layer / PARTS[1][1][0]).exists():
            for entry in (layer / PACKAGES).iterdir():
                files = [entry] if entry.is_file() else [path for path in entry.rglob("*") if path.is_file()]
                found[_package(entry.name)] += sum(path.stat().st_size for path in files)
    return found


def _package(entry: str) -> str:
    """The package that a file or folder beside others belongs to."""
    return re.split(r"-\d|\.|_runtime", entry.lower().removeprefix("_"))[0]


def _size(size: int) -> str:
    return f"{size / MIB:.0f}" if size else ""


def _total(image: Image) -> tuple[int, int]:
    sizes = _parts(image).values()
    return sum(size for size, _ in sizes), sum(size for _, size in sizes)


def table_of(images: Sequence[Image]) -> str:
    """A table of Markdown: part by part, uncompressed, and compressed in brackets."""
    columns = [_parts(image) for image in images]
    lines = ["|  | " + " | ".join(image.name for image in images) + " |", "| --- |" + " --- |" * len(images)]
    for part, _ in PARTS:
        lines.append(f"| {part} | " + " | ".join(_cell(column[part]) for column in columns) + " |")
    totals = [_total(image) for image in images]
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
    """The size of a layer as a registry sends it; worked out once, because layers do not change."""
    note = tar.with_suffix(".compressed")
    if not note.exists():
        note.write_text(str(_compress(tar)), encoding="ascii")
    return int(note.read_text(encoding="ascii"))


def _compress(tar: Path) -> int:
    with tar.open("rb") as content, TemporaryFile() as out:
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6) as packed:
            shutil.copyfileobj(content, packed, MIB)
        return out.tell()
