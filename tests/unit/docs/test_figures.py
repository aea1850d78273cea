"""Numbers, defaults and orders that sentences state are those of the code.

Whoever changes such a sentence changes its pattern here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import click
import pytest

from lithify.cli.main import cli
from lithify.cli.operator import _settings
from lithify.controller.deciding.admission import SECONDS_A_POINT
from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.health import STALLED_FAILURES
from lithify.controller.deciding.reasons import Hold, OperatorRuns
from lithify.controller.launching import isolation
from lithify.controller.reconciling.catalogs import _PROBE_RETRY_SECONDS, _PROBE_SECONDS
from lithify.controller.running.failures import _MORE_MEMORY
from lithify.engine.run.steps import STEP_SECONDS
from lithify.resources.catalog import MOST_REMEMBERED, Discovery
from lithify.resources.crd import DEFINITIONS, manifest, schema_of
from lithify.resources.names import CATEGORY
from lithify.resources.pod_template.nodes import TEXT_LENGTH
from lithify.resources.pod_template.template import SCHEMA
from lithify.resources.pod_template.volumes import FORMER, OF_THE_NODE
from lithify.resources.policy import CompactionPolicySpec, MinGain
from lithify.resources.table import MOST_BLOCKED, CancelledRun, LakeTableStatus, RunSummary
from support.deciding.situations import BUSY, DROPPED, NOON, policy, situation
from support.pages import DISCOVERY, OPERATOR, STARTED, Page

NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "five": 5, "ten": 10}
MINUTE = 60
POD = SCHEMA["properties"]["spec"]["properties"]


def lease_share() -> float:
    """The share of a Lease's time after which its holder stops writing."""
    group = click.Context(cli, **cli.context_settings)
    command = cli.get_command(group, "operator")
    assert command is not None
    settings = _settings(command.make_context("operator", [], parent=group).params)
    return settings.terms.renewal / settings.terms.lease


def stated(page: Page, pattern: str) -> float:
    """The number that a sentence states where the pattern has a group."""
    (found,) = re.findall(pattern, page.sentences)
    text = str(found).replace(",", "")
    return NUMBERS[text] if text in NUMBERS else float(text)


@pytest.mark.parametrize(
    ("page", "pattern", "actual"),
    [
        (OPERATOR, r"each (\d+) seconds of waiting", SECONDS_A_POINT),
        (OPERATOR, r"else its policy's, (\d+) by default", CompactionPolicySpec().priority),
        (OPERATOR, r"the operator probes it every (\w+) minutes", _PROBE_SECONDS / MINUTE),
        (OPERATOR, r"and (\w+) minute after a failed probe", _PROBE_RETRY_SECONDS / MINUTE),
        (OPERATOR, r"after (\w+) failures in a row", STALLED_FAILURES),
        (OPERATOR, r"at most (\d+) containers", POD["containers"]["maxItems"]),
        (OPERATOR, r"containers, (\d+) volumes", POD["volumes"]["maxItems"]),
        (OPERATOR, r"volumes, ([\d,]+) characters in a value", TEXT_LENGTH),
        (OPERATOR, r"by default about every (\w+) minutes", STEP_SECONDS / MINUTE),
        (OPERATOR, r"`status.blockedBuckets`, at most (\d+)", MOST_BLOCKED),
        (OPERATOR, r"could not renew the Lease for (two) thirds", lease_share() * 3),
        (DISCOVERY, r"for at most ([\d,]+) tables", MOST_REMEMBERED),
    ],
)
def test_numbers_on_pages_are_those_of_the_code(page: Page, pattern: str, actual: float) -> None:
    assert stated(page, pattern) == pytest.approx(actual)


def test_half_as_much_memory_again() -> None:
    assert "out of memory each time with half as much memory again" in OPERATOR.sentences
    assert _MORE_MEMORY == 1.5


def test_a_wrong_number_is_noticed() -> None:
    page = Page(OPERATOR.path, "each 31 seconds of\nwaiting count")
    assert stated(page, r"each (\d+) seconds of waiting") != SECONDS_A_POINT


def test_defaults_of_discovery() -> None:
    schema = schema_of(DEFINITIONS[0])["properties"]["spec"]["properties"]["discovery"]
    told = {row[0].strip("`"): row[1].strip("`") for row in DISCOVERY.table("field", "default")}
    made = Discovery(include=("a.*",))
    assert told == {
        name: _default(name, field, schema["required"]) for name, field in schema["properties"].items()
    }
    assert told["prune"] == made.prune


def _default(name: str, field: dict[str, Any], required: list[str]) -> str:
    if name in required:
        return "required"
    default = field.get("default")
    return str(default["name"] if isinstance(default, dict) else default) if default else "none"


def test_the_category_is_of_all_kinds() -> None:
    assert f"category `{CATEGORY}`" in OPERATOR.sentences
    categories = [manifest(each)["spec"]["names"]["categories"] for each in DEFINITIONS]
    assert categories == [[CATEGORY]] * len(DEFINITIONS)


def test_the_policy_of_tables_that_name_none() -> None:
    assert "follows the one named `default` unless it names another" in OPERATOR.sentences
    assert situation().table.spec.policy_ref.name == "default"
    (found,) = [each for each in STARTED.manifests() if each["kind"] == "CompactionPolicy"]
    assert found["metadata"]["name"] == "default"


