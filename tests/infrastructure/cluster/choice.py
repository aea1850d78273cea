"""Which cluster the tests use: one of their own, or one that the machine has and the developer points at.

Tests create and delete things, so a cluster that is pointed at must be meant for it: the name of its context
has to match a list.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

KUBECONFIG = "LITHIFY_TEST_KUBECONFIG"
CONTEXTS = "LITHIFY_TEST_CONTEXTS"
ALLOWED = ("lithify-test*", "kind-lithify*", "k3d-lithify*", "minikube-lithify*")


class WrongCluster(Exception):
    """The tests were pointed at a cluster that is not known to be for tests."""


def chosen(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The kubeconfig that the environment points at, None if the tests start a cluster of their own.

    `LITHIFY_TEST_KUBECONFIG` is meant for the tests, so a context that is not allowed is an error. The usual
    `KUBECONFIG` is there for other reasons, too: it counts only if its context is allowed.

    Raises:
        WrongCluster: the cluster is not known to be for tests.
    """
    allowed = _patterns(environment)
    if meant := environment.get(KUBECONFIG):
        context = _current_context(Path(meant))
        if not _matches(context, allowed):
            raise WrongCluster(
                f"{KUBECONFIG}={meant}: its current context is {context!r}, which is not allowed; the tests "
                f"create and delete objects, so use a context like {', '.join(allowed)}, or list patterns of "
                f"your own in {CONTEXTS}, separated by commas"
            )
        return Path(meant)
    present = environment.get("KUBECONFIG", "")
    if present and Path(present).is_file() and _matches(_current_context(Path(present)), allowed):
        return Path(present)
    return None


def _patterns(environment: Mapping[str, str]) -> tuple[str, ...]:
    listed = tuple(pattern.strip() for pattern in environment.get(CONTEXTS, "").split(",") if pattern.strip())
    return listed or ALLOWED


def _matches(context: str, allowed: tuple[str, ...]) -> bool:
    return any(fnmatchcase(context, pattern) for pattern in allowed)


def _current_context(kubeconfig: Path) -> str:
    try:
        content: Any = yaml.safe_load(kubeconfig.read_text())
    except (OSError, yaml.YAMLError) as problem:
        raise WrongCluster(f"{kubeconfig} cannot be read: {problem}") from problem
    return str(content.get("current-context", "")) if isinstance(content, dict) else ""
