"""Makes docs/metrics.md of the series: `python -m lithify.controller.telemetry.page`.

Called by `make docs` and by the test that keeps the page current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from textwrap import fill

from lithify.controller.telemetry import series
from lithify.controller.telemetry.series import DECLARED_TOTALS, SECTIONS, Series
from lithify.formats.declarations import Block
from lithify.resources.figures import BLOCKS

_WIDTH = 106

_INTRO = """\
# Metrics

<!-- Made from operator/lithify/controller/telemetry by `make docs`. -->

This page lists every metric that the operator exposes at `/metrics`, in addition to `process_*` of the
Prometheus client. [monitoring.md](monitoring.md) explains how to collect them, and which ones to watch first.

- Counters start at zero when the operator starts; use `rate` and `increase`.
- Only the leader counts work, so sum over replicas.
- `lithify_usage_*` have series for each policy with runs, of 2,000 policies at most; others are `Other`.
- Else the number of label values does not depend on the number of tables. The exception is the last section:
  it has one series per table and is disabled unless the operator runs with `--table-metrics`. Use it with
  hundreds of tables, not with tens of thousands. Its label is `table_namespace`, because a scrape sets
  `namespace`.
{blocks}- `/metrics` requires no password: anyone who reaches the port can read the names of tables there.
"""

_OTHERS_INTRO = """\
## Paimon's and Amoro's names

Paimon reports one bucket from the view of one writer, and Amoro one table from the view of its server.
Lithify observes tables from outside: its figures cover whole tables, and there are totals over all tables.
For the figure of one table, replace `lithify_` by `lithify_table_`. Where Paimon and Amoro use milliseconds,
Lithify uses seconds.
"""

_OTHERS: tuple[tuple[tuple[str, ...], str], ...] = (
    *((each.total.elsewhere, f"`{each.series.name}`") for each in DECLARED_TOTALS if each.total.elsewhere),
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
        f'`{series.FINISHED.name}{{reason!~"Compacted\\|Maintained\\|NothingToDo\\|Planned"}}`',
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
"""Names of figures elsewhere, and their names here."""


def render() -> str:
    """Returns the page docs/metrics.md."""
    parts = [_INTRO.format(blocks="".join(map(_block_line, BLOCKS)))]
    for title, found in SECTIONS.items():
        parts += [f"## {title}\n", _lines(("Name", "Type", "Labels", "Meaning"), map(_cells, found))]
    names = [(", ".join(f"`{name}`" for name in others), ours) for others, ours in _OTHERS]
    return "\n".join([*parts, _OTHERS_INTRO, _lines(("Theirs", "Here"), names)])


def _block_line(block: Block) -> str:
    """Which series only some kinds of tables have; empty for a block without any."""
    names = [f"`{each.series.name}`" for each in DECLARED_TOTALS if each.block == block]
    if not names:
        return ""
    text = (
        f"- {', '.join(names)} are figures of {block.tables}. Other tables have no series of these and do "
        "not count in the totals."
    )
    return f"{fill(text, _WIDTH, subsequent_indent='  ', break_on_hyphens=False)}\n"


def _cells(one: Series) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in one.labels)
    return f"`{one.name}`", one.shape, labels, f"{one.meaning[0].upper()}{one.meaning[1:]}."


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *rows])


if __name__ == "__main__":
    sys.stdout.write(render())
