"""The servers, from the folder tests/: `python -m infrastructure.objectstore build` or `serve FOLDER`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from infrastructure.building.once import NotBuilt
from infrastructure.cluster.processes import StartFailed
from infrastructure.objectstore.binaries import AZURITE, GCS_PROGRAMS, PROGRAMS
from infrastructure.objectstore.server import ACCESS_KEY, SECRET_KEY, S3Server


def main() -> int:
    """Runs one command and returns the exit code."""
    parser = ArgumentParser(prog="python -m infrastructure.objectstore")
    commands = parser.add_subparsers(required=True)
    commands.add_parser("build", help="build the servers unless they are there").set_defaults(command=_build)
    serve = commands.add_parser("serve", help="serve the buckets of a folder by S3 until interrupted")
    serve.add_argument("folder", type=Path)
    serve.add_argument("--address", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=7070)
    serve.set_defaults(command=_serve)
    arguments = parser.parse_args()
    try:
        arguments.command(arguments)
    except (NotBuilt, StartFailed, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _build(arguments: Namespace) -> None:
    for program in (PROGRAMS, GCS_PROGRAMS, AZURITE):
        print(program.build())


def _serve(arguments: Namespace) -> None:
    with S3Server(arguments.folder, address=arguments.address, port=arguments.port) as server:
        print(f"{server.endpoint} (access key {ACCESS_KEY}, secret key {SECRET_KEY})", flush=True)
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
