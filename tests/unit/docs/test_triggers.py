"""docs/operator.md explains every trigger with which WHY may begin."""

from __future__ import annotations

from lithify.controller.deciding.reasons import Occasion
from lithify.engine.pack.triggers import PackingTrigger
from lithify.formats.iceberg.planning.triggers import RewriteTrigger
from lithify.formats.paimon.buckets.postponed import TRIGGER
from lithify.formats.paimon.planning.clustering.plan import HISTORY
from lithify.formats.paimon.planning.universal.triggers import Trigger
from support.pages import OPERATOR


def test_every_trigger_is_explained_once() -> None:
    rows = OPERATOR.table("WHY begins with", "Tables", "The cause")
    explained = [name.strip(" `") for row in rows for name in row[0].split(",")]
    known = {*map(str, (*Occasion, *Trigger, *PackingTrigger)), HISTORY, TRIGGER}
    assert sorted(explained) == sorted(known)


def test_every_trigger_of_iceberg_is_explained_once() -> None:
    rows = OPERATOR.table("Trigger of Iceberg", "The cause")
    assert sorted(row[0].strip(" `") for row in rows) == sorted(map(str, RewriteTrigger))
