"""Faults that are planted into compaction of keyed tables are found by a few random histories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from java.fuzz.mixed.playing import Player, history_in_folders
from lithify.formats.iceberg.model import DeleteFile
from lithify.formats.mixed import dividing, line_commit, merge_on_read, planning
from support.cases import case

if TYPE_CHECKING:
    from infrastructure.arctic.client import Arctic

_HISTORIES = 12


def _delete_what_updates_insert(patch: pytest.MonkeyPatch) -> None:
    """Deletes are one change later, and hit the insert of their own update."""
    real = merge_on_read.ChangeSequences.of

    def later(self: Any, file: Any, rows: Any) -> Any:
        return real(self, file, rows) + isinstance(file, DeleteFile)

    patch.setattr(merge_on_read.ChangeSequences, "of", later)


def _forget_the_line(patch: pytest.MonkeyPatch) -> None:
    """Base has the changes, and readers apply them again."""
    patch.setattr(line_commit, "moved_property", lambda properties, *_: properties.get("x", "{}"))


def _mix_up_nodes(patch: pytest.MonkeyPatch) -> None:
    """All rows go to the first node, where deletes of others do not look for them."""
    real = dividing.nodes_of

    def first_node(columns: Any, fields: Any, mask: int) -> Any:
        return np.full_like(real(columns, fields, mask), mask + 1)

    patch.setattr(dividing, "nodes_of", first_node)


def _move_the_line_too_far(patch: pytest.MonkeyPatch) -> None:
    """The line passes changes that were committed after the plan."""
    real = planning.MixedUnit

    def ahead(**fields: Any) -> Any:
        return real(**{**fields, "to_sequence": fields["to_sequence"] + 3})

    patch.setattr(planning, "MixedUnit", ahead)


@pytest.mark.parametrize(
    "plant",
    [
        case(_delete_what_updates_insert, id="updates delete their own rows"),
        case(_forget_the_line, id="line stays"),
        case(_mix_up_nodes, id="wrong nodes"),
        case(_move_the_line_too_far, id="line too far"),
    ],
)
def test_planted_fault_is_found(
    arctic: Arctic,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], None],
) -> None:
    plant(monkeypatch)

    with pytest.raises(AssertionError):
        _play_all(arctic, tmp_path)


def _play_all(arctic: Arctic, home: Path) -> None:
    for seed in range(_HISTORIES):
        history, address = history_in_folders(arctic, home / str(seed), seed)
        Player(history, arctic, address).play()
