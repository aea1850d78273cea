"""`lithify drive`: one attempt at a Compaction, as a launcher starts it in a pod or a process.

The order comes through the environment or stdin, progress and outcome go where the environment says;
`engine.application` does the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from lithify.contract.order import (
    MEMBERS_VARIABLE,
    OUTCOME_VARIABLE,
    POD_ADDRESS_VARIABLE,
    POD_NAME_VARIABLE,
    POD_NAMESPACE_VARIABLE,
    PROGRESS_VARIABLE,
    SECRETS_VARIABLE,
    VARIABLE,
    read_instructions,
)
from lithify.engine.application.environment import DriverEnvironment
from lithify.engine.application.execution import run_driver
from lithify.engine.application.pod import PodAddress
from lithify.engine.application.stopping import STOPPED, Stopped, StopSignal

_DEFAULT_OUTCOME = "/dev/termination-log"


@click.command(hidden=True)
@click.pass_context
def drive(context: click.Context) -> None:
    """Run one attempt at a Compaction, as the operator has ordered it."""
    stop = StopSignal()
    try:
        with stop.listening():
            text = os.environ.pop(VARIABLE, None)
            told = read_instructions(sys.stdin.read() if text is None else text)
            code = run_driver(told, driver_environment(os.environ), stop, verbose=bool(context.obj))
    except Stopped:
        code = STOPPED
    context.exit(code)


def driver_environment(variables: Mapping[str, str]) -> DriverEnvironment:
    """The driver's environment, from environment variables."""

    def path(name: str) -> Path | None:
        return Path(variables[name]) if name in variables else None

    return DriverEnvironment(
        outcome=Path(variables.get(OUTCOME_VARIABLE, _DEFAULT_OUTCOME)),
        secrets=Path(variables.get(SECRETS_VARIABLE, "")),
        progress=path(PROGRESS_VARIABLE),
        members=path(MEMBERS_VARIABLE),
        pod=_pod(variables),
        pod_ip=variables.get(POD_ADDRESS_VARIABLE),
    )


def _pod(variables: Mapping[str, str]) -> PodAddress | None:
    """The pod that this process is in; None if it is in none."""
    if not {POD_NAME_VARIABLE, POD_NAMESPACE_VARIABLE, "KUBERNETES_SERVICE_HOST"} <= variables.keys():
        return None
    return PodAddress(
        host=variables["KUBERNETES_SERVICE_HOST"],
        port=int(variables.get("KUBERNETES_SERVICE_PORT", "443")),
        namespace=variables[POD_NAMESPACE_VARIABLE],
        name=variables[POD_NAME_VARIABLE],
    )
