"""Runs the benchmark and prints its figures; `--write` puts them into docs/benchmarks.md.

The operator works on a control plane of its own, over real tables in a local warehouse. It starts twice: when
it has to write every status, and again, when there is nothing to write. Then it is watched while nothing
changes, and while something does: specs, Compactions, and tables, of which none may wait for a dead catalog.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from infrastructure.cluster import supervisor
from infrastructure.cluster.binaries import built
from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.cluster.client import ClusterClient, connect, load_configuration
from many_tables import objects, warehouse
from many_tables.dead import dead_tables
from many_tables.first_start import first_start
from many_tables.measuring import (
    change_interval,
    commit_reactions,
    idle,
    run_reactions,
    set_interval,
    settled,
    started,
    table_reactions,
)
from many_tables.process import OperatorProcess
from many_tables.report import (
    BEGIN,
    COMMITS_BEGIN,
    COMMITS_END,
    END,
    Commits,
    Figures,
    commits_text,
    text_of,
    write,
)
from many_tables.watching import watched
from many_tables.writes import written

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
            if given.only_first:
                print(asyncio.run(_first(folder, kubectl, given)))
                return
            figures = asyncio.run(_measure(folder, kubectl, given))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for text, begin, end in _texts(*figures):
        print(text)
        if given.write:
            write(text, begin, end)
    if not figures[1].is_met:
        sys.exit("commits on healthy tables were seen too late beside a dead catalog, see above")


def _texts(figures: Figures | None, commits: Commits) -> Iterator[tuple[str, str, str]]:
    """What is printed, and where it goes in the page."""
    if figures is not None:
        yield text_of(figures), BEGIN, END
    yield commits_text(commits), COMMITS_BEGIN, COMMITS_END


def _parse() -> Namespace:
    parser = ArgumentParser(prog="make bench-operator", description=__doc__)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--compactions", type=int, default=1_000)
    parser.add_argument("--idle-seconds", type=float, default=150, help="how long nothing is to change")
    parser.add_argument("--reactions", type=int, default=200)
    parser.add_argument("--interval", type=int, default=60, help="seconds between two looks at a table")
    parser.add_argument("--dead", type=int, default=40, help="tables of a catalog that answers nothing")
    parser.add_argument("--commits", type=int, default=300, help="commits whose way to status is timed")
    parser.add_argument("--only-commits", action="store_true", help="one start, and nothing but commits")
    parser.add_argument("--only-first", action="store_true", help="a first start with discovery, no more")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    return parser.parse_args()


async def _first(folder: Path, kubectl: Kubectl, given: Namespace) -> str:
    """How a first start went, in which all tables are discovered."""
    _say(f"making {given.tables:,} tables")
    warehouse.make(folder / "warehouse", given.tables)
    kubectl("create", "namespace", NAMESPACE)
    configuration = await load_configuration(str(kubectl.kubeconfig), None)
    async with connect(configuration) as api:
        _say("a first start")
        found = await first_start(kubectl, api, NAMESPACE, folder, given.tables, given.dead, START_SECONDS)
    return found.text


async def _measure(folder: Path, kubectl: Kubectl, given: Namespace) -> tuple[Figures | None, Commits]:
    configuration = await load_configuration(str(kubectl.kubeconfig), None)
    async with connect(configuration) as api:
        identifiers, tables = await _prepare(folder, kubectl, api, given)
        await change_interval(api, NAMESPACE, given.interval)
        _say("a cold start")
        with OperatorProcess(kubectl.kubeconfig, folder / "state", NAMESPACE) as operator:
            cold = await started(operator, given.tables, START_SECONDS)
            await settled(api, NAMESPACE, START_SECONDS)
            quiet = await written(operator, api, NAMESPACE, kubectl)
            if given.only_commits:
                return None, await _commits(folder, kubectl, api, identifiers, given)
        _say("a start when everything is written already")
        with OperatorProcess(kubectl.kubeconfig, folder / "state", NAMESPACE) as operator:
            again = await started(operator, given.tables, START_SECONDS)
            now = await written(operator, api, NAMESPACE, kubectl)
            _say(f"nothing changes, looks every {given.interval} and every {RARELY} seconds")
            often = await idle(operator, api, NAMESPACE, given.interval, given.idle_seconds, kubectl)
            commits = await _commits(folder, kubectl, api, identifiers, given)
            _say("changes")
            tables_seen = await table_reactions(api, NAMESPACE, tables, given.reactions)
            runs_seen = await run_reactions(api, NAMESPACE, tables, given.reactions)
            await set_interval(operator, api, NAMESPACE, RARELY)
            rarely = await idle(operator, api, NAMESPACE, RARELY, given.idle_seconds, kubectl)
    figures = Figures(
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
    return figures, commits


async def _commits(
    folder: Path, kubectl: Kubectl, api: ClusterClient, identifiers: list[str], given: Namespace
) -> Commits:
    """How soon commits on healthy tables are seen, without and beside tables of a dead catalog."""
    count = min(given.commits, len(identifiers) // 2)
    chosen = random.Random(3).sample(identifiers, 2 * count)
    where, interval = folder / "warehouse", given.interval
    async with watched(kubectl, NAMESPACE, len(identifiers)) as snapshots:
        _say(f"{count} commits")
        alone = await commit_reactions(snapshots, where, chosen[:count], interval)
        _say(f"{count} commits beside {given.dead} tables of a dead catalog")
        async with dead_tables(api, NAMESPACE, given.dead):
            beside = await commit_reactions(snapshots, where, chosen[count:], interval)
    return Commits(given.tables, given.dead, interval, alone, beside)


async def _prepare(
    folder: Path, kubectl: Kubectl, api: ClusterClient, given: Namespace
) -> tuple[list[str], list[str]]:
    """Makes tables and their objects; returns the identifiers, and the names of the LakeTables."""
    _say(f"making {given.tables:,} tables, {given.compactions:,} Compactions and their objects")
    identifiers = warehouse.make(folder / "warehouse", given.tables)
    kubectl("create", "namespace", NAMESPACE)
    names = await objects.create_all(api, NAMESPACE, folder / "warehouse", identifiers, given.compactions)
    return identifiers, names


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
