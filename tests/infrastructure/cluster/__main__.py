"""The test cluster by hand, from the folder tests/: `python -m infrastructure.cluster build|start|stop|env`.

`eval "$(python -m infrastructure.cluster env)"` sets KUBECONFIG, and puts its own kubectl on the PATH.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from infrastructure.cluster import packages, supervisor
from infrastructure.cluster.binaries import NotBuilt, build, built, cache_home
from infrastructure.cluster.processes import StartFailed
from infrastructure.cluster.requirements import node_problem
from infrastructure.expansion.program import PROGRAM as EXPANSION

CRDS = Path(__file__).resolve().parents[3] / "crds"


def main() -> int:
    """Runs one command and returns the exit code."""
    arguments = _parse()
    try:
        arguments.command(arguments)
    except (NotBuilt, supervisor.NotStarted, StartFailed, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _parse() -> Namespace:
    parser = ArgumentParser(prog="python -m infrastructure.cluster")
    commands = parser.add_subparsers(required=True)
    commands.add_parser("build", help="build the programs unless they are there").set_defaults(command=_build)
    for name, action, text in (
        ("start", _start, "start a cluster that runs until `stop`"),
        ("stop", _stop, "stop it, and forget everything in it"),
        ("env", _env, "print settings for a shell"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--node", action="store_true", help="the cluster with a node, as root")
        command.add_argument("--state", type=Path, help="a folder for its files")
        command.set_defaults(command=action)
    supervise = commands.add_parser("supervise")
    supervise.add_argument("state", type=Path)
    supervise.add_argument("--crds", type=Path)
    supervise.add_argument("--while-held", action="store_true")
    supervise.add_argument("--node", action="store_true")
    supervise.set_defaults(command=_supervise)
    return parser.parse_args()


def _build(arguments: Namespace) -> None:
    print(build())
    print(EXPANSION.build())
    if (problem := node_problem()) is None:
        print(packages.unpack())
    else:
        print(f"There will be no test node on this machine: {problem}", file=sys.stderr)


def _start(arguments: Namespace) -> None:
    supervisor.start(_state(arguments), None if arguments.node else CRDS, node=arguments.node)
    _env(arguments)


def _stop(arguments: Namespace) -> None:
    print("stopped" if supervisor.stop(_state(arguments)) else "nothing runs there", file=sys.stderr)


def _env(arguments: Namespace) -> None:
    print(f"export KUBECONFIG={_state(arguments) / 'kubeconfig'}")
    print(f"export KUBECACHEDIR={_state(arguments) / 'kubectl-cache'}")
    print(f'export PATH="{built()}:$PATH"')


def _state(arguments: Namespace) -> Path:
    chosen: Path | None = arguments.state
    return chosen or cache_home() / ("run-node" if arguments.node else "run")


def _supervise(arguments: Namespace) -> None:
    supervisor.supervise(
        arguments.state, arguments.crds, while_held=arguments.while_held, node=arguments.node
    )


if __name__ == "__main__":
    sys.exit(main())
