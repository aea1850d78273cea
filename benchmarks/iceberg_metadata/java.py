"""Java's planner on the same invented table, on files of a folder."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from iceberg_metadata.invented import Shape, invent, metadata_of
from infrastructure.iceberg import catalogs
from infrastructure.iceberg.spark import SparkIceberg

_ROUNDS = 6
"""Java compiles in the first ones."""
_ONE_FILE = {"max-files-to-rewrite": "1"}
"""All files are planned, and the answer is short."""


def planned_by_java(shape: Shape) -> list[float]:
    """Processor seconds of Java's planner in each round, all threads of its JVM counted."""
    with (
        tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder,
        SparkIceberg.start(cores=1, heap="4g", jvm_args=(), conf={}) as spark,
    ):
        catalog = spark.add_catalog(catalogs.folder_of_tables(Path(folder)))
        write_table(shape, Path(folder) / "db" / "t")
        table = f"{catalog.name}.db.t"
        rounds = [spark.timed("plan_rewrite", table=table, options=_ONE_FILE) for _ in range(_ROUNDS)]
    return [each.cpu_nanos / 1e9 for each in rounds]


def write_table(shape: Shape, folder: Path) -> None:
    """The table as one of a Hadoop catalog."""
    (folder / "metadata").mkdir(parents=True)
    for path, content in invent(shape, str(folder)).contents.items():
        Path(path).write_bytes(content)
    (folder / "metadata" / "v1.metadata.json").write_text(json.dumps(metadata_of(shape, str(folder))))
    (folder / "metadata" / "version-hint.text").write_text("1")
