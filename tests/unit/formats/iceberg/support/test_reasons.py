"""What this release refuses of Iceberg's tables, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lithify.formats.iceberg.support.page import render
from lithify.formats.iceberg.support.reasons import LoadedTable, refusals
from lithify.formats.iceberg.support.rules import load, parse
from support.cases import case

REPOSITORY = Path(__file__).resolve().parents[5]


def reasons(branch: str = "main", overrides: dict[str, str] | None = None, **fields: Any) -> list[str]:
    metadata = {"format-version": 2, **{name.replace("_", "-"): value for name, value in fields.items()}}
    return list(refusals(LoadedTable(metadata, overrides or {}, branch)))


def column(kind: Any) -> dict[str, Any]:
    return {"schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "c", "type": kind}]}]}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_versions_that_are_known_are_accepted(version: int) -> None:
    assert reasons(format_version=version) == []


@pytest.mark.parametrize("version", [0, 4, 5, None, "2"])
def test_other_versions_are_refused_with_nothing_else(version: object) -> None:
    assert len(reasons(format_version=version, properties={"write.new": "x"})) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        case("write.format.default", "PARQUET", id="value in upper case"),
        case("write.object-storage.enabled", "true", id="hashed places"),
        case("write.parquet.bloom-filter-enabled.column.a", "true", id="by its beginning"),
        case("write.spark.fanout.enabled", "true", id="engines"),
        case("owner", "me", id="a note"),
        case("numFiles", "12", id="a note of Hive"),
        case("commit.retry.num-retries", "0", id="no second try"),
        case("write.format.default", "ORC", id="ORC"),
        case("write.format.default", "avro", id="Avro"),
        case("write.avro.compression-level", "-3", id="level below zero"),
    ],
)
def test_properties_that_do_not_matter_or_are_honoured_are_accepted(name: str, value: str) -> None:
    assert reasons(properties={name: value}) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        case("write.location-provider.impl", "com.example.Places", id="class for places"),
        case("write.format.default", "vortex", id="other format"),
        case("write.target-file-size-bytes", "big", id="no number"),
        case("write.target-file-size-bytes", "0", id="no size"),
        case("encryption.key-id", "k", id="encryption"),
        case("write.frobnicate", "1", id="unknown to everybody"),
        case("commit.frobnicate", "1", id="unknown to commits"),
    ],
)
def test_other_properties_are_refused_by_name(name: str, value: str) -> None:
    (reason,) = reasons(properties={name: value})
    assert reason.startswith(f"property {name}")


def test_overrides_of_a_run_replace_stored_properties() -> None:
    stored = {"write.format.default": "vortex"}
    assert reasons(properties=stored, overrides={"write.format.default": "parquet"}) == []


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        case("variant", "variant", id="variant"),
        case("geometry(srid:4326)", "geometry", id="geometry with parameters"),
        case("geography", "geography", id="geography"),
        case({"type": "list", "element": "variant", "element-id": 2}, "variant", id="in a list"),
        case({"type": "map", "key": "string", "value": "unknown"}, "unknown", id="in a map"),
        case({"type": "struct", "fields": [{"name": "x", "type": "geometry"}]}, "geometry", id="in a struct"),
    ],
)
def test_types_that_cannot_be_rewritten_are_refused_by_column(kind: Any, refused: str) -> None:
    (reason,) = reasons(**column(kind))
    assert reason.startswith(f"column c has the type {refused}")


@pytest.mark.parametrize("kind", ["long", "decimal(38, 10)", "fixed[16]", "timestamp_ns", "uuid", "binary"])
def test_other_types_are_accepted(kind: str) -> None:
    assert reasons(**column(kind)) == []


def test_types_of_old_schemas_do_not_matter() -> None:
    schemas = [column("variant")["schemas"][0], {"schema-id": 1, "fields": []}]
    assert reasons(schemas=schemas, current_schema_id=1) == []


def test_manifests_without_a_list_are_refused() -> None:
    old = {"snapshot-id": 1, "manifests": ["m.avro"]}
    (reason,) = reasons(snapshots=[old, {"snapshot-id": 2, "manifest-list": "l.avro"}])
    assert reason.startswith("manifests of a snapshot")
    assert reasons(snapshots=[{**old, "manifest-list": "l.avro"}]) == []


def test_a_branch_whose_head_is_staged_is_left_to_its_writer() -> None:
    snapshot = {"snapshot-id": 5, "summary": {"wap.id": "job-7"}}
    refs = {name: {"snapshot-id": 5, "type": "branch"} for name in ("main", "audit")}
    assert len(reasons("audit", snapshots=[snapshot], refs=refs)) == 1
    assert reasons("main", snapshots=[snapshot], refs=refs) == []


def test_encrypted_manifest_lists_are_refused() -> None:
    assert len(reasons(snapshots=[{"snapshot-id": 1, "key-id": "k"}])) == 1


def test_secrets_in_properties_are_not_shown() -> None:
    (reason,) = reasons(properties={"write.secret-key": "sesame"})
    assert "sesame" not in reason


def test_every_property_is_classified_with_a_reason() -> None:
    assert all(rule.why and not rule.why.endswith(".") for rule in load())


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        case(
            "{keys: [a], class: harmless, why: x}, {keys: [a], class: harmless, why: y}", "twice: a", id="two"
        ),
        case("{keys: [a], class: harmless}", "why missing", id="no reason"),
        case("{keys: [a], class: harmless, why: x, values: [y]}", "any value", id="harmless with values"),
    ],
)
def test_a_mistake_in_the_table_is_named(row: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse(f"- {{group: g, rows: [{row}]}}")


def test_the_page_is_current_and_has_every_property() -> None:
    page = render()
    assert (REPOSITORY / "docs" / "support-iceberg.md").read_text("utf-8") == page
    assert all(f"`{name}`" in page for rule in load() for name in rule.names)
