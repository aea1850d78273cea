"""Which LakeTables discovery takes back, and what it says of those that stay."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.controller.deciding.pruning import (
    ALWAYS_ALLOWED,
    ListedTables,
    PruneReason,
    Pruning,
    absent_tables,
    is_unchanged,
    prune,
)
from lithify.resources.catalog import Catalog
from lithify.resources.modelling import plain, read
from lithify.resources.names import ANNOTATION_DISCOVERED, ANNOTATION_REQUESTED, LABEL_CATALOG
from lithify.resources.table import LakeTable
from support.cases import case
from support.deciding.discovered import NOT_FOUND, catalog, made
from support.properties import examples

NAMES = tuple(f"db.t{number}" for number in range(10))
ANSWERS = {"Ready": ("True", "Ready")}


def listed(names: Collection[str], wanted: int | None = None) -> ListedTables:
    return ListedTables(frozenset(names), len(names) if wanted is None else wanted)


def judged(
    existing: Collection[LakeTable],
    *,
    of: Catalog | None = None,
    there: Collection[str] = NAMES[1:],
    before: Collection[str] | None = NAMES[1:],
) -> Pruning:
    return prune(of or catalog(), existing, listed(there), None if before is None else listed(before))


def going(pruning: Pruning) -> list[str]:
    return [table.spec.identifier for table in pruning.going]


ALL = [made(name, ready=NOT_FOUND if name == NAMES[0] else ANSWERS) for name in NAMES]


class TestWhatGoes:
    @pytest.mark.parametrize("how", ["Orphan", "Delete"])
    def test_the_laketable_of_a_dropped_table(self, how: str) -> None:
        found = judged(ALL, of=catalog(how))
        assert (going(found), found.reason) == (["db.t0"], PruneReason.PRUNED)

    def test_that_of_an_excluded_table_though_the_table_is_there(self) -> None:
        of = catalog(exclude=["db.t0"])
        assert going(judged([made(ready=ANSWERS), *ALL[1:]], of=of)) == ["db.t0"]

    def test_not_one_whose_table_answers_though_no_list_has_it(self) -> None:
        found = judged([made(ready=ANSWERS), *ALL[1:]])
        assert (going(found), found.reason) == ([], PruneReason.UNCONFIRMED)

    @pytest.mark.parametrize(
        ("there", "before", "reason", "needs_list"),
        [
            case(NAMES[1:], None, PruneReason.UNCONFIRMED, True, id="no list before"),
            case(NAMES[1:], NAMES, PruneReason.UNCONFIRMED, True, id="the list before had it"),
            case(NAMES, NAMES[1:], PruneReason.NOTHING_TO_PRUNE, False, id="it is back"),
        ],
    )
    def test_only_what_two_lists_lack(
        self,
        there: Collection[str],
        before: Collection[str] | None,
        reason: PruneReason,
        needs_list: bool,
    ) -> None:
        found = judged(ALL, there=there, before=before)
        assert (found.going, found.reason, found.needs_list) == ((), reason, needs_list)

    @pytest.mark.parametrize(
        ("latest", "earlier", "reason"),
        [
            case(listed(NAMES[1:], 50), listed(NAMES[1:]), PruneReason.LIST_INCOMPLETE, id="the newest"),
            case(listed(NAMES[1:]), listed(NAMES[1:], 50), PruneReason.UNCONFIRMED, id="the one before"),
        ],
    )
    def test_nothing_where_a_list_was_cut(
        self, latest: ListedTables, earlier: ListedTables, reason: PruneReason
    ) -> None:
        found = prune(catalog(), ALL, latest, earlier)
        assert (found.going, found.reason) == ((), reason)

    def test_not_while_a_run_is_under_way(self) -> None:
        busy = made(status={"activeCompaction": "db-t0-1-xxxxx"})
        assert judged([busy, *ALL[1:]]).going == ()

    def test_keep_says_which_stay(self) -> None:
        found = judged(ALL, of=catalog("Keep"), before=None)
        assert (found.going, found.reason, found.needs_list) == ((), PruneReason.KEPT, False)
        assert "db.t0" in found.message


class TestWhatAListLacks:
    @pytest.mark.parametrize(
        ("of", "table", "latest", "is_absent"),
        [
            case(catalog(), made(ready=ANSWERS), listed(NAMES[1:]), True, id="a dropped table"),
            case(catalog("Keep"), made(ready=ANSWERS), listed(NAMES[1:]), True, id="whatever prune says"),
            case(catalog(), made(ready=ANSWERS), listed([]), True, id="though nothing is listed"),
            case(catalog(), made(ready=ANSWERS, labels={}), listed(NAMES[1:]), True, id="made by people"),
            case(catalog(), made(ready=ANSWERS), listed(NAMES), False, id="a listed table"),
            case(catalog(), made(), listed(NAMES[1:]), False, id="known to be dropped"),
            case(catalog(), made(ready=ANSWERS), listed(NAMES[1:], 50), False, id="a list that was cut"),
            case(catalog(exclude=["db.t0"]), made(ready=ANSWERS), listed(NAMES[1:]), False, id="excluded"),
            case(
                catalog(),
                made(ready=ANSWERS, spec={"catalogRef": {"name": "other"}}),
                listed(NAMES[1:]),
                False,
                id="of another Catalog",
            ),
            case(
                catalog(),
                made(ready=ANSWERS, spec={"identifier": "db.t1$branch_b"}),
                listed(NAMES[1:]),
                False,
                id="a branch of a listed table",
            ),
        ],
    )
    def test_tables_that_complete_lists_lack_are_absent(
        self, of: Catalog, table: LakeTable, latest: ListedTables, is_absent: bool
    ) -> None:
        assert absent_tables(of, [table], latest) == ((table,) if is_absent else ())


class TestWhatPeopleMade:
    @pytest.mark.parametrize(
        "change",
        [
            case({"spec": {"suspend": True}}, id="suspended"),
            case({"spec": {"policyRef": {"name": "nightly"}}}, id="under another policy"),
            case({"spec": {"tableOptions": {"target-file-size": "1g"}}}, id="with options"),
            case({"spec": {"priority": 0}}, id="with a priority"),
            case({"labels": {LABEL_CATALOG: "warehouse", "team": "a"}}, id="with a label"),
            case(
                {"annotations": {ANNOTATION_DISCOVERED: "default", "argocd/id": "x"}}, id="with an annotation"
            ),
            case({"ownerReferences": [{"kind": "App", "name": "a", "uid": "u"}]}, id="with an owner"),
            case({"annotations": {ANNOTATION_DISCOVERED: "nightly"}}, id="with the mark of another policy"),
        ],
    )
    def test_a_change_makes_it_theirs(self, change: dict[str, Any]) -> None:
        found = judged([made(**change), *ALL[1:]])
        assert (found.going, found.reason) == ((), PruneReason.CHANGED_BY_PEOPLE)

    @pytest.mark.parametrize(
        "change",
        [
            case({"labels": {}}, id="without the label"),
            case({"labels": {LABEL_CATALOG: "other"}}, id="with the label of another Catalog"),
            case({"annotations": {}}, id="without the annotation, as older releases made them"),
            case({"spec": {"catalogRef": {"name": "other"}}}, id="of another Catalog"),
        ],
    )
    def test_without_marks_it_was_never_ours(self, change: dict[str, Any]) -> None:
        found = judged([made(**change), *ALL[1:]])
        assert (found.going, found.reason) == ((), PruneReason.NOTHING_TO_PRUNE)

    def test_asking_for_a_compaction_changes_nothing(self) -> None:
        asked = made(annotations={ANNOTATION_DISCOVERED: "default", ANNOTATION_REQUESTED: "now"})
        assert going(judged([asked, *ALL[1:]])) == ["db.t0"]


def many(count: int) -> list[LakeTable]:
    return [made(f"db.t{number}") for number in range(count)]


class TestBounds:
    @pytest.mark.parametrize(
        ("count", "gone", "percent", "reason"),
        [
            case(300, 300, 25, PruneReason.NOTHING_LISTED, id="an empty list of hundreds"),
            case(1, 1, 25, PruneReason.NOTHING_LISTED, id="an empty list of one"),
            case(1, 1, 99, PruneReason.NOTHING_LISTED, id="an empty list, whatever share may go"),
            case(300, 300, 100, PruneReason.PRUNED, id="an empty list, and somebody says that it is meant"),
            case(100, 26, 25, PruneReason.TOO_MANY, id="just too many"),
            case(100, 25, 25, PruneReason.PRUNED, id="just not too many"),
            case(6, 5, 1, PruneReason.PRUNED, id="a few of a few"),
            case(7, 6, 25, PruneReason.TOO_MANY, id="most of a few"),
            case(100, 99, 100, PruneReason.PRUNED, id="nearly all, and somebody says that it is meant"),
        ],
    )
    def test_never_many_by_mistake(self, count: int, gone: int, percent: int, reason: PruneReason) -> None:
        tables = many(count)
        there = [table.spec.identifier for table in tables[gone:]]
        found = judged(tables, of=catalog(pruneLimitPercent=percent), there=there, before=there)
        assert found.reason is reason
        assert len(found.going) == (gone if reason is PruneReason.PRUNED else 0)


CHANGES: list[dict[str, Any]] = [
    {},
    {"labels": {}},
    {"annotations": {}},
    {"labels": {LABEL_CATALOG: "warehouse", "team": "a"}},
    {"spec": {"suspend": True}},
    {"spec": {"timeZone": "UTC"}},
    {"spec": {"policyRef": {"name": "mine"}}},
    {"spec": {"catalogRef": {"name": "other"}}},
    {"ownerReferences": [{"kind": "App", "name": "a", "uid": "u"}]},
    {"ready": ANSWERS},
    {"status": {"activeCompaction": "run"}},
]


@st.composite
def gone_tables(draw: st.DrawFn) -> tuple[ListedTables, ListedTables | None]:
    """Two lists that lack much the same tables, and either of which may have been cut."""
    there = draw(st.frozensets(st.sampled_from(NAMES)))
    before = draw(st.just(there) | st.frozensets(st.sampled_from(NAMES)).map(there.union))
    latest, earlier = (listed(each, len(each) + draw(st.sampled_from([0, 0, 3]))) for each in (there, before))
    return latest, draw(st.sampled_from([earlier, earlier, None]))


tables = st.lists(st.sampled_from([*CHANGES, {}, {}, {}, {}]), min_size=len(NAMES), max_size=len(NAMES)).map(
    lambda changes: [made(name, **change) for name, change in zip(NAMES, changes, strict=True)]
)


@given(
    existing=tables,
    lists=gone_tables(),
    how=st.sampled_from(["Keep", "Orphan", "Delete", "Delete"]),
    percent=st.sampled_from([1, 25, 100]),
    exclude=st.sampled_from([[], ["db.t1"], ["db.*"]]),
)
@settings(max_examples=examples(300), deadline=None)
def test_what_goes_was_made_by_discovery_and_is_certainly_gone(
    existing: list[LakeTable],
    lists: tuple[ListedTables, ListedTables | None],
    how: str,
    percent: int,
    exclude: list[str],
) -> None:
    latest, earlier = lists
    of = catalog(how, pruneLimitPercent=percent, exclude=exclude)
    found = prune(of, existing, latest, earlier)
    untouched = {plain(made(name, ready={}).spec)["identifier"]: made(name, ready={}) for name in NAMES}
    for table in found.going:
        as_made = untouched[table.spec.identifier]
        assert (table.spec, table.metadata.labels) == (as_made.spec, as_made.metadata.labels)
        assert table.metadata.annotations == as_made.metadata.annotations
        assert not table.metadata.owner_references
        assert earlier is not None
        assert latest.is_complete
        assert earlier.is_complete
        assert table.spec.identifier not in latest.names | earlier.names
    assert not (found.going and how == "Keep")
    if percent < 100 and found.going:
        assert latest.names
        ours = [table for table in existing if ANNOTATION_DISCOVERED in table.metadata.annotations]
        assert len(found.going) <= max(ALWAYS_ALLOWED, len(ours) * percent // 100)


def test_what_discovery_makes_counts_as_unchanged_after_a_round_trip() -> None:
    one = made()
    assert is_unchanged(read(LakeTable, plain(one)))
    assert not is_unchanged(replace(one, spec=replace(one.spec, check_interval_seconds=60)))
