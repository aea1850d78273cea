"""An archive of the classes that Spark with Iceberg loads: with it the JVM gets going faster.

`make iceberg` makes it beside the jars, by a JVM that does what tests do. Without it all works, slower.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from infrastructure.iceberg import catalogs
from infrastructure.iceberg.programs import SPARK
from infrastructure.jvm.process import JavaProgram

_ALWAYS = (
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
    "-Xlog:cds=off",
    "-Xlog:cds+dynamic=off",
)
_TABLE = "classes.db.t"
_ROWS = "SELECT id, DATE '2024-01-01' AS day, 'x' AS kind FROM range(0, 9, 1, 1)"


def archive() -> Path:
    """Where the archive is, or will be; a new build of the jars has a new one."""
    return SPARK.folder() / "classes.jsa"


def arguments() -> tuple[str, ...]:
    """The JVM's arguments that use the archive; none if there is none."""
    found = archive()
    return (*_ALWAYS, f"-XX:SharedArchiveFile={found}") if found.is_file() else ()


def build(program: JavaProgram) -> Path:
    """Makes the archive unless it is there, with the JVM that tests start.

    Raises:
        RuntimeError: the JVM did not do what it was asked, or wrote no archive.
    """
    wanted = archive()
    if not wanted.is_file():
        made = wanted.with_suffix(f".{os.getpid()}")
        with tempfile.TemporaryDirectory() as folder:
            _train(program, Path(folder), made)
        made.rename(wanted)
    return wanted


def _train(program: JavaProgram, folder: Path, made: Path) -> None:
    command = program.command(folder)
    command[1:1] = [*_ALWAYS, f"-XX:ArchiveClassesAtExit={made}"]
    lines = "".join(json.dumps({"id": 1, **request}) + "\n" for request in _requests(folder))
    result = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    failed = [line for line in result.stdout.splitlines() if not json.loads(line)["ok"]]
    if result.returncode != 0 or failed or not made.is_file():
        raise RuntimeError(f"no archive of Spark's classes was made: {failed}{result.stderr[-4000:]}")


def _requests(folder: Path) -> list[dict[str, Any]]:
    """What tests ask most: each kind of commit and of plan once, on both sides of row lineage."""
    merged = ", ".join(f"'write.{what}.mode' = 'merge-on-read'" for what in ("delete", "update"))
    requests = [_catalog(folder), _sql("CREATE NAMESPACE classes.db")]
    for version in (2, 3):
        requests += [
            _sql(
                f"CREATE TABLE {_TABLE} (id BIGINT, day DATE, kind STRING) USING iceberg "
                f"PARTITIONED BY (bucket(2, id)) TBLPROPERTIES ('format-version' = '{version}', {merged})"
            ),
            _sql(f"INSERT INTO {_TABLE} {_ROWS}"),
            _sql(f"DELETE FROM {_TABLE} WHERE id % 4 = 1"),
            _sql(f"UPDATE {_TABLE} SET kind = 'y' WHERE id % 4 = 2"),
            {
                "op": "row_delta",
                "table": _TABLE,
                "append": _ROWS,
                "equality": [{"columns": ["id"], "rows": _ROWS}],
            },
            {"op": "scan", "table": _TABLE, "where": "id > 1"},
            {"op": "plan_rewrite", "table": _TABLE, "options": {"rewrite-all": "true"}},
            {"op": "rewrite", "table": _TABLE, "options": {"rewrite-all": "true"}},
            {"op": "metadata", "table": _TABLE},
            _sql(f"SELECT *, _pos, _file FROM {_TABLE} ORDER BY id", str(folder / "rows.arrow")),
            _sql(f"SELECT * FROM {_TABLE}.files", str(folder / "files.arrow")),
            _sql(f"DROP TABLE {_TABLE}"),
        ]
    return requests


def _catalog(folder: Path) -> dict[str, Any]:
    address = catalogs.sql(folder / "catalog", "classes")
    return {"op": "catalog", "name": address.name, "properties": dict(address.spark)}


def _sql(statement: str, into: str | None = None) -> dict[str, Any]:
    return {"op": "sql", "statement": statement, "into": into}
