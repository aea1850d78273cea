"""Names, error texts and lists from hostile tables and catalogs, on their way to people."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from support.operators.objects import catalog, catalog_and_keys, compaction, lake_table, policy, secret
from support.operators.scene import is_over, message
from support.operators.server import CATALOGS, COMPACTIONS, EVENTS, PATIENCE, SECRETS, TABLES, condition
from support.operators.stage import Stage
from support.rest_server import WAREHOUSE, RestServer
from support.small_tables import SmallTable

CAP = 25
LISTED = 100_000
HOSTILE = "or\x1b[2J\x1b]0;owned\x07ders\u202esredro\u2066\x9b31m"
PHRASE = "there is no table"
"""What our own messages say, registered as a credential by somebody else."""
KEY = "wJalrXUtnFEMI-K7MDENG"


@pytest.fixture
def own(alone: Stage) -> Iterator[Stage]:
    """An operator of the test's own."""
    alone.operator.options = (*alone.operator.options, "--max-discovered-tables", str(CAP))
    alone.operator.restart()
    yield alone
    assert alone.operator.is_running, alone.operator.said


def texts_in(value: Any) -> Iterator[str]:
    """All texts of an object."""
    if isinstance(value, dict):
        for name, entry in value.items():
            yield name
            yield from texts_in(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from texts_in(entry)
    elif isinstance(value, str):
        yield value


def refused_in(value: Any) -> set[str]:
    """Control and bidirectional characters in an object's texts."""
    return {
        letter
        for text in texts_in(value)
        for letter in text
        if unicodedata.category(letter) in {"Cc", "Zl", "Zp", "Cs"} or letter in "\u202e\u2066"
    }


def told_of(stage: Stage, text: str) -> list[str]:
    """The messages of all Events, as soon as one of them has a text: it is posted after the status."""
    deadline = monotonic() + PATIENCE
    while True:
        messages = [event["message"] for event in stage.server.list(EVENTS)]
        if any(text in each for each in messages):
            return messages
        assert monotonic() < deadline, messages
        sleep(0.05)


def test_a_hostile_name_reaches_status_events_and_logs_without_what_steers_terminals(
    own: Stage, tmp_path: Path
) -> None:
    (tmp_path / "lake" / "db.db").mkdir(parents=True)
    own.kubectl.apply(catalog("lake", tmp_path / "lake"), policy("p"))
    own.server.create(TABLES, lake_table("orders", catalog="lake", policy="p", identifier=f"db.{HOSTILE}"))
    found = own.story.until(TABLES, "orders", lambda one: condition(one, "Ready").get("status") == "False")
    assert r"\x1b[2J" in message(found, "Ready"), "the name is shown, so that people find it"
    assert refused_in(found["status"]) == set()

    own.server.create(COMPACTIONS, compaction("run", "orders", dryRun=True))
    run = own.story.until(COMPACTIONS, "run", is_over)
    assert r"\x1b[2J" in message(run)
    assert refused_in(run["status"]) | refused_in(told_of(own, r"\x1b[2J")) == set()
    assert refused_in(own.operator.said.replace("\n", "")) == set()


def test_a_list_without_end_ends_at_the_limit_and_status_says_so(own: Stage, tmp_path: Path) -> None:
    (tmp_path / "sales.db").mkdir()
    names = [f"t{number:06}" for number in range(LISTED)]
    with RestServer(tmp_path) as server:
        server.canned["tables"] = (
            200,
            {"tables": [*names, HOSTILE, "x\nReady: True"], "nextPageToken": None},
        )
        options = {name: value for name, value in server.options.items() if name not in ("metastore", "uri")}
        of = {"metastore": "Rest", "uri": server.uri, "options": options}
        lake = catalog("lake", WAREHOUSE, **of, discovery={"include": ["*.*"]}, timeoutSeconds=60)
        own.kubectl.apply(*catalog_and_keys(lake))
        found = own.story.until(CATALOGS, "lake", lambda one: bool(condition(one, "AllDiscovered")))
        assert own.story.wait(lambda: len(own.story.all(TABLES)) == CAP, 60)
    said = condition(found, "AllDiscovered")
    assert (said["status"], said["reason"]) == ("False", "LimitReached")
    assert f"{LISTED} tables found" in said["message"]
    assert "2 tables with names" in said["message"]
    assert refused_in(found["status"]) == set()
    tables = sorted(table["spec"]["identifier"] for table in own.story.all(TABLES))
    assert tables == [f"sales.{name}" for name in names[:CAP]]


def test_what_one_tenant_keeps_secret_changes_no_message_of_another(own: Stage, tmp_path: Path) -> None:
    own.server.create(SECRETS, secret("poison", access="someone", key=PHRASE, other=KEY))
    own.server.create(SECRETS, secret("keys", access="someone", key=KEY))
    for lake, keys in (("pond", "poison"), ("lake", "keys")):
        (tmp_path / lake / "db.db").mkdir(parents=True)
        reference = {"name": keys, "options": {"s3.access-key": "access", "s3.secret-key": "key"}}
        own.kubectl.apply(catalog(lake, tmp_path / lake, secretRef=reference))
    own.kubectl.apply(policy("p"))
    messages = {}
    for lake, name in (("pond", KEY), ("lake", KEY), ("pond", "orders"), ("lake", "orders")):
        word = f"{lake}-{'guess' if name == KEY else 'orders'}"
        own.server.create(TABLES, lake_table(word, catalog=lake, policy="p", identifier=f"db.{name}"))
        ready = own.story.until(TABLES, word, lambda one: condition(one, "Ready").get("status") == "False")
        messages[word] = message(ready, "Ready")
    assert messages["lake-orders"].startswith(PHRASE), "a phrase of ours stays what it is for others"
    guess, other = messages["pond-guess"], messages["lake-guess"]
    assert KEY in guess, (
        "a guess is shown as it is, though the Secret has the key: the Catalog does not name it"
    )
    assert KEY in other, "and where it is right"
    assert KEY not in own.operator.said.replace(f"db.{KEY}", "")


FORGED = "2026-01-01T00:00:00.000Z INFO    forged by a tenant"
WORDS = f'{HOSTILE}\n{FORGED}\r\n{{"level":"INFO","message":"forged"}}\n' + "long" * 2000
"""Steers terminals, begins lines of both formats of logs, and is longer than any message."""
LONGEST_LINE = 100_000


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_words_of_tenants_add_no_record_to_logs_and_no_line_to_events(
    alone: Stage, tmp_path: Path, log_format: str
) -> None:
    """Names of tables and partitions, errors of a catalog's server, and statuses that people wrote."""
    alone.operator.options = (*alone.operator.options, "--log-format", log_format)
    alone.operator.restart()
    partition = f"{HOSTILE}\n{FORGED}"
    (SmallTable(tmp_path / "lake").create()).append(partition, keys=range(4))
    with RestServer(tmp_path / "lake") as server:
        server.canned["t"] = (500, {"message": WORDS, "code": 500, "resourceName": WORDS})
        options = {name: value for name, value in server.options.items() if name not in ("metastore", "uri")}
        of = {"metastore": "Rest", "uri": server.uri, "options": options}
        alone.kubectl.apply(*catalog_and_keys(catalog("rest", WAREHOUSE, **of)))
        alone.kubectl.apply(catalog("lake", tmp_path / "lake"), policy("p"))
        for name, lake, identifier in (
            ("days", "lake", "db.t"),
            ("missing", "lake", f"db.{HOSTILE}{'x' * 400}"),
            ("failing", "rest", "db.t"),
        ):
            alone.server.create(TABLES, lake_table(name, catalog=lake, policy="p", identifier=identifier))
            wanted = "True" if name == "days" else "False"
            alone.story.until(TABLES, name, lambda one, wanted=wanted: _is_ready(one) == wanted)
            run = compaction(f"run-{name}", name, dryRun=True, partitions=[{"dt": partition}])
            alone.server.create(COMPACTIONS, run)
            alone.story.until(COMPACTIONS, run["metadata"]["name"], is_over)
        objects = [one.get("status") for kind in (TABLES, COMPACTIONS) for one in alone.server.list(kind)]
        assert refused_in(objects) == set()
        forged = {"conditions": [{**FAILED, "message": WORDS[:4000]}]}
        alone.server.patch(TABLES, "days", {"status": {"due": WORDS[:1000], **forged}}, sub="/status")
        alone.server.patch(COMPACTIONS, "run-days", {"status": forged}, sub="/status")
        alone.story.until(TABLES, "days", lambda one: _is_ready(one) == "True")
        told = told_of(alone, r"\x1b[2J")
    assert refused_in(told) == set()
    assert max(map(len, told)) <= 1024
    assert "run-days" in alone.operator.said
    assert_only_own_records(alone.operator.said, log_format)


FAILED = {
    "type": "Ready",
    "status": "False",
    "reason": "Odd",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def assert_only_own_records(said: str, log_format: str) -> None:
    """Each line is a record of the operator, or below one in the text format."""
    assert "owned" in said, "names are shown"
    assert refused_in(said.replace("\n", "")) == set()
    for line in said.removesuffix("\n").split("\n"):
        assert len(line) < LONGEST_LINE
        if log_format == "json":
            record = json.loads(line)
            assert record["message"] != "forged"
            assert datetime.fromisoformat(record["ts"]).year > 2000
        else:
            assert line.startswith("    ") or datetime.fromisoformat(line.partition(" ")[0])
            assert not line.startswith(FORGED)


def _is_ready(table: dict[str, Any]) -> str:
    return str(condition(table, "Ready").get("status"))
