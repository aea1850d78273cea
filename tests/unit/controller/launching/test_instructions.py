"""What a driver is told is what was ordered, and nothing that is secret stands in an error."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lithify.contract.order import read_instructions, write_instructions
from lithify.controller.launching.ordering import instructions_of, shared_instructions
from lithify.engine.application.request import request_of
from lithify.errors import InvalidOption
from lithify.io.access_policy import DRIVER, AccessPolicy
from lithify.resources.catalog import CatalogSpec, SecretReference
from lithify.resources.quantities import quantity_bytes
from lithify.resources.spark_template import SparkTemplate
from support.launching.orders import ORDER, order

SECRET = SecretReference(name="keys", options={"s3.secret-key": "secret", "token": "token"})
CATALOG = CatalogSpec(
    metastore="Rest",
    warehouse="stones",
    uri="https://catalog",
    options={"token.provider": "bear"},
    secret_ref=SECRET,
)


def test_instructions_reach_the_driver_unchanged() -> None:
    told = instructions_of(
        order(
            catalog=CATALOG,
            partitions=({"dt": "ä"},),
            buckets=frozenset({0, 3}),
            overrides={"write-only": "false"},
        ),
        master="local[2]",
        conf={"spark.ui.enabled": "true"},
        executor_template={"spec": {"nodeSelector": {"disk": None}}},
    )
    assert read_instructions(write_instructions(told)) == told
    assert (told.run, told.attempt, told.table.time_zone) == (ORDER.uid, 1, "UTC")
    assert told.table.catalog_options == {
        "metastore": "rest",
        "uri": "https://catalog",
        "token.provider": "bear",
    }


def test_pods_are_told_where_credentials_are_and_processes_what_they_are() -> None:
    pod = instructions_of(order(catalog=CATALOG), master="m", conf={})
    process = instructions_of(order(catalog=CATALOG), master="m", conf={}, credentials={"token": "hunter2"})
    assert (pod.secret, pod.credential_files, pod.credentials) == ("keys", SECRET.options, {})
    assert (process.secret, process.credential_files, process.credentials) == ("", {}, {"token": "hunter2"})
    assert "hunter2" not in repr(process)


def test_a_driver_is_told_where_it_may_use_its_own_rights() -> None:
    pod = instructions_of(order(), master="m", conf={})
    assert pod.table.reach == DRIVER
    process = instructions_of(
        order(), master="m", conf={}, reach=AccessPolicy(("/lake",), with_endpoint=False)
    )
    told = read_instructions(write_instructions(process))
    assert request_of(told, {}).table.reach == AccessPolicy(("/lake",), with_endpoint=False)


def test_members_have_tables_and_parts_of_their_own_and_the_catalog_of_the_first() -> None:
    orders = [
        order(catalog=CATALOG, uid="a", name="db.a", uuid="1", held={"bucket-0": "x"}),
        order(catalog=CATALOG, uid="b", name="db.b", uuid="2", partitions=({"dt": "ä"},)),
    ]
    lead = instructions_of(
        orders[0], master="m", conf={}, reach=AccessPolicy(("/lake",), with_endpoint=False)
    )
    text = write_instructions(shared_instructions(lead, orders))
    assert text.count("token.provider") == 1, "options may be long, and variables have room for little"
    shared = read_instructions(text)
    assert shared.members is not None
    for one, ordered in zip(shared.members, orders, strict=True):
        told = shared.of_member(one)
        assert (told.run, told.selection, told.members) == (ordered.uid, ordered.selection, None)
        assert told.table == replace(ordered.table, reach=lead.table.reach)


def test_tasks_get_more_memory_and_less_to_read_after_they_ran_out_of_it() -> None:
    spark = SparkTemplate(task_memory="512Mi", task_size="3Gi")
    told = instructions_of(order(spark=spark, memory_factor=1.5), master="m", conf={})
    assert (told.task_memory, told.task_size) == (768 << 20, 2 << 30)


def test_a_policy_says_how_often_its_runs_commit() -> None:
    often = order(spark=SparkTemplate(commit_every="20Gi"))
    assert instructions_of(often, master="m", conf={}).commit_every == 20 << 30
    assert instructions_of(order(), master="m", conf={}).commit_every is None


def test_each_run_of_a_shared_driver_has_a_canary_or_none() -> None:
    orders = [order(uid="a", canary=True), order(uid="b")]
    lead = instructions_of(orders[0], master="m", conf={})
    told = read_instructions(write_instructions(shared_instructions(lead, orders)))
    requests = [request_of(told.of_member(member), {}) for member in told.members or ()]
    assert [request.canary for request in (request_of(lead, {}), *requests)] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "size"),
    [("7", 7), ("10Ki", 10 << 10), ("384Mi", 384 << 20), ("2Gi", 2 << 30), ("1Ti", 1 << 40)],
)
def test_quantities_are_read_in_bytes(text: str, size: int) -> None:
    assert quantity_bytes(text) == size


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param('{"run": "r", "credentials": {"token": "hunter2', id="cut off"),
        pytest.param(json.dumps({"run": "r", "credentials": {"token": ["hunter2"]}}), id="another shape"),
        pytest.param('"hunter2"', id="no object"),
    ],
)
def test_what_cannot_be_understood_is_not_repeated(text: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_instructions(text)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_fields_of_a_later_release_are_passed_over() -> None:
    told = instructions_of(ORDER, master="m", conf={})
    later = {**json.loads(write_instructions(told)), "mood": "good"}
    for nested in (later["table"], later["table"]["reach"], later["selection"]):
        nested["weather"] = "fine"
    assert read_instructions(json.dumps(later)) == told
