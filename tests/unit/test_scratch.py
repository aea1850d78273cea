"""Temporary folders of processes that are alive, and of those that were killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lithify.scratch import scratch_folder

HOLDER = """
import time
from lithify.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "rows").write_bytes(b"x" * 1000)
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_folder_is_deleted_at_the_end(temporary: Path) -> None:
    with scratch_folder() as folder:
        (folder / "rows").write_text("x")
        assert folder.parent == temporary
    assert not folder.exists()


def test_folders_of_killed_processes_are_deleted_and_those_of_living_ones_are_kept(temporary: Path) -> None:
    holders = [subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        killed, living = (folder_of(holder) for holder in holders)
        holders[0].send_signal(signal.SIGKILL)
        holders[0].wait()
        assert killed.exists()
        with scratch_folder() as folder, scratch_folder() as other:
            assert {*temporary.iterdir()} == {living, folder, other}
        assert (living / "rows").exists()
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()


def folder_of(holder: subprocess.Popen[bytes]) -> Path:
    assert holder.stdout is not None
    return Path(holder.stdout.readline().decode().strip())


def test_a_folder_that_was_not_locked_yet_is_deleted(temporary: Path) -> None:
    """Its process was killed in between."""
    unlocked = Path(tempfile.mkdtemp(prefix="lithify-scratch-"))
    with scratch_folder():
        assert not unlocked.exists()


def test_links_and_files_of_others_are_left_alone(temporary: Path) -> None:
    other = temporary / "other"
    other.mkdir()
    link, file = temporary / "lithify-scratch-link", temporary / "lithify-scratch-file"
    link.symlink_to(other)
    file.write_text("x")
    with scratch_folder():
        assert {link, file, other} <= {*temporary.iterdir()}
