"""The rules of conflict, as tables of cases: which groups the newest snapshot refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from lithify.formats.iceberg.commit.rules import (
    validate_definition,
    validate_equality_deletes,
    validate_inputs_live,
    validate_kept_live,
    validate_no_new_deletes,
    validate_start,
)
from lithify.formats.iceberg.table.metadata import TableMetadata, parse_metadata
from support.cases import case
from support.iceberg_views import EQUALITY, POSITION, START, Data, Delete, changes, view

A, B, C = Data("a"), Data("b"), Data("c", partition=1)
GROUPS = {"one": ["a", "b"], "two": ["c"]}


def names(reasons: dict[Any, str]) -> set[str]:
    return {group.path for group in reasons}


def metadata(**fields: Any) -> TableMetadata:
    found = {
        "format-version": 2,
        "location": "/t",
        "last-updated-ms": 1,
        "current-schema-id": 0,
        "schemas": [{"schema-id": number, "fields": []} for number in range(2)],
        "default-spec-id": 1,
        "partition-specs": [{"spec-id": 1, "fields": []}, {"spec-id": 2, "fields": [{"transform": "day"}]}],
    }
    return parse_metadata({**found, **{key.replace("_", "-"): value for key, value in fields.items()}}, "")


def history(*ids: int, main: int, extra: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Fields of metadata with a chain of snapshots, each the parent of the next."""
    chain = [
        {"snapshot-id": each, "timestamp-ms": each, **({"parent-snapshot-id": before} if before else {})}
        for before, each in zip([None, *ids], ids, strict=False)
    ]
    return {"snapshots": [*chain, *extra], "refs": {"main": {"snapshot-id": main, "type": "branch"}}}


class TestInputs:
    @pytest.mark.parametrize(
        ("live", "refused"),
        [
            case([A, B, C], set(), id="all live"),
            case([A, C], {"one"}, id="one is gone"),
            case([A, B], {"two"}, id="the only one is gone"),
            case([], {"one", "two"}, id="all are gone"),
            case([A, A, B, C], {"one"}, id="one is there twice"),
            case([C, B, Data("d"), A], set(), id="in another order, with others"),
            case([A, replace(B, sequence=6), C], {"one"}, id="one was removed and added again"),
            case([A, B, replace(C, first_row_id=7)], {"two"}, id="one has got row ids since the plan"),
        ],
    )
    def test_every_input_must_be_live_once(self, live: list[Data], refused: set[str]) -> None:
        assert names(validate_inputs_live(changes(**GROUPS), view(live))) == refused

    def test_no_groups_are_no_conflict(self) -> None:
        assert validate_inputs_live({}, view([A])) == {}


class TestKept:
    @pytest.mark.parametrize(
        ("live", "refused"),
        [
            case([A, B, C], set(), id="all live"),
            case([A, C], {"one"}, id="one is gone"),
            case([A, A, B, C], {"one"}, id="one is there twice"),
            case([A, replace(B, sequence=6), C], {"one"}, id="one was removed and added again"),
            case([A, B], set(), id="one of a group that keeps none is gone"),
        ],
    )
    def test_every_kept_file_must_be_live_once(self, live: list[Data], refused: set[str]) -> None:
        found = changes(**GROUPS)
        keeping = {
            group: replace(change, inputs=(), kept=change.inputs if group.path == "one" else ())
            for group, change in found.items()
        }
        assert names(validate_kept_live(keeping, view(live))) == refused
        assert validate_inputs_live(keeping, view(live)) == {}

    def test_newer_deletes_of_kept_files_are_no_conflict(self) -> None:
        keeping = {
            group: replace(change, inputs=(), kept=change.inputs)
            for group, change in changes(**GROUPS).items()
        }
        newer = view([A, B, C], [Delete(POSITION, 6, of="a"), Delete(POSITION, 6)])
        assert validate_no_new_deletes(keeping, START, newer) == validate_kept_live(keeping, newer) == {}


