"""Which table is meant, and which part of it: what observers and drivers are told follows from resources."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lithify.contract.order import write_instructions
from lithify.controller.driver import DriverOrder
from lithify.controller.launching.ordering import instructions_of
from lithify.controller.observing.request import PlanRequest
from lithify.controller.reconciling.addressing import address_of, request_of, selection_of
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.io.access_policy import NOWHERE
from lithify.resources.catalog import Catalog, CatalogSpec
from lithify.resources.compaction import (
    AutomaticRun,
    Compaction,
    CompactionSpec,
    CompactionStatus,
    RunStrategy,
)
from lithify.resources.names import ANNOTATION_REQUESTED, LABEL_TABLE
from lithify.resources.objects import Metadata, Reference
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import BucketBlock, LakeTable, LakeTableSpec, LakeTableStatus
from support.cases import case
from support.launching.orders import order

HELD = {"dt=a/bucket-0": "c397373f283ebfe5"}
CATALOG = Catalog(
    metadata=Metadata(name="lake", namespace="team", uid="c"), spec=CatalogSpec(warehouse="s3://stones/w")
)
ORDERS = LakeTable(
    metadata=Metadata(name="orders", namespace="team", uid="t"),
    spec=LakeTableSpec(
        catalog_ref=Reference(name="lake"),
        identifier="sales.orders",
        policy_ref=Reference(name="default"),
        table_options={"num-levels": "3"},
    ),
    status=LakeTableStatus(
        blocked_buckets=tuple(
            BucketBlock(bucket=path, reason="CorruptData", message="broken", fingerprint=fingerprint)
            for path, fingerprint in HELD.items()
        )
    ),
)


def run(record: AutomaticRun | None, annotations: dict[str, str], **spec: Any) -> Compaction:
    labels = {LABEL_TABLE: "orders"}
    metadata = Metadata(name="r", namespace="team", uid="r", labels=labels, annotations=annotations)
    made = CompactionSpec(table_ref=Reference(name="orders"), **spec)
    return Compaction(metadata=metadata, spec=made, status=CompactionStatus(automatic=record))


def test_a_table_is_that_of_its_catalog() -> None:
    address = address_of(ORDERS, None, CATALOG, {"token": "hush"}, NOWHERE)
    assert address == TableAddress(
        "s3://stones/w",
        "sales.orders",
        {"token": "hush"},
        overrides={"num-levels": "3"},
        reach=NOWHERE,
        time_zone="UTC",
        catalog="team/lake",
    )


@pytest.mark.parametrize(
    ("record", "annotations", "held"),
    [
        case(AutomaticRun(), {}, HELD, id="the operator's own run leaves blocked buckets out"),
        case(AutomaticRun(), {ANNOTATION_REQUESTED: "now"}, {}, id="one that was requested"),
        case(None, {}, {}, id="one that a person made, with the operator's label"),
    ],
)
def test_a_run_takes_what_its_spec_says(
    record: AutomaticRun | None, annotations: dict[str, str], held: dict[str, str]
) -> None:
    spec = {"strategy": RunStrategy.FULL, "partitions": ({"dt": "a"},), "buckets": (0, 3)}
    found = selection_of(run(record, annotations, **spec), ORDERS)
    assert found == Selection(({"dt": "a"},), frozenset({0, 3}), Strategy.FULL, held)


def test_looks_know_what_is_blocked_and_what_the_policy_leaves_out() -> None:
    address = address_of(ORDERS, None, CATALOG, {}, NOWHERE)
    policy = CompactionPolicySpec(partitions=({"dt": "a"},), partition_idle_seconds=60)
    request = request_of(ORDERS, policy, address)
    assert (request.address, request.cache_key) == (address, "t")
    assert request.wanted.selection == Selection(({"dt": "a"},), held=HELD)
    assert request.wanted.idle_seconds == 60


def test_credentials_are_shown_by_nothing_that_has_an_address() -> None:
    address = address_of(ORDERS, None, CATALOG, {"token": "hush-hush"}, NOWHERE)
    ordered: DriverOrder = order(catalog_options={"token": "hush-hush"})
    told = instructions_of(ordered, master="m", conf={})
    shown = repr([address, request_of(ORDERS, None, address), PlanRequest(address), ordered, told])
    assert "hush-hush" not in shown


def test_an_order_in_a_pod_has_the_names_of_json() -> None:
    told = json.loads(write_instructions(instructions_of(order(time_zone="Asia/Tokyo"), master="m", conf={})))
    assert told["table"]["timeZone"] == "Asia/Tokyo"
    assert told["table"]["reach"] == {"withEndpoint": False}
    assert told["selection"] == {"partitions": [], "buckets": [], "strategy": "full", "held": {}}
