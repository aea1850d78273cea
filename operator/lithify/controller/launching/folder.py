"""The folder of a driver process: lock, record, progress, outcome, log.

Used by `process` only. It contains no secrets; because of the log it is readable by its owner alone.
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
    """The recorded state of a driver process; one with `members` is shared by them.

    `memory_kills` is the number of processes that the kernel had killed for lack of memory before it started.
    `swept` means that it is dead and none of its descendants is left.
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
        """Returns all folders."""
        records = sorted(state.glob("*/*/driver.json"))
        return [cls(state, ObjectKey(path.parts[-3], path.parts[-2])) for path in records]

    @property
    def path(self) -> Path:
        """The folder itself."""
        return self.state / self.key.namespace / self.key.name

    @property
    def outcome_file(self) -> Path:
        """The outcome, written by the driver at its end."""
        return self.path / "outcome.json"

    @property
    def progress_file(self) -> Path:
        """The progress, written by the driver regularly."""
        return self.path / "progress.json"

    @property
    def members_folder(self) -> Path:
        """Outcomes of a shared driver's runs, and requests to stop them."""
        return self.path / "members"

    @property
    def log_file(self) -> Path:
        """The driver's output."""
        return self.path / "log"

    @property
    def _record_file(self) -> Path:
        return self.path / "driver.json"

    @property
    def _lock_file(self) -> Path:
        return self.path / "lock"

    def record(self) -> Record | None:
        """Returns the driver's record, None if there is none."""
        try:
            return read(Record, json.loads(self._record_file.read_text(encoding="utf-8")))
        except (OSError, ValueError, ValidationError, RecursionError):
            return None

    def write(self, record: Record) -> None:
        """Writes the driver's record atomically."""
        temporary = self._record_file.with_name(f".driver.json.{os.getpid()}")
        temporary.write_text(json.dumps(plain(record)), encoding="utf-8")
        temporary.replace(self._record_file)

    def clear(self) -> None:
        """Deletes the record and files of an earlier driver, or of a failed start; the log stays."""
        for file in (self._record_file, self.outcome_file, self.progress_file):
            file.unlink(missing_ok=True)
        shutil.rmtree(self.members_folder, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[int | None]:
        """Takes the lock, whose descriptor a child may inherit; None if another process holds it."""
        self.path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield descriptor if self._take(descriptor) else None
        finally:
            os.close(descriptor)  # not unlocked: a child that has inherited it goes on holding it

    def is_alive(self) -> bool:
        """Whether the lock is held: by the driver, or for a moment by an operator that starts it."""
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
            # If the folder was removed since the file was opened, the file locks nothing.
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
                # The lock was held after the process was opened, so the id was the driver's.
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
        """The driver's outcome, None before it is written."""
        text = _text(self.outcome_file)
        return None if text is None else read_outcome(text)

    def outcome_time(self) -> datetime | None:
        """When the outcome was written, the driver's last action; None before."""
        try:
            return datetime.fromtimestamp(self.outcome_file.stat().st_mtime, UTC)
        except OSError:
            return None

    def shared_outcomes(self) -> Mapping[str, Outcome]:
        """Outcomes of a shared driver's runs, by run id."""
        last = read_shared_outcome(_text(self.outcome_file) or "")
        files = sorted(self.members_folder.glob("*.json"))
        told = [outcome for file in files if (outcome := read_outcome(_text(file) or "")) is not None]
        return {outcome.run: outcome for outcome in (*last, *told)}

    def stopped(self) -> frozenset[str]:
        """The runs of a shared driver that were asked to stop."""
        return frozenset(path.stem for path in self.members_folder.glob("*.stop"))

    def stop_member(self, run: str) -> None:
        """Asks a shared driver to stop a run, by a marker file."""
        self.members_folder.mkdir(mode=_PRIVATE, exist_ok=True)
        (self.members_folder / f"{run}.stop").touch()

    def progress(self) -> Progress | None:
        """The driver's progress, None before it is written."""
        text = _text(self.progress_file)
        return None if text is None else read_progress(text)

    def progress_time(self) -> tuple[int, ...]:
        """When progress was written, also that of single runs, to detect changes."""
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
        """Drops the older half of a log that is too large; lines written at that moment may be lost."""
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
    """The text of a driver's file, cut to the longest that a driver writes."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1).decode()
    except (OSError, UnicodeDecodeError):
        return None
