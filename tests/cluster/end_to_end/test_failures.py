"""What goes wrong has its condition and its message, in status and not only in logs; other tables go on."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from infrastructure.cluster.kubectl import KubectlFailed
from infrastructure.oracle.client import Oracle, Table
from lithify.clock import SystemClock
from lithify.engine.attempts.canary_records import CanaryRecord, CanaryRecords, CanaryState
from lithify.engine.run.canary import copy_of
from lithify.formats.protocol.address import TableAddress
from lithify.formats.registry import open_table
from lithify.resources.compaction import Reason
from support.holding import Hold
from support.operators.objects import NO_RETRIES, QUIET, lake_table, policy, secret
from support.operators.scene import Care, compactions_of, message, proves, status_of
from support.operators.server import CATALOGS, COMPACTIONS, TABLES, condition
from support.operators.stage import Stage
from support.rest_server import FAILURE, TOKEN, WAREHOUSE, RestServer
from support.tables import PLAIN, append, upserts

ONCE = {"triggers": QUIET, "retries": NO_RETRIES}
"""A policy under which the first failure is the end."""


def rest(server: RestServer, **spec: Any) -> dict[str, Any]:
    """A Catalog's spec for a REST server."""
    options = {"token.provider": "bear"}
    by_secret = "secretRef" in spec
    options |= {} if by_secret else {"token": TOKEN}
    return {"metastore": "Rest", "uri": server.uri, "warehouse": WAREHOUSE, "options": options, **spec}


@pytest.fixture
def table(plain: Table, stage: Stage) -> Table:
    return stage.copied(plain)


@pytest.fixture
def server(table: Table) -> Iterator[RestServer]:
    with RestServer(Path(str(table.warehouse))) as started:
        yield started


class TestCredentials:
    @proves(Reason.PENDING, Reason.ACCESS_DENIED)
    def test_from_no_secret_to_the_right_one(self, stage: Stage, table: Table, server: RestServer) -> None:
        name = stage.name("keys")
        reference = {"name": name, "options": {"token": "token"}}
        care = stage.care_for(table, of=rest(server, secretRef=reference), under=ONCE)

        stage.table_says(care, "Ready", "False", "SecretNotFound")
        waiting = stage.run(care, "waiting", dryRun=True)
        stage.stands(waiting, Reason.PENDING, name)
        stage.kubectl.apply(secret(name, other="x"))
        stage.table_says(care, "Ready", "False", "SecretKeyMissing")
        stage.kubectl.apply(secret(name, token="wrong"))
        stage.table_says(care, "Ready", "False", "AccessDenied")
        stage.story.until(
            CATALOGS, care.catalog, lambda found: condition(found, "Ready").get("reason") == "AccessDenied"
        )
        run = stage.run(care, dryRun=True)
        stage.ended(run)
        stage.stands(run, Reason.ACCESS_DENIED)
        stage.kubectl.apply(secret(name, token=TOKEN))
        stage.ready(care)
        stage.story.until(
            CATALOGS, care.catalog, lambda found: condition(found, "Ready").get("status") == "True"
        )

    @proves(Reason.ACCESS_DENIED)
    def test_what_a_driver_is_refused_ends_its_run(
        self, stage: Stage, table: Table, server: RestServer
    ) -> None:
        care = stage.care_for(table, of=rest(server), under=ONCE)
        stage.ready(care)
        forbidden = (403, {"message": "not for you", "code": 403})
        server.canned |= {"t": forbidden, "snapshot": forbidden}

        run = stage.run(care)

        stage.ended(run)
        stage.stands(run, Reason.ACCESS_DENIED)
        stage.table_says(care, "Ready", "False", "AccessDenied")


