"""Catalogs whose authors are after what the operator can reach: addresses, credentials, files, answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from textwrap import dedent

import pytest
import pytest_asyncio

from cluster.hostile.catalogs import (
    SECRET,
    Answer,
    Listener,
    answering,
    endless,
    listening,
    redirecting,
    saying,
)
from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.tables import small_table
from lithify.controller.observing.pool import ObserverPool, PoolSettings
from lithify.controller.observing.wire import WorkerSettings
from lithify.errors import (
    CatalogUnavailable,
    CorruptTable,
    InvalidOption,
    LithifyError,
    NotAllowed,
    OutOfReach,
    StorageError,
)
from lithify.formats.paimon.access import rest_client
from lithify.formats.paimon.catalog.connecting import list_tables, load_table
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.snapshots.committing_server import CatalogServer
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observing import ObservationRequest
from lithify.io.access_policy import NOWHERE, AccessPolicy, OwnIdentity
from lithify.io.addresses import read_policy
from lithify.settings import ALLOWED_ADDRESSES
from support.cases import case
from support.rest_server import TOKEN, WAREHOUSE, RestServer
from support.small_tables import SmallTable

PATIENCE = 60.0
KEYS = {"s3.access-key": "a", "s3.secret-key": "b"}
OSS_KEYS = {"fs.oss.accessKeyId": "a", "fs.oss.accessKeySecret": "b", "fs.oss.sld.enabled": "true"}
QUICK = {"lithify.s3.patience-seconds": "0"}
BEAR = {"metastore": "rest", "token.provider": "bear", "token": TOKEN}


@pytest.fixture
def listener() -> Iterator[Listener]:
    """On the loopback address; whoever connects to it has been led astray."""
    with listening() as found:
        yield found
        assert found.connections == 0


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    table = SmallTable(tmp_path / "warehouse").create()
    table.append()
    return table


def pool_in(folder: Path, *allowed: str) -> ObserverPool:
    """Workers as the operator's, which may also connect to some addresses."""
    settings = WorkerSettings(str(folder / "kept"), addresses=read_policy(allowed, "10.96.0.1"))
    return ObserverPool(PoolSettings(settings, workers=1))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ObserverPool]:
    """A worker that may connect to public addresses."""
    async with pool_in(tmp_path_factory.mktemp("workers")) as pool:
        yield pool


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ObserverPool]:
    """A worker that may also connect to 127.0.0.1."""
    async with pool_in(tmp_path_factory.mktemp("local"), "127.0.0.1") as pool:
        yield pool


async def refused(
    pool: ObserverPool, warehouse: str, options: Mapping[str, str], reach: AccessPolicy = NOWHERE
) -> LithifyError:
    target = TableAddress(warehouse, "db.t", options, reach=reach)
    with pytest.raises(LithifyError) as caught:
        await pool.observe(ObservationRequest(target, cache_key="db.t"), PATIENCE)
    assert SECRET not in str(caught.value)
    return caught.value


