"""Tables of a Glue catalog: found, listed, and committed to by comparing versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.table import Table

from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.errors import (
    CatalogUnavailable,
    NotAllowed,
    NotFound,
    OutOfReach,
    StorageError,
    UnsupportedTable,
)
from lithify.formats.iceberg.catalog.connecting import list_tables, open_catalog
from lithify.formats.iceberg.catalog.glue import GlueTables
from lithify.formats.iceberg.catalog.names import TableName, parse_name
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.io.access_policy import NOWHERE
from support.cases import case
from support.glue import Glue, serving
from support.iceberg_runs import CLOCK
from support.iceberg_tables import SCHEMA, rows

pytestmark = pytest.mark.thorough

NAME = "sales.orders"
ORDERS = parse_name(NAME)


@pytest.fixture
def glue() -> Iterator[Glue]:
    with serving() as found:
        yield found


@pytest.fixture
def writer(glue: Glue, tmp_path: Path) -> GlueCatalog:
    catalog = GlueCatalog("writer", warehouse=f"file://{tmp_path}", **glue.options)
    catalog.create_namespace("sales")
    return catalog


@pytest.fixture
def table(writer: GlueCatalog) -> Table:
    return writer.create_table(NAME, SCHEMA)


def opened(glue: Glue) -> GlueTables:
    found = open_catalog("", {"metastore": "glue", **glue.options})
    assert isinstance(found, GlueTables)
    return found


def test_a_table_is_found_where_its_writer_put_it(glue: Glue, table: Table) -> None:
    assert opened(glue).load(ORDERS).location == table.metadata_location


def test_tables_of_all_databases_are_listed(glue: Glue, writer: GlueCatalog, table: Table) -> None:
    writer.create_namespace("other")
    writer.create_table("other.t", SCHEMA)
    assert sorted(list_tables(opened(glue))) == ["other.t", "sales.orders"]


@pytest.mark.parametrize("loses_answers", [case(False, id="answered"), case(True, id="answer lost")])
def test_a_compaction_keeps_the_rows_and_what_glue_says_of_the_table(
    glue: Glue, writer: GlueCatalog, table: Table, tmp_path: Path, loses_answers: bool
) -> None:
    for number in range(3):
        table.append(rows(number))
    before = _described(writer)
    glue.loses_answers = loses_answers

    address = TableAddress(str(tmp_path), NAME, {"metastore": "glue", **glue.options}, format="iceberg")
    report = compact(Request(address, Selection(strategy=Strategy.FULL)), InlineRunner(), CLOCK)

    assert report.status == "Compacted"
    assert not glue.loses_answers

    found = writer.load_table(NAME)
    assert len(found.inspect.files()) == 1
    assert found.scan().to_arrow().sort_by("id").equals(rows(0, 1, 2))
    after = _described(writer)
    assert {key for key in before if before[key] != after[key]} <= {"Parameters", "UpdateTime", "VersionId"}
    assert glue.updates[-1]["SkipArchive"], "old versions of tables are not archived, as Java's client does"


def test_only_the_first_of_two_swaps_on_one_base_succeeds(glue: Glue, table: Table) -> None:
    catalog = opened(glue)
    base = catalog.load(ORDERS)
    assert catalog.swap(ORDERS, base, "file:///m/a", "", lambda: True)
    assert not catalog.swap(ORDERS, base, "file:///m/b", "", lambda: True)
    assert catalog.load(ORDERS).location == "file:///m/a"


def test_a_swap_is_lost_to_another_writer(glue: Glue, table: Table) -> None:
    catalog = opened(glue)
    base = catalog.load(ORDERS)
    table.append(rows(1))
    assert not catalog.swap(ORDERS, base, "file:///m/x", "", lambda: True)
    assert catalog.load(ORDERS).location == table.metadata_location


def test_a_swap_that_is_no_longer_wanted_is_not_sent(glue: Glue, table: Table) -> None:
    catalog = opened(glue)
    assert not catalog.swap(ORDERS, catalog.load(ORDERS), "file:///m/x", "", lambda: False)
    assert glue.updates == []


@pytest.mark.parametrize(
    ("name", "error"),
    [
        case(TableName(("sales",), "none"), NotFound, id="no such table"),
        case(TableName(("none",), "orders"), NotFound, id="no such database"),
        case(TableName(("sales",), "csv"), UnsupportedTable, id="not of Iceberg"),
    ],
)
def test_what_is_no_table_of_iceberg_is_refused(
    glue: Glue, writer: GlueCatalog, name: TableName, error: type[Exception]
) -> None:
    writer.glue.create_table(DatabaseName="sales", TableInput={"Name": "csv", "Parameters": {}})
    with pytest.raises(error):
        opened(glue).load(name)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        case("AccessDeniedException", NotAllowed, id="denied"),
        case("InternalServiceException", CatalogUnavailable, id="failure"),
        case("ThrottlingException", CatalogUnavailable, id="throttled"),
        case("OperationTimeoutException", CatalogUnavailable, id="timeout"),
        case("GlueEncryptionException", StorageError, id="anything else"),
    ],
)
def test_refusals_become_errors_of_ours(glue: Glue, table: Table, code: str, error: type[Exception]) -> None:
    catalog = opened(glue)
    base = catalog.load(ORDERS)
    glue.failure = code
    with pytest.raises(error):
        catalog.swap(ORDERS, base, "file:///m/x", "", lambda: True)


def test_a_service_that_is_gone_is_unavailable(glue: Glue) -> None:
    options = {**glue.options, "glue.endpoint": "http://127.0.0.1:9"}
    with pytest.raises(CatalogUnavailable):
        open_catalog("", {"metastore": "glue", **options}).load(ORDERS)


def test_glue_is_not_asked_with_rights_of_the_operator(glue: Glue) -> None:
    with pytest.raises(OutOfReach):
        open_catalog("", {"metastore": "glue", "glue.region": "eu-central-1"}, NOWHERE)


def _described(writer: GlueCatalog) -> dict[str, object]:
    found: dict[str, object] = writer.glue.get_table(DatabaseName="sales", Name="orders")["Table"]
    return found
