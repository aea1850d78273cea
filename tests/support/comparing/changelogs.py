"""The changelog of a compaction of ours beside that of Java's: files, snapshots, and what streams give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import DataFile, KeyValue, Row
from support.comparing.rounds import compacted_by_both, metadata

_NAME = re.compile(r"(.*?)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9]+(.*)")
_COUNTED = ("changelogRecordCount", "deltaRecordCount", "totalRecordCount", "commitKind")


def assert_changelogs_agree(
    oracle: Oracle, original: Table, folder: Path, *, full: bool, alike: bool = True, **how: Any
) -> list[Row]:
    """Java compacts a copy, we compact another one: rows, files and changelogs are the same.

    Args:
        oracle: real Java Paimon.
        original: the table.
        folder: where the copies go.
        full: whether all is compacted.
        alike: whether changelog files must be divided as Java divides them.
        how: more of the request.

    Returns:
        The changes that a streaming reader gets of the compaction.
    """
    newest = oracle.snapshots(original)[-1]["id"]
    ours, java = compacted_by_both(oracle, original, folder, full=full, **how)
    assert oracle.read(ours.table) == oracle.read(java.table)
    return assert_changes_agree(oracle, ours.table, java.table, newest, alike=alike)


def assert_changes_agree(
    oracle: Oracle, ours: Table, java: Table, newest: int, *, alike: bool = True
) -> list[Row]:
    """The snapshots after `newest` have the same changelogs; returns the changes as a stream gives them."""
    mine, theirs = ([s for s in oracle.snapshots(t) if s["id"] > newest] for t in (ours, java))
    assert [counts(each) for each in mine] == [counts(each) for each in theirs]
    for snapshot in mine:
        check_list(ours, snapshot)
        of_ours, of_java = (changelog_files(oracle, table, snapshot["id"]) for table in (ours, java))
        assert contents(oracle, ours, of_ours) == contents(oracle, java, of_java)
        if alike:
            assert [outline(file) for file in of_ours] == [outline(file, like=file) for file in of_java]
    streams = [oracle.changelog(table, from_snapshot=newest + 1) for table in (ours, java)]
    assert streams[0] == streams[1]
    return [row for rows in streams[0].values() for row in rows]


def counts(snapshot: dict[str, Any]) -> dict[str, Any]:
    has_list = snapshot.get("changelogManifestList") is not None
    return {**{name: snapshot.get(name) for name in _COUNTED}, "has_list": has_list}


def check_list(table: Table, snapshot: dict[str, Any]) -> None:
    """The size of the changelog's manifest list is that of its file."""
    name = snapshot.get("changelogManifestList")
    if name is not None:
        assert (table.folder / "manifest" / name).stat().st_size == snapshot["changelogManifestListSize"]


def changelog_files(oracle: Oracle, table: Table, snapshot: int) -> list[DataFile]:
    """The changelog files of a snapshot, in the order of their entries within each bucket."""
    entries = oracle.files_of_changelog(table, snapshot)
    assert {entry.kind for entry in entries} <= {"ADD"}
    return sorted((entry.file for entry in entries), key=lambda file: (str(file.partition), file.bucket))


def contents(oracle: Oracle, table: Table, files: Sequence[DataFile]) -> list[tuple[str, int, KeyValue]]:
    """Every key-value of the files with sequence and kind, in their order."""
    return [
        (str(file.partition), file.bucket, row)
        for file, rows in zip(files, oracle.kv_rows_of(table, files), strict=True)
        for row in rows
    ]


def outline(file: DataFile, like: DataFile | None = None) -> tuple[DataFile, str, str]:
    """All metadata but for what has to differ, and the parts of the name that options decide."""
    name = _NAME.fullmatch(file.name)
    assert name is not None
    return metadata(file, like=like), name[1], name[2]
