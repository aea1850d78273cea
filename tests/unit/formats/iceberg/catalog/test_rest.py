"""REST catalogs: requests, credentials, and answers that are not as expected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lithify.errors import CatalogUnavailable, NotAllowed, NotFound, StorageError
from lithify.formats.iceberg.catalog.connecting import list_tables, open_catalog, vended_options
from lithify.formats.iceberg.catalog.names import parse_name
from lithify.formats.iceberg.catalog.rest import RestTables
from support.cases import case
from support.iceberg_rest import IcebergRestServer
from support.iceberg_tables import NAME, Lakehouse, metadata_of, rows

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The metadata of a table with a snapshot."""
    table = Lakehouse(tmp_path_factory.mktemp("lakehouse")).table()
    table.append(rows(1, 2))
    return metadata_of(table)


@pytest.fixture
def server(metadata: dict[str, object]) -> Iterator[IcebergRestServer]:
    with IcebergRestServer({tuple(NAME.split(".")): metadata}) as running:
        yield running


def opened(server: IcebergRestServer, **options: str) -> RestTables:
    found = open_catalog("lake", {**server.options, **options})
    assert isinstance(found, RestTables)
    return found


def requirement(head: object) -> dict[str, object]:
    return {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": head}


def test_a_table_comes_with_its_whole_metadata(
    server: IcebergRestServer, metadata: dict[str, object]
) -> None:
    found = opened(server).load(parse_name(NAME))
    assert found.metadata == metadata
    assert found.location.endswith(".metadata.json")


def test_namespaces_of_all_levels_are_listed(server: IcebergRestServer) -> None:
    server.tables |= {("sales", "t"): {}, ("a b", "c/d", "t"): {}}
    assert sorted(list_tables(opened(server))) == ["a b.c/d.t", NAME, "sales.t"]


def test_names_with_dots_of_their_own_are_left_out(server: IcebergRestServer) -> None:
    server.tables[("v1.2", "t")] = {}
    assert list(list_tables(opened(server))) == [NAME]


def test_an_expired_token_is_renewed(server: IcebergRestServer) -> None:
    catalog = opened(server)
    issued, server.rejects = len(server.tokens), 1
    catalog.load(parse_name(NAME))
    assert len(server.tokens) == issued + 1


def test_credentials_that_are_refused_are_the_users_to_mend(server: IcebergRestServer) -> None:
    catalog = opened(server)
    server.rejects = 9
    with pytest.raises(NotAllowed) as refused:
        catalog.load(parse_name(NAME))
    assert "sesame" not in str(refused.value)


def test_an_update_is_applied_if_its_requirements_hold(
    server: IcebergRestServer, metadata: dict[str, object]
) -> None:
    catalog, name = opened(server), parse_name(NAME)
    reference = {"action": "set-snapshot-ref", "ref-name": "audit", "type": "branch"}
    update = {**reference, "snapshot-id": metadata["current-snapshot-id"]}

    assert catalog.update(name, [requirement(metadata["current-snapshot-id"])], [update])
    assert not catalog.update(name, [requirement(7)], [update])

    found = catalog.load(name).metadata
    assert found is not None
    assert "audit" in found["refs"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        case(400, StorageError, id="refused"),
        case(403, NotAllowed, id="forbidden"),
        case(404, NotFound, id="dropped"),
        case(408, CatalogUnavailable, id="timed out"),
        case(429, CatalogUnavailable, id="throttled"),
        case(499, CatalogUnavailable, id="proxy has hung up"),
        case(500, CatalogUnavailable, id="failed"),
        case(502, CatalogUnavailable, id="proxy failed"),
        case(503, CatalogUnavailable, id="overloaded"),
        case(504, CatalogUnavailable, id="proxy timed out"),
    ],
)
def test_only_failures_of_the_server_leave_an_update_in_doubt(
    server: IcebergRestServer, status: int, error: type[Exception]
) -> None:
    server.steps.append(lambda _: (status, {"error": {"message": "words of the server"}}))
    with pytest.raises(error) as raised:
        opened(server).update(parse_name(NAME), [], [])
    assert isinstance(raised.value, CatalogUnavailable) == (error is CatalogUnavailable)
    assert "words of the server" not in str(raised.value)


@pytest.mark.parametrize("name", ["sales.eu.none", "none.t"])
def test_what_does_not_exist_is_not_found(server: IcebergRestServer, name: str) -> None:
    with pytest.raises(NotFound):
        opened(server).load(parse_name(name))


def test_a_server_that_is_gone_gives_no_answer(server: IcebergRestServer) -> None:
    with pytest.raises(CatalogUnavailable):
        opened(server, uri="http://127.0.0.1:9")


def test_a_server_cannot_send_credentials_elsewhere(server: IcebergRestServer) -> None:
    server.sent = {"overrides": {"uri": "http://127.0.0.1:9", "py-io-impl": "os.system"}}
    assert opened(server).load(parse_name(NAME)).metadata is not None


def test_vended_credentials_are_those_of_the_longest_fitting_prefix(server: IcebergRestServer) -> None:
    keys = {"s3.access-key-id": "AK", "s3.secret-access-key": "SK", "s3.session-token": "T"}
    server.credentials = lambda: keys
    server.config = {"s3.endpoint": "https://s3.example"}
    location = str(server.tables[tuple(NAME.split("."))]["location"])

    loaded = opened(server).load(parse_name(NAME)).config
    renewed = vended_options({**server.options, "warehouse": "lake"}, parse_name(NAME), location)

    assert loaded == {**server.config, **keys}
    assert {name: renewed[name] for name in keys} == keys


def test_an_answer_larger_than_any_is_not_read(server: IcebergRestServer, tmp_path: Path) -> None:
    name = tuple(NAME.split("."))
    server.tables[name] = {**server.tables[name], "padding": "x" * (65 << 20)}
    with pytest.raises(CatalogUnavailable):
        opened(server).load(parse_name(NAME))
