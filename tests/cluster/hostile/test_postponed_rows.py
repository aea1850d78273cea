"""The operator moves postponed rows as soon as it sees them, whatever its policy says of sorted runs."""

from __future__ import annotations

from pathlib import Path

from infrastructure.oracle.client import Oracle
from lithify.amounts import bytes_text
from lithify.resources.compaction import Reason
from support.operators.objects import QUIET, policy
from support.operators.scene import message, proves
from support.operators.stage import Stage
from support.postponed import append_postponed, make_postponed, rows_of

SELDOM = {"checkIntervalSeconds": 3600}


@proves(Reason.COMPACTED)
def test_postponed_rows_start_a_run_and_are_told_with_their_numbers(
    oracle: Oracle, stage: Stage, tmp_path: Path
) -> None:
    table = stage.copied(make_postponed(oracle, tmp_path / "model"))
    append_postponed(oracle, table, "late", range(40, 45))
    rows = rows_of(oracle, table)
    files = [file for file in oracle.files(table) if file.bucket < 0]
    under = {**SELDOM, "triggers": QUIET}

    care = stage.care_for(table, under={**under, "suspend": True})

    needed = stage.table_says(care, "CompactionNeeded", "True", "PostponedFiles")
    told = message(needed, "CompactionNeeded")
    moved_by = message(stage.table_says(care, "WriterCompacts", "True", "OtherCompacts"), "WriterCompacts")
    assert "(COMPACT, commit user " in moved_by, "Java has moved rows of the first commit"
    worst = max(
        (sum(file.size for file in files if file.partition == {"dt": day}), day) for day in ("a", "b")
    )
    assert f"dt={worst[1]} has {len(files) // 2} postponed files of {bytes_text(worst[0])}" in told

    stage.kubectl.apply(policy(care.policy, **under, suspend=False))
    stage.ended(stage.first_run(care))
    assert oracle.read(table) == rows
    assert all(file.bucket >= 0 for file in oracle.files(table))
    stage.table_says(care, "CompactionNeeded", "False", "NotDue")
