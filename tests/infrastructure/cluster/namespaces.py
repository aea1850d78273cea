"""Network, mounts and processes of its own for a test node: when its first process ends, all of it is gone.

The supervisor of a node enters them, so that whatever it starts is inside, and what those start in turn. The
kernel ends every process inside together with the first one, which dies with the supervisor; devices and
mounts go with the last process. So nothing is left of a node, however it ends.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from infrastructure.cluster.processes import Program

NEW_MOUNTS, NEW_PROCESSES, NEW_NETWORK = 0x00020000, 0x20000000, 0x40000000  # CLONE_NEWNS, ..PID, ..NET
HIDDEN = ("/run", "/var/lib", "/var/log")
"""Folders in which the node's programs leave things: inside, they are empty and in memory."""
KERNEL = {
    "kernel/keys/root_maxbytes": "25000000",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
}
"""Settings of the whole machine that a kubelet changes unless they are so already."""


class Namespaces:
    """A node's namespaces, as the process sees them that has entered them."""

    def __init__(self) -> None:
        self._outside = {
            kind: os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
            for kind in ("mnt", "net", "pid")
        }
        self._first: Program | None = None

    @property
    def first(self) -> Program:
        """The first process, through which others find the namespaces."""
        if self._first is None:
            raise RuntimeError("the namespaces have not been entered")
        return self._first

    def enter(self, program: Path, log: Path, settings: Path) -> None:
        """Makes the namespaces and enters them.

        `program` becomes the first process and has to bury others; `settings` is a folder for small files.
        This process still has its number from outside; what it starts from now on is inside. It must have a
        single thread.

        Raises:
            ValueError: a file is where the node's programs see an empty folder.
            OSError: the machine does not allow it.
        """
        for path in (program, settings):
            if hidden := [each for each in HIDDEN if path.resolve().is_relative_to(each)]:
                raise ValueError(
                    f"{path} lies below {hidden[0]}, which a test node hides; use another folder"
                )
        settings.mkdir(parents=True, exist_ok=True)
        _call("unshare", NEW_MOUNTS | NEW_PROCESSES | NEW_NETWORK)
        self._first = Program("init", [program], log)
        run("mount", "--make-rprivate", "/")
        # Mounts of the kubelet must reach containers that run already.
        run("mount", "--make-rshared", "/")
        run("mount", "-t", "proc", "proc", "/proc")
        for folder in HIDDEN:
            run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", folder)
        for name, value in KERNEL.items():
            file = settings / name.replace("/", ".")
            file.write_text(value)
            run("mount", "--bind", str(file), f"/proc/sys/{name}")

    def leave(self) -> None:
        """Ends every process inside and goes back, upon which the kernel removes devices and mounts.

        Whoever was started by this process has to be ended by it before: the kernel waits for such children.
        """
        if self._first is not None:
            self._first.kill()
            self._first = None
        for outside in self._outside.values():
            _call("setns", outside, 0)
            os.close(outside)
        self._outside.clear()

    def outside_network(self) -> int:
        """A descriptor of this machine's network, for programs that set up both ends of a connection."""
        return self._outside["net"]


def run(*command: str, environment: Mapping[str, str] | None = None, keep: tuple[int, ...] = ()) -> None:
    """Runs a command of the system; descriptors in `keep` are open in it.

    Raises:
        OSError: it failed; the message quotes it.
    """
    result = subprocess.run(
        command, capture_output=True, text=True, env=environment, pass_fds=keep, check=False
    )
    if result.returncode != 0:
        raise OSError(f"{' '.join(command)}: {result.stderr.strip()}")


def _call(name: str, *arguments: int) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
