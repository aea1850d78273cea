"""containerd for the test node, and the images in it.

It keeps images in a folder that outlives the node. Containers of an earlier node, which are gone with its
namespaces, are forgotten when the next one starts.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

CONFIG = """
version = 2
root = "{root}"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
]
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # Who may not lower the score of a process for the kernel's choice of victims may still start containers.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{networks}"
"""
SOCKET = "/run/containerd/containerd.sock"
PAUSE = "localhost/lithify/pause:test"
UNNAMED = "sha256:"
CHUNK = 1 << 20


class ImportFailed(Exception):
    """An image archive was not taken; the message quotes why."""


@dataclass(frozen=True, slots=True)
class Images:
    """The images of a node, as `ctr` shows them; `prefix` is how a program is run inside."""

    prefix: Sequence[str]
    environment: Mapping[str, str]

    def import_image(self, archive: Path) -> bool:
        """Imports an OCI archive; False if the same image is there under the same name already.

        Only what is missing is handed over, so that a new top layer on known ones takes no time.

        Raises:
            ImportFailed: containerd refuses it.
            OSError: it cannot be read.
        """
        if self._is_there(archive):
            return False
        try:
            self._import(archive, set(self._ctr("content", "list", "--quiet").split()))
        except ImportFailed:
            # What was known may have been garbage that has just been collected.
            self._import(archive, set())
        return True

    def forget_containers(self) -> bool:
        """Removes the containers that containerd remembers of an earlier node; False if there are none."""
        names = self._ctr("containers", "list", "--quiet").split()
        if names:
            self._ctr("containers", "remove", *names)
        return bool(names)

    def forget_replaced(self) -> None:
        """Removes images whose name another one has by now; with no container left, nobody misses them."""
        listed = self._listed()
        named = {digest for name, digest in listed if not name.startswith(UNNAMED)}
        # The part for pods gives every image a second name, which stays with it.
        if replaced := [name for name, digest in listed if name.startswith(UNNAMED) and digest not in named]:
            self._ctr("images", "remove", *replaced)

    def is_ready(self) -> bool:
        """Whether containerd answers."""
        return self._run("version").returncode == 0

    def _import(self, archive: Path, known: set[str]) -> None:
        command = self._command("images", "import", "--snapshotter=overlayfs", "-")
        with (
            tarfile.open(archive, "r:") as opened,
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=self.environment,
            ) as process,
        ):
            # If it ends before it has read everything, it says why.
            with suppress(BrokenPipeError), cast("IO[bytes]", process.stdin) as out:
                _copy(opened, known, out)
            errors = cast("IO[bytes]", process.stderr).read().decode(errors="replace")
        if process.returncode != 0:
            raise ImportFailed(f"{archive}: {errors.strip()}")

    def _is_there(self, archive: Path) -> bool:
        with tarfile.open(archive, "r:") as opened:
            try:
                index = json.load(cast("IO[bytes]", opened.extractfile("index.json")))
            except KeyError:
                raise ImportFailed(f"{archive} has no index.json: it is no OCI archive") from None
        listed = self._listed()
        return all(
            (entry["annotations"]["io.containerd.image.name"], entry["digest"]) in listed
            for entry in index["manifests"]
        )

    def _listed(self) -> set[tuple[str, str]]:
        """Names and digests of the images that are there."""
        lines = [line.split() for line in self._ctr("images", "list").splitlines()[1:]]
        return {(name, digest) for name, _, digest, *_ in lines}

    def _ctr(self, *arguments: str) -> str:
        result = self._run(*arguments)
        if result.returncode != 0:
            raise ImportFailed(f"ctr {' '.join(arguments[:2])}: {result.stderr.strip()}")
        return result.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*arguments), capture_output=True, text=True, env=self.environment, check=False
        )

    def _command(self, *arguments: str) -> list[str]:
        return [*self.prefix, "ctr", f"--address={SOCKET}", "--namespace=k8s.io", *arguments]


def write_config(file: Path, root: Path, plugins: Path, networks: Path) -> None:
    """Writes containerd's settings; what an earlier node's pods have left in its folder goes."""
    shutil.rmtree(root / "io.containerd.grpc.v1.cri", ignore_errors=True)
    root.mkdir(parents=True, exist_ok=True)
    file.write_text(CONFIG.format(root=root, socket=SOCKET, pause=PAUSE, plugins=plugins, networks=networks))


def _copy(archive: tarfile.TarFile, known: set[str], out: IO[bytes]) -> None:
    """Copies an archive without the blobs that are known."""
    with tarfile.open(fileobj=out, mode="w|", bufsize=CHUNK) as copy:
        for member in archive:
            if member.name.replace("blobs/sha256/", "sha256:") not in known:
                copy.addfile(member, archive.extractfile(member))
