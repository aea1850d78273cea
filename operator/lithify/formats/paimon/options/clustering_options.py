"""Parsed table options of clustering: by which columns rows are sorted, how, and when.

Called by `table_options`. Names and defaults are those of Paimon's CoreOptions.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.columns.orders import SortStrategy
from lithify.errors import InvalidOption
from lithify.formats.paimon.options.option_reader import OptionReader, parse_millis
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions, HistoryOptions
from lithify.formats.paimon.planning.universal.policy import UniversalOptions

INCREMENTAL = "clustering.incremental"
COLUMNS = "clustering.columns"
STRATEGY = "clustering.strategy"
_MODE = "clustering.incremental.mode"
_IDLE = "clustering.history-partition.idle-to-full-sort"
_LIMIT = "clustering.history-partition.limit"
_TEXT_BYTES = "zorder.var-length-contribution"

# The first option that is set applies.
_COLUMNS = (COLUMNS, "sink.clustering.by-columns")
_STRATEGY = (STRATEGY, "sink.clustering.strategy")

_AUTO = "auto"
_GLOBAL, _LOCAL = "global-sort", "local-sort"
_FEW_COLUMNS = 5
"""Number of columns from which Paimon chooses the Hilbert curve."""
_DEFAULT_TEXT_BYTES, _MOST_TEXT_BYTES = 8, 256


@dataclass(frozen=True, slots=True)
class ClusteringSettings:
    """How rows are clustered.

    Attributes:
        planning: the options that steer planning.
        strategy: how the clustering columns are combined; None if the table names a way that is not known.
        text_bytes: first bytes of a text or binary that count on a z-order curve.
        is_global: whether all files that are sorted together are one sequence; otherwise each is sorted in
            itself.
    """

    planning: ClusteringOptions
    strategy: SortStrategy | None
    text_bytes: int = _DEFAULT_TEXT_BYTES
    is_global: bool = True


def read_clustering(reader: OptionReader, universal: UniversalOptions) -> ClusteringSettings | None:
    """Reads how rows are clustered; None if they are not.

    Args:
        reader: the table's options.
        universal: the options of universal compaction; those of early and forced compactions do not apply.

    Raises:
        InvalidOption: a value cannot be parsed, or has no meaning in Paimon.
    """
    if not reader.boolean(INCREMENTAL, default=False):
        return None
    columns = clustering_columns(reader)
    bucket = reader.integer("bucket", -1)
    return ClusteringSettings(
        planning=ClusteringOptions(
            columns=columns,
            universal=UniversalOptions(
                num_levels=universal.num_levels,
                run_trigger=universal.run_trigger,
                size_amplification_percent=universal.size_amplification_percent,
                size_ratio=universal.size_ratio,
                target_file_size=universal.target_file_size,
                small_file_size=universal.small_file_size,
                rule=universal.rule,
            ),
            grows=bucket > 0,
            history=_history(reader) if bucket < 0 else None,
            max_files=max(2, reader.integer("compaction.file-num-limit", ClusteringOptions(()).max_files)),
        ),
        strategy=_strategy(reader, len(columns)),
        text_bytes=reader.integer(_TEXT_BYTES, _DEFAULT_TEXT_BYTES, low=1, high=_MOST_TEXT_BYTES),
        is_global=_mode(reader) == _GLOBAL,
    )


def clustering_columns(reader: OptionReader) -> tuple[str, ...]:
    """The columns by which rows are sorted; empty if the table names none."""
    text = next((found for key in _COLUMNS if (found := reader.optional(key, str)) is not None), "")
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _strategy(reader: OptionReader, columns: int) -> SortStrategy | None:
    """Paimon chooses by the number of columns unless the table names a strategy."""
    key = next((key for key in _STRATEGY if reader.optional(key, str) is not None), STRATEGY)
    text = reader.text(key, _AUTO)
    if text == _AUTO:
        several = SortStrategy.ZORDER if columns < _FEW_COLUMNS else SortStrategy.HILBERT
        return SortStrategy.ORDER if columns == 1 else several
    return next((strategy for strategy in SortStrategy if strategy == text.lower()), None)


def _history(reader: OptionReader) -> HistoryOptions | None:
    idle = reader.optional(_IDLE, parse_millis)
    return None if idle is None else HistoryOptions(idle, reader.integer(_LIMIT, 5))


def _mode(reader: OptionReader) -> str:
    text = reader.text(_MODE, _GLOBAL).lower()
    if text not in (_GLOBAL, _LOCAL):
        raise InvalidOption(_MODE, f"'{text}' is neither {_GLOBAL} nor {_LOCAL}")
    return text
