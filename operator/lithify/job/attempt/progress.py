"""How far an attempt is: told to the operator while it lasts, and heeding its wish to stop.

Used by `drive`. Telling is best effort and never hurts the run: a pod's annotation is patched in a thread of
its own, at most every few seconds, and whatever goes wrong there is forgotten.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from threading import Condition, Event, Thread

from lithify.contract.outcome import Progress, Stage, write_progress
from lithify.job.attempt.outcome import plan_summary, replace_file
from lithify.job.report import Report
from lithify.resources.compaction import PlanSummary
from lithify.resources.names import ANNOTATION_PROGRESS
from lithify.tables.format import Plan, Task

Tell = Callable[[Progress], None]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PATCH_SECONDS = 2.0
_TIMEOUT_SECONDS = 5.0
_REFUSED = 300
"""Status codes from here on mean that a request was not served."""


class Stopped(BaseException):
    """Somebody wants the attempt to end; not an error of any kind, so nothing but the end handles it."""


class StopSignal:
    """The wish to stop. It ends an attempt at once, but lets a step that is being committed end.

    Attributes:
        requested: the attempt that is under way is to end.
        is_final: the whole driver is.
    """

    def __init__(self) -> None:
        self.requested = False
        self.is_final = False
        self._is_shielded = False

    def handle(self, *_: object) -> None:
        """The handler of a signal."""
        self.is_final = True
        self.end_attempt()

    def end_attempt(self) -> None:
        """Ends the attempt that is under way; of those that share a driver, the others go on."""
        is_first, self.requested = not self.requested, True
        if is_first and not self._is_shielded:
            raise Stopped

    def shield(self) -> None:
        """From here on the wish waits."""
        self._is_shielded = True

    def unshield(self) -> None:
        """Heeds the wish, if it was uttered meanwhile."""
        was_shielded, self._is_shielded = self._is_shielded, False
        if was_shielded and self.requested:
            raise Stopped

    def renew(self) -> None:
        """Forgets that an attempt was to end, before the next one begins in the same driver."""
        self.requested, self._is_shielded = self.is_final, False
        if self.requested:
            raise Stopped


class DriveObserver:
    """An `Observer` of the job's driver.

    Args:
        tell: told of each change.
        stop: the wish to stop.
        needs_executors: whether tasks wait for executors, so that there are none when the first ones come.

    Attributes:
        plan: what the first round does; later ones only repeat parts of it.
        committed_so_far: the run as it stood after its last commit.
        blocked_so_far: the run as it stood when it last found groups that cannot be compacted.
    """

    def __init__(self, tell: Tell, stop: StopSignal, *, needs_executors: bool = False) -> None:
        self._tell = tell
        self._needs_executors = needs_executors
        self._stop = stop
        self._progress = Progress(stage=Stage.PLANNING)
        self.plan: PlanSummary | None = None
        self.committed_so_far: Report | None = None
        self.blocked_so_far: Report | None = None
        tell(self._progress)

    def planned(self, plan: Plan, tasks: Sequence[Task]) -> None:
        """A round begins."""
        self._stop.unshield()
        self.plan = self.plan or plan_summary(plan, tasks)
        ready = self._progress.executors_ready
        if ready is None and tasks and self._needs_executors:
            ready = 0
        running = replace(self._progress, stage=Stage.RUNNING, done=0, total=len(tasks), plan=self.plan)
        self._show(replace(running, executors_ready=ready))

    def executors(self, ready: int, wanted: int) -> None:
        """So many executors are there, of those that were asked for."""
        self._show(replace(self._progress, executors_ready=ready, executors_wanted=wanted))

    def progressed(self, done: int) -> None:
        """Some tasks are done."""
        self._show(replace(self._progress, done=done))

    def committing(self) -> None:
        """From here on a wish to stop waits for the commit's end."""
        self._stop.shield()
        self._show(replace(self._progress, stage=Stage.COMMITTING))

    def committed(self, report: Report) -> None:
        """What is done is done, whatever happens now; only more work would heed a wish to stop."""
        self.committed_so_far = report

    def blocked(self, report: Report) -> None:
        """Whatever becomes of the run, the operator is told: the next one need not try them again."""
        self.blocked_so_far = report

    def continued(self) -> None:
        """The next step begins."""
        self._stop.unshield()
        self._show(replace(self._progress, stage=Stage.RUNNING))

    def _show(self, progress: Progress) -> None:
        if progress != self._progress:
            self._progress = progress
            self._tell(progress)


