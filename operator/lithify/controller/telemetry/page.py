"""Makes docs/metrics.md of the series: `python -m lithify.controller.telemetry.page`.

Called by `make docs` and by the test that keeps the page current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from lithify.controller.telemetry import series
from lithify.controller.telemetry.series import SECTIONS, Series

_INTRO = """\
# Metrics

<!-- Made from operator/lithify/controller/telemetry by `make docs`. -->

The operator shows these at `/metrics`, beside `process_*` of Prometheus's client. Counters begin at zero when
it starts; use `rate` and `increase`. Only the leader counts work, so add up over replicas.

Labels have few values, whatever the number of tables. The last section is the exception: it has one series a
table and is off unless the operator is told `--table-metrics`; switch it on where you have hundreds of tables
rather than tens of thousands. Its label is `table_namespace` rather than `namespace`, which a scrape sets.
`/metrics` asks for no password: whoever reaches the port reads the names of tables there.

Level-0 files, sorted runs, size amplification and due buckets are figures of tables whose files are arranged
in levels. Other tables have no series of these, and do not count in the totals.
"""

_OTHERS_INTRO = """\
## Paimon's and Amoro's names

Paimon reports what one writer sees of one bucket, Amoro what its server sees of one table. Lithify looks at
tables from outside, so its figures are of whole tables, and there are totals over all of them. For one table
put `lithify_table_` instead of `lithify_`. Their milliseconds are seconds here.
"""

_OTHERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("level0.file.count", "maxLevel0FileCount", "avgLevel0FileCount"),
        f"`{series.MAX_LEVEL0_FILES.name}`, of all buckets `{series.LEVEL0_FILES.name}`",
    ),
    (
        ("compaction.time.ms", "avgCompactionTime"),
        f"`{series.RUN_SECONDS.name}`; `_sum` by `_count` is the mean",
    ),
    (
        ("compactions.queued.count", "compactionQueuedCount"),
        f"`{series.WAITING.name}`; tables that are due: `{series.DUE_TABLES.name}`",
    ),
    (
        ("total.file.size.bytes", "maxTotalFileSize", "avgTotalFileSize", "table_summary_total_files_size"),
        f"`{series.BYTES.name}`",
    ),
    (("totalFileCount", "table_summary_total_files"), f"`{series.FILES.name}`"),
    (
        ("compactions.completed.count", "compactionCompletedCount"),
        f'`{series.FINISHED.name}{{reason="Compacted"}}`',
    ),
    (
        ("compactions.total.count", "compactionTotalCount", "table_optimizing_process_total_count"),
        f"`{series.STARTED.name}`, `{series.FINISHED.name}`",
    ),
    (
        ("table_optimizing_process_failed_count",),
        f'`{series.FINISHED.name}{{reason!~"Compacted\\|NothingToDo\\|Planned"}}`',
    ),
    (
        ("table_optimizing_minor_total_count", "table_optimizing_full_total_count"),
        f"`{series.FINISHED.name}` by `strategy`",
    ),
    (
        ("compactionThreadBusy", "optimizer_group_executing_tables"),
        f'`{series.ACTIVE.name}{{stage=~"Planning\\|Running\\|Committing"}}`',
    ),
    (("optimizer_group_pending_tables",), f"`{series.DUE_TABLES.name}`"),
    (("maxCompactionInputSize", "avgCompactionInputSize"), f"`{series.INPUT_BYTES.name}`"),
    (("maxCompactionOutputSize", "avgCompactionOutputSize"), f"`{series.OUTPUT_BYTES.name}`"),
    (
        ("table_optimizing_status_in_*", "table_optimizing_status_*_duration_mills"),
        f"`{series.ACTIVE.name}` and `{series.STAGE_SECONDS.name}`, by `stage`",
    ),
    (
        ("table_optimizing_since_last_optimization_mills",),
        f"`time() - {series.TABLE_SERIES['last_success'].name}`",
    ),
    (
        ("table_optimizing_since_last_full_optimization_mills",),
        f"`time() - {series.TABLE_SERIES['last_full'].name}`",
    ),
    (("table_summary_snapshots",), f"`{series.SNAPSHOTS.name}`"),
)
"""What others call a figure, and where it is here."""


def render() -> str:
    """The page docs/metrics.md."""
    parts = [_INTRO]
    for title, found in SECTIONS.items():
        parts += [f"## {title}\n", _lines(("Name", "Type", "Labels", "Meaning"), map(_cells, found))]
    names = [(", ".join(f"`{name}`" for name in others), ours) for others, ours in _OTHERS]
    return "\n".join([*parts, _OTHERS_INTRO, _lines(("Theirs", "Here"), names)])


def _cells(one: Series) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in one.labels)
    return f"`{one.name}`", one.shape, labels, f"{one.meaning[0].upper()}{one.meaning[1:]}."


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *rows])


if __name__ == "__main__":
    sys.stdout.write(render())
