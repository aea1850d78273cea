"""Questions and answers within a worker: what was found, or one of our errors, and never a secret."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

from lithify.clock import SystemClock
from lithify.controller.observing.answering import Answers
from lithify.controller.observing.replies import read_reply, write_reply
from lithify.controller.observing.request import PlanRequest, TableList
from lithify.controller.observing.wire import FindRun, ListTables, Question, Reply, WorkerSettings
from lithify.engine.observe.format_observer import FormatObserver
from lithify.errors import Failure, InvalidOption, LithifyError, NotFound
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import Observation, PlanFound
from lithify.formats.protocol.observing import Filter, ObservationRequest
from lithify.formats.protocol.strategy import Strategy
from lithify.io.access_policy import UNBOUNDED
from support.cases import case
from support.small_tables import SmallTable

FULL = Selection(strategy=Strategy.FULL)
SECRETS = {"s3.secret-key": "open sesame 77"}


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    table = SmallTable(tmp_path / "warehouse").create()
    table.append()
    return table


@pytest.fixture
def target(table: SmallTable) -> TableAddress:
    return TableAddress(str(table.warehouse), table.name, SECRETS, reach=UNBOUNDED)


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    return Answers(WorkerSettings(str(tmp_path / "kept")), SystemClock(UTC))


def sent(reply: Reply) -> Reply:
    """As it arrives on the other side."""
    arrived: Reply = pickle.loads(pickle.dumps(reply))
    return arrived


def error_of(answers: Answers, question: Question) -> LithifyError:
    error = sent(answers.reply(question)).error
    assert error is not None
    return error


class TestAnswers:
    def test_a_look_and_a_second_one(self, answers: Answers, target: TableAddress) -> None:
        found = sent(answers.reply(ObservationRequest(target, "uid"))).value
        assert isinstance(found, Observation)
        again = ObservationRequest(target, "uid", found.table_uuid, found.snapshot)
        assert answers.reply(again) == Reply()
        assert answers.reply(replace(again, reconsider=True)).value == found
        assert answers.reply(replace(again, is_full=True)).value == found

    def test_only_selected_partitions_are_due(self, answers: Answers, target: TableAddress) -> None:
        selected = ObservationRequest(target, "uid", wanted=Filter(Selection(({"dt": "a"},)), 3600))
        found = answers.reply(selected).value
        assert found.full_partitions == ()
        assert found.next_trigger is not None
        assert answers.reply(
            replace(selected, wanted=replace(selected.wanted, idle_seconds=0))
        ).value.full_partitions == ({"dt": "a"},)

    def test_runs_and_lists(self, answers: Answers, target: TableAddress) -> None:
        assert answers.reply(FindRun(target, "run-1", None)) == Reply(value=None)
        assert answers.reply(ListTables(target)) == Reply(value=TableList(("db.t",), wanted=1))


class TestPlans:
    def test_is_what_a_driver_would_report(
        self, answers: Answers, table: SmallTable, target: TableAddress
    ) -> None:
        table.append()
        found = sent(answers.reply(PlanRequest(target, FULL))).value
        assert isinstance(found, PlanFound)
        assert (found.snapshot, found.groups, found.tasks, found.files) == ("2", 4, 4, 8)
        one = answers.reply(PlanRequest(target, replace(FULL, buckets=frozenset({0})))).value
        assert (one.groups, one.bytes < found.bytes) == (2, True)
        part = answers.reply(PlanRequest(target, replace(FULL, partitions=({"dt": "a"},)))).value
        assert part.groups == 2
        assert answers.reply(PlanRequest(target)).value == PlanFound(snapshot=SnapshotId("2"))

    def test_comes_over_the_wire_as_it_is(self, answers: Answers, target: TableAddress) -> None:
        reply = answers.reply(PlanRequest(target, FULL))
        assert read_reply(write_reply(reply)) == reply

    def test_the_table_that_was_meant(self, answers: Answers, target: TableAddress) -> None:
        error = error_of(answers, PlanRequest(replace(target, uuid="another")))
        assert isinstance(error, NotFound)
        assert error.what == "table"

    def test_needs_neither_spark_nor_more_than_a_look_until_it_is_asked_for(self) -> None:
        script = (
            "import sys, lithify.controller.observing.answering as a\n"
            "heavy = ('lithify.engine.run', 'pyspark')\n"
            "print(sorted(name for name in sys.modules if name.startswith(heavy)))\n"
            "import lithify.controller.observing.planning\n"
            "print([name in sys.modules for name in ('lithify.engine.run.dry_run', 'pyspark', 'py4j')])\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
        )
        assert ended.stdout.split("\n")[:2] == ["[]", "[True, False, False]"]


class TestErrors:
    def test_ours_come_as_they_are(self, answers: Answers, target: TableAddress) -> None:
        error = error_of(answers, ObservationRequest(replace(target, name="db.nowhere"), "uid"))
        assert isinstance(error, NotFound)
        assert error.what == "table"

    def test_a_format_that_an_older_release_does_not_know(
        self, answers: Answers, target: TableAddress
    ) -> None:
        error = error_of(answers, ObservationRequest(replace(target, format="parchment"), "uid"))
        assert isinstance(error, InvalidOption)
        assert error.option == "format"

    @pytest.mark.parametrize("zone", ["Middle/Earth", "", "../../etc/passwd", "\0"])
    def test_a_time_zone_that_does_not_exist(self, zone: str, answers: Answers, target: TableAddress) -> None:
        error = error_of(answers, ObservationRequest(replace(target, time_zone=zone), "uid"))
        assert isinstance(error, InvalidOption)

    @pytest.mark.parametrize(
        "options",
        [case({"metastore": "hive"}, id="catalog"), case({"metastore": "jdbc", "uri": "x"}, id="uri")],
    )
    def test_settings_that_make_no_sense(
        self, options: Mapping[str, str], answers: Answers, target: TableAddress
    ) -> None:
        error = error_of(answers, ListTables(replace(target, catalog_options={**SECRETS, **options})))
        assert error.failure is not Failure.BUG
        assert "sesame" not in str(error)

    def test_anything_else_is_a_bug_that_names_no_secret(
        self, answers: Answers, target: TableAddress, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise ZeroDivisionError("signed with open sesame 77")

        with monkeypatch.context() as patch:
            patch.setattr(FormatObserver, "observe", fail)
            error = error_of(answers, ObservationRequest(target, "uid"))
        assert (type(error), error.failure) == (LithifyError, Failure.BUG)
        assert "ZeroDivisionError" in str(error)
        assert "sesame" not in str(error)
        assert answers.reply(ObservationRequest(target, "uid")).error is None, "the worker goes on"
