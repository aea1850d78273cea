"""Turns resources into table addresses, selections, observation requests and poll intervals. Pure.

Used by the reconcilers for every request to an observer and every order to a launcher.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lithify.contract.order import MaintenanceInstructions
from lithify.controller.deciding.blocked import held_by
from lithify.controller.deciding.limits import OperatorLimits
from lithify.controller.deciding.overrides import table_overrides
from lithify.controller.deciding.rolled_back import committed_runs
from lithify.controller.reconciling.observation_scheduler import PollIntervals
from lithify.formats.adapters import format_titled
from lithify.formats.declared import format_named
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter, ObservationRequest
from lithify.formats.protocol.strategy import Strategy
from lithify.io.access_policy import AccessPolicy
from lithify.resources.catalog import Catalog, CatalogSpec
from lithify.resources.compaction import Compaction
from lithify.resources.names import ANNOTATION_REQUESTED
from lithify.resources.policy import CHECK_SECONDS, CompactionPolicySpec
from lithify.resources.table import LakeTable

_RETRIES = 4
"""Check intervals between retries after a failed observation: people take longer to fix the cause."""


def catalog_address(catalog: Catalog, options: Mapping[str, str], reach: AccessPolicy) -> TableAddress:
    """The address of a catalog as a whole, without a table.

    Args:
        catalog: the Catalog.
        options: its options, with credentials where they are needed.
        reach: locations where the operator's own rights may be used for it.
    """
    spec = catalog.spec
    return TableAddress(
        warehouse=spec.warehouse,
        name="",
        catalog_options=options,
        reach=reach,
        format=format_titled(spec.format),
        catalog=str(catalog.metadata.key),
    )


def address_of(
    table: LakeTable,
    policy: CompactionPolicySpec | None,
    catalog: Catalog,
    options: Mapping[str, str],
    reach: AccessPolicy,
) -> TableAddress:
    """The address of the table that a LakeTable stands for; accepts any table UUID."""
    whole = catalog_address(catalog, options, reach)
    return replace(
        whole,
        name=table.spec.identifier,
        overrides=table_overrides(policy or CompactionPolicySpec(), table, format_named(whole.format)),
        time_zone=table.spec.time_zone or "UTC",
    )


def selection_of(run: Compaction, table: LakeTable) -> Selection:
    """The part of its table that a run compacts. Runs requested by a person include blocked groups."""
    spec = run.spec
    is_by_itself = run.is_automatic and ANNOTATION_REQUESTED not in run.metadata.annotations
    return Selection(
        partitions=spec.partitions,
        buckets=frozenset(spec.buckets),
        strategy=Strategy(spec.strategy.value.lower()),
        held=held_by(table.status) if is_by_itself else {},
    )


def maintenance_of(run: Compaction) -> MaintenanceInstructions | None:
    """The maintenance that a run does; None for a compaction. Orphans are only deleted if it says so."""
    kind, orphans = run.spec.kind.maintenance, run.spec.orphans
    if kind is None:
        return None
    is_listed_only = kind is MaintenanceKind.REMOVE_ORPHANS and not (orphans and orphans.delete)
    return MaintenanceInstructions(
        kind=kind,
        is_dry_run=run.spec.dry_run or is_listed_only,
        orphan_seconds=None if orphans is None else orphans.min_age_seconds,
    )


def request_of(
    table: LakeTable,
    policy: CompactionPolicySpec | None,
    address: TableAddress,
    runs: Iterable[Compaction] = (),
) -> ObservationRequest:
    """The observation request for a table; asks which of its runs were rolled back in favour of writers."""
    partitions = policy.partitions if policy else ()
    its = format_named(address.format)
    return ObservationRequest(
        address=address,
        cache_key=table.metadata.uid,
        wanted=Filter(
            Selection(partitions, held=held_by(table.status)),
            policy.partition_idle_seconds if policy else None,
        ),
        committed=committed_runs(runs) if its is not None and its.yield_option else (),
    )


def poll_intervals(
    table: LakeTable,
    policy: CompactionPolicySpec | None,
    catalog: CatalogSpec,
    limits: OperatorLimits,
    seen: Observation | None = None,
) -> PollIntervals:
    """How often to observe a table, within the operator's limits.

    The LakeTable's interval takes precedence, then its policy's, then the one of the table's own options or
    format, as last observed (`seen`).
    """
    found = policy or CompactionPolicySpec()
    of_table = CHECK_SECONDS if seen is None else seen.check_seconds or CHECK_SECONDS
    wanted = table.spec.check_interval_seconds or found.check_interval_seconds or of_table
    every = max(limits.check_seconds, wanted)
    return PollIntervals(
        every=every,
        full=max(every, float(found.full_check_interval_seconds)),
        timeout=limits.timeout_of(catalog),
        retry=min(_RETRIES * every, max(every, 300.0)),
    )
