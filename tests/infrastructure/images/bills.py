"""Software bills of materials beside the archives. Called by `make bills` and by tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from infrastructure.images.build import IMAGES, REPOSITORY

PROGRAM = REPOSITORY / "spark-images" / "sbom.py"


def write_bills(folder: Path) -> list[Path]:
    """Writes a bill for each archive in a folder unless it is there; returns them."""
    return [write_bill(folder / f"{name}.tar") for name in IMAGES]


def write_bill(archive: Path) -> Path:
    """Writes the bill of an archive unless it is there."""
    bill = archive.with_suffix(".cdx.json")
    if not bill.exists() or bill.stat().st_mtime < PROGRAM.stat().st_mtime:
        bill.write_text(bill_of(archive), encoding="utf-8")
    return bill


def bill_of(archive: Path, **environment: str) -> str:
    """What the program prints, in an empty environment but for what is given."""
    command = [sys.executable, "-W", "error", str(PROGRAM), str(archive)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
