"""How much runs at once: by policy, and never two runs of a table, whatever it is called."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import CompactionStatus, Reason
from support.operators.objects import NO_RETRIES, QUIET
from support.operators.scene import compactions_of, message, proves, status_of
from support.operators.server import COMPACTIONS, Object, condition
from support.operators.stage import Stage
from support.rest_server import FAILURE, TOKEN, WAREHOUSE, RestServer

PROMPTLY = timedelta(seconds=20)
"""Who waits for its turn or for a lock is told when it comes, and does not only look again after a minute."""
_SOON = {"searchingSeconds": 30}


@proves(Reason.QUEUED, Reason.COMPACTED)
def test_a_policy_lets_one_run_at_a_time(oracle: Oracle, plain: Table, stage: Stage) -> None:
    limits = {"limits": {"activeRuns": 1}, "triggers": {"primaryKey": {"sortedRuns": 2}}}
    with stage.holds.armed("tasks-done") as hold:
        one = stage.care_for(stage.copied(plain, "one"), "one", under=limits)
        first = stage.first_run(one)
        hold.reached()
        two = stage.care_for(stage.copied(plain, "two"), "two", under=one.policy)
        held = stage.table_says(two, "CompactionNeeded", "True")
        assert "limit of 1 active runs" in message(held, "CompactionNeeded")
        asked = stage.run(two)
        stage.stands(asked, Reason.QUEUED, "limit of 1 active runs")
        hold.release()

    _, over = _times(status_of(stage.ended(first)))
    began, _ = _times(status_of(stage.ended(asked)))
    assert began - over < PROMPTLY
    assert _most_at_once(stage, first, asked) == 1
    assert [compactions_of(oracle, care.table) for care in (one, two)] == [1, 1]


@proves(Reason.QUEUED, Reason.SEARCHING_COMMIT, Reason.STORAGE_UNAVAILABLE, Reason.COMPACTED)
def test_a_run_whose_store_is_gone_gives_its_slot_to_another_table(
    oracle: Oracle, plain: Table, stage: Stage
) -> None:
    lost = stage.copied(plain, "lost")
    with RestServer(Path(str(lost.warehouse))) as server, stage.holds.armed("tasks-done") as hold:
        of_server = {"metastore": "Rest", "uri": server.uri, "warehouse": WAREHOUSE}
        of_server |= {"options": {"token.provider": "bear", "token": TOKEN}}
        rules = {"triggers": QUIET, "limits": {"activeRuns": 1}, "retries": NO_RETRIES}
        one = stage.care_for(lost, "lost", of=of_server, under={**rules, "deadlines": _SOON})
        stage.ready(one)
        stuck = stage.run(one, "stuck")
        hold.reached()
        healthy = stage.run(stage.care_for(stage.copied(plain, "well"), "well", under=one.policy), "healthy")
        stage.stands(healthy, Reason.QUEUED, "limit of 1 active runs")
        server.canned |= dict.fromkeys(("config", "t", "snapshot", "commit"), FAILURE)
        hold.release(for_good=True)

        said = stage.stands(stuck, Reason.SEARCHING_COMMIT)
        began, _ = _times(status_of(stage.ended(healthy)))
        stage.stands(healthy, Reason.COMPACTED)
        failed = status_of(stage.ended(stuck))

    search = status_of(said).search
    assert search is not None
    assert search.reason == Reason.STORAGE_UNAVAILABLE.value
    assert began - _since(said) < PROMPTLY
    assert failed.completion_time is not None
    assert failed.completion_time < search.deadline + PROMPTLY
    stage.stands(stuck, Reason.STORAGE_UNAVAILABLE)


@proves(Reason.QUEUED, Reason.COMPACTED, Reason.NOTHING_TO_DO)
def test_two_runs_of_a_table_wait_for_each_other(oracle: Oracle, plain: Table, stage: Stage) -> None:
    table = stage.copied(plain)
    one, same = stage.care_for(table, "one"), stage.care_for(table, "same", under={"triggers": QUIET})
    with stage.holds.armed("tasks-done") as hold:
        first = stage.run(one, "first")
        hold.reached()
        second, third = stage.run(one, "second"), stage.run(same, "third")
        for waiting in (second, third):
            stage.stands(waiting, Reason.QUEUED, first)
        hold.release()

    done = [status_of(stage.ended(run)) for run in (first, second, third)]
    began, over = (sorted(moments) for moments in zip(*map(_times, done), strict=True))
    assert all(next_one - last < PROMPTLY for last, next_one in zip(over, began[1:], strict=False))
    assert _most_at_once(stage, first, second, third) == 1
    assert compactions_of(oracle, table) == 1


def _since(run: Object) -> datetime:
    """When a run entered its present stage."""
    began = status_of(run).stage_time
    assert began is not None
    return began


def _times(status: CompactionStatus) -> tuple[datetime, datetime]:
    """When a run that has ended began, and ended."""
    assert status.start_time is not None
    assert status.completion_time is not None
    return status.start_time, status.completion_time


def _most_at_once(stage: Stage, *names: str) -> int:
    """How many of these runs had a driver at the same time, at most; other tests have theirs beside them."""
    versions = [version for name in names for version in stage.story.versions(COMPACTIONS, name)]
    standing: dict[str, bool] = {}
    most = 0
    for version in sorted(versions, key=lambda version: int(version["metadata"]["resourceVersion"])):
        reason = condition(version, "Succeeded").get("reason", Reason.PENDING)
        standing[version["metadata"]["uid"]] = Reason(reason).has_driver
        most = max(most, sum(standing.values()))
    return most