class TestCatalogsThatDoNotAnswer:
    def test_hanging_ones_hold_nobody_else_up(self, oracle: Oracle, plain: Table, stage: Stage) -> None:
        other = stage.care_for(stage.copied(plain, "other"), "other")
        stage.ready(other)
        with _deaf() as port:
            slow = {"metastore": "Rest", "uri": f"http://127.0.0.1:{port}", "warehouse": "w"}
            slow |= {"options": {"token.provider": "bear", "token": "x"}, "timeoutSeconds": 3}
            hanging = [
                stage.care_for(Table("w", "db.t"), word, of=slow) for word in ("slow-a", "slow-b", "slow-c")
            ]
            for care in hanging:
                stage.table_says(care, "Ready", "False", "ObservationTimedOut")
                found = stage.story.now(TABLES, care.lake)
                assert found is not None
                assert condition(found, "Stalled")["status"] == "False"
            append(oracle, other.table)
            stage.story.until(TABLES, other.lake, lambda found: found["status"]["observation"]["files"] == 5)

    @pytest.mark.parametrize(
        "reply",
        [
            pytest.param((200, "certainly not JSON"), id="no JSON"),
            pytest.param((200, {"defaults": 7}), id="JSON of another shape"),
            pytest.param(FAILURE, id="an error of its own"),
        ],
    )
    def test_a_server_that_answers_garbage_is_named_in_the_condition(
        self, stage: Stage, table: Table, server: RestServer, reply: Any
    ) -> None:
        server.canned["config"] = reply
        care = stage.care_for(table, of=rest(server))

        seen = stage.table_says(care, "Ready", "False")

        assert condition(seen, "Ready")["reason"] in {"CatalogUnreachable", "ObservationFailed"}
        assert message(seen, "Ready")
        del server.canned["config"]
        stage.ready(care)

    @proves(Reason.SEARCHING_COMMIT, Reason.STORAGE_UNAVAILABLE)
    def test_storage_that_dies_during_a_run(
        self, oracle: Oracle, stage: Stage, table: Table, server: RestServer
    ) -> None:
        care = stage.care_for(table, of=rest(server), under=ONCE)
        with stage.holds.armed("tasks-done") as hold:
            run = stage.run(care)
            hold.reached()
            server.canned |= dict.fromkeys(("config", "t", "snapshot", "commit"), FAILURE)
            hold.release()
            stage.table_says(care, "Ready", "False", "CatalogUnreachable")
            stage.stands(run, Reason.SEARCHING_COMMIT)
        server.canned.clear()

        stage.ended(run)
        stage.stands(run, Reason.STORAGE_UNAVAILABLE)
        stage.table_says(care, "Ready", "False", "CompactionsFailing")
        assert compactions_of(oracle, table) == 0


class TestTables:
    @pytest.mark.parametrize(
        ("change", "ready"),
        [
            pytest.param({"of": {"warehouse": "/nowhere/at/all"}}, "WarehouseNotFound", id="warehouse"),
            pytest.param({"identifier": "nodb.t"}, "TableNotFound", id="database"),
            pytest.param({"identifier": "db.nowhere"}, "TableNotFound", id="table"),
        ],
    )
    @proves(Reason.TABLE_NOT_FOUND)
    def test_that_are_not_there(self, stage: Stage, table: Table, change: Any, ready: str) -> None:
        care = stage.care_for(table, under=ONCE, **change)
        run = stage.run(care)

        seen = stage.table_says(care, "Ready", "False", ready)
        stage.ended(run)

        assert condition(seen, "Stalled")["status"] == "True"
        stage.stands(run, Reason.TABLE_NOT_FOUND)

    @proves(Reason.UNSUPPORTED)
    def test_refused_tables_and_their_runs_name_the_option(
        self, oracle: Oracle, stage: Stage, table: Table
    ) -> None:
        oracle.alter_table(table, {"set_option": ["lookup.remote-file.enabled", "true"]})
        care = stage.care_for(table, under=ONCE)
        run = stage.run(care)

        seen = stage.table_says(care, "Ready", "False", "UnsupportedOption")
        stage.ended(run)

        assert "lookup.remote-file.enabled" in message(seen, "Ready")
        assert "lookup.remote-file.enabled" in message(stage.stands(run, Reason.UNSUPPORTED))

    @proves(Reason.CORRUPT_TABLE)
    def test_that_have_lost_a_file(self, oracle: Oracle, stage: Stage, table: Table) -> None:
        lost = Path(oracle.files(table)[0].path.removeprefix("file:"))
        care = stage.care_for(table, under=ONCE)
        stage.ready(care)
        lost.unlink()

        run = stage.run(care)

        stage.ended(run)
        assert lost.name in message(stage.stands(run, Reason.CORRUPT_TABLE))

    @proves(Reason.CANARY_FAILED, Reason.COMPACTED)
    def test_that_keep_the_copy_of_a_failed_canary(self, stage: Stage, table: Table) -> None:
        address = TableAddress(str(table.warehouse), str(table.name))
        canary = open_table(address).canary(address)
        assert canary is not None
        canary.make_copy(copy_of("earlier"))
        now = SystemClock(UTC).now().isoformat()
        failed = CanaryRecord("earlier", CanaryState.FAILED, now, differences="bucket-0: 2 rows")
        CanaryRecords(canary.home, canary.storage).write(failed)
        care = stage.care_for(table, under={**ONCE, "canary": True})

        first = stage.run(care, "first", strategy="Full")
        stage.ended(first)
        assert copy_of("earlier") in message(stage.stands(first, Reason.CANARY_FAILED))

        canary.drop_copy(copy_of("earlier"), "")
        second = stage.run(care, "second", strategy="Full")
        stage.ended(second)
        result = stage.stands(second, Reason.COMPACTED)["status"]["result"]
        assert result["canary"]["rows"] > 0

    @proves(Reason.TABLE_NOT_FOUND)
    def test_that_are_dropped_and_made_anew_during_a_run(
        self, oracle: Oracle, stage: Stage, table: Table
    ) -> None:
        care = stage.care_for(table, under=ONCE)
        first = stage.ready(care)["status"]["tableUuid"]
        with stage.holds.armed("tasks-done") as hold:
            run = stage.run(care)
            hold.reached()
            shutil.rmtree(table.folder)
            oracle.create_table(
                table, PLAIN, primary_key=["id"], options={"bucket": "1", "write-only": "true"}
            )
            oracle.write(table, upserts(range(5), "new"))
            hold.release()

        stage.ended(run)
        stage.stands(run, Reason.TABLE_NOT_FOUND)
        assert compactions_of(oracle, table) == 0
        assert len(oracle.read(table)) == 5
        stage.story.until(TABLES, care.lake, lambda found: found["status"]["tableUuid"] != first)
        again = stage.run(care, "again", strategy="Minor")
        stage.ended(again)
        stage.stands(again, Reason.NOTHING_TO_DO)

    @proves(Reason.PENDING, Reason.PLANNED)
    def test_that_nobody_has_applied_yet(self, stage: Stage, table: Table) -> None:
        name = stage.name("orders")
        run = stage.run(Care(table, name, name, name), dryRun=True)
        stage.stands(run, Reason.PENDING, f"no LakeTable {name}")

        stage.kubectl.apply(lake_table(name, catalog=name, policy=name))
        stage.stands(run, Reason.PENDING, f"no Catalog {name}")
        stage.care_for(table)

        stage.ended(run)
        stage.stands(run, Reason.PLANNED)


