"""`lithify watch`: the operator over a folder of YAML files, without any cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from lithify import __version__
from lithify.cli.operator_process import (
    SPARE_REQUESTS,
    identity,
    observer_pool,
    process_settings,
    run_until_signalled,
)
from lithify.clock import SystemClock
from lithify.controller.cluster.folder import FolderApi
from lithify.controller.deciding.admission import Caps
from lithify.controller.launching.process import ProcessLauncher
from lithify.controller.launching.spark_conf import conf_problem
from lithify.controller.operator import Edges, Operator, OperatorSettings
from lithify.controller.telemetry.logs import credentials, set_up_logs
from lithify.controller.telemetry.metrics import Metrics, new_registry
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.plain_text import plain_line
from lithify.resources.validating import validated

_POLL_SECONDS = 0.5
_LONGEST = 4096
_IDLE_POLLS = 4
"""Consecutive idle checks required before the end: changes may be on their way."""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--looks", default=1, show_default=True, type=click.IntRange(1, 64), help="Tables at a time.")
@click.option("--max-runs", default=1, show_default=True, type=click.IntRange(1), help="Runs at a time.")
@click.option(
    "--once", is_flag=True, help="End when nothing is due any more; exit code 1 if something failed."
)
@click.option("--log-format", type=click.Choice(["json", "text"]), default="text", show_default=True)
@click.pass_obj
def watch(verbose: bool, /, folder: Path, **options: Any) -> int:
    """Keep the tables of a FOLDER of YAML files compacted; status is written to FOLDER/.lithify."""
    set_up_logs(options["log_format"], verbose=verbose)
    return asyncio.run(_watch(folder, options))


async def _watch(folder: Path, options: Mapping[str, Any]) -> int:
    clock = SystemClock()
    state = folder / ".lithify"
    with closing(FolderApi(folder, validated, clock.now, _POLL_SECONDS)) as api:
        async with observer_pool(state, options["looks"]) as observer:
            edges = Edges(
                api=api,
                events=api,
                launcher=lambda _, secrets: ProcessLauncher(
                    process_settings(state), secrets.options, clock, _reach
                ),
                observer=observer,
                clock=clock,
                metrics=Metrics(new_registry(), __version__),
                credentials=credentials,
                conf_problem=conf_problem,
                reach=_reach,
            )
            settings = OperatorSettings(
                identity(),
                caps=Caps(total=options["max_runs"]),
                per_catalog=options["looks"] + SPARE_REQUESTS,
            )
            operator = Operator(settings, edges)
            attending = asyncio.create_task(_attend(api, operator, once=options["once"]))
            try:
                code = await run_until_signalled(operator)
            finally:
                attending.cancel()
            return _verdict(api, operator) if options["once"] and not code else code


def _reach(_: str) -> AccessPolicy:
    """Allows all locations: this user wrote the files in the folder, so they get the rights of this user."""
    return UNBOUNDED


async def _attend(api: FolderApi, operator: Operator, *, once: bool) -> None:
    """Prints what is wrong in the folder, whenever that changes; ends the operator if it was to work once."""
    told: frozenset[str] = frozenset()
    idle = 0
    while True:
        flaws = frozenset(map(str, api.problems()))
        for flaw in sorted(flaws - told):
            click.echo(plain_line(f"lithify: {flaw}", _LONGEST), err=True)
        told = flaws
        idle = idle + 1 if operator.is_idle else 0
        if once and idle >= _IDLE_POLLS:
            operator.stop()
        await asyncio.sleep(_POLL_SECONDS)


def _verdict(api: FolderApi, operator: Operator) -> int:
    """Prints the remaining failures at the end; returns the exit code."""
    for failure in operator.failures:
        click.echo(plain_line(f"lithify: {failure}", _LONGEST), err=True)
    return 1 if api.problems() or operator.failures else 0
