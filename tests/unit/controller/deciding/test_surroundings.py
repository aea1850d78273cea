"""The status of Catalogs and CompactionPolicies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lithify.controller.deciding.found_tables import ALL_SUPPORTED, PRUNED
from lithify.controller.deciding.limits import OperatorLimits
from lithify.controller.deciding.problems import TableProblem, TableReason
from lithify.controller.deciding.pruning import PruneReason, Pruning
from lithify.controller.deciding.references import (
    ALL_DISCOVERED,
    Discovered,
    catalog_problem,
    catalog_status,
    policy_status,
)
from lithify.resources.catalog import Catalog, CatalogStatus
from lithify.resources.modelling import plain, read
from lithify.resources.objects import condition_of
from lithify.resources.policy import CompactionPolicy, CompactionPolicySpec, CompactionPolicyStatus
from support.cases import case
from support.deciding.situations import DROPPED, NOON, UNREACHABLE

DENIED = TableProblem(TableReason.ACCESS_DENIED, "the key has expired")
SILENT = TableProblem(TableReason.CATALOG_SILENT, "s3://lake: it gives no answer")
REFUSED = TableProblem(TableReason.UNSUPPORTED_OPTION, "merge-engine")


def catalog(status: CatalogStatus | None = None, **spec: Any) -> Catalog:
    body = {
        "metadata": {"name": "warehouse", "namespace": "lake", "generation": 3},
        "spec": {"warehouse": "s3://w", **spec},
    }
    return replace(read(Catalog, body), status=status or CatalogStatus())


def conditions(status: CatalogStatus | CompactionPolicyStatus) -> dict[str, str]:
    return {found.type: f"{found.status} {found.reason}" for found in status.conditions}


class TestCatalogs:
    @pytest.mark.parametrize(
        ("looks", "tables", "expected"),
        [
            case(
                [],
                0,
                {"Ready": "Unknown NeverObserved", "Reconciling": "True Progressing"},
                id="without tables, before it was asked",
            ),
            case(
                [None],
                0,
                {"Ready": "True Ready", "Reconciling": "False Observed", "Stalled": "False NotStalled"},
                id="without tables, and it answers",
            ),
            case(
                [],
                2,
                {"Ready": "Unknown NeverObserved", "Reconciling": "True Progressing"},
                id="not asked yet",
            ),
            case(
                [None],
                2,
                {"Ready": "True Ready", "Reconciling": "False Observed", "Stalled": "False NotStalled"},
                id="answers",
            ),
            case(
                [UNREACHABLE, None],
                2,
                {"Ready": "True Ready", "Reconciling": "False Observed", "Stalled": "False NotStalled"},
                id="answers some",
            ),
            case(
                [UNREACHABLE, DROPPED],
                2,
                {"Ready": "True Ready", "Reconciling": "False Observed", "Stalled": "False NotStalled"},
                id="answers that a table is not there",
            ),
            case(
                [UNREACHABLE],
                2,
                {
                    "Ready": "False CatalogUnreachable",
                    "Reconciling": "False CatalogUnreachable",
                    "Stalled": "False CatalogUnreachable",
                },
                id="does not answer",
            ),
            case(
                [UNREACHABLE, DENIED],
                2,
                {
                    "Ready": "False AccessDenied",
                    "Reconciling": "False AccessDenied",
                    "Stalled": "True AccessDenied",
                },
                id="refuses",
            ),
        ],
    )
    def test_conditions_of_a_catalog_follow_its_tables_observations(
        self, looks: list[TableProblem | None], tables: int, expected: dict[str, str]
    ) -> None:
        status = catalog_status(catalog(), looks, tables, NOON)
        assert conditions(status) == expected
        assert (status.observed_generation, status.tables) == (3, tables)

    @pytest.mark.parametrize(
        ("looks", "expected"),
        [
            case([UNREACHABLE, DENIED], DENIED, id="what a person must mend goes first"),
            case([DENIED, UNREACHABLE], DENIED, id="whatever the order"),
            case([REFUSED, UNREACHABLE], None, id="a table that is refused was answered for"),
            case([None, UNREACHABLE], None, id="a table that was looked at"),
            case([None, SILENT, UNREACHABLE], SILENT, id="which was before it fell silent"),
            case([], None, id="nobody asked"),
        ],
    )
    def test_problem_of_a_catalog_is_the_one_to_mend_first(
        self, looks: list[TableProblem | None], expected: TableProblem | None
    ) -> None:
        assert catalog_problem(looks) == expected

    def test_what_was_said_stays_after_a_restart(self) -> None:
        before = catalog_status(catalog(), [UNREACHABLE], 2, NOON)
        assert catalog_status(catalog(before), [], 2, NOON) == before

    def test_a_catalog_that_nobody_uses_any_more_stays_as_it_was_until_it_is_asked(self) -> None:
        before = catalog_status(catalog(), [None], 2, NOON)
        after = catalog_status(catalog(before), [], 0, NOON)
        assert after.conditions == before.conditions

    @pytest.mark.parametrize(
        ("spec", "known", "found", "expected"),
        [
            case({"discovery": {"include": ["*.*"]}}, None, 7, 7, id="found"),
            case({"discovery": {"include": ["*.*"]}}, 5, None, 5, id="found before a restart"),
            case({}, 5, 7, None, id="switched off"),
        ],
    )
    def test_count_of_discovered_tables_is_that_of_the_last_listing(
        self, spec: dict[str, Any], known: int | None, found: int | None, expected: int | None
    ) -> None:
        one = catalog(CatalogStatus(discovered_tables=known), **spec)
        discovered = None if found is None else Discovered(found)
        assert catalog_status(one, [], 0, NOON, discovered=discovered).discovered_tables == expected

    @pytest.mark.parametrize(
        ("discovered", "expected"),
        [
            case(Discovered(7), "True Discovered", id="all"),
            case(Discovered(7, unusable=2), "True Discovered", id="all that can be named"),
            case(Discovered(100_000, 90_000), "False LimitReached", id="too many"),
            case(None, None, id="not known yet"),
        ],
    )
    def test_a_limit_of_discovery_is_told(self, discovered: Discovered | None, expected: str | None) -> None:
        one = catalog(discovery={"include": ["*.*"]})
        status = catalog_status(one, [None], 0, NOON, discovered=discovered)
        assert conditions(status).get(ALL_DISCOVERED) == expected
        later = catalog_status(replace(one, status=status), [None], 0, NOON)
        assert conditions(later).get(ALL_DISCOVERED) == expected
        off = catalog_status(catalog(status), [None], 0, NOON)
        assert ALL_DISCOVERED not in conditions(off)

    def test_what_was_deleted_by_people_is_told(self) -> None:
        one = catalog(discovery={"include": ["*.*"]})
        status = catalog_status(one, [None], 0, NOON, discovered=Discovered(7, declined=("db.a", "db.b")))
        found = condition_of(status.conditions, ALL_DISCOVERED)
        assert found is not None
        assert "all 5 tables" in found.message
        assert "db.a, db.b" in found.message

    @pytest.mark.parametrize(
        ("reason", "expected"),
        [
            case(PruneReason.NOTHING_TO_PRUNE, "True NothingToPrune", id="nothing left over"),
            case(PruneReason.PRUNED, "True Pruned", id="pruned"),
            case(PruneReason.KEPT, "False Kept", id="kept"),
            case(PruneReason.TOO_MANY, "False TooMany", id="too many"),
        ],
    )
    def test_what_becomes_of_laketables_without_a_table_is_told(
        self, reason: PruneReason, expected: str
    ) -> None:
        one = catalog(discovery={"include": ["*.*"]})
        found = Discovered(7, pruning=Pruning(reason, "why"))
        status = catalog_status(one, [None], 0, NOON, discovered=found)
        assert conditions(status).get(PRUNED) == expected
        later = catalog_status(replace(one, status=status), [None], 0, NOON)
        assert conditions(later).get(PRUNED) == expected, "until the next list"
        assert PRUNED not in conditions(catalog_status(catalog(status), [None], 0, NOON))

    def test_tables_that_are_not_supported_are_one_line(self) -> None:
        why = {f"db.t{number}": "it cannot be compacted: bucket=-2" for number in range(9)}
        status = catalog_status(catalog(), [None], 9, NOON, unsupported=why)
        found = condition_of(status.conditions, ALL_SUPPORTED)
        assert found is not None
        assert (found.status, conditions(status)["Ready"]) == ("False", "True Ready")
        assert found.message.startswith("9 tables cannot be compacted: db.t0, db.t1, db.t2 and 6 more.")
        assert "bucket=-2" in found.message
        after = catalog_status(catalog(status), [None], 9, NOON)
        assert ALL_SUPPORTED not in conditions(after)

    @pytest.mark.parametrize("look", [None, UNREACHABLE])
    def test_a_timeout_that_was_cut_is_told(self, look: TableProblem | None) -> None:
        one, limits = catalog(timeoutSeconds=600), OperatorLimits(timeout_seconds=90)
        status = catalog_status(one, [look], 1, NOON, cut_timeout=limits.cut_timeout(one.spec))
        ready = condition_of(status.conditions, "Ready")
        assert ready is not None
        assert "timeoutSeconds is 600" in ready.message
        assert (limits.timeout_of(one.spec), limits.cut_timeout(catalog(timeoutSeconds=90).spec)) == (
            90,
            None,
        )

    def test_the_same_is_said_again(self) -> None:
        for looks in ([], [None], [UNREACHABLE], [DENIED]):
            once = catalog_status(catalog(), looks, 2, NOON)
            again = catalog(read(CatalogStatus, plain(once)))
            assert catalog_status(again, looks, 2, NOON) == once


class TestPolicies:
    POLICY = read(
        CompactionPolicy, {"metadata": {"name": "p", "namespace": "lake", "generation": 2}, "spec": {}}
    )

    @pytest.mark.parametrize(
        ("problem", "expected"),
        [
            case(None, {"Ready": "True Valid", "Stalled": "False NotStalled"}, id="valid"),
            case("no such zone", {"Ready": "False Invalid", "Stalled": "True Invalid"}, id="invalid"),
        ],
    )
    def test_conditions_of_a_policy_name_its_problem_and_settle(
        self, problem: str | None, expected: dict[str, str]
    ) -> None:
        status = policy_status(self.POLICY, problem, 4, NOON)
        assert conditions(status) == expected
        assert (status.observed_generation, status.tables) == (2, 4)
        again = replace(self.POLICY, status=read(CompactionPolicyStatus, plain(status)))
        assert policy_status(again, problem, 4, NOON) == status

    @pytest.mark.parametrize(
        ("spark", "warned"),
        [
            case({}, False, id="no queue"),
            case({"kueue": {"queueName": "lake"}}, False, id="all pods are counted"),
            case({"kueue": {"queueName": "lake", "admission": "Driver"}}, True, id="drivers only"),
        ],
    )
    def test_a_queue_that_counts_drivers_only_is_warned_of(self, spark: dict[str, Any], warned: bool) -> None:
        policy = replace(self.POLICY, spec=read(CompactionPolicySpec, {"spark": spark}))
        ready = condition_of(policy_status(policy, None, 4, NOON).conditions, "Ready")
        assert ready is not None
        assert (ready.status, "Kueue" in ready.message) == ("True", warned)

    def test_the_problem_is_named(self) -> None:
        ready = condition_of(policy_status(self.POLICY, "no such zone", 4, NOON).conditions, "Ready")
        assert ready is not None
        assert "no such zone" in ready.message
