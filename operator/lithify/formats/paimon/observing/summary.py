"""The summary of a table: figures of its files, its snapshots, and what blocks a run.

Called by `observed_table`. Sends the table no requests and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lithify.clock import earliest, moment_of
from lithify.columns.column_groups import ColumnGroups, flagged, integers, is_one_of, listed, places_in, taken
from lithify.engine.observe.summing import COMPACTOR_WINDOW, forgotten_at, idle_wait, most, total
from lithify.formats.declarations import Block
from lithify.formats.paimon.buckets.statistics import in_order_of_places
from lithify.formats.paimon.declarations import APPEND, MERGE_TREE
from lithify.formats.paimon.layout.file_locations import bucket_folder
from lithify.formats.paimon.model import PLACE, POSTPONED
from lithify.formats.paimon.observing.cached_state import PaimonCache, PaimonState
from lithify.formats.paimon.observing.needs import expiry_need, needs_by_options
from lithify.formats.paimon.observing.table_statistics import (
    blocked_buckets,
    delete_percent,
    deleted_rows,
    selected_buckets,
    size_amplification_percent,
    work_in,
)
from lithify.formats.paimon.observing.waiting import (
    Rules,
    minor_waits,
    nearest_files,
    nearest_runs,
)
from lithify.formats.paimon.options.merging.merge_options import has_order_of_its_own
from lithify.formats.paimon.options.picking_options import is_write_only
from lithify.formats.paimon.options.table_options import DELTA_COMMITS, TableOptions
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.model import fingerprint_of
from lithify.formats.protocol.observation import CommitCount, KeptSnapshots, Observation, OtherCompactor
from lithify.formats.protocol.observing import Filter

_REMEDY = "stop the compaction job, or the writer that compacts in spite of write-only"


def summarise(table: PaimonTable, found: PaimonCache, wanted: Filter, now: datetime) -> Observation:
    """Summarises a table's files. `now` is an aware time in the table's time zone.

    Raises:
        InvalidOption: the filter does not fit the partition columns.
        Damaged: the cache cannot be read.
    """
    table.partition_filter(wanted.selection)
    policy, state = table.options.policy, found.state
    figures = found.figures.sort_by("path")
    held = _still_held(found, wanted.selection.held)
    aside = _set_aside(table, figures, held)
    wanted = replace(wanted, selection=replace(wanted.selection, held=aside))
    work = work_in(figures, table.locations.values, wanted, policy, now)
    due = sum(finding.buckets for finding in work.findings)
    kind, block, nearest = _block(figures, table.options, due)
    index_problem = table.index_problem(state.details.index_types)
    # Writers that postpone rows neither compact nor expire, whatever the options say.
    write_only = is_write_only(table.stored_options) or table.options.postponed is not None
    kept = _kept_snapshots(state, writers_expire=not write_only)
    others = _other_compactors(state, now) if write_only else ()
    expiry = expiry_need(kept, table.stored_options, now, is_asked=write_only)
    return Observation(
        table_uuid=state.table.uuid,
        snapshot=state.newest.id if state.newest else None,
        snapshot_time=moment_of(state.newest.millis) if state.newest else None,
        schema_id=state.table.schema_id,
        refusals=(*table.refusals, *([index_problem] if index_problem else [])),
        write_only=write_only,
        partitions=pc.count_distinct(figures["partition_path"]).as_py(),
        files=total(figures, "files"),
        bytes=total(figures, "bytes"),
        small_files=total(figures, "small_files"),
        delete_percent=delete_percent(figures),
        findings=work.findings,
        full_bytes=work.full_bytes,
        snapshots=kept,
        partitions_due=work.partitions_due,
        full_partitions=work.full_partitions,
        next_trigger=earliest(work.next_trigger, expiry.changes, forgotten_at(others, now)),
        needs=(*expiry.needs, *needs_by_options(table.stored_options, is_asked=write_only)),
        blocked=blocked_buckets(figures, held),
        commits=_commits(table, state) if write_only else None,
        check_seconds=_check_seconds(table),
        waits=() if work.findings else _waits(table, figures, wanted, now, write_only=write_only),
        full_wait=idle_wait(wanted, work.busy_partitions, work.idle_from),
        groups=len(figures),
        deleted_rows=deleted_rows(figures),
        nearest=nearest,
        other_compactors=others,
        blocks={kind.name: block},
    )


def _waits(
    table: PaimonTable, figures: pa.Table, wanted: Filter, now: datetime, *, write_only: bool
) -> tuple[str, ...]:
    sorting = table.options.clustering
    rules = Rules(
        table.options.policy,
        table.options.packing,
        clustering=None if sorting is None else sorting.planning,
        writers_count=table.options.delta_commits is not None and not write_only,
    )
    selected = selected_buckets(figures, table.locations.values, wanted.selection)
    return minor_waits(figures, selected, wanted, rules, now)


def _set_aside(table: PaimonTable, figures: pa.Table, held: Mapping[str, str]) -> Mapping[str, str]:
    """The held buckets, and those that a run leaves alone until postponed rows that are held are moved."""
    if not has_order_of_its_own(table.schema.options):
        return held
    paths = (path.rpartition("/") for path in held)
    partitions = [partition for partition, _, name in paths if name == bucket_folder(POSTPONED)]
    waiting = flagged(figures, is_one_of(figures["partition_path"], partitions))
    return {**dict.fromkeys(listed(waiting["path"]), ""), **held}


def _commits(table: PaimonTable, state: PaimonState) -> CommitCount | None:
    """The commits since the last full compaction; writers that compact count their commits themselves."""
    wanted = table.options.delta_commits
    return None if wanted is None else CommitCount(len(state.details.appended), wanted, DELTA_COMMITS)


def _check_seconds(table: PaimonTable) -> int | None:
    millis = table.options.check_millis
    return None if millis is None else max(1, millis // 1000)


def _block(figures: pa.Table, options: TableOptions, due: int) -> tuple[Block, dict[str, Any], str]:
    """The figures of the table's kind, and which of them is nearest to a trigger, as a sentence."""
    if options.packing is None or options.clustering is not None:
        levels = _merge_tree(figures, due)
        return MERGE_TREE, levels, nearest_runs(levels["sortedRuns"], options.policy)
    small = _append(figures, due)
    return APPEND, small, nearest_files(small["maxSmallFiles"], options.packing)


