"""From resources to what an observer is asked: which table, with which options, how often. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from lithify.controller.deciding.blocked import held_by
from lithify.controller.deciding.limits import OperatorLimits
from lithify.controller.deciding.overrides import table_overrides
from lithify.controller.observing.request import ObservationRequest, TableTarget
from lithify.controller.reconciling.observation_scheduler import Rhythm
from lithify.resources.catalog import CatalogSpec
from lithify.resources.policy import CHECK_SECONDS, CompactionPolicySpec
from lithify.resources.table import LakeTable
from lithify.tables.io.reach import Reach
from lithify.tables.observation import Observation

_RETRIES = 4
"""A table that cannot be looked at is tried again after so many intervals: who has to mend it is slower."""


def target_of(
    table: LakeTable,
    policy: CompactionPolicySpec | None,
    options: Mapping[str, str],
    catalog: CatalogSpec,
    reach: Reach,
) -> TableTarget:
    """The table that a LakeTable stands for."""
    return TableTarget(
        warehouse=catalog.warehouse,
        format=catalog.format.value.lower(),
        identifier=table.spec.identifier,
        reach=reach,
        catalog_options=options,
        overrides=table_overrides(policy or CompactionPolicySpec(), table),
        time_zone=table.spec.time_zone,
        catalog=f"{table.metadata.namespace}/{table.spec.catalog_ref.name}",
    )


def request_of(
    table: LakeTable, policy: CompactionPolicySpec | None, target: TableTarget
) -> ObservationRequest:
    """What to ask of it."""
    return ObservationRequest(
        target=target,
        cache_key=table.metadata.uid,
        partitions=policy.partitions if policy else (),
        idle_seconds=policy.partition_idle_seconds if policy else None,
        held=held_by(table.status),
    )


def rhythm_of(
    table: LakeTable,
    policy: CompactionPolicySpec | None,
    catalog: CatalogSpec,
    limits: OperatorLimits,
    seen: Observation | None = None,
) -> Rhythm:
    """How often to ask, within what the operator allows.

    The LakeTable goes first, then its policy, then what the table itself was `seen` to ask for.
    """
    found = policy or CompactionPolicySpec()
    of_table = CHECK_SECONDS if seen is None else seen.check_seconds or CHECK_SECONDS
    wanted = table.spec.check_interval_seconds or found.check_interval_seconds or of_table
    every = max(limits.check_seconds, wanted)
    return Rhythm(
        every=every,
        whole=max(every, float(found.full_check_interval_seconds)),
        timeout=limits.timeout_of(catalog),
        retry=min(_RETRIES * every, max(every, 300.0)),
    )