@pytest.mark.asyncio(loop_scope="module")
class TestAddresses:
    @pytest.mark.parametrize("way", ["Rest", "S3", "Jdbc"])
    async def test_no_way_leads_to_this_machine(
        self, workers: ObserverPool, listener: Listener, table: SmallTable, way: str
    ) -> None:
        granted = AccessPolicy((str(table.warehouse),), with_endpoint=False)
        for host in ("127.0.0.1", "localhost", "127.1", "0.0.0.0", "[::ffff:127.0.0.1]", "0x7f.1"):
            url = f"http://{host}:{listener.port}"
            warehouse, options = {
                "Rest": ("w", {**BEAR, "uri": url}),
                "S3": ("s3://lake/w", {**KEYS, "s3.endpoint": url, "s3.path.style.access": "true", **QUICK}),
                "Jdbc": (
                    str(table.warehouse),
                    {"metastore": "jdbc", "uri": f"jdbc:mysql://{host}:{listener.port}/db"},
                ),
            }[way]
            error = await refused(workers, warehouse, options, granted)
            assert isinstance(error, OutOfReach), host
            assert ALLOWED_ADDRESSES.field in str(error)

    async def test_nor_into_the_cluster(self, workers: ObserverPool) -> None:
        """Whether anything is there is not told: nothing is asked."""
        metadata = ("169.254.169.254", "100.100.100.200", "[fd00:ec2::254]")
        for host in ("10.96.0.1", *metadata, "kubernetes.default.svc", "redis", "a.svc.cluster.local"):
            in_path = {"s3.path.style.access": "true"}
            for warehouse, options in (
                ("w", {**BEAR, "uri": f"http://{host}"}),
                ("s3://lake/w", {**KEYS, "s3.endpoint": f"http://{host}", **in_path, **QUICK}),
                ("oss://lake/w", {**OSS_KEYS, "fs.oss.endpoint": f"http://{host}"}),
            ):
                error = await refused(workers, warehouse, options)
                assert isinstance(error, OutOfReach), host
                assert error.where == host.strip("[]")

    async def test_redirects_of_s3_lead_nowhere(self, local: ObserverPool, listener: Listener) -> None:
        """Not even to the very host that is allowed, at another port."""
        elsewhere = f"http://127.0.0.1:{listener.port}/latest/meta-data"
        with answering(redirecting(elsewhere)) as port:
            options = {**KEYS, "s3.endpoint": f"http://127.0.0.1:{port}", **QUICK}
            error = await refused(local, "s3://lake/w", options)
        assert isinstance(error, NotAllowed | StorageError)

    async def test_tokens_of_a_server_name_no_other_address(
        self, local: ObserverPool, table: SmallTable
    ) -> None:
        with listening("127.0.0.2") as listener, RestServer(table.warehouse, gives_tokens=True) as server:
            token = {
                "fs.s3.accessKeyId": "a",
                "fs.s3.accessKeySecret": "b",
                "fs.s3.endpoint": f"http://127.0.0.2:{listener.port}",
            }
            server.canned["token"] = (200, {"token": token, "expiresAtMillis": 4_000_000_000_000})
            server.canned["t"] = (200, _table_at(server, "s3://lake/t"))
            error = await refused(local, WAREHOUSE, server.options)
            assert isinstance(error, OutOfReach)
            assert error.where == "127.0.0.2"
            assert listener.connections == 0

    async def test_tokens_of_one_catalog_sign_no_request_of_another(
        self, local: ObserverPool, table: SmallTable
    ) -> None:
        """Both have the same bearer token and a table of the same name."""
        heard: dict[str, set[str]] = {}
        with ExitStack() as around:
            for tenant in ("eagle", "owl"):
                store = around.enter_context(answering(_noting_keys(heard.setdefault(tenant, set()))))
                server = around.enter_context(RestServer(table.warehouse, gives_tokens=True))
                keys = {"fs.s3.accessKeyId": tenant, "fs.s3.accessKeySecret": "b"}
                server.canned["token"] = (200, {"token": keys, "expiresAtMillis": 4_000_000_000_000})
                server.canned["t"] = (200, _table_at(server, "s3://lake/t"))
                options = {**server.options, "s3.endpoint": f"http://127.0.0.1:{store}", **QUICK}
                target = TableAddress(WAREHOUSE, "db.t", options, reach=NOWHERE, catalog=f"{tenant}/lake")
                with pytest.raises(LithifyError):
                    await local.observe(ObservationRequest(target, cache_key=tenant), PATIENCE)
        assert heard == {"eagle": {"eagle"}, "owl": {"owl"}}

    async def test_allowed_addresses_can_be_observed(self, local: ObserverPool, table: SmallTable) -> None:
        with RestServer(table.warehouse) as server:
            reach = OwnIdentity((("*", str(table.warehouse)),)).reach("team")
            target = TableAddress(WAREHOUSE, "db.t", server.options, reach=reach)
            found = await local.observe(ObservationRequest(target, cache_key="db.t"), PATIENCE)
        assert found is not None
        assert found.files == 4