def to_file(path: Path) -> Tell:
    """Tells by a file that is replaced each time."""

    def tell(progress: Progress) -> None:
        with suppress(OSError):
            replace_file(path, write_progress(progress))

    return tell


@dataclass(frozen=True, slots=True)
class PodAddress:
    """A pod at its API server.

    Attributes:
        host: of the API server.
        port: of the API server.
        namespace: the pod's.
        name: the pod's.
        account: folder with `token` and `ca.crt`; without the latter, plain HTTP is spoken.
    """

    host: str
    port: int
    namespace: str
    name: str
    account: Path = SERVICE_ACCOUNT

    def annotate(self, progress: Progress) -> None:
        """Writes the progress into the pod's annotation.

        Raises:
            OSError, http.client.HTTPException: that did not work; what the server says is not looked at.
        """
        self.patch({ANNOTATION_PROGRESS: write_progress(progress)})

    def patch(self, annotations: Mapping[str, str]) -> bool:
        """Sets annotations; whether the server says that it did.

        Raises:
            OSError, http.client.HTTPException: the server was not reached.
        """
        status, _ = self._request("PATCH", json.dumps({"metadata": {"annotations": dict(annotations)}}))
        return status < _REFUSED

    def annotations(self) -> Mapping[str, str]:
        """The pod's annotations; empty if the server does not tell.

        Raises:
            OSError, http.client.HTTPException: the server was not reached.
            ValueError: it answers something else than a pod.
        """
        status, text = self._request("GET")
        found = json.loads(text).get("metadata", {}).get("annotations") if status < _REFUSED else None
        return found if isinstance(found, dict) else {}

    def _request(self, method: str, body: str | None = None) -> tuple[int, bytes]:
        headers = {
            "Authorization": f"Bearer {(self.account / 'token').read_text().strip()}",
            "Content-Type": "application/merge-patch+json",
        }
        connection = self._connect()
        try:
            path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _connect(self) -> HTTPConnection:
        authority = self.account / "ca.crt"
        if not authority.exists():
            return HTTPConnection(self.host, self.port, timeout=_TIMEOUT_SECONDS)
        trust = ssl.create_default_context(cafile=str(authority))
        return HTTPSConnection(self.host, self.port, timeout=_TIMEOUT_SECONDS, context=trust)


class Throttled:
    """Tells in a thread, the newest only, with a pause between; a context manager.

    Args:
        tell: may be slow and may fail.
        seconds: the pause.
    """

    def __init__(self, tell: Tell, seconds: float = _PATCH_SECONDS) -> None:
        self._slow = tell
        self._seconds = seconds
        self._newest: Progress | None = None
        self._changed = Condition()
        self._closed = Event()
        self._thread = Thread(target=self._run, name="progress", daemon=True)

    def __enter__(self) -> Tell:
        self._thread.start()
        return self._tell

    def __exit__(self, *_: object) -> None:
        # Not waited for: the outcome says more than any progress, and the API server may be slow.
        self._closed.set()
        with self._changed:
            self._changed.notify()

    def _tell(self, progress: Progress) -> None:
        with self._changed:
            self._newest = progress
            self._changed.notify()

    def _run(self) -> None:
        while not self._closed.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._newest is not None or self._closed.is_set())
                progress, self._newest = self._newest, None
            if progress is not None and not self._closed.is_set():
                with suppress(Exception):
                    self._slow(progress)
                self._closed.wait(self._seconds)
