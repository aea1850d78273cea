"""A run whose snapshot is taken back later says so, and its table is compacted again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from infrastructure.oracle.client import Table
from lithify.formats.iceberg.table.snapshots import YIELD_TO_WRITERS
from lithify.resources.compaction import Reason
from support.iceberg_tables import NAME, Lakehouse, rows
from support.operators.scene import Care, message, proves
from support.operators.server import COMPACTIONS, PATIENCE, condition
from support.operators.stage import Stage

DUE = {"triggers": {"partitionFiles": {"minInputFiles": 3}}}


@proves(Reason.COMPACTED, Reason.ROLLED_BACK)
def test_a_run_that_is_taken_back_later_says_so(stage: Stage) -> None:
    lakehouse = Lakehouse(stage.folder / "lakehouse")
    table = lakehouse.table(properties={YIELD_TO_WRITERS: "true"})
    for number in range(3):
        table.append(rows(number))
    before = table.current_snapshot()
    assert before is not None
    catalog = {"format": "Iceberg", "metastore": "Jdbc", "uri": lakehouse.options["uri"]}
    options = {"catalog-name": lakehouse.options["catalog-name"]}
    care = stage.care_for(Table(lakehouse.warehouse, NAME), of={**catalog, "options": options}, under=DUE)
    run = stage.first_run(care)
    done = stage.ended(run)
    assert condition(done, "Succeeded")["reason"] == "Compacted"

    ended = datetime.fromisoformat(done["status"]["completionTime"])
    assert stage.story.wait(lambda: datetime.now(UTC) > ended + timedelta(seconds=1), 10)
    table.refresh().manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()

    told = stage.story.until(
        COMPACTIONS, run, lambda found: condition(found, "Succeeded")["reason"] == Reason.ROLLED_BACK
    )
    assert condition(told, "Succeeded")["status"] == "False"
    assert done["status"]["committedSnapshotId"] in message(told)
    assert stage.story.wait(lambda: len(runs_of(stage, care)) > 1, PATIENCE), stage.told(care)
    (again,) = runs_of(stage, care) - {run}
    assert condition(stage.ended(again), "Succeeded")["reason"] == Reason.COMPACTED


def runs_of(stage: Stage, care: Care) -> set[str]:
    """The names of a table's Compactions."""
    found = stage.story.all(COMPACTIONS)
    return {each["metadata"]["name"] for each in found if each["spec"]["tableRef"]["name"] == care.lake}