def _merge_tree(figures: pa.Table, due: int) -> dict[str, Any]:
    """Level figures over all merge trees; among equal buckets the first by path is named."""
    figures = flagged(figures, integers(figures["bucket"]) != POSTPONED)
    most_runs, runs_bucket = most(figures, "sorted_runs", "path")
    most_level0, level0_bucket = most(figures, "level0_files", "path")
    return {
        "buckets": len(figures),
        "dueBuckets": due,
        "level0Files": total(figures, "level0_files"),
        "maxLevel0Files": most_level0,
        "maxLevel0Bucket": level0_bucket if most_level0 else None,
        "sortedRuns": most_runs,
        "sortedRunsBucket": runs_bucket,
        "sizeAmplificationPercent": size_amplification_percent(figures),
    }


def _append(figures: pa.Table, due: int) -> dict[str, Any]:
    """Figures of small files over all buckets; among equal buckets the first by path is named."""
    most_small, bucket = most(figures, "small_files", "path")
    return {
        "buckets": len(figures),
        "dueBuckets": due,
        "maxSmallFiles": most_small,
        "maxSmallFilesBucket": bucket if most_small else None,
        "deletedRows": None if figures["deleted_rows"].null_count else total(figures, "deleted_rows"),
    }


def _still_held(found: PaimonCache, held: Mapping[str, str]) -> dict[str, str]:
    """The held buckets that still have the files on which a run failed."""
    there = flagged(found.figures, is_one_of(found.figures["path"], held))
    files = in_order_of_places(found.files_in(there))
    groups = ColumnGroups(files, PLACE)
    paths = taken(there.select(["path"]), places_in(taken(files.select(PLACE), groups.firsts), there, PLACE))
    prints = {
        path: _fingerprint(files.slice(start, size))
        for path, start, size in zip(
            listed(paths["path"]), groups.starts.tolist(), groups.sizes.tolist(), strict=True
        )
    }
    return {path: print_ for path, print_ in prints.items() if held[path] == print_}


def _fingerprint(files: pa.Table) -> str:
    return fingerprint_of(zip(listed(files["name"]), listed(files["level"]), strict=True))


def _other_compactors(state: PaimonState, now: datetime) -> tuple[OtherCompactor, ...]:
    """Who compacts a table whose writers leave that to others, besides Lithify, by the newest such snapshot.

    Those that only upgraded files are not among the removals, nor is a merge of manifests, which Java calls a
    compaction, too.
    """
    history = state.details.history
    removed = {} if history is None else history.removed
    number = max((number for number, each in removed.items() if each.compactor), default=None)
    if number is None or (moment := moment_of(removed[number].millis)) <= now - COMPACTOR_WINDOW:
        return ()
    evidence = f"snapshot {number} (COMPACT, commit user {removed[number].compactor})"
    return (OtherCompactor("another job", evidence, _REMEDY, moment),)


def _kept_snapshots(state: PaimonState, *, writers_expire: bool) -> KeptSnapshots:
    newest, history = state.newest, state.details.history
    if newest is None or history is None:
        return KeptSnapshots(0, None, 0, writers_expire, operator_expires=not writers_expire)
    return KeptSnapshots(
        count=int(newest.id) - history.oldest + 1,
        oldest=moment_of(history.oldest_millis),
        expired_bytes=sum(each.bytes for each in history.removed.values()),
        writers_expire=writers_expire,
        operator_expires=not writers_expire,
    )
