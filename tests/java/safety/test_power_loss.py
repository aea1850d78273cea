"""What a snapshot names is on disk before the snapshot is: a machine may lose its power at any moment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.races import step_before
from support.runs import run_inline
from support.tables import append, make_plain

pytestmark = pytest.mark.oracle

OURS = ("snapshot", "lithify", "attempts")
"""Directories with the snapshot that is being written, and with the journal."""


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> dict[Path, object]:
    """What the kernel was asked to write to disk: files with their size, directories with their names."""
    found: dict[Path, object] = {}
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        found[path] = names_in(path) if path.is_dir() else path.stat().st_size

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"file.format": "orc"},
        {"file.format": "avro"},
        {"data-file.external-paths": "file:{}", "data-file.external-paths.strategy": "entropy-inject"},
    ],
    ids=["parquet", "orc", "avro", "outside"],
)
def test_all_that_a_snapshot_names_is_on_disk_when_it_gets_its_name(
    oracle: Oracle,
    tmp_path: Path,
    synced: dict[Path, Any],
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
) -> None:
    outside = tmp_path / "outside"
    table = make_plain(oracle, tmp_path / "lake", buckets=2, commits=2)
    for name, value in options.items():
        oracle.alter_table(table, {"set_option": [name, value.format(outside)]})

    new = assert_all_is_on_disk_before_the_snapshot(table, tmp_path, synced, monkeypatch)

    assert len([path for path in new if "/bucket-" in str(path)]) == 2
    assert len([path for path in new if path.match("manifest/*")]) == 3


@pytest.mark.parametrize("producer", ["full-compaction", "lookup"])
def test_so_is_a_changelog(
    oracle: Oracle, tmp_path: Path, synced: dict[Path, Any], monkeypatch: pytest.MonkeyPatch, producer: str
) -> None:
    options = {"changelog-producer": producer, "changelog-file.prefix": "changes-"}
    table = make_plain(oracle, tmp_path / "lake", buckets=2, commits=2, **options)

    new = assert_all_is_on_disk_before_the_snapshot(table, tmp_path, synced, monkeypatch)

    assert len([path for path in new if path.name.startswith("changes-")]) == 2
    assert len([path for path in new if path.match("manifest/*")]) == 5


def test_so_are_deletion_vectors(
    oracle: Oracle, tmp_path: Path, synced: dict[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"deletion-vectors.enabled": "true", "write-only": "true"}
    table = make_plain(oracle, tmp_path / "lake", buckets=2, commits=2, keys=400, **options)
    oracle.manager_round(table, full=True, commit=True)
    append(oracle, table)

    new = assert_all_is_on_disk_before_the_snapshot(table, tmp_path, synced, monkeypatch, full=False)

    assert len([path for path in new if path.match("index/*")]) == 2
    assert len([path for path in new if path.match("manifest/index-manifest-*")]) == 1


def assert_all_is_on_disk_before_the_snapshot(
    table: Table, folder: Path, synced: dict[Path, Any], monkeypatch: pytest.MonkeyPatch, *, full: bool = True
) -> list[Path]:
    """Compacts the table in this folder; returns the new files."""
    before = set(folder.rglob("*"))
    new: set[Path] = set()
    late: list[Path] = []

    def look() -> None:
        new.update(path for path in set(folder.rglob("*")) - before if path.parts[-2] not in OURS)
        late.extend(path for path in new if path.is_file() and synced.get(path) != path.stat().st_size)
        late.extend(path for path in new if path.name not in synced.get(path.parent, ()))

    step_before(monkeypatch, (Path, "hardlink_to"), look, matches=lambda source: "snapshot-" in source.name)
    report = run_inline(table, full=full)

    assert (report.status, late) == ("Compacted", [])
    assert f"snapshot-{report.snapshot_after}" in synced[table.folder / "snapshot"]
    return [path for path in new if path.is_file()]
