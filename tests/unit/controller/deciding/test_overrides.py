"""A policy's triggers reach the planner as they are meant, and the LakeTable's own options win."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lithify.controller.deciding.overrides import table_overrides
from lithify.engine.pack.options import PackingOptions
from lithify.formats.adapters import FORMATS
from lithify.formats.declarations import Format
from lithify.formats.declared import declared
from lithify.formats.iceberg.table.snapshots import YIELD_TO_WRITERS
from lithify.formats.paimon.options.table_options import read_options
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import EarlyFull, OffPeak
from lithify.resources.figures import TRIGGER_GROUPS
from lithify.resources.quantities import LARGEST, quantity_bytes
from support.cases import case
from support.deciding.situations import policy, table

DEFAULTS = MergeTreeOptions()
PAIMON = declared("paimon")
ICEBERG = declared("iceberg")


def planned(fields: Mapping[str, Any]) -> MergeTreeOptions:
    """What the planner is given for a table without options of its own."""
    return read_options(table_overrides(policy(**fields), table(), PAIMON)).policy


def triggers(**fields: Any) -> dict[str, Any]:
    return {"triggers": {"primaryKey": fields}}


class TestPlanner:
    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            case({}, DEFAULTS, id="nothing set"),
            case(triggers(sortedRuns=9), replace(DEFAULTS, run_trigger=9, num_levels=10), id="runs"),
            case(
                triggers(sizeAmplificationPercent=50),
                replace(DEFAULTS, size_amplification_percent=50),
                id="amplification",
            ),
            case(triggers(sizeRatioPercent=0), replace(DEFAULTS, size_ratio=0), id="a ratio of nothing"),
            case(
                triggers(optimizationIntervalSeconds=90),
                replace(DEFAULTS, early_full=EarlyFull(interval_millis=90_000)),
                id="interval",
            ),
            case(
                triggers(totalSizeBelow="3Mi"),
                replace(DEFAULTS, early_full=EarlyFull(total_size=3 << 20)),
                id="total size",
            ),
            case(
                triggers(incrementalSizeAbove="1000"),
                replace(DEFAULTS, early_full=EarlyFull(incremental_size=1000)),
                id="incremental size, plain bytes",
            ),
            case(
                {"offPeak": {"startHour": 22, "endHour": 6, "sizeRatioPercent": 40}},
                replace(DEFAULTS, off_peak=OffPeak(22, 6, 40)),
                id="off-peak hours",
            ),
        ],
    )
    def test_gets_what_was_meant(self, fields: Mapping[str, Any], expected: MergeTreeOptions) -> None:
        assert planned(fields) == expected

    @pytest.mark.parametrize(
        ("its", "expected"),
        [case(ICEBERG, {YIELD_TO_WRITERS: "true"}, id="iceberg"), case(PAIMON, {}, id="paimon")],
    )
    def test_yields_to_writers_only_where_its_format_can(
        self, its: Format, expected: Mapping[str, str]
    ) -> None:
        assert table_overrides(policy(yieldToWriters=True), table(), its) == expected
        assert table_overrides(policy(), table(), its) == {}

    def test_gets_the_number_of_small_files_of_append_tables(self) -> None:
        fields = policy(triggers={"append": {"smallFiles": 12}})
        found = read_options(table_overrides(fields, table(), PAIMON), has_primary_key=False).packing
        assert found is not None
        assert found.min_files == 12
        assert planned({"triggers": {"append": {"smallFiles": 12}}}) == DEFAULTS

    @pytest.mark.parametrize("percent", [0, 7, 100])
    def test_gets_the_share_of_deleted_rows_in_append_tables(self, percent: int) -> None:
        fields = policy(triggers={"append": {"deleteRatioPercent": percent}})
        options = {**table_overrides(fields, table(), PAIMON), "deletion-vectors.enabled": "true"}
        found = read_options(options, has_primary_key=False).packing
        assert found is not None
        assert (found.delete_ratio, found.min_files) == (percent / 100, 5)

    def test_gets_the_age_of_small_files_of_append_tables(self) -> None:
        fields = policy(triggers={"append": {"smallFileAgeSeconds": 90}})
        found = read_options(table_overrides(fields, table(), PAIMON), has_primary_key=False).packing
        assert found == replace(PackingOptions(), leftover_millis=90_000)
        own = table(tableOptions={"lithify.small-file-age": "2 h"})
        found = read_options(table_overrides(fields, own, PAIMON), has_primary_key=False).packing
        assert found is not None
        assert found.leftover_millis == 7_200_000

    @example(8388608, "Ti")
    @given(st.integers(1, 1 << 40), st.sampled_from(["", "Ki", "Mi", "Gi", "Ti"]))
    def test_gets_sizes_to_the_byte(self, number: int, unit: str) -> None:
        found = planned(triggers(totalSizeBelow=f"{number}{unit}"[:16]))
        assert found.early_full.total_size == min(quantity_bytes(f"{number}{unit}"[:16]), LARGEST)


class TestPrecedence:
    OWN = table(tableOptions={"num-sorted-run.compaction-trigger": "3", "target-file-size": "64 mb"})

    def test_the_tables_options_win(self) -> None:
        found = table_overrides(policy(**triggers(sortedRuns=9, sizeRatioPercent=2)), self.OWN, PAIMON)
        assert found == {
            "compaction.size-ratio": "2",
            "num-sorted-run.compaction-trigger": "3",
            "target-file-size": "64 mb",
        }

    def test_without_a_policy_they_are_all(self) -> None:
        assert table_overrides(None, self.OWN, PAIMON) == self.OWN.spec.table_options

    def test_triggers_of_other_formats_say_nothing_about_a_table(self) -> None:
        fields = {**triggers(sortedRuns=9), "offPeak": {"startHour": 1, "endHour": 2, "sizeRatioPercent": 3}}
        own = self.OWN.spec.table_options
        assert table_overrides(policy(**fields), self.OWN, Format(declared("memory").metastores)) == own
        assert table_overrides(policy(**fields), self.OWN, None) == own

    @pytest.mark.parametrize("group", [group.name for group in TRIGGER_GROUPS])
    def test_an_empty_group_of_triggers_is_as_an_absent_one(self, group: str) -> None:
        """The API server adds empty ones to policies that were stored before a format was known."""
        assert policy(triggers={group: {}}) == policy()
        last = {each.name: each.triggers[-1] for each in TRIGGER_GROUPS if each.name != group}
        others = {name: {each.name: max(7, each.minimum or 0)} for name, each in last.items()}
        for name in FORMATS:
            with_empty, without = (policy(triggers={**others, **added}) for added in ({group: {}}, {}))
            expected = table_overrides(without, self.OWN, declared(name))
            assert table_overrides(with_empty, self.OWN, declared(name)) == expected
