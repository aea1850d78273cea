"""What is built for the tests of keyed tables: Arctic 0.4.1, and what commits to today's layout."""

from __future__ import annotations

from pathlib import Path

from infrastructure.building.maven_programs import MavenProgram
from infrastructure.jvm.process import PROTOCOL

_HOME = Path(__file__).resolve().parent
_SHARED = (PROTOCOL, _HOME / "java")

CORE = MavenProgram(name="arctic-core", sources=_HOME / "core", takes="about 20 seconds", shared=_SHARED)
MIXED = MavenProgram(name="mixed-format", sources=_HOME / "mixed", takes="about 30 seconds", shared=_SHARED)
