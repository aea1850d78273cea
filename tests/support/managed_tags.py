"""Manages tags of a table that Java wrote, and beside it those of a copy with Java's own classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from infrastructure.oracle.client import Oracle, Table
from lithify.clock import Clock
from lithify.formats.paimon.maintenance.tag_management import TagManagement
from lithify.formats.paimon.table import PaimonTable
from support.expired_snapshots import files_of, kept_for_branches, opened
from support.runs import ShiftedClock
from support.tables import copy_of


def tag_management(table: PaimonTable, options: Mapping[str, str]) -> TagManagement:
    """The tags of a table, as by its options and others."""
    return TagManagement(table, {**table.stored_options, **options})


def manage_tags_of_both(
    oracle: Oracle,
    table: Table,
    options: Mapping[str, str],
    warehouse: Path,
    clock: Clock | None = None,
) -> tuple[int, int]:
    """Manages tags with Lithify, and of a copy with Java; the same tags and files are left.

    Returns how many tags were created and deleted.
    """
    twin = copy_of(table, warehouse)
    before = files_of(table)
    oracle.manage_tags(twin, options)

    managed = tag_management(opened(table), options)
    done = managed.execute(managed.plan(clock or ShiftedClock()))

    ours, theirs = files_of(table), files_of(twin)
    assert ours - before == theirs - before
    assert before - ours == before - theirs - kept_for_branches(table, (ours - theirs) & before)
    assert tags_of(table) == tags_of(twin)
    new = {path for path in ours - before if "/tag-success-file/" not in path}
    gone = {path for path in before - ours if "/tag-success-file/" not in path}
    assert done.figures["createdTags"] == len(new)
    assert sum(done.figures.values()) == len(new) + len(gone)
    return done.figures["createdTags"], done.figures["deletedTags"]


def tags_of(table: Table) -> dict[str, tuple[int, object]]:
    """The snapshot of each tag by name, and for how long it is kept."""
    paths = [path for path in (table.folder / "tag").glob("tag-*") if path.is_file()]
    found = {path.name: json.loads(path.read_text()) for path in paths}
    return {name: (each["id"], each.get("tagTimeRetained")) for name, each in found.items()}
