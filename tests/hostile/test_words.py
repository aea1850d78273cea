"""Names, error texts and lists from hostile tables and catalogs, on their way to people."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from support.operators.objects import catalog, catalog_and_keys, compaction, lake_table, policy, secret
from support.operators.scene import is_over, message
from support.operators.server import CATALOGS, COMPACTIONS, EVENTS, PATIENCE, SECRETS, TABLES, condition
from support.operators.stage import Stage
from support.rest_server import WAREHOUSE, RestServer

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
