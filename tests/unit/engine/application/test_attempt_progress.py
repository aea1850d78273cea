"""Progress on its way to the operator, and the wish to stop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any

import pytest

from lithify.contract.outcome import Progress, Stage, read_progress
from lithify.engine.application.pod import PodAddress
from lithify.engine.application.progress import DriveObserver, Throttled, to_file
from lithify.engine.application.stopping import Stopped, StopSignal
from lithify.engine.run.report import Report
from lithify.formats.paimon.compaction.plan import BucketPlan
from lithify.formats.protocol.model import SnapshotId
from lithify.resources.names import ANNOTATION_PROGRESS

EMPTY: Any = BucketPlan(None, (), ())  # type: ignore[arg-type]
REPORT = Report("db.t", "run", "Compacted", "full", snapshot_after=SnapshotId("3"))
TASKS: Any = [None] * 5


class TestObserver:
    def test_tells_each_stage_once(self) -> None:
        told: list[Progress] = []
        observer = DriveObserver(told.append, StopSignal())
        observer.planned(EMPTY, TASKS)
        observer.progressed(0)
        observer.progressed(3)
        observer.progressed(3)
        observer.committing()
        observer.committed(REPORT)
        observer.continued()
        observer.progressed(5)
        observer.committing()
        observer.committed(REPORT)
        assert [(one.stage, one.done, one.total) for one in told] == [
            (Stage.PLANNING, 0, 0),
            (Stage.RUNNING, 0, 5),
            (Stage.RUNNING, 3, 5),
            (Stage.COMMITTING, 3, 5),
            (Stage.RUNNING, 3, 5),
            (Stage.RUNNING, 5, 5),
            (Stage.COMMITTING, 5, 5),
        ]
        assert told[1].plan == observer.plan
        assert observer.committed_so_far == REPORT

    def test_tells_of_executors_from_the_first_task_on(self) -> None:
        told: list[Progress] = []
        observer = DriveObserver(told.append, StopSignal(), needs_executors=True)
        observer.planned(EMPTY, TASKS)
        observer.executors(0, 4)
        observer.executors(0, 4)
        observer.executors(2, 4)
        observer.progressed(1)
        observer.planned(EMPTY, TASKS)
        observer.executors(0, 4)
        assert [(one.lacks_executors, one.executors_ready, one.done) for one in told] == [
            (False, None, 0),
            (True, 0, 0),
            (True, 0, 0),
            (False, 2, 0),
            (False, 2, 1),
            (False, 2, 0),
            (True, 0, 0),
        ]

    def test_needs_no_executors_without_tasks(self) -> None:
        told: list[Progress] = []
        DriveObserver(told.append, StopSignal(), needs_executors=True).planned(EMPTY, [])
        assert told[-1].executors_ready is None

    def test_later_rounds_leave_the_plan_as_it_is(self) -> None:
        observer = DriveObserver(lambda _: None, StopSignal())
        observer.planned(EMPTY, TASKS)
        observer.committing()
        observer.planned(EMPTY, TASKS[:1])
        assert observer.plan is not None
        assert observer.plan.tasks == 5


class TestStop:
    def test_ends_the_attempt_at_once_and_only_once(self) -> None:
        stop = StopSignal()
        with pytest.raises(Stopped):
            stop.handle()
        stop.handle()
        assert stop.requested

    def test_waits_for_a_commit(self) -> None:
        stop = StopSignal()
        observer = DriveObserver(lambda _: None, stop)
        observer.committing()
        stop.handle()
        observer.committed(REPORT)
        assert observer.committed_so_far == REPORT

    def test_lets_no_other_round_begin(self) -> None:
        stop = StopSignal()
        observer = DriveObserver(lambda _: None, stop)
        observer.committing()
        stop.handle()
        with pytest.raises(Stopped):
            observer.planned(EMPTY, TASKS)
        assert observer.committed_so_far is None


def test_file_is_replaced(tmp_path: Path) -> None:
    tell = to_file(tmp_path / "progress.json")
    tell(Progress(stage=Stage.PLANNING))
    tell(Progress(stage=Stage.RUNNING, done=1, total=2))
    found = read_progress((tmp_path / "progress.json").read_text())
    assert found == Progress(stage=Stage.RUNNING, done=1, total=2)


def test_file_that_cannot_be_written_hurts_nobody(tmp_path: Path) -> None:
    to_file(tmp_path / "missing" / "progress.json")(Progress(stage=Stage.PLANNING))


class TestThrottled:
    def test_tells_the_newest_and_is_not_waited_for(self) -> None:
        arrived: Queue[Progress] = Queue()
        may_go_on = Event()

        def slow(progress: Progress) -> None:
            arrived.put(progress)
            may_go_on.wait(10)

        with Throttled(slow, seconds=0.0) as tell:
            for done in range(100):
                tell(Progress(stage=Stage.RUNNING, done=done, total=100))
                if done == 0:
                    assert arrived.get(timeout=10).done == 0
            may_go_on.set()
            assert arrived.get(timeout=10).done == 99

    def test_goes_on_after_a_failure(self) -> None:
        arrived: Queue[int] = Queue()

        def failing(progress: Progress) -> None:
            arrived.put(progress.done)
            raise ConnectionError("no API server")

        with Throttled(failing, seconds=0.0) as tell:
            for done in range(3):
                tell(Progress(stage=Stage.RUNNING, done=done))
                assert arrived.get(timeout=10) == done


class _Api(BaseHTTPRequestHandler):
    received: Queue[tuple[str, str, dict[str, str], Any]] = Queue()

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.received.put((self.command, self.path, dict(self.headers), body))
        self.send_response(403)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), _Api)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def test_annotation_of_the_pod_is_patched(api: int, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of-the-account\n")
    progress = Progress(stage=Stage.RUNNING, done=1, total=2)
    PodAddress("127.0.0.1", api, "shop", "the-driver", tmp_path).annotate(progress)
    method, path, headers, body = _Api.received.get(timeout=10)
    assert (method, path) == ("PATCH", "/api/v1/namespaces/shop/pods/the-driver")
    assert headers["Authorization"] == "Bearer of-the-account"
    assert headers["Content-Type"] == "application/merge-patch+json"
    assert read_progress(body["metadata"]["annotations"][ANNOTATION_PROGRESS]) == progress
    assert list(body) == ["metadata"]
