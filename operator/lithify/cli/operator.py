"""`lithify operator`: the operator itself, against any API server."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from kubernetes.aio.client.configuration import Configuration

from lithify import __version__
from lithify.cli.cluster_arguments import cluster_options, isolation_option, own_namespace
from lithify.cli.operator_process import (
    SPARE_REQUESTS,
    identity,
    observer_pool,
    process_settings,
    run_until_signalled,
)
from lithify.clock import SystemClock
from lithify.controller.api import Api, Tell
from lithify.controller.cluster.client import connect, load_configuration
from lithify.controller.cluster.election import Terms
from lithify.controller.cluster.events import watch
from lithify.controller.deciding.admission import Caps
from lithify.controller.deciding.limits import OperatorLimits
from lithify.controller.driver import Launcher
from lithify.controller.launching.kubernetes import KubernetesLauncher, PodSettings
from lithify.controller.launching.process import ProcessLauncher
from lithify.controller.launching.spark_conf import conf_problem
from lithify.controller.observing.request import MOST_TABLES
from lithify.controller.operator import Edges, Operator, OperatorSettings
from lithify.controller.reconciling.secrets import Secrets
from lithify.controller.telemetry.logs import credentials, set_up_logs
from lithify.controller.telemetry.metrics import Metrics, new_registry
from lithify.controller.telemetry.server import Pages, serve
from lithify.errors import InvalidOption
from lithify.io.access_policy import OwnIdentity, read_own_identity
from lithify.io.addresses import AddressPolicy, read_policy
from lithify.settings import ALLOWED_ADDRESSES, OWN_IDENTITY


@dataclass(frozen=True, slots=True)
class ClusterEvents:
    """Events of a real API server."""

    configuration: Configuration
    namespaces: tuple[str, ...]

    async def run(self, tell: Tell, stop: asyncio.Event) -> None:
        """Reports every object, and every change."""
        await watch(self.configuration, self.namespaces, tell, stop)


class _Rules(click.ParamType[Any]):
    """Rules of a NetworkPolicy, as JSON."""

    name = "JSON"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The list of rules."""
        try:
            rules = json.loads(value)
        except ValueError as error:
            self.fail(f"it is not JSON ({error})", param, ctx)
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            self.fail('it is not a list of rules, such as [{"to": [...], "ports": [...]}]', param, ctx)
        return rules


@click.command()
@cluster_options
@isolation_option
@click.option(
    "--run-egress", type=_Rules(), help="What pods of a run may reach: egress rules of its NetworkPolicy."
)
@click.option("--lease-seconds", default=15.0, show_default=True, type=click.FloatRange(1, 600))
@click.option("--identity", "name", help="Tells it from other operators. Default: made up.")
@click.option(
    "--launcher",
    type=click.Choice(["kubernetes", "process"]),
    default="kubernetes",
    show_default=True,
    help="Drivers are pods, or processes of this machine.",
)
@click.option("--image", envvar="LITHIFY_IMAGE", help="Image of drivers and executors.")
@click.option(
    "--allow-host-access", is_flag=True, help="Pod templates of policies may reach out of their pods."
)
@click.option(
    ALLOWED_ADDRESSES.flag,
    "addresses",
    multiple=True,
    metavar="ENTRY",
    help="Network, address, host name or *.suffix that Catalogs may name though not public. Repeatable.",
)
@click.option(
    OWN_IDENTITY.flag,
    "own_identity",
    multiple=True,
    metavar="NAMESPACE=PREFIX",
    help="Catalogs of a namespace (* for all) without credentials may use the operator's own below a prefix "
    "such as s3://bucket/path, gs://bucket/path or /path. Repeatable. Default: none may.",
)
@click.option("--state", default="~/.lithify", show_default=True, help="Folder of looks and processes.")
@click.option("--looks", default=2, show_default=True, type=click.IntRange(1, 64), help="Tables at a time.")
@click.option(
    "--workers", default=16, show_default=True, type=click.IntRange(1, 256), help="Objects at a time."
)
@click.option("--max-runs", type=click.IntRange(1), help="Runs at a time, in all. Default: no limit.")
@click.option("--max-runs-per-namespace", type=click.IntRange(1), help="Runs at a time in one namespace.")
@click.option(
    "--max-timeout-seconds",
    default=120.0,
    show_default=True,
    type=click.FloatRange(1, 600),
    help="The longest that one look may take, whatever timeoutSeconds a Catalog asks for.",
)
@click.option(
    "--min-check-seconds",
    default=1.0,
    show_default=True,
    type=click.FloatRange(1, 86400),
    help="The shortest time between two looks at a table, whatever checkIntervalSeconds asks for.",
)
@click.option(
    "--max-discovered-tables",
    default=MOST_TABLES,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="LakeTables of one Catalog beyond which discovery makes none.",
)
@click.option(
    "--listen", default="127.0.0.1:8080", show_default=True, help="Where /metrics and /healthz are."
)
@click.option("--table-metrics", is_flag=True, help="Metrics of each single table, too.")
@click.option("--log-format", type=click.Choice(["json", "text"]), default="json", show_default=True)
def operator(**options: Any) -> int:
    """Keep tables compacted: watch them, decide, run compactions, record the results."""
    set_up_logs(options["log_format"])
    return asyncio.run(_operate(options))


