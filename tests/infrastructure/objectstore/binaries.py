"""The S3 server's program: built once per machine from the Go module proxy, and cached."""

from __future__ import annotations

from pathlib import Path

from infrastructure.building.go_programs import GoPrograms

PROGRAMS = GoPrograms(
    name="objectstore",
    sources=Path(__file__).resolve().parent / "go",
    packages=("./s3-server",),
    target="objectstore",
    takes="about 1 minute",
)
