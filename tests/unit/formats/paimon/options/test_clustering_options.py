"""Options of clustered tables: names, defaults, and what cannot be done."""

from __future__ import annotations

import pytest

from lithify.columns.orders import SortStrategy
from lithify.errors import InvalidOption
from lithify.files.types import ColumnType, Field
from lithify.formats.paimon.options.clustering_options import ClusteringSettings
from lithify.formats.paimon.options.table_options import read_options
from lithify.formats.paimon.planning.clustering.policy import HistoryOptions
from lithify.formats.paimon.schema.schema import Column, Schema
from lithify.formats.paimon.support.clustering import clustering_refusals
from support.cases import case

TYPES = {
    "a": ColumnType("INT"),
    "b": ColumnType("VARCHAR"),
    "c": ColumnType("ARRAY", fields=(Field("e", ColumnType("INT")),)),
}
FIVE = "v,w,x,y,z"


def settings(**options: str) -> ClusteringSettings:
    """The settings of a clustered table; underscores stand for dots, two of them for dashes."""
    named = {name.replace("__", "-").replace("_", "."): value for name, value in options.items()}
    found = read_options(
        {"clustering.incremental": "true", "clustering.columns": "a", **named}, has_primary_key=False
    ).clustering
    assert found is not None
    return found


def refused(**options: str) -> list[str]:
    named = {name.replace("__", "-").replace("_", "."): value for name, value in options.items()}
    named = {"clustering.incremental": "true", "clustering.columns": "a", **named}
    columns = tuple(Column(number, name, kind) for number, (name, kind) in enumerate(TYPES.items()))
    schema = Schema(0, columns, (), (), named)
    return [*clustering_refusals(schema, read_options(named, has_primary_key=False))]


def test_tables_are_not_clustered_by_default() -> None:
    assert read_options({"clustering.columns": "a"}, has_primary_key=False).clustering is None
    assert read_options({"clustering.incremental": "true"}).clustering is None


def test_levels_and_triggers_are_those_of_merge_trees() -> None:
    found = settings(
        num__sorted__run_compaction__trigger="3",
        compaction_size__ratio="7",
        compaction_optimization__interval="1 h",
        compaction_offpeak_start_hour="1",
    ).planning
    assert (found.universal.run_trigger, found.universal.num_levels, found.universal.size_ratio) == (3, 4, 7)
    assert found.universal.early_full.interval_millis is None, "Paimon gives its strategy neither"
    assert found.universal.off_peak is None


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        case({}, ("a",), id="one"),
        case({"clustering_columns": " b , a"}, ("b", "a"), id="blanks"),
        case({"sink_clustering_by__columns": "b"}, ("a",), id="the newer name first"),
        case({"clustering_columns": ""}, (), id="none"),
    ],
)
def test_columns_are_read_in_their_order(options: dict[str, str], columns: tuple[str, ...]) -> None:
    assert settings(**options).planning.columns == columns


@pytest.mark.parametrize(
    ("options", "strategy"),
    [
        case({}, SortStrategy.ORDER, id="one column"),
        case({"clustering_columns": "a,b"}, SortStrategy.ZORDER, id="two columns"),
        case({"clustering_columns": FIVE[:-2]}, SortStrategy.ZORDER, id="four columns"),
        case({"clustering_columns": FIVE}, SortStrategy.HILBERT, id="five columns"),
        case({"clustering_strategy": "zorder"}, SortStrategy.ZORDER, id="named"),
        case({"clustering_strategy": "Hilbert"}, SortStrategy.HILBERT, id="in any case"),
        case({"sink_clustering_strategy": "hilbert"}, SortStrategy.HILBERT, id="by its older name"),
        case({"clustering_strategy": "none"}, None, id="without order"),
    ],
)
def test_the_strategy_follows_from_the_option_or_the_number_of_columns(
    options: dict[str, str], strategy: SortStrategy | None
) -> None:
    assert settings(**options).strategy is strategy


def test_other_options_have_the_defaults_of_paimon_or_what_they_say() -> None:
    default = settings()
    assert (default.text_bytes, default.is_global, default.planning.history) == (8, True, None)
    assert settings(zorder_var__length__contribution="20").text_bytes == 20
    assert not settings(clustering_incremental_mode="LOCAL-SORT").is_global
    aged = {"clustering_history__partition_idle__to__full__sort": "3 d"}
    assert settings(**aged).planning.history == HistoryOptions(3 * 86_400_000, 5)
    limited = {**aged, "clustering_history__partition_limit": "2"}
    assert settings(**limited).planning.history == HistoryOptions(3 * 86_400_000, 2)
    in_buckets = settings(**aged, bucket="2").planning
    assert (in_buckets.history, in_buckets.grows) == (None, True)


@pytest.mark.parametrize(
    "options",
    [
        case({"clustering_incremental": "maybe"}, id="switch"),
        case({"clustering_incremental_mode": "no-sort"}, id="mode"),
        case({"clustering_history__partition_idle__to__full__sort": "long"}, id="duration"),
        case({"zorder_var__length__contribution": "0"}, id="no bytes"),
    ],
)
def test_values_without_a_meaning(options: dict[str, str]) -> None:
    with pytest.raises(InvalidOption) as invalid:
        settings(**options)
    assert invalid.value.option.replace("-", "__").replace(".", "_") in options


@pytest.mark.parametrize(
    ("options", "named"),
    [
        case({"clustering_columns": ""}, "clustering.columns", id="no columns"),
        case({"clustering_columns": "a,d"}, "no column d", id="unknown column"),
        case({"clustering_columns": "a,c"}, "values of c have no order", id="nested column"),
        case({"clustering_strategy": "hilbert"}, "one column", id="a curve through one column"),
        case({"clustering_strategy": "none"}, "clustering.strategy", id="no order"),
        case({"deletion__vectors_enabled": "true"}, "deletion-vectors.enabled", id="deletion vectors"),
        case({"bucket": "2"}, "bucket-append-ordered", id="buckets with an order"),
    ],
)
def test_what_cannot_be_clustered_is_refused_by_name(options: dict[str, str], named: str) -> None:
    (reason,) = refused(**options)
    assert named in reason


def test_what_can_be_clustered() -> None:
    assert refused() == refused(clustering_columns="a,b") == []
    assert refused(bucket="2", bucket__append__ordered="false") == []
