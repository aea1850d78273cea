"""Tables that the Java oracle makes for tests, and what must hold of every table after a run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row

FAR_FUTURE = 4_000_000_000_000

PLAIN = {"id": "INT NOT NULL", "v": "STRING", "n": "BIGINT"}


def make_plain(
    oracle: Oracle,
    warehouse: str | Path,
    *,
    buckets: int = 1,
    commits: int = 5,
    keys: int = 60,
    catalog: Mapping[str, str] | None = None,
    **options: str,
) -> Table:
    """An INT key, some commits of overlapping upserts, and deletes in the last."""
    table = Table(warehouse, "db.t", catalog=catalog or {})
    oracle.create_table(table, PLAIN, primary_key=["id"], options={"bucket": str(buckets), **options})
    for commit in range(commits):
        oracle.write(table, upserts(range(commit * 10, commit * 10 + keys), f"c{commit}"))
    oracle.write(table, [["-D", key, None, None] for key in range(0, keys, 7)])
    return table


def upserts(keys: range, mark: str) -> list[Row]:
    """Rows of `make_plain`'s table."""
    return [["+I", key, f"{mark}-{key}", key * 3] for key in keys]


def append(oracle: Oracle, table: Table, mark: str = "late") -> int:
    """Upserts some keys of `make_plain`'s table and returns the snapshot."""
    return oracle.write(table, upserts(range(25, 40), mark))


def expire(oracle: Oracle, table: Table, *, outlived_by: int | None = None) -> int:
    """Expires all snapshots but the newest; so many changelogs live on, if that is said."""
    return oracle.expire_snapshots(
        table, retain_max=1, retain_min=1, older_than=FAR_FUTURE, changelog_retain_max=outlived_by
    )


def copy_of(table: Table, warehouse: Path) -> Table:
    """The table once more, in a copy of its whole warehouse."""
    shutil.copytree(str(table.warehouse), warehouse)
    return Table(warehouse, table.name)


def put_over(twin: Table, table: Table) -> None:
    """Has the files of a twin replace those of the table, as a rename does that was decided on before."""
    shutil.copytree(twin.folder, table.folder, dirs_exist_ok=True)


def data_files(table: Table) -> set[str]:
    """Names of all data files in the table's folder, referenced or not."""
    return {path.name for path in table.folder.rglob("bucket-*/*")}


def stray_files(oracle: Oracle, table: Table) -> set[str]:
    """Files that nothing refers to, as Java's own orphan search finds them, and temporary ones."""
    orphans = oracle.remove_orphan_files(table, older_than=FAR_FUTURE, dry_run=True)
    hidden = {path.name for path in table.folder.rglob(".lithify-*")}
    return {Path(path).name for path in orphans.files} | hidden


def journals(table: Table) -> set[str]:
    """The journals in the table's folder, but those of attempts that are known to have committed."""
    return {path.name for path in (table.folder / "lithify" / "attempts").glob("*.json")}


def kept_journals(table: Table) -> set[str]:
    """The journals of attempts that are known to have committed."""
    return {path.name for path in (table.folder / "lithify" / "attempts").glob("*.committed-*")}