async def _operate(options: dict[str, Any]) -> int:
    addresses, own = _addresses(options), _own_identity(options)
    configuration = await load_configuration(options["kubeconfig"], options["context"])
    state = Path(options["state"]).expanduser()
    metrics = Metrics(new_registry(), __version__, per_table=options["table_metrics"])
    namespaces: tuple[str, ...] = options["namespaces"]
    async with (
        connect(configuration, metrics.request, namespaces) as api,
        observer_pool(state, options["looks"], addresses) as observer,
    ):
        edges = Edges(
            api=api,
            events=ClusterEvents(configuration, namespaces),
            launcher=_launcher(options, state, own),
            observer=observer,
            clock=SystemClock(),
            metrics=metrics,
            credentials=credentials,
            conf_problem=partial(conf_problem, host_access=options["allow_host_access"]),
            reach=own.reach,
        )
        operator = Operator(_settings(options), edges)
        pages = Pages(metrics.registry, lambda: operator.facts, operator.measure)
        async with serve(options["listen"], pages):
            return await run_until_signalled(operator)


def _settings(options: dict[str, Any]) -> OperatorSettings:
    seconds = options["lease_seconds"]
    return OperatorSettings(
        identity=options["name"] or identity(),
        home=options["home"] or own_namespace(),
        lease=options["lease"],
        terms=Terms(lease=seconds, renewal=seconds * 2 / 3, retry=seconds / 7.5),
        caps=Caps(options["max_runs"], options["max_runs_per_namespace"]),
        workers=options["workers"],
        per_catalog=options["looks"] + SPARE_REQUESTS,
        limits=OperatorLimits(
            timeout_seconds=options["max_timeout_seconds"],
            check_seconds=options["min_check_seconds"],
            tables=options["max_discovered_tables"],
        ),
    )


def _addresses(options: dict[str, Any]) -> AddressPolicy:
    try:
        return read_policy(options["addresses"], os.environ.get("KUBERNETES_SERVICE_HOST", ""))
    except ValueError as error:
        raise InvalidOption(ALLOWED_ADDRESSES, str(error)) from error


def _own_identity(options: dict[str, Any]) -> OwnIdentity:
    try:
        return read_own_identity(options["own_identity"])
    except ValueError as error:
        raise InvalidOption(OWN_IDENTITY, str(error)) from error


def _launcher(options: dict[str, Any], state: Path, own: OwnIdentity) -> Callable[[Api, Secrets], Launcher]:
    clock = SystemClock()
    if options["launcher"] == "process":
        return lambda _, secrets: ProcessLauncher(process_settings(state), secrets.options, clock, own.reach)
    pods = PodSettings(
        image=options["image"],
        host_access=options["allow_host_access"],
        isolated=options["isolate_runs"],
        egress=options["run_egress"],
    )
    return lambda api, _: KubernetesLauncher(api, pods, clock)
