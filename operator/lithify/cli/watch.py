"""`lithify watch`: the operator over a folder of YAML files, without any cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from lithify import __version__
from lithify.cli.serving import identity, observer_pool, process_settings, run_until_signalled
from lithify.clock import SystemClock
from lithify.controller.cluster.folder import FolderApi
from lithify.controller.deciding.admission import Caps
from lithify.controller.launching.process import ProcessLauncher
from lithify.controller.launching.spark_conf import conf_problem
from lithify.controller.operator import Edges, Operator, Settings
from lithify.controller.telemetry.logs import hide, set_up_logs
from lithify.controller.telemetry.metrics import Metrics, new_registry
from lithify.resources.validating import validated

_LOOK_SECONDS = 0.5


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--looks", default=1, show_default=True, type=click.IntRange(1, 64), help="Tables at a time.")
@click.option("--max-runs", default=1, show_default=True, type=click.IntRange(1), help="Runs at a time.")
@click.option("--log-format", type=click.Choice(["json", "text"]), default="text", show_default=True)
@click.pass_obj
def watch(verbose: bool, /, folder: Path, **options: Any) -> int:
    """Keep the tables of a FOLDER of YAML files compacted; status is written to FOLDER/.lithify."""
    set_up_logs(options["log_format"], verbose=verbose)
    return asyncio.run(_watch(folder, options))


async def _watch(folder: Path, options: Mapping[str, Any]) -> int:
    clock = SystemClock()
    state = folder / ".lithify"
    with closing(FolderApi(folder, validated, clock.now, _LOOK_SECONDS)) as api:
        async with observer_pool(state, options["looks"]) as observer:
            edges = Edges(
                api=api,
                events=api,
                launcher=lambda _, secrets: ProcessLauncher(process_settings(state), secrets.options, clock),
                observer=observer,
                clock=clock,
                metrics=Metrics(new_registry(), __version__),
                hide=hide,
                conf_problem=conf_problem,
            )
            settings = Settings(identity(), caps=Caps(total=options["max_runs"]), places=options["looks"])
            reporting = asyncio.create_task(_report(api))
            try:
                return await run_until_signalled(Operator(settings, edges))
            finally:
                reporting.cancel()


async def _report(api: FolderApi) -> None:
    """Prints what is wrong in the folder, whenever that changes."""
    told: frozenset[str] = frozenset()
    while True:
        flaws = frozenset(map(str, api.problems()))
        for flaw in sorted(flaws - told):
            click.echo(f"lithify: {flaw}", err=True)
        told = flaws
        await asyncio.sleep(_LOOK_SECONDS)
