"""A catalog that answers nothing costs its own tables their looks, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from support.operators.objects import QUIET, catalog, catalog_and_keys, lake_table, policy
from support.operators.server import CATALOGS, TABLES, Object, condition
from support.operators.stage import Stage
from support.small_tables import SmallTable

DEAD = 40
INTERVAL = 5
"""Seconds between two looks at the healthy table, whose changes are to be seen within twice of it."""
TIMEOUT = 8
TABLE_COUNT = 36
FIRST_START_SECONDS = 60.0
"""Half of the longest time that an operator gives a catalog to answer."""


@contextmanager
def silent_server() -> Iterator[tuple[str, Event]]:
    """The address of a server that takes requests and says that there is nothing, once it is allowed to."""
    speaks = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            speaks.wait()
            body = b'{"message": "there is nothing", "code": 404}'
            self.send_response(404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients have given up
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", speaks
    finally:
        speaks.set()
        server.shutdown()
        thread.join()
        server.server_close()


def snapshot_of(found: Object) -> str:
    return str(found.get("status", {}).get("observation", {}).get("snapshotId"))


def ready(found: Object) -> str:
    return str(condition(found, "Ready").get("reason"))


def test_forty_tables_of_a_dead_catalog_delay_nobody(stage: Stage) -> None:
    healthy = SmallTable(stage.folder / "warehouse").create()
    healthy.append()
    dead, well = stage.name("dead"), stage.name("well")
    with silent_server() as (uri, speaks):
        options = {"token.provider": "bear", "token": "sesame"}
        stage.kubectl.apply(
            policy(well, checkIntervalSeconds=INTERVAL, triggers=QUIET),
            *catalog_and_keys(
                catalog(dead, "w", metastore="Rest", uri=uri, options=options, timeoutSeconds=TIMEOUT)
            ),
            *(
                lake_table(f"{dead}-{number:02}", catalog=dead, policy=well, identifier=f"db.t{number}")
                for number in range(DEAD)
            ),
        )
        stage.story.until(TABLES, f"{dead}-{DEAD - 1:02}", lambda _: True)
        stage.kubectl.apply(
            catalog(well, healthy.warehouse), lake_table(well, catalog=well, policy=well, identifier="db.t")
        )
        stage.story.until(TABLES, well, lambda found: snapshot_of(found) == "1")
        for number in range(2, 6):
            healthy.append()
            # A second more for the write itself.
            seconds = 2 * INTERVAL + 1
            stage.story.until(TABLES, well, lambda found: snapshot_of(found) == str(number), seconds=seconds)  # noqa: B023

        for number in range(DEAD):
            stage.story.until(
                TABLES,
                f"{dead}-{number:02}",
                lambda found: ready(found) in {"CatalogSilent", "ObservationTimedOut", "CatalogUnreachable"},
            )
        silent = stage.story.until(CATALOGS, dead, lambda found: ready(found) == "CatalogSilent")
        assert condition(silent, "Ready")["status"] == "False"

        speaks.set()
        for number in range(DEAD):
            stage.story.until(
                TABLES, f"{dead}-{number:02}", lambda found: ready(found) == "WarehouseNotFound"
            )
        stage.story.until(CATALOGS, dead, lambda found: ready(found) == "WarehouseNotFound")


def test_first_start_writes_each_discovered_table_once_and_waits_for_no_dead_catalog(alone: Stage) -> None:
    warehouse = alone.folder / "warehouse"
    names = frozenset(f"db.t{number:02}" for number in range(TABLE_COUNT))
    for name in names:
        SmallTable(warehouse, name).create()
    other = SmallTable(alone.folder / "other", "pond.t").create()
    names |= {other.name}
    found = {"include": ["*.*"], "policyRef": {"name": "p"}}
    with silent_server() as (uri, _):
        options = {"token.provider": "bear", "token": "sesame"}
        alone.kubectl.apply(
            policy("p", checkIntervalSeconds=60, triggers=QUIET),
            *catalog_and_keys(
                catalog("dead", "w", metastore="Rest", uri=uri, options=options, timeoutSeconds=600)
            ),
            *(
                lake_table(f"dead-{each}", catalog="dead", policy="p", identifier=f"db.{each}")
                for each in "ab"
            ),
            catalog("lake", warehouse, discovery=found),
            catalog("well", other.warehouse),
            lake_table("well", catalog="well", policy="p", identifier=other.name),
        )
        alone.operator.restart()
        alone.story.wait(lambda: len(healthy_tables(alone)) == len(names), FIRST_START_SECONDS)
        healthy = healthy_tables(alone)
        assert {one["spec"]["identifier"] for one in healthy} == names, "they waited for the dead catalog"
        alone.story.until(CATALOGS, "lake", lambda one: one["status"].get("tables") == TABLE_COUNT)
        writes = {name: len(alone.story.versions(TABLES, name)) for name in alone.story.names(TABLES)}
        waiting = alone.server.get(TABLES, "dead-a")["status"]
    assert writes == {name: 1 if name.startswith("dead-") else 2 for name in writes}
    assert (waiting["health"], waiting["observedGeneration"]) == ("Unknown", -1)


def healthy_tables(stage: Stage) -> list[Object]:
    return [one for one in stage.story.all(TABLES) if ready(one) == "Ready"]
