"""The status of Catalogs and CompactionPolicies: whether the tables that name them can rely on them. Pure.

Called by `reconciling.policies`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from lithify.amounts import count_of
from lithify.controller.deciding.condition_builder import ConditionBuilder
from lithify.controller.deciding.found_tables import say_pruned, say_supported
from lithify.controller.deciding.problems import TableProblem, TableReason
from lithify.controller.deciding.pruning import Pruning
from lithify.controller.deciding.sentences import names_text
from lithify.resources.catalog import Catalog, CatalogStatus
from lithify.resources.objects import READY, RECONCILING, STALLED, condition_of, without_condition
from lithify.resources.policy import CompactionPolicy, CompactionPolicyStatus
from lithify.resources.spark_template import QueueAdmission
from lithify.settings import LONGEST_LOOK, MOST_TABLES

ALL_DISCOVERED = "AllDiscovered"

_ORDER = tuple(TableReason)
_OF_ALL_TABLES = frozenset(
    {
        TableReason.CATALOG_SILENT,
        TableReason.SECRET_NOT_FOUND,
        TableReason.SECRET_KEY_MISSING,
        TableReason.SECRET_NOT_READABLE,
    }
)
"""What one table meets and all tables of its catalog meet next."""
_DRIVERS_ONLY = (
    "(Kueue admits drivers only: executors do not count against a quota, so they may exceed it, and admitted "
    "drivers may wait forever for resources; with the admission Group all pods count)"
)


@dataclass(frozen=True, slots=True)
class Discovered:
    """Result of the last discovery.

    Attributes:
        wanted: number of tables that it includes.
        left_out: number of them without a LakeTable, because the limit is reached.
        unusable: number of others whose names no LakeTable can have.
        declined: those without one because a user has deleted theirs.
        pruning: the decision about LakeTables without a table, None if unknown.
        remembered: the digests to be kept in status.
    """

    wanted: int
    left_out: int = 0
    unusable: int = 0
    declined: tuple[str, ...] = ()
    pruning: Pruning | None = None
    remembered: tuple[str, ...] = ()


def policy_status(
    policy: CompactionPolicy, problem: str | None, tables: int, now: datetime
) -> CompactionPolicyStatus:
    """A policy's status.

    Args:
        policy: the policy.
        problem: why it cannot be followed, see `policy_problem`.
        tables: how many LakeTables follow it.
        now: the current time.
    """
    conditions = ConditionBuilder(policy.status.conditions, policy.metadata.generation, now)
    if problem is None:
        conditions.true(READY, "Valid", " ".join(["the policy can be followed", *_risks(policy)]))
        conditions.false(STALLED, "NotStalled")
    else:
        conditions.false(READY, "Invalid", problem)
        conditions.true(STALLED, "Invalid", problem)
    return replace(
        policy.status,
        observed_generation=policy.metadata.generation,
        conditions=conditions.conditions,
        tables=tables,
    )


def _risks(policy: CompactionPolicy) -> list[str]:
    """Warnings about a policy that is valid."""
    kueue = policy.spec.spark.kueue
    return [_DRIVERS_ONLY] if kueue is not None and kueue.admission is QueueAdmission.DRIVER else []


def catalog_problem(observations: Iterable[TableProblem | None]) -> TableProblem | None:
    """Why a catalog cannot be reached, by the last observations of its tables and its last list of tables.

    An observation that succeeded, or failed for reasons of the table, shows that the catalog answers, unless
    the catalog has been silent for so long that it is not asked, or its Secret cannot be used: then that
    observation is outdated. If none does, the first problem in the order of the closed list stands for all,
    so that the answer is stable.
    """
    blamed, answers = set(), False
    for problem in observations:
        if problem is None or not problem.reason.blames_catalog:
            answers = True
        else:
            blamed.add(problem)
    is_certain = any(problem.reason in _OF_ALL_TABLES for problem in blamed)
    if answers and not is_certain:
        return None
    return min(blamed, key=lambda problem: (_ORDER.index(problem.reason), problem.message), default=None)


def catalog_status(
    catalog: Catalog,
    observations: Iterable[TableProblem | None],
    tables: int,
    now: datetime,
    *,
    discovered: Discovered | None = None,
    unsupported: Mapping[str, str] | None = None,
    cut_timeout: float | None = None,
) -> CatalogStatus:
    """A catalog's status.

    Args:
        catalog: the catalog.
        observations: for each that has ended (a table's last observation, the last list of tables): None if
            it succeeded, else why not.
        tables: number of LakeTables that use it.
        now: the current time.
        discovered: what discovery has found, None if it is off or has not ended yet.
        unsupported: the tables that this release refuses, with the message for each.
        cut_timeout: the operator's limit in seconds if the catalog asks for a longer timeout, None otherwise.
    """
    conditions = ConditionBuilder(catalog.status.conditions, catalog.metadata.generation, now)
    ended = list(observations)
    problem = catalog_problem(ended)
    if problem is not None:
        conditions.not_ready(replace(problem, message=f"{problem.message}{_cut(catalog, cut_timeout)}"))
    elif ended:
        conditions.true(READY, "Ready", f"the catalog answers{_cut(catalog, cut_timeout)}")
        conditions.false(RECONCILING, "Observed")
        conditions.false(STALLED, "NotStalled")
    else:
        _say_unasked(conditions)
    _say_discovered(conditions, catalog, discovered)
    say_pruned(conditions, catalog, discovered.pruning if discovered else None)
    say_supported(conditions, unsupported or {})
    return replace(
        catalog.status,
        observed_generation=catalog.metadata.generation,
        conditions=conditions.conditions,
        tables=tables,
        discovered_tables=_discovered(catalog, discovered),
        remembered=catalog.status.remembered if discovered is None else discovered.remembered,
    )


def _say_unasked(conditions: ConditionBuilder) -> None:
    """Before the catalog's first request: what an earlier operator said stays until then."""
    message = "no request was sent to the catalog yet"
    if condition_of(conditions.conditions, READY) is None:
        conditions.unknown(READY, TableReason.NEVER_OBSERVED, message)
        conditions.true(RECONCILING, "Progressing", message)


def _cut(catalog: Catalog, seconds: float | None) -> str:
    """A warning that the operator's limit reduces the catalog's timeout."""
    if seconds is None:
        return ""
    asked = catalog.spec.timeout_seconds
    given = f"the operator limits it to {seconds:g} s ({LONGEST_LOOK.field})"
    return f"; spec.timeoutSeconds is {asked}, but {given}"


def _say_discovered(conditions: ConditionBuilder, catalog: Catalog, discovered: Discovered | None) -> None:
    """Whether each table that discovery includes has its LakeTable; unchanged while that is unknown."""
    if catalog.spec.discovery is None:
        conditions.conditions = without_condition(conditions.conditions, ALL_DISCOVERED)
    elif discovered is None:
        return
    elif discovered.left_out:
        conditions.false(
            ALL_DISCOVERED,
            "LimitReached",
            f"{count_of(discovered.wanted, 'table')} found, {discovered.left_out} of them get no LakeTable: "
            f"the catalog has reached its limit ({MOST_TABLES.field}). Narrow spec.discovery.include, or "
            f"delete LakeTables that you do not need{_excepted(discovered)}",
        )
    else:
        having = count_of(discovered.wanted - len(discovered.declined), "table")
        message = f"all {having} found have a LakeTable{_excepted(discovered)}"
        conditions.true(ALL_DISCOVERED, "Discovered", message)


def _excepted(discovered: Discovered) -> str:
    """The tables that have no LakeTable, and are not meant to."""
    text = ""
    if discovered.declined:
        deleted = count_of(len(discovered.declined), "table")
        text += f"; {deleted} without one, because it was deleted (spec.discovery.recreate is Never): "
        text += names_text(discovered.declined)
    if discovered.unusable:
        unusable = count_of(discovered.unusable, "table")
        text += f"; {unusable} with names that no LakeTable can have are left out"
    return text


def _discovered(catalog: Catalog, discovered: Discovered | None) -> int | None:
    if catalog.spec.discovery is None:
        return None
    return catalog.status.discovered_tables if discovered is None else discovered.wanted
