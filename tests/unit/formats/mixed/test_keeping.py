"""Which base files stay in a minor compaction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, Partition
from lithify.formats.mixed.keeping import KeepRule, rule_of, with_kept
from lithify.formats.mixed.trigger_options import major_options
from lithify.formats.mixed.units import KeyedFile, Subtree
from support.cases import case

NOWHERE = Partition(0)
RULE = KeepRule(least_size=100, most_deleted=0.1)


def file(path: str, size: int = 100, deleted: tuple[int, ...] = (), transaction: int = 1) -> KeyedFile:
    deletes = tuple(
        DeleteFile(f"p{n}", 1, rows, Content.POSITION_DELETES, "parquet", 2, NOWHERE)
        for n, rows in enumerate(deleted)
    )
    return KeyedFile(DataFile(path, size, 50, "parquet", 1, NOWHERE, deletes=deletes), 4, transaction)


@pytest.mark.parametrize(
    ("each", "rule", "stays"),
    [
        case(file("a"), RULE, True, id="large"),
        case(file("a", size=99), RULE, False, id="small"),
        case(file("a", deleted=(5,)), RULE, True, id="few deleted rows"),
        case(file("a", deleted=(6,)), RULE, False, id="many deleted rows"),
        case(file("a", deleted=(3, 3)), RULE, False, id="many deleted rows, of several files"),
        case(
            file("a", deleted=(50,)), replace(RULE, most_deleted=None), True, id="deleted rows do not count"
        ),
        case(file("a", deleted=(1,)), replace(RULE, most_deleted=0.0), False, id="any deleted rows count"),
        case(file("a"), replace(RULE, most_deleted=0.0), True, id="any would count, but there are none"),
    ],
)
def test_large_files_with_few_deleted_rows_stay(each: KeyedFile, rule: KeepRule, stays: bool) -> None:
    assert rule.keeps(each) is stays


def test_rule_has_the_options_of_the_table() -> None:
    options = major_options(
        {
            "compact.major.small.file.size.bytes": "7",
            "self-optimizing.major.trigger.duplicate-ratio": "0.3",
        },
        {},
    )

    assert rule_of(options, has_changes=True) == KeepRule(7, 0.3)
    assert rule_of(options, has_changes=False) == KeepRule(7, 0.0)


def test_files_that_stay_are_apart_if_a_delete_is_later() -> None:
    small, older, newer = file("s", size=1), file("o"), file("n", transaction=5)
    inserts, deletes = (file("i", transaction=9),), (file("d", transaction=3), file("e", transaction=5))

    found = with_kept(Subtree(4, (older, small, newer), inserts, deletes), RULE)

    assert found == Subtree(4, (small,), inserts, deletes, kept=(older,))


def test_nothing_is_kept_apart_without_deletes() -> None:
    found = with_kept(Subtree(4, (file("a"),), (file("i"),), ()), RULE)

    assert found == Subtree(4, (), (file("i"),), ())


def test_change_files_that_were_moved_to_base_do_not_stay() -> None:
    moved = file("/t/change/data/4-I-1-00000-0-77-00001.parquet")
    own = file("/t/base/data/4-B-1-00000-0-77-00001.parquet")
    deletes = (file("d", transaction=2),)

    found = with_kept(Subtree(4, (moved, own), (), deletes), RULE)

    assert (found.base, found.kept) == ((moved,), (own,))
