"""The folder of a driver process: lock, record, progress, outcome, log.

Used by `process` only. Nothing in it is secret; it is readable by its owner alone all the same, because of
the log.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from lithify.contract.outcome import (
    MOST_BYTES,
    Outcome,
    Progress,
    read_outcome,
    read_progress,
    read_shared_outcome,
)
from lithify.resources.modelling import part, plain, read
from lithify.resources.names import ObjectKey

_PRIVATE = 0o700


@part()
class MemberRecord:
    """A Compaction that shares a driver process."""

    name: str
    uid: str


@part()
class Record:
    """What is known of a driver process; one with `members` is shared by them.

    `memory_kills` counts the processes that the kernel had killed for want of memory before it was started.
    `swept` says that it is dead and nothing is left of what it had started.
    """

    uid: str
    owner_uid: str
    attempt: int
    started: datetime
    memory_kills: int = 0
    pid: int | None = None
    stopped: datetime | None = None
    exit_code: int | None = None
    released: bool = False
    remove: bool = False
    swept: bool = False
    members: tuple[MemberRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class DriverFolder:
    """The folder of one Compaction's driver, which need not exist."""

    state: Path
    key: ObjectKey

    @classmethod
    def all(cls, state: Path) -> list[DriverFolder]:
        """All that there are."""
        records = sorted(state.glob("*/*/driver.json"))
        return [cls(state, ObjectKey(path.parts[-3], path.parts[-2])) for path in records]

    @property
    def path(self) -> Path:
        """The folder itself."""
        return self.state / self.key.namespace / self.key.name

    @property
    def outcome_file(self) -> Path:
        """Written by the driver in the end."""
        return self.path / "outcome.json"

    @property
    def progress_file(self) -> Path:
        """Written by the driver now and then."""
        return self.path / "progress.json"

    @property
    def members_folder(self) -> Path:
        """What a shared driver says of single runs, and is told about them."""
        return self.path / "members"

    @property
    def log_file(self) -> Path:
        """What the driver prints."""
        return self.path / "log"

    @property
    def _record_file(self) -> Path:
        return self.path / "driver.json"

    @property
    def _lock_file(self) -> Path:
        return self.path / "lock"

    def record(self) -> Record | None:
        """What is known of the driver, None if there is none."""
        try:
            return read(Record, json.loads(self._record_file.read_text(encoding="utf-8")))
        except (OSError, ValueError, ValidationError, RecursionError):
            return None

    def write(self, record: Record) -> None:
        """Records in one go what is known of the driver."""
        temporary = self._record_file.with_name(f".driver.json.{os.getpid()}")
        temporary.write_text(json.dumps(plain(record)), encoding="utf-8")
        temporary.replace(self._record_file)

    def clear(self) -> None:
        """Forgets the driver that was here, or could not be started; the log stays."""
        for file in (self._record_file, self.outcome_file, self.progress_file):
            file.unlink(missing_ok=True)
        shutil.rmtree(self.members_folder, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[int | None]:
        """Holds the lock, whose descriptor a child may inherit; None if somebody else holds it."""
        self.path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield descriptor if self._take(descriptor) else None
        finally:
            os.close(descriptor)  # not unlocked: a child that has inherited it goes on holding it

    def is_alive(self) -> bool:
        """Whether somebody holds the lock: the driver, or for a moment an operator that starts it."""
        try:
            descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _take(self, descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Somebody may have removed the folder since the file was opened; then it locks nothing.
            return os.path.samestat(os.fstat(descriptor), self._lock_file.stat())
        except (BlockingIOError, FileNotFoundError):
            return False

    def send(self, record: Record, number: signal.Signals) -> None:
        """Sends a signal to the driver, SIGKILL also to its process group, if it is still alive."""
        if record.pid is None:
            return
        with suppress(ProcessLookupError):
            process = os.pidfd_open(record.pid)
            try:
                # The id was its own when the lock was held after the process was opened.
                if self.is_alive():
                    if number == signal.SIGKILL:
                        os.killpg(record.pid, number)
                    else:
                        signal.pidfd_send_signal(process, number)
            finally:
                os.close(process)

    def remove(self) -> None:
        """Deletes the folder, unless a driver lives in it."""
        if not self.path.exists():
            return
        with self.locked() as lock:
            if lock is not None:
                self.clear()
                shutil.rmtree(self.path, ignore_errors=True)

    def outcome(self) -> Outcome | None:
        """How the driver ended, None if it has not said."""
        text = _text(self.outcome_file)
        return None if text is None else read_outcome(text)

    def outcome_time(self) -> datetime | None:
        """When the driver has said that, which is the last that it does; None if it has not."""
        try:
            return datetime.fromtimestamp(self.outcome_file.stat().st_mtime, UTC)
        except OSError:
            return None

    def shared_outcomes(self) -> Mapping[str, Outcome]:
        """How runs of a shared driver have ended, by the ids of those that have."""
        last = read_shared_outcome(_text(self.outcome_file) or "")
        files = sorted(self.members_folder.glob("*.json"))
        told = [outcome for file in files if (outcome := read_outcome(_text(file) or "")) is not None]
        return {outcome.run: outcome for outcome in (*last, *told)}

    def stopped(self) -> frozenset[str]:
        """The runs of a shared driver that are to end early."""
        return frozenset(path.stem for path in self.members_folder.glob("*.stop"))

    def stop_member(self, run: str) -> None:
        """Leaves a mark that a run of a shared driver is to end early."""
        self.members_folder.mkdir(mode=_PRIVATE, exist_ok=True)
        (self.members_folder / f"{run}.stop").touch()

    def progress(self) -> Progress | None:
        """How far the driver is, None if it has not said."""
        text = _text(self.progress_file)
        return None if text is None else read_progress(text)

    def progress_time(self) -> tuple[int, ...]:
        """When that was written, also of single runs, to see whether it has changed."""
        found = []
        for path in (self.progress_file, self.members_folder):
            with suppress(OSError):
                found.append(path.stat().st_mtime_ns)
        return tuple(found)

    def open_log(self) -> BinaryIO:
        """The log, to be appended to."""
        descriptor = os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return os.fdopen(descriptor, "ab")

    def shorten_log(self, largest: int) -> None:
        """Drops the older half of a log that has become too large; lines of that moment may be lost."""
        with suppress(OSError):
            if self.log_file.stat().st_size <= largest:
                return
            with self.log_file.open("r+b") as log:
                log.seek(-largest // 2, os.SEEK_END)
                rest = log.read()
                log.truncate(0)
                log.seek(0)
                log.write(rest)


def _text(path: Path) -> str | None:
    """The text of a driver's file, cut where it is longer than any that a driver writes."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1).decode()
    except (OSError, UnicodeDecodeError):
        return None
