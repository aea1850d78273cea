"""The servers' programs: built once per machine from the registries of their languages, and cached."""

from __future__ import annotations

from pathlib import Path

from infrastructure.building.go_programs import GoPrograms
from infrastructure.building.node_programs import NodeProgram

PROGRAMS = GoPrograms(
    name="objectstore",
    sources=Path(__file__).resolve().parent / "go",
    packages=("./s3-server",),
    target="objectstore",
    takes="about 1 minute",
)
GCS_PROGRAMS = GoPrograms(
    name="gcs-server",
    sources=Path(__file__).resolve().parent / "go-gcs",
    packages=("./gcs-server",),
    target="objectstore",
    takes="about 1 minute",
)
AZURITE = NodeProgram(
    name="azurite",
    package="azurite@3.37.0",
    before="2026-11-20",
    target="objectstore",
    takes="about 1 minute",
)
