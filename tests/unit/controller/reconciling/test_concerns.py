"""What status shows of an object anyway is not redacted elsewhere: that would tell what a credential is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lithify.controller.reconciling.queue import Item
from lithify.controller.reconciling.redaction_scope import redaction_scope
from lithify.controller.reconciling.store import Store
from lithify.controller.telemetry.logs import credentials, shown
from lithify.resources.names import LAKE_TABLE, ObjectKey
from lithify.resources.objects import Metadata, Reference
from lithify.resources.table import (
    BucketBlock,
    LakeTable,
    LakeTableSpec,
    LakeTableStatus,
    ObservationSummary,
)
from support.cases import case
from support.observations import summary_with

PATH = "dt=tr0ub4dor-and-3/bucket-0"
BLOCK = BucketBlock(bucket=PATH, reason="CorruptFiles", fingerprint="f")


def levels(**figures: Any) -> LakeTableStatus:
    return LakeTableStatus(observation=summary_with(mergeTree=figures))


def small_files(bucket: str) -> LakeTableStatus:
    figures = {"maxSmallFiles": 3, "maxSmallFilesBucket": bucket}
    return LakeTableStatus(observation=summary_with(append=figures))


@pytest.mark.parametrize(
    ("status", "is_shown"),
    [
        case(levels(sortedRunsBucket=PATH), True, id="most sorted runs"),
        case(levels(maxLevel0Bucket=PATH), True, id="most files of level 0"),
        case(small_files(PATH), True, id="most small files"),
        case(small_files("dt=1"), False, id="small files of another bucket"),
        case(LakeTableStatus(blocked_buckets=(BLOCK,)), True, id="blocked"),
        case(levels(), False, id="another bucket"),
        case(LakeTableStatus(observation=ObservationSummary()), False, id="no levels"),
        case(LakeTableStatus(), False, id="never seen"),
    ],
)
def test_names_of_buckets_in_status_are_no_secrets(status: LakeTableStatus, is_shown: bool) -> None:
    table = LakeTable(
        metadata=Metadata(name="orders", namespace="team", uid="u1", resource_version="7"),
        spec=LakeTableSpec(catalog_ref=Reference(name="concerned"), identifier="sales.orders"),
    )
    store = Store()
    store.tables.put(replace(table, status=status))
    credentials.replace(ObjectKey("team", "concerned"), ["tr0ub4dor-and-3"])
    with redaction_scope(store, Item(LAKE_TABLE.name, table.metadata.key)):
        assert (shown(f"{PATH} is due", 99) == f"{PATH} is due") is is_shown
