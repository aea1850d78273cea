"""The folders of driver processes on a machine that other users share."""

from __future__ import annotations

from pathlib import Path

from lithify.controller.launching.folder import DriverFolder
from lithify.resources.names import ObjectKey

_OTHERS = 0o077


def test_only_the_owner_reads_what_drivers_write(tmp_path: Path) -> None:
    folder = DriverFolder(tmp_path / "state", ObjectKey("shop", "orders-1"))
    with folder.locked(), folder.open_log() as log:
        log.write(b"a line")
    folder.stop_member("run")
    assert folder.path.stat().st_mode & _OTHERS == 0
    assert folder.members_folder.stat().st_mode & _OTHERS == 0
    assert folder.log_file.stat().st_mode & _OTHERS == 0
