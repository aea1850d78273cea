"""Runs the benchmark and prints its figures; `--write` puts them into docs/benchmarks.md.

The operator works on a control plane of its own, over real tables in a local warehouse. It starts twice: when
it has to write every status, and again, when there is nothing to write. Then it is watched while nothing
changes, and while something does.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path

from bench_operator import objects, warehouse
from bench_operator.measuring import (
    idle,
    run_reactions,
    set_interval,
    settled,
    started,
    table_reactions,
)
from bench_operator.process import OperatorProcess
from bench_operator.report import Figures, text_of, write
from bench_operator.writes import written
from infrastructure.cluster import supervisor
from infrastructure.cluster.binaries import built
from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.cluster.client import ClusterClient, connect, load_configuration

CRDS = Path(__file__).resolve().parents[2] / "crds"
NAMESPACE = "bench"
RARELY = 600
"""Seconds between two looks, for comparison with the default of 60."""
START_SECONDS = 1800.0


def main() -> None:
    given = _parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # and not without cleaning up
    folder = Path(tempfile.mkdtemp(prefix="lithify-bench-operator-"))
    try:
        with supervisor.held(folder / "cluster", CRDS) as kubeconfig:
            kubectl = Kubectl(built() / "kubectl", kubeconfig, folder / "kubectl-cache")
            figures = asyncio.run(_measure(folder, kubectl, given))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(text_of(figures))
    if given.write:
        write(figures)


def _parse() -> Namespace:
    parser = ArgumentParser(prog="make bench-operator", description=__doc__)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--compactions", type=int, default=1_000)
    parser.add_argument("--idle-seconds", type=float, default=150, help="how long nothing is to change")
    parser.add_argument("--reactions", type=int, default=200)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    return parser.parse_args()


async def _measure(folder: Path, kubectl: Kubectl, given: Namespace) -> Figures:
    configuration = await load_configuration(str(kubectl.kubeconfig), None)
    async with connect(configuration) as api:
        tables = await _prepare(folder, kubectl, api, given)
        _say("a cold start")
        with OperatorProcess(kubectl.kubeconfig, folder / "state", NAMESPACE) as operator:
            cold = await started(operator, given.tables, START_SECONDS)
            await settled(api, NAMESPACE, START_SECONDS)
            quiet = await written(operator, api, NAMESPACE, kubectl)
        _say("a start when everything is written already")
        with OperatorProcess(kubectl.kubeconfig, folder / "state", NAMESPACE) as operator:
            again = await started(operator, given.tables, START_SECONDS)
            now = await written(operator, api, NAMESPACE, kubectl)
            _say(f"nothing changes, looks every 60 and every {RARELY} seconds")
            often = await idle(operator, api, NAMESPACE, 60, given.idle_seconds, kubectl)
            _say("changes")
            tables_seen = await table_reactions(api, NAMESPACE, tables, given.reactions)
            runs_seen = await run_reactions(api, NAMESPACE, tables, given.reactions)
            await set_interval(operator, api, NAMESPACE, RARELY)
            rarely = await idle(operator, api, NAMESPACE, RARELY, given.idle_seconds, kubectl)
    return Figures(
        tables=given.tables,
        compactions=given.compactions,
        cold=cold,
        again=again,
        again_writes=now.since(quiet, by_another=True),
        often=often,
        rarely=rarely,
        tables_seen=tables_seen,
        runs_seen=runs_seen,
    )


async def _prepare(folder: Path, kubectl: Kubectl, api: ClusterClient, given: Namespace) -> list[str]:
    _say(f"making {given.tables:,} tables, {given.compactions:,} Compactions and their objects")
    identifiers = warehouse.make(folder / "warehouse", given.tables)
    kubectl("create", "namespace", NAMESPACE)
    return await objects.create_all(api, NAMESPACE, folder / "warehouse", identifiers, given.compactions)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
