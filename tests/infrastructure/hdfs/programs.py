"""What is built for HDFS: the program that runs Hadoop's servers."""

from __future__ import annotations

from pathlib import Path

from infrastructure.building.maven_programs import MavenProgram

CLUSTER = MavenProgram(name="hdfs", sources=Path(__file__).resolve().parent, takes="about 20 seconds")