def test_names_that_lead_here_are_refused_whenever_they_do(listener: Listener) -> None:
    """DNS is somebody else's: it may say one thing when asked first, and another when connecting."""
    script = f"""
        import socket
        from lithify.errors import OutOfReach
        from lithify.io.addresses import read_policy
        from lithify.io.guard import admit, guard

        guard(read_policy(["*.allowed.example", "fd00::/8"]))
        real, answers = socket.getaddrinfo, []

        def resolve(host, port, *args, **named):
            return real(answers.pop(0), port, *args, **named)

        socket.getaddrinfo = resolve
        def refuses(call):
            try:
                call()
            except OutOfReach:
                return True
            return False

        def connect(host):
            socket.create_connection((host, {listener.port}), 5)

        answers[:] = ["127.0.0.1"]
        assert refuses(lambda: admit("public.example", {listener.port}))
        answers[:] = ["127.0.0.1"]
        assert refuses(lambda: admit("x.allowed.example", {listener.port}))
        answers[:] = ["93.184.216.34", "127.0.0.1"]
        assert admit("public.example", {listener.port}) == ("93.184.216.34",)
        assert refuses(lambda: connect("public.example"))
        answers[:] = ["10.1.2.3"]
        assert admit("x.allowed.example", 1) == ("10.1.2.3",)
        answers[:] = ["10.1.2.3"]
        assert refuses(lambda: admit("public.example", 1))
    """
    command = [sys.executable, "-c", dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.asyncio(loop_scope="module")
async def test_a_store_that_is_allowed_works(local: ObserverPool, s3: Bucket) -> None:
    small_table(s3)
    target = TableAddress(f"{s3.url}/lake", "db.t", s3.options(), reach=NOWHERE)
    found = await local.observe(ObservationRequest(target, cache_key="s3"), PATIENCE)
    assert found is not None
    assert found.files == 8


@pytest.mark.asyncio(loop_scope="module")
class TestOwnRights:
    async def test_own_rights_are_refused_without_a_grant(
        self, workers: ObserverPool, table: SmallTable, tmp_path: Path
    ) -> None:
        granted = AccessPolicy((str(tmp_path / "lake"), "s3://lake/"), with_endpoint=False)
        database = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
        for warehouse, options in (
            (str(table.warehouse), {}),
            (f"file:{table.warehouse}", {}),
            (f"{tmp_path}/lake/../warehouse", {}),
            ("s3://lake-evil/w", QUICK),
            ("s3://lake/../lake-evil/w", QUICK),
            ("hdfs://namenode:8020/w", {}),
            ("s3://lake/w", {**database, **KEYS, "s3.endpoint": "https://store.example.org", **QUICK}),
        ):
            error = await refused(workers, warehouse, options, granted)
            assert isinstance(error, OutOfReach | StorageError), (warehouse, error)
            assert isinstance(error, OutOfReach) or "jdbc" in options.get("uri", "")

    async def test_never_go_to_an_endpoint_of_the_catalog(
        self, workers: ObserverPool, listener: Listener
    ) -> None:
        options = {"s3.endpoint": f"http://127.0.0.1:{listener.port}", **QUICK}
        error = await refused(
            workers, "s3://lake/w", options, AccessPolicy(("s3://lake",), with_endpoint=False)
        )
        assert isinstance(error, InvalidOption)
        assert "s3.endpoint" in error.option

    @pytest.mark.parametrize("gives_tokens", [True, False])
    async def test_a_server_cannot_point_at_them(
        self, local: ObserverPool, table: SmallTable, gives_tokens: bool
    ) -> None:
        with RestServer(table.warehouse, gives_tokens=gives_tokens) as server:
            for place in ("/etc", "file:/etc", "hdfs://namenode/t"):
                server.canned["t"] = (200, _table_at(server, place))
                error = await refused(local, WAREHOUSE, server.options)
                assert isinstance(error, OutOfReach), place
                assert error.where.startswith(place)

    async def test_a_grant_serves_its_namespace_and_no_other(
        self, workers: ObserverPool, table: SmallTable
    ) -> None:
        reach = OwnIdentity((("team", str(table.warehouse)),)).reach("team")
        target = TableAddress(str(table.warehouse), "db.t", {}, reach=reach)
        assert await workers.observe(ObservationRequest(target, cache_key="db.t"), PATIENCE) is not None
        other = replace(target, reach=OwnIdentity((("team", str(table.warehouse)),)).reach("others"))
        with pytest.raises(OutOfReach):
            await workers.observe(ObservationRequest(other, cache_key="db.t"), PATIENCE)


class TestAnswers:
    """Of servers that are no catalogs, or bad ones; seen by everybody, with and without an operator."""

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            case(json.dumps({"message": SECRET, "code": 403}).encode(), 403, id="an error"),
            case(json.dumps({"message": SECRET, "code": 500}).encode(), 500, id="a failure"),
            case(json.dumps({"message": SECRET, "resourceType": SECRET}).encode(), 404, id="nothing there"),
            case(SECRET.encode(), 400, id="text that is refused"),
            case(SECRET.encode(), 200, id="text"),
            case(json.dumps({"defaults": SECRET}).encode(), 200, id="another shape"),
            case(json.dumps({"defaults": {"prefix": f"../{SECRET}"}}).encode(), 200, id="a bad prefix"),
            case(b"[" * 200_000, 200, id="nested deeply"),
            case(b'{"a":' * 200_000, 500, id="an error nested deeply"),
        ],
    )
    def test_secrets_in_answers_are_not_repeated(self, body: bytes, status: int) -> None:
        with answering(saying(status, body)) as port, pytest.raises(LithifyError) as caught:
            open_table(TableAddress("w", "db.t", {**BEAR, "uri": f"http://127.0.0.1:{port}"}))
        assert SECRET not in str(caught.value)

    def test_of_another_protocol_are_not_repeated(self) -> None:
        with listening() as listener, pytest.raises(CatalogUnavailable) as caught:
            open_table(TableAddress("w", "db.t", {**BEAR, "uri": f"http://127.0.0.1:{listener.port}"}))
        assert SECRET not in str(caught.value)

    def test_of_s3_are_not_repeated(self) -> None:
        said = f"<Error><Code>NoSuchUpload</Code><Message>{SECRET}</Message></Error>".encode()
        for status in (400, 403, 404, 409):
            options = {**KEYS, **QUICK}
            with answering(saying(status, said)) as port, pytest.raises(LithifyError) as caught:
                open_table(
                    TableAddress("s3://b/w", "db.t", {**options, "s3.endpoint": f"http://127.0.0.1:{port}"})
                )
            assert SECRET not in str(caught.value)

    @pytest.mark.parametrize("status", [200, 404, 503])
    def test_endless_answers_are_cut_off(self, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rest_client, "LARGEST_BODY", 1 << 20)
        with answering(endless(status)) as port, pytest.raises(CatalogUnavailable):
            open_table(TableAddress("w", "db.t", {**BEAR, "uri": f"http://127.0.0.1:{port}"}))

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_redirections_are_not_followed(self, listener: Listener, status: int) -> None:
        elsewhere = redirecting(f"http://127.0.0.1:{listener.port}/", status)
        with answering(elsewhere) as port, pytest.raises(StorageError):
            open_table(TableAddress("w", "db.t", {**BEAR, "uri": f"http://127.0.0.1:{port}"}))

    def test_compressed_a_thousandfold_are_refused(self) -> None:
        bomb = saying(200, b"\x1f\x8b" + bytes(100), Content_Encoding="gzip")
        with answering(bomb) as port, pytest.raises(CatalogUnavailable):
            open_table(TableAddress("w", "db.t", {**BEAR, "uri": f"http://127.0.0.1:{port}"}))

    def test_lists_without_end_end(self, table: SmallTable, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rest_client, "_MOST_PAGES", 20)
        with RestServer(table.warehouse) as server:
            server.canned["databases"] = (200, {"databases": ["a"], "nextPageToken": "again"})
            with pytest.raises(CatalogUnavailable):
                list_tables(WAREHOUSE, server.options)

    def test_which_are_no_commits_leave_the_outcome_open(self, table: SmallTable) -> None:
        """An unreadable answer to a commit may follow a commit that has been made."""
        with RestServer(table.warehouse) as server:
            opened = open_table(TableAddress(WAREHOUSE, "db.t", server.options))
            newest = opened.snapshots.latest()
            assert newest is not None
            for answer in ({"success": "yes"}, [], 2**70):
                server.steps.append(lambda _, answer=answer: (200, json.dumps(answer)))
                with pytest.raises(CatalogUnavailable):
                    CatalogServer(load_table(WAREHOUSE, "db.t", server.options)).write(newest, newest, [])

    def test_what_a_server_sets_is_left_out(self, table: SmallTable, listener: Listener) -> None:
        """Only what a server may say of itself is taken; its other options do nothing."""
        evil = {
            "uri": f"http://127.0.0.1:{listener.port}",
            "token.provider": "dlf",
            "dlf.region": "cn-hangzhou",
            "dlf.token-loader": "ecs",
            "dlf.token-ecs-metadata-url": f"http://127.0.0.1:{listener.port}/",
            "s3.endpoint": f"http://127.0.0.1:{listener.port}",
            "fuse.enabled": "true",
            "resolving-file-io.enabled": "true",
            "header.Authorization": "Bearer theirs",
        }
        with RestServer(table.warehouse) as server:
            server.canned["config"] = (200, {"defaults": {"prefix": "quarry"}, "overrides": evil})
            found = open_table(TableAddress(WAREHOUSE, "db.t", server.options))
            assert found.snapshots.latest() is not None

    @pytest.mark.parametrize("prefix", ["..", "../..", ".", "a/b", "a%2f..", "a?b", "a#b", "a\r\nb", ""])
    def test_a_prefix_cannot_lead_elsewhere(self, table: SmallTable, prefix: str) -> None:
        with RestServer(table.warehouse) as server:
            server.canned["config"] = (200, {"defaults": {"prefix": prefix}})
            with pytest.raises(InvalidOption):
                open_table(TableAddress(WAREHOUSE, "db.t", server.options))


