"""What a machine must allow for a node of the tests; asked by the build and by the fixtures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache

from cluster import cgroups

TOOLS = ("apt-get", "dpkg", "mount", "nsenter", "unshare")
PROBE = "mount --make-rprivate / && mount -t tmpfs tmpfs /mnt && mount -t proc proc /proc"


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
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return f"a node needs its own network, processes and mounts: {result.stderr.strip()}"
    return None