class TestDrivers:
    @proves(Reason.COMMIT_CONFLICT)
    def test_others_are_always_faster(self, oracle: Oracle, stage: Stage, table: Table) -> None:
        care = stage.care_for(table, under=ONCE)
        with stage.holds.armed("tasks-done") as hold:
            run = stage.run(care)
            for number in range(3):
                hold.reached()
                oracle.compact(table, full=True)
                oracle.write(table, upserts(range(30), f"again{number}"))
                hold.release(for_good=number == 2)

        stage.ended(run)
        stage.stands(run, Reason.COMMIT_CONFLICT)

    @proves(Reason.OUT_OF_MEMORY)
    def test_workers_are_killed_for_their_memory(self, oracle: Oracle, stage: Stage, table: Table) -> None:
        care = stage.care_for(table, under=ONCE)
        with stage.holds.armed("file-written") as hold:
            run = stage.run(care)
            _kill_workers(stage, run, hold, tries=4)

        failed = stage.ended(run)
        stage.stands(run, Reason.OUT_OF_MEMORY)
        assert status_of(failed).failures.out_of_memory == 1
        assert compactions_of(oracle, table) == 0

    @proves(Reason.OUT_OF_MEMORY)
    def test_the_jvm_is_killed_as_for_its_memory(self, stage: Stage, table: Table) -> None:
        care = stage.care_for(table, under=ONCE)
        with stage.holds.armed("file-written") as hold:
            run = stage.run(care)
            hold.reached()
            for process in stage.operator.driver(run).processes("java"):
                os.kill(process, signal.SIGKILL)
            stage.ended(run)
        stage.stands(run, Reason.OUT_OF_MEMORY)

    @proves(Reason.DRIVER_LOST)
    def test_the_driver_is_killed(self, stage: Stage, table: Table) -> None:
        care = stage.care_for(table, under=ONCE)
        with stage.holds.armed("planned") as hold:
            run = stage.run(care)
            hold.reached()
            driver = stage.operator.driver(run)
            driver.kill()
        stage.ended(run)
        stage.stands(run, Reason.DRIVER_LOST, str(driver.folder.log_file))

    @proves(Reason.DEADLINE_EXCEEDED)
    def test_a_run_takes_too_long(self, oracle: Oracle, stage: Stage, table: Table) -> None:
        care = stage.care_for(table, under=ONCE)
        with stage.holds.armed("planned") as hold:
            run = stage.run(care, activeDeadlineSeconds=10)
            hold.reached()
            stage.ended(run)
        stage.stands(run, Reason.DEADLINE_EXCEEDED)
        assert not stage.operator.driver(run).is_alive
        assert compactions_of(oracle, table) == 0

    @proves(Reason.INVALID_SPEC)
    def test_partitions_that_there_are_not(self, stage: Stage, table: Table) -> None:
        care = stage.care_for(table, under=ONCE)
        run = stage.run(care, partitions=[{"nowhere": "x"}])
        stage.ended(run)
        assert "nowhere" in message(stage.stands(run, Reason.INVALID_SPEC))

    @proves(Reason.BACKING_OFF, Reason.DRIVER_LOST)
    def test_a_wait_that_a_wrong_clock_has_set(self, stage: Stage, table: Table) -> None:
        retries = {**NO_RETRIES, "infrastructure": 1, "backoffSeconds": 20, "maxBackoffSeconds": 20}
        care = stage.care_for(table, under={"triggers": QUIET, "retries": retries})
        with stage.holds.armed("planned") as hold:
            run = stage.run(care)
            hold.reached()
            stage.operator.driver(run).kill()
            stage.stands(run, Reason.BACKING_OFF)
            wrong = {"nextAttemptTime": "2099-01-01T00:00:00Z", "stageTime": "2099-01-01T00:00:00Z"}
            stage.server.patch(COMPACTIONS, run, {"status": wrong}, sub="/status")
            hold.reached()
            stage.operator.driver(run).kill()
        assert status_of(stage.ended(run)).attempts == 2


