"""`lithify release`: releases all drivers before the operator is uninstalled. The chart runs it as a hook.

A driver's pod stays until the operator has recorded its result, so without an operator it would stay for
ever, and its namespace with it. It can be repeated, and given up at any point.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import click

from lithify.cli.cluster_arguments import cluster_options, isolation_option, own_namespace
from lithify.cli.operator_process import LEASE_LOST, identity
from lithify.clock import SystemClock
from lithify.controller.api import Api
from lithify.controller.cluster.client import connect, load_configuration
from lithify.controller.cluster.election import Election, Fenced
from lithify.controller.cluster.table_lock import TableLocks
from lithify.controller.launching.kubernetes import KubernetesLauncher, PodSettings
from lithify.controller.reconciling.shutdown import Shutdown
from lithify.controller.telemetry.logs import set_up_logs
from lithify.resources.names import DEPLOYMENT, ObjectKey

_log = logging.getLogger(__name__)


@click.command()
@cluster_options
@isolation_option
@click.option("--stop-deployment", help="The operator's Deployment, which is scaled to nothing first.")
@click.option(
    "--grace-seconds",
    default=120.0,
    show_default=True,
    type=click.FloatRange(0, 3600),
    help="How long drivers may take to end.",
)
@click.option("--log-format", type=click.Choice(["json", "text"]), default="json", show_default=True)
def release(**options: Any) -> int:
    """End all driver pods and let go of them, so that nothing is stuck once the operator is gone."""
    set_up_logs(options["log_format"])
    return asyncio.run(_release(options))


async def _release(options: dict[str, Any]) -> int:
    configuration = await load_configuration(options["kubeconfig"], options["context"])
    home = options["home"] or own_namespace()
    async with connect(configuration, namespaces=options["namespaces"]) as api:
        if options["stop_deployment"]:
            operator = ObjectKey(home, options["stop_deployment"])
            await api.patch(DEPLOYMENT, operator, {"spec": {"replicas": 0}}, subresource="scale")
        lease = ObjectKey(home, options["lease"])
        election = Election(api, lease, identity(), SystemClock())
        _log.info("waiting until no operator leads", extra={"lease": str(lease)})
        await election.win()
        return await _depart(Fenced(api, election), election, lease, options)


async def _depart(api: Api, election: Election, lease: ObjectKey, options: dict[str, Any]) -> int:
    """Releases the drivers for as long as no operator can interfere."""
    launcher = KubernetesLauncher(api, PodSettings(isolated=options["isolate_runs"]), SystemClock())
    shutdown = Shutdown(launcher, TableLocks(api, lease.namespace), options["namespaces"])
    keeping = asyncio.create_task(election.keep())
    departing = asyncio.create_task(shutdown.run(options["grace_seconds"]))
    try:
        await asyncio.wait((keeping, departing), return_when=asyncio.FIRST_COMPLETED)
        if not departing.done():
            return LEASE_LOST
        for key in departing.result():
            _log.warning("a driver may still be at work", extra={"compaction": str(key)})
        await election.remove()
        return 0
    finally:
        keeping.cancel()
        departing.cancel()
        await asyncio.gather(keeping, departing, return_exceptions=True)
        await election.resign()
