"""The pages answer over HTTP, and the port is free again afterwards."""

from __future__ import annotations

import asyncio
import socket

import pytest
from aiohttp import ClientSession
from prometheus_client import CollectorRegistry

from lithify.controller.telemetry.health import HealthFacts
from lithify.controller.telemetry.metrics import Metrics
from lithify.controller.telemetry.server import Pages, parse_listen, serve
from lithify.errors import InvalidOption
from support.cases import case

WELL = HealthFacts(is_leader=True, is_synced=True, since=0.0)
pytestmark = pytest.mark.asyncio


class Process:
    """A process whose facts the test decides on."""

    def __init__(self, facts: HealthFacts = WELL) -> None:
        self.facts = facts
        self.metrics = Metrics(CollectorRegistry(), "1.2.3")
        self.refreshed = 0

    def refresh(self) -> None:
        self.refreshed += 1
        self.metrics.queue(self.refreshed, 0.0)

    @property
    def pages(self) -> Pages:
        return Pages(self.metrics.registry, lambda: self.facts, self.refresh, lambda: 0.0)


async def get(address: str, path: str, **headers: str) -> tuple[int, str, str]:
    async with ClientSession() as session, session.get(f"http://{address}{path}", headers=headers) as answer:
        return answer.status, answer.headers["Content-Type"], await answer.text()


async def test_metrics_are_as_new_as_the_question() -> None:
    process = Process()
    async with serve("127.0.0.1:0", process.pages) as address:
        for number in (1, 2):
            status, content_type, text = await get(address, "/metrics")
            assert status == 200
            assert content_type.startswith("text/plain; version=")
            assert f"lithify_queue_depth {number}.0\n" in text


async def test_metrics_in_the_form_that_is_asked_for() -> None:
    async with serve("127.0.0.1:0", Process().pages) as address:
        accept = "application/openmetrics-text; version=1.0.0"
        _, content_type, text = await get(address, "/metrics", Accept=accept)
        assert content_type.startswith("application/openmetrics-text")
        assert text.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("facts", "healthz", "readyz"),
    [
        case(WELL, 200, 200, id="well"),
        case(HealthFacts(is_leader=True, is_synced=False, since=0.0), 200, 503, id="not synced yet"),
        case(HealthFacts(is_leader=True, is_synced=True, since=0.0, lag_seconds=99), 503, 200, id="stuck"),
        case(HealthFacts(is_leader=False, is_synced=False, since=0.0), 200, 200, id="standing by"),
    ],
)
async def test_probes_answer_what_the_facts_say(facts: HealthFacts, healthz: int, readyz: int) -> None:
    async with serve("127.0.0.1:0", Process(facts).pages) as address:
        for path, expected in (("/healthz", healthz), ("/readyz", readyz)):
            status, _, text = await get(address, path)
            assert status == expected
            assert (text == "ok\n") is (expected == 200)
        assert (await get(address, "/"))[0] == 404


async def test_many_questions_at_once() -> None:
    process = Process()
    async with serve("127.0.0.1:0", process.pages) as address:
        answers = await asyncio.gather(*(get(address, "/metrics") for _ in range(20)))
    assert {status for status, _, _ in answers} == {200}


async def test_the_port_is_free_again() -> None:
    async with serve("127.0.0.1:0", Process().pages) as address:
        port = int(address.rpartition(":")[2])
        with pytest.raises(InvalidOption):
            async with serve(f"127.0.0.1:{port}", Process().pages):
                pass
    with socket.create_server(("127.0.0.1", port)):
        pass


@pytest.mark.parametrize(
    ("listen", "parsed"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        (":8080", ("", 8080)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
async def test_addresses_to_listen_on_are_read(listen: str, parsed: tuple[str, int]) -> None:
    assert parse_listen(listen) == parsed


@pytest.mark.parametrize(
    "listen", ["8080", "host", "host:", "host:x", "host:70000", "::1:80", "http://a:1", "a:-1"]
)
async def test_what_is_no_address_is_refused(listen: str) -> None:
    with pytest.raises(InvalidOption):
        parse_listen(listen)
