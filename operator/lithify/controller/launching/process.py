"""Drivers as processes of this machine: for laptops, for `lithify watch`, and for tests.

Each driver has a folder, whose lock tells whether the driver is alive. It inherits the locked descriptor, so
the kernel holds the lock exactly as long as it lives, even if the operator ends or its process id is reused.
A driver gets its order, with the credentials, through a pipe after its process id is recorded; if the
operator dies before that, the pipe breaks and the driver ends without having done anything.

A driver that died without an outcome counts as ended only when the Spark JVM and workers that it started are
gone too: they are asked to end, and killed if they do not.

The calls are short and block: they access a few small files of a local folder.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from lithify.clock import Clock
from lithify.contract.order import (
    MEMBERS_VARIABLE,
    OUTCOME_VARIABLE,
    PROGRESS_VARIABLE,
    SECRETS_VARIABLE,
    VARIABLE,
    Instructions,
    write_instructions,
)
from lithify.controller.driver import (
    DriverOrder,
    DriverPhase,
    DriverState,
    SharedDrivers,
    Trouble,
)
from lithify.controller.launching.descendants import MARK_VARIABLE, descendants, send_to_descendants
from lithify.controller.launching.folder import DriverFolder, MemberRecord, Record
from lithify.controller.launching.memory_kills import memory_kills
from lithify.controller.launching.ordering import instructions_of
from lithify.controller.launching.shared_processes import SharedProcesses, is_shared
from lithify.controller.launching.spark_conf import conf_problem, local_conf, local_master
from lithify.errors import ClusterRefused, ClusterUnavailable, NotFound
from lithify.io.access_policy import NOWHERE, AccessPolicy
from lithify.resources.catalog import SecretReference
from lithify.resources.names import ObjectKey

ReadSecret = Callable[[str, SecretReference], Awaitable[Mapping[str, str]]]
"""Returns the catalog options that a reference takes from a Secret of a namespace. Raises NotFound."""

_log = logging.getLogger(__name__)
_NOT_INHERITED = frozenset(
    {VARIABLE, SECRETS_VARIABLE, OUTCOME_VARIABLE, PROGRESS_VARIABLE, MEMBERS_VARIABLE}
)
_LARGEST_LOG = 4 << 20
_POLL_SECONDS = 0.5
_TRIES = 20
_EXIT_SECONDS = 10.0
_LEFT_SECONDS = 5.0
"""Seconds between asking processes that outlive their driver to end and killing them."""


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """How drivers are run.

    Attributes:
        folder: where their folders are.
        command: what to run, for example `lithify drive`.
        grace_seconds: time between the request to end a driver and its kill.
        kept_seconds: how long after its start a released driver's folder is kept.
        largest_log: bytes beyond which the older part of a log is dropped.
        poll_seconds: interval of `watch`.
        variables: added to the environment of drivers.
    """

    folder: Path
    command: Sequence[str]
    grace_seconds: float = 60.0
    kept_seconds: float = 7 * 86400.0
    largest_log: int = _LARGEST_LOG
    poll_seconds: float = _POLL_SECONDS
    variables: Mapping[str, str] = field(default_factory=dict)


def _nowhere(_: str) -> AccessPolicy:
    return NOWHERE


class ProcessLauncher:
    """A `Launcher` of processes. `watch` must run for changes to be reported and for logs to stay small.

    `reach` says where drivers of a namespace may use the rights of this process's user, which they inherit.
    """

    def __init__(
        self,
        settings: ProcessSettings,
        secrets: ReadSecret,
        clock: Clock,
        reach: Callable[[str], AccessPolicy] = _nowhere,
    ) -> None:
        self._settings = settings
        self._secrets = secrets
        self._clock = clock
        self._reach = reach
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._left: dict[str, datetime] = {}
        """When the processes that outlived a driver were asked to end, by the driver's uid."""
        self._tell: Callable[[ObjectKey], None] = lambda _: None

    async def start(self, order: DriverOrder) -> DriverState:
        """Starts a driver, or returns the existing one.

        Raises:
            ClusterRefused: its settings, or its credentials, are invalid.
            ClusterUnavailable: the machine could not start it.
        """
        return await self.begin(order.key, order, write_instructions(await self.instructions(order)))

    async def begin(
        self, key: ObjectKey, order: DriverOrder, text: str, members: tuple[MemberRecord, ...] = ()
    ) -> DriverState:
        """Starts a driver with instructions, or returns the existing one.

        Args:
            key: names its folder.
            order: of the run that owns it.
            text: the instructions.
            members: the runs that share it, if several do.

        Raises:
            ClusterUnavailable: the machine could not start it.
        """
        for _ in range(_TRIES):
            found = self._observe(key)
            if found is not None:
                return found
            try:
                child = self._try_start(key, order, members)
            except OSError as error:
                raise ClusterUnavailable(f"start of {key}", str(error)) from error
            if child is not None:
                await asyncio.to_thread(_send, child, text)
                continue
            await asyncio.sleep(self._settings.poll_seconds / 10)
        raise ClusterUnavailable(f"start of {key}", "another process keeps its folder locked")

    async def observe(self, key: ObjectKey) -> DriverState | None:
        """The driver of a Compaction; None if there is none."""
        return self._observe(key)

    async def stop(self, key: ObjectKey, driver_uid: str) -> None:
        """Asks a driver to end; after the grace period it is killed with all its descendants."""
        folder = self.folder(key)
        record = folder.record()
        if record is None or record.uid != driver_uid:
            return
        if not folder.is_alive():
            self._sweep(folder, record)
        elif record.stopped is None:
            record = replace(record, stopped=self._clock.now())
            folder.write(record)
            folder.send(record, signal.SIGTERM)
        else:
            self._kill_if_late(folder, record)

    async def release(self, key: ObjectKey, driver_uid: str, *, remove: bool) -> None:
        """Releases a driver; one that is to be removed and still lives is stopped first."""
        folder = self.folder(key)
        record = folder.record()
        if record is None or record.uid != driver_uid:
            return
        folder.write(replace(record, released=True, remove=record.remove or remove))
        if remove:
            await self.stop(key, driver_uid)
            self._observe(key)

    async def all(self) -> list[tuple[ObjectKey, str]]:
        """Returns the drivers that have not been released, except shared ones."""
        found = [(folder.key, record) for folder, record in self.unreleased() if not record.members]
        return [(key, record.uid) for key, record in found]

    def unreleased(self) -> list[tuple[DriverFolder, Record]]:
        """The folders of drivers that have not been released, with their records."""
        found = [(folder, folder.record()) for folder in DriverFolder.all(self._settings.folder)]
        return [(folder, record) for folder, record in found if record is not None and not record.released]

    @property
    def shared(self) -> SharedDrivers:
        """Runs shared drivers."""
        return SharedProcesses(self)

    def on_change(self, tell: Callable[[ObjectKey], None]) -> None:
        """Registers `tell`, which is called at most `poll_seconds` after a driver may have changed."""
        self._tell = tell

    async def watch(self) -> None:
        """Polls all drivers for ever."""
        seen: dict[ObjectKey, object] = {}
        while True:
            now = {folder.key: self._watched(folder) for folder in DriverFolder.all(self._settings.folder)}
            for key in {key for key in now.keys() | seen.keys() if now.get(key) != seen.get(key)}:
                self._tell_of(key)
            seen = now
            for child in self._children.values():
                child.poll()  # if its folder is gone, no other code asks for its exit code
            await asyncio.sleep(self._settings.poll_seconds)

    def _tell_of(self, key: ObjectKey) -> None:
        """Reports the owners of drivers that may have changed."""
        record = self.folder(key).record()
        if not is_shared(key):
            self._tell(key)
        for member in record.members if record is not None else ():
            self._tell(ObjectKey(key.namespace, member.name))

    def _watched(self, folder: DriverFolder) -> object:
        """Does what a kubelet does for pods; returns a state to compare, whose change is reported."""
        try:
            return self._tended(folder)
        except OSError:
            return None  # one driver's error (a full disk, for example) must not affect the others
        except Exception:  # noqa: BLE001  # it concerns one driver, and is logged
            _log.exception("checking a driver failed unexpectedly", extra={"compaction": str(folder.key)})
            return None

    def _tended(self, folder: DriverFolder) -> object:
        record = folder.record()
        if record is None:
            return None
        is_alive = folder.is_alive()
        if is_alive:
            folder.shorten_log(self._settings.largest_log)
            self._kill_if_late(folder, record)
        elif not self._sweep(folder, record):
            is_alive = True
        else:
            self._reap(folder, record)
            age = (self._clock.now() - record.started).total_seconds()
            if record.remove or (record.released and age > self._settings.kept_seconds):
                folder.remove()
        return (record.uid, is_alive, folder.progress_time())

    async def instructions(self, order: DriverOrder) -> Instructions:
        """Returns the instructions of an order.

        Raises:
            ClusterRefused: its settings, or its credentials, are invalid.
        """
        problem = conf_problem(order.spark)
        if problem is not None:
            raise ClusterRefused(f"start of {order.key}", problem)
        reference = order.secret_ref
        try:
            credentials = {} if reference is None else await self._secrets(order.key.namespace, reference)
        except NotFound as error:
            raise ClusterRefused(f"start of {order.key}", str(error)) from error
        return instructions_of(
            order,
            master=local_master(order, os.cpu_count() or 1),
            conf=local_conf(order),
            credentials=credentials,
            reach=self._reach(order.key.namespace),
        )

    def _try_start(
        self, key: ObjectKey, order: DriverOrder, members: tuple[MemberRecord, ...]
    ) -> subprocess.Popen[bytes] | None:
        """Starts a driver that waits for its order; None if the folder is locked, or has a driver already."""
        folder = self.folder(key)
        record = Record(
            uid=uuid4().hex,
            owner_uid=order.uid,
            attempt=order.attempt,
            started=self._clock.now(),
            memory_kills=memory_kills(),
            members=members,
        )
        with folder.locked() as lock:
            if lock is None or folder.record() is not None:
                return None
            folder.clear()
            if members:
                folder.members_folder.mkdir(mode=0o700)
            folder.write(record)
            child = None
            try:
                child = self._children[record.uid] = self._spawn(folder, lock, record.uid)
                folder.write(replace(record, pid=child.pid))
            except OSError:
                if child is not None:
                    child.kill()
                folder.clear()
                raise
            return child

    def _spawn(self, folder: DriverFolder, lock: int, uid: str) -> subprocess.Popen[bytes]:
        own = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
        environment = {
            **own,
            **self._settings.variables,
            OUTCOME_VARIABLE: str(folder.outcome_file),
            PROGRESS_VARIABLE: str(folder.progress_file),
            **({MEMBERS_VARIABLE: str(folder.members_folder)} if is_shared(folder.key) else {}),
            MARK_VARIABLE: uid,
        }
        with folder.open_log() as log:
            return subprocess.Popen(  # noqa: S603  # the command is the operator's own
                list(self._settings.command),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=(lock,),
                start_new_session=True,
            )

    def _observe(self, key: ObjectKey) -> DriverState | None:
        folder = self.folder(key)
        record = folder.record()
        if record is None:
            return None
        if record.remove and not folder.is_alive() and self._sweep(folder, record):
            folder.remove()
            return None
        return self._state(folder, record)

    def _state(self, folder: DriverFolder, record: Record) -> DriverState:
        # In this order: a dead driver's last writes are then visible.
        is_alive = folder.is_alive()
        progress, outcome = folder.progress(), folder.outcome()
        code = None if is_alive else self._reap(folder, record)
        if not is_alive and outcome is None:
            is_alive = not self._sweep(folder, record)
        phase = DriverPhase.ENDED
        if is_alive:
            phase = DriverPhase.STARTING if progress is None else DriverPhase.RUNNING
        trouble, message = None, ""
        if not is_alive and outcome is None and record.stopped is None:
            trouble, message = _trouble(code, memory_kills() - record.memory_kills)
        return DriverState(
            name=f"process {record.pid}" if record.pid else "process",
            uid=record.uid,
            owner_uid=record.owner_uid,
            attempt=record.attempt,
            phase=phase,
            trouble=trouble,
            message=message,
            terminating=record.stopped is not None,
            released=record.released,
            started=record.started,
            finished=None if is_alive else folder.outcome_time(),
            progress=progress,
            outcome=outcome,
            exit_code=code,
            log=str(folder.log_file),
        )

    def _reap(self, folder: DriverFolder, record: Record) -> int | None:
        """The exit code of a dead driver; only the operator that started it can read it."""
        child = self._children.get(record.uid)
        if child is None:
            return record.exit_code
        try:
            code = child.wait(_EXIT_SECONDS)  # its lock is free, so it ends within moments
        except subprocess.TimeoutExpired:
            return None
        del self._children[record.uid]
        current = folder.record()
        if current is not None and current.uid == record.uid:
            folder.write(replace(current, exit_code=code))
        return code

    def _kill_if_late(self, folder: DriverFolder, record: Record) -> None:
        if record.stopped is None:
            return
        if (self._clock.now() - record.stopped).total_seconds() >= self._settings.grace_seconds:
            folder.send(record, signal.SIGKILL)
            send_to_descendants(record.uid, signal.SIGKILL)

    def _sweep(self, folder: DriverFolder, record: Record) -> bool:
        """Ends what a dead driver left running; returns whether none of its processes is left."""
        if record.swept:
            return True
        if not descendants(record.uid):
            self._left.pop(record.uid, None)
            current = folder.record()
            if current is not None and current.uid == record.uid:
                folder.write(replace(current, swept=True))
            return True
        asked = self._left.get(record.uid)
        if asked is None:
            self._left[record.uid] = self._clock.now()
            send_to_descendants(record.uid, signal.SIGTERM)
        elif abs((self._clock.now() - asked).total_seconds()) >= _LEFT_SECONDS:
            send_to_descendants(record.uid, signal.SIGKILL)
        return False

    def folder(self, key: ObjectKey) -> DriverFolder:
        """The folder of a driver."""
        return DriverFolder(self._settings.folder, key)


def _send(child: subprocess.Popen[bytes], text: str) -> None:
    """Sends a driver its order; a driver that is dead already is found later."""
    assert child.stdin is not None  # noqa: S101  # it was asked for
    try:
        with child.stdin as pipe:
            pipe.write(text.encode())
    except OSError:
        return


def _trouble(code: int | None, memory_kills: int) -> tuple[Trouble | None, str]:
    """The cause of death of a driver without an outcome."""
    if code == -signal.SIGKILL and memory_kills > 0:
        return Trouble.OUT_OF_MEMORY, "the process was killed while the machine was out of memory"
    if code is None:
        return Trouble.DISRUPTED, "the process is gone; it ended while no operator was running"
    if code < 0:
        return Trouble.DISRUPTED, f"the process was ended by signal {-code}"
    return None, f"the process ended with code {code} and left no outcome"