@pytest.mark.sampled(5)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("word", "change", "field"),
    [
        case("t", {"id": 12}, "id", id="a number as id"),
        case("t", {"id": 2**70}, "id", id="a large number as id"),
        case("t", {"id": ["x"]}, "id", id="a list as id"),
        case("t", {"id": ""}, "id", id="an empty id"),
        case("t", {"id": "x" * 5000}, "id", id="an endless id"),
        case("t", {"path": 5}, "path", id="a number as path"),
        case("t", {"schemaId": 2**70}, "schemaId", id="a large schema id"),
        case("t", {"schemaId": "0"}, "schemaId", id="a text as schema id"),
        case("t", {"isExternal": "no"}, "isExternal", id="a text as flag"),
        case("t", {"owner": {"a": 1}}, "owner", id="an object as owner"),
        case("t", {"schema": {"fields": [], "options": {"bucket": 1}}}, "options", id="a number as option"),
        case("t", {"schema": None}, "schema", id="no schema"),
        case("token", {"token": {"s3.access-key": 1}}, "token", id="a number in the token"),
        case("token", {"expiresAtMillis": 2**70}, "expiresAtMillis", id="a large expiry"),
        case("token", {"expiresAtMillis": "soon"}, "expiresAtMillis", id="a text as expiry"),
        case("snapshot", {"snapshot": {"snapshot": 2**70}}, "snapshot", id="a number as snapshot"),
        case("snapshot", {"id": 2**70}, "id is out of range", id="a large snapshot id"),
    ],
)
async def test_answers_of_other_types_are_faults_of_the_catalog(
    local: ObserverPool, table: SmallTable, word: str, change: Mapping[str, object], field: str
) -> None:
    """They reach the operator as errors about this table: neither a worker nor its other tables suffer."""
    with RestServer(table.warehouse, gives_tokens=word == "token") as server:
        is_on_s3 = {"path": "s3://lake/t"} if word == "token" else {}
        server.canned["t"] = (200, {**_table_at(server, f"file:{table.folder}"), **is_on_s3})
        if word == "t":
            server.canned["t"] = (200, {**server.canned["t"][1], **change})
        else:
            server.canned[word] = (200, _answer_with(change, table))
        reach = AccessPolicy((str(table.warehouse),), with_endpoint=False)
        pids = local.pids
        error = await refused(local, WAREHOUSE, server.options, reach)
        assert isinstance(error, CorruptTable)
        assert error.path.startswith(server.uri)
        assert field in error.problem
        assert "xxx" not in str(error)
        assert pids <= local.pids


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "options",
    [
        case({"token.provider": "dlf"}, id="token.provider"),
        case({"dlf.token-ecs-metadata-url": "http://127.0.0.1:PORT/"}, id="dlf.token-ecs-metadata-url"),
        case({"dlf.token-path": "/etc/shadow"}, id="dlf.token-path"),
        case({"fuse.enabled": "true"}, id="fuse.enabled"),
        case({"header.Host": "internal"}, id="header.Host"),
        case({"header.X-A\r\nB": "internal"}, id="header.X-A\r\nB"),
        case({"header.X-A": "a\r\nX-B: b"}, id="header.X-A"),
        case({"uri": "http://127.0.0.1:PORT/latest?"}, id="uri"),
        case({"uri": "http://127.0.0.1:PORT/a/../b"}, id="uri"),
        case({"uri": "http://user:pw@127.0.0.1:PORT"}, id="uri"),
        case({"uri": "http://127.0.0.1:PORT#"}, id="uri"),
        case({"uri": "file:///etc/passwd"}, id="uri"),
        case({"hdfs.conf-dir": "/etc"}, id="hdfs.conf-dir"),
        case({"local-cache.dir": "/etc"}, id="local-cache.dir"),
    ],
)
def test_options_that_reach_elsewhere_are_refused_by_name(
    options: Mapping[str, str], listener: Listener
) -> None:
    settings = {"uri": f"http://127.0.0.1:{listener.port}", **BEAR, **options}
    settings = {name: value.replace("PORT", str(listener.port)) for name, value in settings.items()}
    with pytest.raises(InvalidOption) as caught:
        open_table(TableAddress("w", "db.t", settings))
    assert caught.value.option in options
    assert "pw" not in str(caught.value)


def _noting_keys(heard: set[str]) -> Answer:
    """A store that has nothing, and notes who signs requests to it."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        signed = request.headers.get("Authorization", "")
        heard.add(signed.partition("Credential=")[2].partition("/")[0])
        saying(404, b"<Error><Code>NoSuchKey</Code></Error>")(request)

    return answer


def _table_at(server: RestServer, path: str) -> dict[str, object]:
    """What the server says of its table, but for where that is."""
    server.canned.pop("t", None)
    status, found = server.answer("GET", "/v1/quarry/databases/db/tables/t", f"Bearer {TOKEN}", "")
    assert status == 200
    assert isinstance(found, dict)
    return {**found, "path": path}


def _answer_with(change: Mapping[str, object], table: SmallTable) -> dict[str, object]:
    """What a server says of a data token or of the newest snapshot, but for a change."""
    if "id" not in change:
        return {"token": {}, "expiresAtMillis": 4_000_000_000_000, **change}
    counts = dict.fromkeys(("recordCount", "fileSizeInBytes", "fileCount", "lastFileCreationTime"), 0)
    return {"snapshot": {"snapshot": {**table.snapshot(1), **change}, **counts}}