class TestNames:
    @pytest.mark.parametrize(
        ("kind", "most"),
        [
            pytest.param("Catalog", 200, id="Catalog"),
            pytest.param("CompactionPolicy", 200, id="CompactionPolicy"),
            pytest.param("LakeTable", 200, id="LakeTable"),
            pytest.param("Compaction", 52, id="Compaction"),
        ],
    )
    def test_names_that_are_too_long_are_refused_with_the_limit(
        self, stage: Stage, kind: str, most: int
    ) -> None:
        specs = {
            "Catalog": {"warehouse": "/w"},
            "CompactionPolicy": {},
            "LakeTable": {"catalogRef": {"name": "c"}, "identifier": "db.t"},
            "Compaction": {"tableRef": {"name": "t"}},
        }
        body = {"apiVersion": "lithify.dev/v1alpha1", "kind": kind, "spec": specs[kind]}
        with pytest.raises(KubectlFailed) as caught:
            stage.kubectl.apply({**body, "metadata": {"name": "x" * 253}})
        assert f"the name of a {kind} has at most {most} characters" in caught.value.stderr

    @proves(Reason.COMPACTED)
    def test_a_table_with_the_longest_name_is_compacted(
        self, oracle: Oracle, stage: Stage, table: Table
    ) -> None:
        word = "o" * 196
        care = stage.care_for(table, word, under={"triggers": {"primaryKey": {"sortedRuns": 2}}})
        assert len(care.lake) == 200

        run = stage.first_run(care)
        stage.ended(run)

        assert len(run) <= 52
        stage.table_says(care, "CompactionNeeded", "False", "UpToDate")
        assert compactions_of(oracle, table) == 1


def test_policy_of_253_characters_is_named_in_status(stage: Stage, table: Table) -> None:
    care = stage.care_for(table, under="p" * 253)
    assert "p" * 253 in message(
        stage.table_says(care, "PolicyReady", "False", "PolicyMissing"), "PolicyReady"
    )
    stage.kubectl.apply(policy(stage.name("other")))


def _kill_workers(stage: Stage, run: str, hold: Hold, tries: int) -> None:
    """Kills the process of a task, each time that it is tried."""
    killed: set[int] = set()
    for _ in range(tries):
        hold.reached()
        workers = set(stage.operator.driver(run).processes("pyspark.daemon")) - killed
        parents = {_parent(worker) for worker in workers}
        for worker in workers - parents:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        killed |= workers - parents


def _parent(process: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


@contextmanager
def _deaf() -> Iterator[int]:
    """A server that takes every connection and never says anything; its port."""
    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.1)
        taken = []

        def listen() -> None:
            while not over.is_set():
                with suppress(TimeoutError):
                    taken.append(listening.accept()[0])

        thread = Thread(target=listen)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            over.set()
            thread.join()
            for connection in taken:
                connection.close()