CANCELLED = LakeTableStatus(
    cancelled_run=CancelledRun("orders-6", NOON, 1, 0), held_until=None, consecutive_failures=0
)
FAILED = replace(CANCELLED, held_until=NOON.replace(second=30), consecutive_failures=1)
IN_VAIN = LakeTableStatus(
    last_compaction=RunSummary("orders-5", "Minor", "NothingToDo", completion_time=NOON)
)
CLOSED = policy(timeZone="UTC", windows=[{"start": "03:00", "end": "04:00"}])
DEMANDING = replace(CLOSED, min_gain=MinGain(files=1_000_000))
RESTED = replace(DEMANDING, min_interval_seconds=3600)
ORDER: tuple[tuple[str, Hold, dict[str, Any]], ...] = (
    ("`suspend` of the table", Hold.SUSPENDED, {"suspend": False}),
    ("a table that cannot be observed", Hold.NOT_READY, {"problem": None}),
    ("its policy: missing", Hold.POLICY_MISSING, {"policy": replace(RESTED, suspend=True)}),
    ("its policy: invalid", Hold.POLICY_INVALID, {"policy_problem": None}),
    ("its policy: suspended", Hold.POLICY_SUSPENDED, {"policy": RESTED}),
    ("an active run", Hold.ALREADY_ACTIVE, {"active": None}),
    ("an older LakeTable", Hold.DUPLICATE, {"duplicate_of": None}),
    ("backoff after failures", Hold.BACK_OFF, {"status": CANCELLED}),
    ("a cancelled run", Hold.CANCELLED, {"status": IN_VAIN}),
    ("`minIntervalSeconds`", Hold.MIN_INTERVAL, {"policy": DEMANDING}),
    ("a run that found nothing to do", Hold.BACK_OFF, {"status": LakeTableStatus()}),
    ("`minGain`", Hold.LITTLE_GAIN, {"policy": CLOSED}),
    ("a closed window", Hold.OUTSIDE_WINDOW, {"policy": replace(CLOSED, windows=())}),
    ("a limit of the operator", Hold.CONCURRENCY_LIMIT, {"limit": None}),
)
"""What holds a table back by the page's table, the reason, and the situation without it."""


def test_the_order_of_what_holds_a_table_back() -> None:
    rows = OPERATOR.table("order", "held back by")
    assert [row[0] for row in rows] == [str(number) for number in range(1, len(ORDER) + 1)]
    assert [phrase for (_, text), (phrase, _, _) in zip(rows, ORDER, strict=True) if phrase not in text] == []
    assert holds_in_turn() == [hold for _, hold, _ in ORDER]
    assert {hold for _, hold, _ in ORDER} == set(Hold)


def test_what_a_request_waits_for() -> None:
    waits = "a request waits for `suspend`, the table, the policy, an active run, and limits only"
    assert waits in OPERATOR.sentences
    patient = {Hold.SUSPENDED, Hold.NOT_READY, Hold.ALREADY_ACTIVE, Hold.CONCURRENCY_LIMIT}
    policies = {Hold.POLICY_MISSING, Hold.POLICY_INVALID, Hold.POLICY_SUSPENDED}
    assert set(holds_in_turn(requested="now")) == patient | policies


def holds_in_turn(requested: str | None = None) -> list[Hold | None]:
    """What holds a table back that everything of ORDER holds back, when one after the other goes away."""
    fields: dict[str, Any] = {
        "suspend": True,
        "problem": DROPPED,
        "policy": None,
        "policy_problem": "no such zone",
        "active": "orders-7",
        "duplicate_of": "older",
        "status": FAILED,
        "limit": OperatorRuns(4),
        "requested": requested,
    }
    found = []
    for _, _, without in ORDER:
        asked = {name: value for name, value in fields.items() if name != "policy"}
        found.append(decide(replace(situation(BUSY, **asked), policy=fields["policy"]), NOON).hold)
        fields |= without
    return found


def test_what_a_pod_template_must_not_have() -> None:
    (sentence,) = re.findall(r"Refused are: - (.*?) - unless", OPERATOR.sentences)
    words = {
        "ownerReferences": "owners",
        "generateName": "names",
        "name": "names",
        "namespace": "namespaces",
        "hostnameOverride": "`hostname`",
        "activeDeadlineSeconds": "deadlines",
        "args": "arguments",
        "terminationMessagePath": "termination messages",
        "terminationMessagePolicy": "termination messages",
        "restartPolicy": "restart policies",
        "restartPolicyRules": "restart policies",
    }
    refused = {*isolation._OWN_METADATA, *isolation._OWN_SPEC, *isolation._OWN_CONTAINER}
    assert [name for name in sorted(refused) if words.get(name, name) not in sentence] == []
    assert "service accounts" in sentence


def test_volumes_that_a_pod_template_must_not_have() -> None:
    (unless, former) = re.findall(
        r"- (unless .*?|volumes that Kubernetes no longer.*?)(?=:? - | ##|$)", OPERATOR.sentences
    )
    assert {kind for kind in OF_THE_NODE if f"`{kind}`" not in unless} == set()
    assert set(re.findall(r"`(\w+)`", former)) - {"persistentVolumeClaim"} < set(FORMER)
