"""iceberg-go, which shares no code with Java or Python: reads tables, compacts those of a REST catalog."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from infrastructure.iceberg.programs import GO


class GoError(Exception):
    """A program of iceberg-go failed, for the reason that it printed."""


def read(
    metadata: str,
    *,
    ref: str | None = None,
    snapshot_id: int | None = None,
    lineage: bool = False,
    properties: Mapping[str, str] | None = None,
) -> pa.Table:
    """The rows of a table, given by the location of its metadata, in no order.

    Args:
        metadata: the location.
        ref: a branch or tag to read.
        snapshot_id: a snapshot to read.
        lineage: whether `_row_id` and `_last_updated_sequence_number` are read, too (version 3).
        properties: of the files' storage, as pyiceberg calls them.
    """
    return _read(["-metadata", metadata], ref, snapshot_id, lineage, properties)


def read_from_catalog(url: str, table: str, properties: Mapping[str, str] | None = None) -> pa.Table:
    """The rows of a table of a REST catalog, in no order."""
    return _read(["-catalog", url, "-table", table], None, None, False, properties)


def compact(
    url: str, table: str, target_size: int = 0, properties: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Compacts a table of a REST catalog as `iceberg compact` does, and returns what it counted."""
    printed = _run("compactor", ["-catalog", url, "-table", table, "-target", str(target_size)], properties)
    return dict(json.loads(printed))


def _read(
    where: list[str],
    ref: str | None,
    snapshot_id: int | None,
    lineage: bool,
    properties: Mapping[str, str] | None,
) -> pa.Table:
    with tempfile.TemporaryDirectory(prefix="lithify-iceberg-go-") as folder:
        out = Path(folder) / "rows.arrow"
        arguments = [*where, "-out", str(out)]
        arguments += ["-ref", ref] if ref is not None else []
        arguments += ["-snapshot", str(snapshot_id)] if snapshot_id is not None else []
        arguments += ["-lineage"] if lineage else []
        _run("reader", arguments, properties)
        with pa.OSFile(str(out)) as source:
            return pa.ipc.open_stream(source).read_all()


def _run(program: str, arguments: list[str], properties: Mapping[str, str] | None) -> str:
    given = [word for name, value in (properties or {}).items() for word in ("-p", f"{name}={value}")]
    command = [str(GO.built() / program), *arguments, *given]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise GoError(result.stderr.strip())
    return result.stdout
