"""Runs commands in the root file system of an image: layers laid over each other, in namespaces of their own.

Used by `build` with a folder for what is written, and by tests without: then the root is read-only, as in our
pods, and /tmp is an empty folder. Needs root. Mounts are private to the command and go with it.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True, slots=True)
class Root:
    """A root file system.

    Attributes:
        layers: folders, the lowest first, all in one folder.
        written: where changes go; None for a read-only root.
        shared: files and folders of this machine that are seen in the root, by their path there.
        user: user and group ids, as in `185:185`.
    """

    layers: Sequence[Path]
    written: Path | None = None
    shared: Mapping[str, Path] = field(default_factory=dict)
    user: str = "0:0"

    def command(self, words: Sequence[str], environment: Mapping[str, str], mounted: Path) -> list[str]:
        """What to run on this machine to run words in the root. `mounted` is an empty folder."""
        script = "\n".join(("set -eu", *self._mounts(mounted), self._run(words, environment, mounted)))
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]

    def run(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        *,
        timeout: float | None = None,
        **options: object,
    ) -> subprocess.CompletedProcess[str]:
        """Runs words in the root to their end, and returns how that went."""
        with TemporaryDirectory(prefix="lithify-root-") as mounted:
            command = self.command(words, environment, Path(mounted))
            return subprocess.run(command, text=True, check=False, timeout=timeout, **options)  # type: ignore[call-overload,no-any-return]

    def _mounts(self, mounted: Path) -> list[str]:
        home = self.layers[0].parent
        lower = ":".join(layer.relative_to(home).as_posix() for layer in reversed(self.layers))
        options = f"lowerdir={lower}"
        if self.written is not None:
            work = self.written.with_name(self.written.name + ".work")
            options += f",upperdir={self.written},workdir={work}"
        elif len(self.layers) == 1:
            options += ":" + lower
        root = shlex.quote(str(mounted))
        commands = [
            f"cd {shlex.quote(str(home))}",
            f"mount -t overlay overlay -o {shlex.quote(options)} {root}",
            f"mount -t proc proc {root}/proc",
            f"mount --rbind /dev {root}/dev",
            f"mount -t tmpfs -o mode=1777 tmpfs {root}/tmp",
        ]
        for path, source in self.shared.items():
            place = shlex.quote(f"{mounted}{path}")
            make = "mkdir -p" if source.is_dir() else ":>"
            commands.append(f"[ -e {place} ] || {make} {place}")
            commands.append(f"mount --bind {shlex.quote(str(source))} {place}")
        return commands

    def _run(self, words: Sequence[str], environment: Mapping[str, str], mounted: Path) -> str:
        settings = [f"{name}={value}" for name, value in environment.items()]
        # The environment is set outside: not every image has a command for it.
        outside = [
            "/usr/bin/env",
            "-i",
            *settings,
            "/usr/sbin/chroot",
            f"--userspec={self.user}",
            str(mounted),
        ]
        return "exec " + shlex.join([*outside, *words])
