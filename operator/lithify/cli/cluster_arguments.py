"""The options by which `lithify operator` and `release` find their cluster, and the operator in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def connection_options(command: Command) -> Command:
    """The options by which commands find their cluster."""
    options = (
        click.option(
            "--kubeconfig", envvar="KUBECONFIG", help="Kubeconfig file. Default: the pod's service account."
        ),
        click.option("--context", help="Context in the kubeconfig file. Default: its current one."),
        click.option(
            "--namespace", "namespaces", multiple=True, help="Only this namespace. Repeatable. Default: all."
        ),
    )
    return _with(command, options)


def cluster_options(command: Command) -> Command:
    """The options by which commands find their cluster, and the operator in it."""
    options = (
        click.option(
            "--home", help="Namespace of the operator and its Leases. Default: the pod's, or `default`."
        ),
        click.option(
            "--lease", default="lithify-operator", show_default=True, help="The Lease that it leads by."
        ),
    )
    return connection_options(_with(command, options))


def _with(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def isolation_option(command: Command) -> Command:
    """The option that gives runs NetworkPolicies, which are deleted at the end, too."""
    option = click.option(
        "--isolate-runs", is_flag=True, help="A NetworkPolicy for each run: its own pods reach Spark's ports."
    )
    return option(command)


def own_namespace() -> str:
    """The namespace of the pod that this process runs in; `default` outside of pods."""
    if os.environ.get("KUBERNETES_SERVICE_HOST") and _NAMESPACE_FILE.exists():
        return _NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    return "default"
