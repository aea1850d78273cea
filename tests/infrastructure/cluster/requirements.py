"""What a machine must allow for a node of the tests; asked by the build and by the fixtures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache

from infrastructure.building.once import cache_home
from infrastructure.cluster import cgroups

TOOLS = ("apt-get", "dpkg", "mount", "nsenter", "unshare")
OVERLAY = "mkdir l u w m && mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m"
PROBE = f"mount --make-rprivate / && {OVERLAY} && mount -t tmpfs tmpfs /mnt && mount -t proc proc /proc"


@cache
def node_problem() -> str | None:
    """Says why this machine can run no node, None if it can; tests of the node are skipped only for this."""
    if sys.platform != "linux":
        return f"a node needs Linux, and this is {sys.platform}"
    if os.geteuid() != 0:
        return f"a node needs root, and this is user {os.geteuid()}"
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"a node is made on Debian or a kin of it, and there is no {', '.join(missing)}"
    return _namespaces_problem() or cgroups.problem()


def _namespaces_problem() -> str | None:
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "sh", "-c", PROBE]
    home = cache_home("node")
    home.mkdir(parents=True, exist_ok=True)
    # Where images are kept, because not every file system can be the upper one of an overlay.
    with tempfile.TemporaryDirectory(dir=home, prefix=".probe-") as folder:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return f"a node needs its own network, processes and mounts: {result.stderr.strip()}"
    return None
