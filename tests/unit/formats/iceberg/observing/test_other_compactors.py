"""An observation names who else compacts an Iceberg table, and nobody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from lithify.clock import epoch_millis
from lithify.engine.observe.summing import COMPACTOR_WINDOW as WINDOW
from lithify.engine.observe.summing import forgotten_at
from lithify.formats.iceberg.observing.other_compactors import other_compactors
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata, parse_metadata
from lithify.formats.protocol.observation import OtherCompactor
from support.cases import case

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOME = "s3://lake/db/t"
REWRITE = {"operation": "replace", "added-data-files": "1", "deleted-data-files": "9"}
OURS = {**REWRITE, "engine-name": "lithify", "lithify.run": "t-1"}
APPEND = {"operation": "append", "engine-name": "spark", "app-id": "local-1"}

Summaries = Sequence[tuple[timedelta, Mapping[str, str]]]


def metadata(
    summaries: Summaries = (), location: str = HOME, properties: Mapping[str, str] | None = None
) -> TableMetadata:
    """A table whose snapshots 1, 2 and so on have these ages and summaries, oldest first."""
    snapshots = [
        {
            "snapshot-id": number,
            "parent-snapshot-id": number - 1 if number > 1 else None,
            "timestamp-ms": epoch_millis(NOON - age),
            "summary": summary,
        }
        for number, (age, summary) in enumerate(summaries, start=1)
    ]
    found = {
        "format-version": 2,
        "location": location,
        "last-updated-ms": 1,
        "schemas": [{"schema-id": 0, "fields": []}],
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "properties": properties or {},
        "snapshots": snapshots,
        "current-snapshot-id": len(snapshots) or -1,
    }
    return parse_metadata(found, "")


def others(
    summaries: Summaries = (), location: str = HOME, properties: Mapping[str, str] | None = None
) -> tuple[OtherCompactor, ...]:
    table = metadata(summaries, location, properties)
    return other_compactors(table, MAIN, table.properties, NOON)


def seen(summary: Mapping[str, str]) -> tuple[OtherCompactor, ...]:
    """The others that one snapshot tells of."""
    return others([(HOUR, summary)])


class TestSettings:
    @pytest.mark.parametrize(
        ("properties", "expected"),
        [
            case({}, [], id="nothing said"),
            case({"self-optimizing.enabled": "false"}, [], id="amoro is off"),
            case({"self-optimizing.enabled": "TRUE"}, ["Amoro"], id="amoro is on, in any case"),
            case({"self-optimizing.target-size": "1"}, [], id="amoro's sizes alone"),
            case({"flink-maintenance.rewrite.enabled": "true"}, ["Flink"], id="flink's sink compacts"),
            case({"compaction-enabled": "true"}, ["Flink"], id="by its former name"),
            case({"flink-maintenance.expire-snapshots.enabled": "true"}, [], id="flink only expires"),
            case(
                {"flink-maintenance.convert-equality-deletes.enabled": "true"},
                ["Flink"],
                id="flink converts equality deletes",
            ),
            case(
                {"self-optimizing.enabled": "true", "flink-maintenance.rewrite.enabled": "true"},
                ["Amoro", "Flink"],
                id="two",
            ),
        ],
    )
    def test_services_are_found_by_properties(
        self, properties: Mapping[str, str], expected: Sequence[str]
    ) -> None:
        found = others(properties=properties)
        assert [each.name for each in found] == expected
        assert [each.last_seen for each in found] == [None] * len(expected)

    def test_the_property_is_the_evidence(self) -> None:
        (found,) = others(properties={"self-optimizing.enabled": "true"})
        assert found.evidence == "the property self-optimizing.enabled = true"
        assert "self-optimizing.enabled=false" in found.remedy

    @pytest.mark.parametrize(
        ("location", "expected"),
        [
            case("s3://63a8e430-6e0b-46f5-k833abt--table-s3", ["Amazon S3 Tables"], id="a table bucket"),
            case("s3://63a8e430--table-s3/db/t", ["Amazon S3 Tables"], id="a folder in one"),
            case("s3://lake/db/t--table-s3", [], id="a folder of that name"),
            case("s3://lake--table-s3x/db", [], id="another bucket"),
            case("/tmp/x--table-s3", [], id="no bucket"),
        ],
    )
    def test_s3_tables_is_found_by_its_bucket(self, location: str, expected: Sequence[str]) -> None:
        assert [each.name for each in others(location=location)] == expected


class TestSnapshots:
    @pytest.mark.parametrize(
        ("summary", "expected"),
        [
            case({**REWRITE, "engine-name": "spark", "app-id": "application_1"}, "Spark", id="spark"),
            case({**REWRITE, "spark.app.id": "local-1"}, "Spark", id="spark without an engine's name"),
            case({**REWRITE, "engine-name": "flink"}, "Flink", id="flink"),
            case({**REWRITE, "trino_query_id": "20260310_1"}, "Trino", id="trino"),
            case({**REWRITE, "engine-name": "newdb"}, "Newdb", id="an engine nobody knows"),
            case(REWRITE, "another engine", id="no name at all"),
            case({"operation": "replace", "removed-delete-files": "2"}, "another engine", id="only deletes"),
            case({**REWRITE, "snapshot.producer": "OPTIMIZE"}, "Amoro", id="amoro"),
            case(
                {"operation": "overwrite", "snapshot.producer": "OPTIMIZE"},
                "Amoro",
                id="amoro, a keyed table",
            ),
            case(
                {"operation": "delete", "equality-convert-staging-snapshot": "7"},
                "Flink",
                id="flink converted equality deletes",
            ),
        ],
    )
    def test_compactions_name_their_engine(self, summary: Mapping[str, str], expected: str) -> None:
        (found,) = seen(summary)
        assert (found.name, found.last_seen) == (expected, NOON - HOUR)
        assert "snapshot 1 " in found.evidence

    @pytest.mark.parametrize(
        "summary",
        [
            case(OURS, id="lithify's own"),
            case({**OURS, "snapshot.producer": "OPTIMIZE"}, id="lithify's own of a keyed table"),
            case({**REWRITE, "engine-name": "lithify"}, id="lithify's, without a run"),
            case(APPEND, id="rows were added"),
            case({"operation": "overwrite", "deleted-data-files": "3"}, id="rows were changed"),
            case({"operation": "overwrite", "snapshot.producer": "INGESTION"}, id="amoro's writer"),
            case(
                {**REWRITE, "snapshot.producer": "CLEAN_DANGLING_DELETE"}, id="amoro removed unused deletes"
            ),
            case({**REWRITE, "snapshot.producer": "DATA_EXPIRATION"}, id="amoro removed old rows"),
            case({"operation": "replace", "manifests-replaced": "9"}, id="only manifests were rewritten"),
            case({"operation": "replace", "deleted-data-files": "many"}, id="a count that is none"),
            case({}, id="no summary"),
        ],
    )
    def test_other_snapshots_name_nobody(self, summary: Mapping[str, str]) -> None:
        assert seen(summary) == ()

    @pytest.mark.parametrize(
        ("age", "is_named"),
        [
            case(timedelta(0), True, id="just now"),
            case(timedelta(hours=30), True, id="of a nightly job"),
            case(WINDOW - timedelta(seconds=1), True, id="almost too old"),
            case(WINDOW, False, id="too old"),
            case(-HOUR, True, id="by a clock that is ahead"),
        ],
    )
    def test_old_compactions_are_forgotten(self, age: timedelta, *, is_named: bool) -> None:
        assert bool(others([(age, REWRITE)])) == is_named

    def test_the_newest_of_an_engine_counts(self) -> None:
        spark = {**REWRITE, "engine-name": "spark"}
        (found,) = others([(3 * HOUR, spark), (2 * HOUR, spark), (HOUR, APPEND), (timedelta(0), OURS)])
        assert (found.evidence, found.last_seen) == ("snapshot 2 (replace)", NOON - 2 * HOUR)

    def test_the_job_is_named(self) -> None:
        told = {"engine-name": "spark", "app-id": "application_7", "app-name": "nightly", "spark.app.id": "x"}
        (found,) = seen({**REWRITE, **told})
        assert found.evidence == "snapshot 1 (replace, app-name = nightly, app-id = application_7)"

    def test_a_property_and_a_snapshot_of_one_service_are_one(self) -> None:
        amoro = {**REWRITE, "snapshot.producer": "OPTIMIZE"}
        (found,) = others([(HOUR, amoro)], properties={"self-optimizing.enabled": "true"})
        assert found.last_seen == NOON - HOUR
        assert found.evidence == (
            "the property self-optimizing.enabled = true, snapshot 1 (replace, snapshot.producer = OPTIMIZE)"
        )

    def test_strange_texts_are_harmless_and_few(self) -> None:
        many = [
            (HOUR, {**REWRITE, "engine-name": f"\x1b{number}" + "x" * 5000, "deleted-data-files": "9" * 5000})
            for number in range(40)
        ]
        assert others(many) == ()
        named = [(age, {**summary, "deleted-data-files": "9"}) for age, summary in many]
        found = others(named)
        assert len(found) == 4
        assert all(len(each.name) < 100 and each.name.isprintable() for each in found)

    def test_other_branches_do_not_count(self) -> None:
        assert other_compactors(metadata([(HOUR, REWRITE)]), "audit", {}, NOON) == ()


class TestForgetting:
    def test_the_oldest_is_forgotten_first(self) -> None:
        found = others([(3 * HOUR, {**REWRITE, "engine-name": "spark"}), (HOUR, REWRITE)])
        end = forgotten_at(found, NOON)
        assert end == NOON - 3 * HOUR + WINDOW
        table = metadata([(3 * HOUR, {**REWRITE, "engine-name": "spark"}), (HOUR, REWRITE)])
        assert [each.name for each in other_compactors(table, MAIN, {}, end)] == ["another engine"]

    def test_settings_are_never_forgotten(self) -> None:
        assert forgotten_at(others(properties={"self-optimizing.enabled": "true"}), NOON) is None

    def test_snapshots_of_the_far_future_are_no_problem(self) -> None:
        end_of_time = NOON - datetime(9999, 12, 31, 23, tzinfo=UTC)
        assert forgotten_at(others([(end_of_time, REWRITE)]), NOON) is None
