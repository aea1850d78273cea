"""Two tables of one warehouse: one that an attacker may write, and a neighbour that nobody may touch.

Used by the tests of forged journals and paths. The driver's credentials reach both, as they do where tenants
share a warehouse; what must not happen shows in the neighbour's files, which are compared byte by byte.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from infrastructure.oracle.client import Table
from lithify.engine.run.report import Report
from support.runs import run_inline
from support.small_tables import SmallTable

LONG_AGO = "2020-01-01T00:00:00+00:00"
Tree = dict[str, bytes | str]


def tree(folder: Path, *, without: Path | None = None) -> Tree:
    """Everything in a folder: the bytes of files, what symbolic links lead to, and directories."""
    found: Tree = {}
    for above, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if Path(above, name) != without]
        for path in (Path(above, name) for name in (*folders, *names)):
            content = "link" if path.is_symlink() else "folder" if path.is_dir() else path.read_bytes()
            found[str(path.relative_to(folder))] = content
    return found


@dataclass(frozen=True)
class Neighbours:
    """The attacker's table, `db.t`, and the neighbour, `victim.orders`, in one warehouse."""

    warehouse: Path
    own: SmallTable
    victim: SmallTable

    @classmethod
    def make(cls, folder: Path) -> Neighbours:
        """Makes both, with two commits each."""
        tables = [SmallTable(folder, name).create() for name in ("db.t", "victim.orders")]
        for table in tables:
            table.append()
            table.append()
        return cls(folder, *tables)

    def copied(self, folder: Path) -> Neighbours:
        """Both once more."""
        shutil.copytree(self.warehouse, folder)
        return Neighbours(folder, replace(self.own, warehouse=folder), replace(self.victim, warehouse=folder))

    @property
    def everything_else(self) -> Tree:
        """All there is but for the attacker's table."""
        return tree(self.warehouse, without=self.own.folder)

    @property
    def victims_files(self) -> list[Path]:
        """The neighbour's data files."""
        return sorted(self.victim.folder.rglob("data-*"))

    @property
    def victims_prefix(self) -> str:
        """What the UUID in the name of one of them begins with."""
        return self.victims_files[0].name.removeprefix("data-")[:24]

    @property
    def attempts(self) -> Path:
        """Where the attacker's table has its journals."""
        folder = self.own.folder / "lithify" / "attempts"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def compact(self, *hours: float, full: bool = False) -> list[Report]:
        """Runs of the attacker's table, so many hours from now."""
        table = Table(self.warehouse, self.own.name)
        return [run_inline(table, shift=timedelta(hours=later), full=full) for later in hours]


def journal(prefix: str, **changes: Any) -> dict[str, Any]:
    """The journal of `x-1`, long silent, with one bucket that exists."""
    unit = {"partition": DAY_A, "bucket": 0, "folder": "dt=a/bucket-0", "inputs": ["data-gone-0.parquet"]}
    return {
        "run": "x",
        "number": 1,
        "prefix": prefix,
        "base_snapshot": 1,
        "base_millis": 1,
        "started": LONG_AGO,
        "units": [unit],
        "condemned": LONG_AGO,
        "outside": None,
        **changes,
    }


DAY_A = "00000001" + "00" * 8 + "61" + "00" * 6 + "81"
"""The partition `dt = a` as a BinaryRow."""


def unit(**changes: Any) -> list[dict[str, Any]]:
    """The units of a journal: the one of `journal`, with changes."""
    (only,) = journal("")["units"]
    return [{**only, **changes}]


def text_of(fields: dict[str, Any]) -> str:
    """A journal as it is written."""
    return json.dumps(fields, indent=1)