class TestNewDeletes:
    @pytest.mark.parametrize(
        ("delete", "refused"),
        [
            case(Delete(POSITION, 6, of="a"), {"one"}, id="newer, of an input"),
            case(Delete(POSITION, 5, of="a"), set(), id="as old as the plan"),
            case(Delete(POSITION, 6, of="d"), set(), id="newer, of another file"),
            case(Delete(POSITION, 6, partition=1), {"two"}, id="newer, of a partition"),
            case(Delete(POSITION, 5, partition=1), set(), id="of a partition, as old as the plan"),
            case(Delete(POSITION, 6, partition=2), set(), id="newer, of a partition without inputs"),
            case(
                Delete(POSITION, 6, partition=1, of="a"), {"one"}, id="names its file, whatever its partition"
            ),
            case(Delete(EQUALITY, 6), set(), id="newer, by equality"),
        ],
    )
    def test_newer_position_deletes_of_inputs_are_conflicts(self, delete: Delete, refused: set[str]) -> None:
        found = validate_no_new_deletes(changes(**GROUPS), START, view([A, B, C], [delete]))
        assert names(found) == refused


class TestEqualityDeletes:
    """Group `one` keeps its partition; group `old` comes from another spec and enters a new one."""

    OLD = Data("old", partition=1, spec=2)

    @pytest.mark.parametrize(
        ("delete", "refused"),
        [
            case(Delete(EQUALITY, 6, partition=0, spec=1), {"old"}, id="newer, where rows enter"),
            case(Delete(EQUALITY, 6, partition=1, spec=2), {"old"}, id="newer, where rows leave"),
            case(Delete(EQUALITY, 6, partition=2, spec=2), set(), id="newer, of another old partition"),
            case(Delete(EQUALITY, 5, partition=0, spec=1), set(), id="as old as the plan"),
            case(Delete(EQUALITY, 6, partition=3, spec=9), set(), id="newer, of all partitions"),
            case(Delete(POSITION, 6, partition=2, spec=2), set(), id="by position"),
        ],
    )
    def test_newer_ones_must_apply_to_new_files_as_to_old_ones(
        self, delete: Delete, refused: set[str]
    ) -> None:
        groups = changes(one=["a"], old=["old"])
        found = validate_equality_deletes(groups, START, view([A, self.OLD], [delete]), {9})
        assert names(found) == refused

    def test_specs_without_fields_are_those_of_all_partitions(self) -> None:
        specs = [
            {"spec-id": 0, "fields": []},
            {"spec-id": 1, "fields": [{"transform": "void"}]},
            {"spec-id": 2, "fields": [{"transform": "void"}, {"transform": "day"}]},
        ]
        assert metadata(partition_specs=specs).unpartitioned_specs == {0, 1}


class TestStart:
    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            case(history(9, 10, main=10), "", id="still the head"),
            case(history(9, 10, 11, 12, main=12), "", id="others have committed"),
            case(history(11, 12, main=12), "expired", id="expired"),
            case(history(9, 10, main=9), "rolled back", id="rolled back"),
            case({}, "branch is gone", id="no snapshot"),
        ],
    )
    def test_the_planned_snapshot_must_be_a_part_of_the_history(
        self, fields: dict[str, Any], said: str
    ) -> None:
        reason = validate_start(START, metadata(**fields), "main")
        assert (reason is None) == (not said)
        assert said in (reason or "")

    def test_a_circle_of_parents_ends(self) -> None:
        circle = [
            {"snapshot-id": 1, "parent-snapshot-id": 2, "timestamp-ms": 1},
            {"snapshot-id": 2, "parent-snapshot-id": 1, "timestamp-ms": 2},
        ]
        refs = {"main": {"snapshot-id": 2, "type": "branch"}}
        assert validate_start(START, metadata(snapshots=circle, refs=refs), "main") is not None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        case({}, None, id="nothing"),
        case({"format_version": 1}, "format version", id="format version"),
        case({"schema_id": 1}, "schema", id="schema"),
        case({"spec_id": 2}, "partition spec", id="partition spec"),
    ],
)
def test_new_files_must_fit_the_tables_definition(changed: dict[str, int], said: str | None) -> None:
    reason = validate_definition(replace(START, **changed), metadata())
    assert (reason is None) == (said is None)
    assert said is None or said in str(reason)
